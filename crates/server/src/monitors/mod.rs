//! Monitors: their pages, feeds and JSON. Owners of tokens see and change their own, operators all.

mod act;
mod form;
mod page;
mod who;

use axum::Json;
use axum::extract::Path;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use query::nearest;
use serde_json::{Value, json};
use store::{Delivery, Hit, Monitor, News};

use crate::endpoint::{Answer, Class, Content, Doc, Endpoint};
use crate::error::Failure;
use crate::etag::{tag_of, with_etag};
use crate::pages::failed;
use crate::params::names::FORMAT;
use crate::params::{CheckedParams, DeclaredParams, StrictParams, wants_page};
use crate::server::Server;
use who::Who;

/// News and deliveries that are shown, and matches of each piece of news.
const SHOWN: usize = 50;
const SHOWN_HITS: usize = 100;

/// `/monitors`.
pub(crate) const MONITORS: Endpoint = Endpoint {
    params: DeclaredParams { documented: &[FORMAT], undocumented: &[] },
    doc: Some(Doc {
        summary: "Stored monitors: queries whose matches are told as they appear and disappear",
        description: "Owners of tokens see their own, operators all. POST makes one: name=, query= and perhaps address=, \
                      as a form or as JSON; the answer has the monitor and, if it delivers, the key of the signatures.",
        answers: &[Answer::ok("The monitors, by name.", Content::Json(&["Monitors"])), Answer::BAD],
    }),
    ..Endpoint::undocumented("/monitors", Class::Free, || get(list).post(act::create))
};

/// `/monitors/NAME`.
pub(crate) const MONITOR: Endpoint = Endpoint {
    params: DeclaredParams { documented: &[FORMAT], undocumented: &[] },
    doc: Some(Doc {
        summary: "A stored monitor, with its last news and deliveries",
        description: "With .atom after the name: its feed. POST changes it: action=pause, resume, remove, test (what its \
                      query matches now) or send (a test delivery), as a form or as JSON.",
        answers: &[
            Answer::ok("The monitor.", Content::Json(&["MonitorState"])),
            Answer::BAD,
            Answer::NOT_FOUND,
        ],
    }),
    ..Endpoint::undocumented("/monitors/{name}", Class::Free, || get(show).post(act::change))
};

/// The parameters of both.
#[derive(Clone, Debug)]
struct Params {
    format: Option<String>,
}

impl From<CheckedParams> for Params {
    fn from(given: CheckedParams) -> Self {
        Self { format: given.get(&FORMAT).map(str::to_owned) }
    }
}

async fn list(
    server: Server,
    who: Who,
    headers: HeaderMap,
    StrictParams(params): StrictParams<Params>,
) -> Response {
    let page = wants_page(&headers, params.format.as_deref());
    answered(page, listed(&server, &who, page).await)
}

async fn listed(server: &Server, who: &Who, page: bool) -> Result<Response, Failure> {
    let all = visible(server, who).await?;
    let waiting = server.admin().store.waiting_counts().await?;
    if page {
        return Ok(page::list(StatusCode::OK, &all, &waiting, None));
    }
    let told: Vec<Value> = all
        .iter()
        .map(|of| monitor_json(of, waiting.iter().find(|w| w.0 == of.id).map_or(0, |w| w.1)))
        .collect();
    Ok(Json(json!({ "monitors": told })).into_response())
}

async fn show(
    server: Server,
    who: Who,
    Path(name): Path<String>,
    headers: HeaderMap,
    StrictParams(params): StrictParams<Params>,
) -> Response {
    let page = wants_page(&headers, params.format.as_deref());
    if let Some(name) = name.strip_suffix(".atom") {
        return answered(page, fed(&server, &who, name, &headers).await);
    }
    answered(page, shown(&server, &who, &name, page).await)
}

async fn shown(server: &Server, who: &Who, name: &str, page: bool) -> Result<Response, Failure> {
    let monitor = named(server, who, name).await?;
    let state = Shown::of(server, monitor).await?;
    Ok(if page { page::monitor(&state, None) } else { Json(state.json()).into_response() })
}

