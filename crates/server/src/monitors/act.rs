//! Makes and changes monitors: from forms of pages, or from JSON of programs.

use std::sync::Arc;

use access::{Named, Principal};
use axum::extract::{FromRequest, Path, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::{Form, Json};
use monitor::{Invalid, NotMade};
use request::human::count;
use request::{Client, Options};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use store::{Monitor, NewMonitor};
use tokio::sync::mpsc;

use super::form::{Tested, Wanted};
use super::who::Who;
use super::{Shown, answered, monitor_json, named, page, visible};
use crate::error::{Body, Failure};
use crate::params::wants_page;
use crate::server::Server;

/// Files that a test shows.
const TESTED: usize = 10;

/// A change of a monitor.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    action: String,
}

/// Reads a form, or JSON.
async fn read<T: DeserializeOwned>(request: Request) -> Result<T, Failure> {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let (wrong, status) = if kind.is_some_and(|kind| kind.starts_with("application/json")) {
        match Json::<T>::from_request(request, &()).await {
            Ok(Json(read)) => return Ok(read),
            Err(rejection) => (rejection.body_text(), rejection.status()),
        }
    } else {
        match Form::<T>::from_request(request, &()).await {
            Ok(Form(read)) => return Ok(read),
            Err(rejection) => (rejection.body_text(), rejection.status()),
        }
    };
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        return Err(Failure::too_large());
    }
    Err(Failure::bad_request(format!("send a form or JSON with its Content-Type: {wrong}")))
}

pub(super) async fn create(
    server: Server,
    who: Who,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let page = wants_page(&headers, None);
    let wanted: Wanted = match read(request).await {
        Ok(wanted) => wanted,
        Err(failure) => return answered(page, Err(failure)),
    };
    match made(&server, &who, &wanted).await {
        Ok((monitor, None)) if page => {
            Redirect::to(&format!("/monitors/{}", monitor.name)).into_response()
        }
        Ok((monitor, secret)) if page => match Shown::of(&server, monitor).await {
            Ok(state) => page::monitor(&state, Some(page::Done::Made(secret.unwrap_or_default()))),
            Err(failure) => answered(page, Err(failure)),
        },
        Ok((monitor, secret)) => {
            let told = json!({ "monitor": monitor_json(&monitor, 0), "secret": secret });
            (StatusCode::CREATED, Json(told)).into_response()
        }
        // The page keeps what was typed.
        Err(failure) if page && failure.status == StatusCode::BAD_REQUEST => {
            let listed = async {
                let all = visible(&server, &who).await?;
                let waiting = server.admin().store.waiting_counts().await?;
                let why = failure.body.message.clone();
                Ok(page::list(failure.status, &all, &waiting, Some((&wanted, &why))))
            };
            let listed = listed.await;
            answered(page, listed)
        }
        Err(failure) => answered(page, Err(failure)),
    }
}

/// Returns who asks, if it has a name.
fn named_of(server: &Server) -> Option<&Named> {
    match server.principal() {
        Principal::Named(named) => Some(named),
        Principal::Owner | Principal::Anonymous => None,
    }
}

/// Makes a monitor. Returns it, and the key of its signatures.
async fn made(
    server: &Server,
    who: &Who,
    wanted: &Wanted,
) -> Result<(Monitor, Option<String>), Failure> {
    // One without an owner tells all, which not every operator may see, perhaps only from the first grant on.
    let owner = match server.principal() {
        Principal::Named(named) => Some(named.name.clone()),
        Principal::Anonymous if server.view().is_by_grants() => {
            let why = "monitors have owners, since not everybody sees all repositories: send a token, or use codesearch \
                       monitor on the server's machine";
            let body = Body::new("no_owner", why);
            return Err(Failure { status: StatusCode::FORBIDDEN, body });
        }
        _ => who.owner(),
    };
    let new = NewMonitor {
        name: wanted.name.trim().to_owned(),
        owner,
        query: wanted.query.clone(),
        repos: server.only_repos.to_vec(),
        owner_groups: named_of(server).map(|of| of.groups.clone()).unwrap_or_default(),
        owner_repos: named_of(server).map(|of| of.repos.clone()).unwrap_or_default(),
        ..NewMonitor::default()
    };
    let (name, address) = (new.name.clone(), wanted.address.trim());
    let address = Some(address).filter(|address| !address.is_empty());
    let allowed = server.configuration.get().monitor.allow.clone();
    let made = monitor::make(&server.admin().store, new, address, &allowed).await;
    let secret = made.map_err(|why| match why {
        NotMade::Store(error) => error.into(),
        NotMade::Query(Invalid::Query(refused)) => Failure::from(refused),
        NotMade::Taken(_) => Failure {
            status: StatusCode::BAD_REQUEST,
            body: Body::new("name_taken", why.to_string()),
        },
        why => Failure::bad_request(why.to_string()),
    })?;
    Ok((named(server, who, &name).await?, secret))
}