/// Sends the feed of a monitor.
async fn fed(
    server: &Server,
    who: &Who,
    name: &str,
    headers: &HeaderMap,
) -> Result<Response, Failure> {
    let monitor = named(server, who, name).await?;
    let mut news = server.admin().store.news(monitor.id, monitor::ENTRIES, SHOWN_HITS).await?;
    monitor::cover(server.view(), &mut news).await?;
    audit::told().results(news.iter().flat_map(|of| of.hits.iter().map(|hit| hit.name.as_str())));
    let index = server.admin().catalog().await?.identity;
    let base = match server.configuration.get().monitor.url.clone() {
        Some(url) => url,
        None => {
            let host = headers.get("host").and_then(|host| host.to_str().ok());
            host.map_or_else(String::new, |host| format!("http://{host}"))
        }
    };
    let feed = monitor::feed(index, &base, &monitor, &news);
    let tag = tag_of(&feed);
    let mut response = feed.into_response();
    let kind = HeaderValue::from_static("application/atom+xml; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(with_etag(headers, &tag, response))
}

/// Turns a failure into a page or JSON.
fn answered(page: bool, answer: Result<Response, Failure>) -> Response {
    match answer {
        Ok(response) => response,
        Err(failure) if page => failed("", failure),
        Err(failure) => failure.into_response(),
    }
}

/// Returns the monitors that a client may see: its own, or all if it is an operator. A server of some repositories shows
/// those that were made by such a server.
async fn visible(server: &Server, who: &Who) -> Result<Vec<Monitor>, Failure> {
    let mut all = server.admin().store.monitors().await?;
    all.retain(|of| {
        let is_of_server = server.only_repos.is_empty() || of.repos == *server.only_repos;
        is_of_server && who.sees(of.owner.as_deref())
    });
    Ok(all)
}

/// Returns the monitor with a name, if a client may see it.
async fn named(server: &Server, who: &Who, name: &str) -> Result<Monitor, Failure> {
    let all = visible(server, who).await?;
    let near = nearest(name, all.iter().map(|of| of.name.as_str()));
    let why = match near {
        Some(near) => format!("no monitor is named {name}; did you mean {near}?"),
        None => format!("no monitor is named {name}; /monitors lists them"),
    };
    all.iter().find(|of| of.name == name).cloned().ok_or_else(|| Failure::no_such(why))
}

/// A monitor, with what it found and delivered last.
struct Shown {
    monitor: Monitor,
    news: Vec<News>,
    deliveries: Vec<Delivery>,
}

impl Shown {
    async fn of(server: &Server, monitor: Monitor) -> Result<Self, Failure> {
        let store = &server.admin().store;
        let mut news = store.news(monitor.id, SHOWN, SHOWN_HITS).await?;
        monitor::cover(server.view(), &mut news).await?;
        let deliveries = store.deliveries(monitor.id, SHOWN).await?;
        audit::told()
            .results(news.iter().flat_map(|of| of.hits.iter().map(|hit| hit.name.as_str())));
        Ok(Self { monitor, news, deliveries })
    }

    fn json(&self) -> Value {
        let waiting = self.deliveries.iter().filter(|of| of.state == "waiting").count();
        let delivery = |of: &Delivery| {
            json!({
                "id": of.id, "epoch": of.epoch, "state": of.state, "attempts": of.attempts,
                "tried_at": of.tried_at, "due": of.due, "said": of.said,
            })
        };
        json!({
            "monitor": monitor_json(&self.monitor, waiting as i64),
            "news": self.news.iter().map(news_json).collect::<Vec<_>>(),
            "deliveries": self.deliveries.iter().map(delivery).collect::<Vec<_>>(),
        })
    }
}

fn monitor_json(of: &Monitor, waiting: i64) -> Value {
    json!({
        "name": of.name, "query": of.query, "owner": of.owner, "address": of.address, "paused": of.paused,
        "why": of.why, "created_at": of.created_at, "deliveries_waiting": waiting,
    })
}

fn news_json(of: &News) -> Value {
    let hit = |hit: &Hit| {
        json!({
            "change": if hit.appeared { "appeared" } else { "disappeared" }, "repository": hit.name,
            "path": hit.path, "line": hit.line, "text": hit.text,
        })
    };
    json!({
        "epoch": of.epoch.0, "at": of.at, "appeared": of.appeared, "disappeared": of.disappeared,
        "note": of.note, "hits": of.hits.iter().map(hit).collect::<Vec<_>>(),
    })
}