pub(super) async fn change(
    server: Server,
    who: Who,
    Path(name): Path<String>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let page = wants_page(&headers, None);
    let changed = async {
        let Change { action } = read(request).await?;
        let monitor = named(&server, &who, &name).await?;
        changed(&server, &who, monitor, &action, page).await
    };
    let changed = changed.await;
    answered(page, changed)
}

async fn changed(
    server: &Server,
    who: &Who,
    monitor: Monitor,
    action: &str,
    page: bool,
) -> Result<Response, Failure> {
    let store = &server.admin().store;
    let tested = match action {
        "pause" | "resume" => {
            if let Some(owner) = monitor.owner.as_deref().filter(|_| action == "resume")
                && server.limits.has_tokens()
                && !server.limits.has_owner(owner)
            {
                return Err(Failure::bad_request(format!(
                    "its owner {owner} has no token of the server any more; give {owner} a token first"
                )));
            }
            store.pause_monitor(monitor.id, action == "pause", None).await?;
            None
        }
        "remove" => {
            store.remove_monitor(monitor.id).await?;
            if page {
                return Ok(Redirect::to("/monitors").into_response());
            }
            return Ok(Json(json!({ "removed": monitor.name })).into_response());
        }
        "test" => Some(tested(server, &monitor).await?),
        "send" => Some(sent(server, &monitor).await?),
        other => {
            return Err(Failure::bad_request(format!(
                "unknown action {}; use pause, resume, remove, test or send",
                query::shortened(other, 50)
            )));
        }
    };
    let monitor = named(server, who, &monitor.name).await?;
    match tested {
        None if page => Ok(Redirect::to(&format!("/monitors/{}", monitor.name)).into_response()),
        Some(tested) if page => {
            let state = Shown::of(server, monitor).await?;
            Ok(page::monitor(&state, Some(page::Done::Tested(tested))))
        }
        None => Ok(Json(Shown::of(server, monitor).await?.json()).into_response()),
        Some(Tested { said, lines }) => {
            let lines: Vec<_> =
                lines.iter().map(|(place, text)| json!({ "place": place, "text": text })).collect();
            Ok(Json(json!({ "said": said, "matches": lines })).into_response())
        }
    }
}

/// Searches for the query of a monitor in the current state.
async fn tested(server: &Server, monitor: &Monitor) -> Result<Tested, Failure> {
    let (options, client) = (Options::default(), Client::PAGE);
    let query = request::parse(&monitor.query, &options, &client)?;
    let mut request = request::build_in_time(query, &options, &client, ())?;
    request.limit = Some(TESTED);
    // Those that its owner saw when it was made, of those that whoever tests it sees now.
    let visible = server.visible_among(&monitor.repos).await?;
    let view = server.view().clone().showing(visible);
    let _turn = server.turn().await?;
    let (request, (found, mut files)) = (Arc::new(request), mpsc::channel(1));
    let mut lines = Vec::new();
    let listing = async {
        while let Some(some) = files.recv().await {
            let some: Vec<answer::FileMatch> = some;
            for file in some {
                let place = format!("{}/{}", file.repo, file.path);
                let line = file.lines.first();
                let place = line.map_or(place.clone(), |line| format!("{place}:{}", line.number));
                let text = line.map_or_else(String::new, |line| line.text.clone());
                lines.push((place, query::shortened(&text, 300).into_owned()));
            }
        }
    };
    let (stats, ()) = tokio::join!(view.search(&request, found), listing);
    let stats = stats?;
    let more = if stats.stopped.is_some() { "at least " } else { "" };
    let said = format!("The query matches {more}{} now.", count(stats.files, "file"));
    Ok(Tested { said, lines })
}

/// Sends a test delivery.
async fn sent(server: &Server, monitor: &Monitor) -> Result<Tested, Failure> {
    let Some(address) = &monitor.address else {
        return Err(Failure::bad_request("this monitor has a feed and delivers to no address"));
    };
    let secret = server.admin().store.monitor_secret(monitor.id).await?.unwrap_or_default();
    let allowed = server.configuration.get().monitor.allow.clone();
    let said = match monitor::send_test(&monitor.name, address, &secret, &allowed).await {
        Ok(answer) => format!("The receiver answered {answer}."),
        Err(why) => format!("The test was not delivered: {why}."),
    };
    Ok(Tested { said, lines: Vec::new() })
}
