//! `/ingest`: has repositories looked at now, for a program, or for a person at a page.

use std::collections::HashMap;
use std::time::Duration;

use axum::Json;
use axum::extract::Request;
use axum::http::header::{LOCATION, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use store::{Change, QueuePlace, Reason, RepoId, Waited};

use super::connections::OnSocket;
use super::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use super::error::Failure;
use super::pages::{failed, folder_address};
use super::params::names::REPO;
use super::params::{CheckedParams, DeclaredParams, Pairs, Param, wants_page};
use super::sender::Sender;
use super::server::Server;

/// Longest time that `wait=1` waits.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Most repositories that one request may name.
const MAX_NAMED: usize = 1000;

/// Makes the answer wait until the repositories are looked at.
const WAIT: Param =
    Param::word("wait", "1 to wait for up to 10 s until the repositories are looked at.");

/// `/ingest`.
pub(crate) const INGEST: Endpoint = Endpoint {
    path: "/ingest",
    route: || post(ingest).fallback(|| async { Failure::use_post() }),
    class: Class::Queue,
    admits: Admits::Ingesters,
    params: DeclaredParams {
        documented: &[
            REPO.saying("A repository, by its name; repeat it for several. Without it, all.")
                .repeated(),
            WAIT,
        ],
        undocumented: &[],
    },
    doc: Some(Doc {
        summary: "Have repositories looked at now",
        description: "Puts them into the queue, from which the server's ingest takes them. A token needs the right \
                      ingest.",
        answers: &[
            Answer {
                status: 202,
                says: "They are in the queue.",
                content: Content::Json(&["Queued"]),
            },
            Answer::ok("With wait=1: they were looked at.", Content::Json(&["Queued"])),
            Answer::NOT_FOUND,
            Answer::UNAVAILABLE,
        ],
    }),
};

async fn ingest(server: Server, request: Request) -> Response {
    let (head, _) = request.into_parts();
    let (headers, page) = (&head.headers, wants_page(&head.headers, None));
    let done = async {
        let params = Pairs::of(&head.extensions).check_strictly()?;
        if head.extensions.get::<OnSocket>().is_none() {
            let address = server.limits.network(Sender::of_head(&head));
            server
                .ingests
                .take(address)
                .map_err(|wait| (Failure::too_many("requests", wait), wait))?;
        }
        Ok::<_, Refused>(queue(&server, headers, &params).await?)
    };
    match done.await {
        Ok(response) => response,
        Err(Refused { failure, wait }) => {
            let response = if page { failed("", failure) } else { failure.into_response() };
            match wait {
                Some(wait) => ([(RETRY_AFTER, wait.to_string())], response).into_response(),
                None => response,
            }
        }
    }
}

/// A refused request, with the seconds to wait if there were too many.
pub(super) struct Refused {
    pub(super) failure: Failure,
    pub(super) wait: Option<u64>,
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self { failure, wait: None }
    }
}

impl From<(Failure, u64)> for Refused {
    fn from((failure, wait): (Failure, u64)) -> Self {
        Self { failure, wait: Some(wait) }
    }
}

/// Queues the repositories that a request names, and answers.
async fn queue(
    server: &Server,
    headers: &HeaderMap,
    params: &CheckedParams,
) -> Result<Response, Failure> {
    let names = params.all(&REPO);
    if names.len() > MAX_NAMED {
        let why = format!(
            "repo= is given more than {MAX_NAMED} times; leave it out for all repositories"
        );
        return Err(Failure::bad_request(why));
    }
    let mut repos = server.view().repos().await?;
    if !names.is_empty() {
        for name in &names {
            if repos.iter().all(|repo| repo.name != *name) {
                return Err(Failure::not_indexed(name));
            }
        }
        repos.retain(|repo| names.contains(&repo.name));
    }
    if repos.is_empty() {
        return Err(store::Error::Empty.into());
    }
    audit::told().results(repos.iter().map(|repo| repo.name.as_str()));
    let reason = Reason::Asked;
    let change = |repo: &store::Repo| Change { source: repo.source.clone(), paths: None, reason };
    let changes: Vec<Change> = repos.iter().map(change).collect();
    let store = &server.admin().store;
    let upto = store.enqueue(&changes).await?;
    if wants_page(headers, None) {
        let place = match &*names {
            [one] => folder_address(one, ""),
            _ => "/repos".to_owned(),
        };
        return Ok((StatusCode::SEE_OTHER, [(LOCATION, place)]).into_response());
    }
    let waits = params.get(&WAIT).is_some_and(|value| !matches!(value, "0" | "no" | "false"));
    if !waits {
        let places = server.view().queue_places().await?;
        let queued: Vec<Value> = repos.iter().map(|repo| queued(repo, &places)).collect();
        return Ok((StatusCode::ACCEPTED, Json(json!({ "queued": queued }))).into_response());
    }
    let sources: Vec<String> = changes.into_iter().map(|change| change.source).collect();
    let waited = store.await_taken(upto, Some(&sources), MAX_WAIT).await?;
    let places = server.view().queue_places().await?;
    // With what failed. The reason that was waited for may be about another repository of the same folder.
    let now = server.view().repos().await?.into_iter().filter(|now| {
        let is_one = |repo: &store::Repo| repo.id == now.id;
        repos.iter().any(is_one)
    });
    let mut body = json!({
        "queued": now.map(|repo| queued(&repo, &places)).collect::<Vec<_>>(),
        "fresh": waited == Waited::Fresh,
    });
    body["message"] = match waited {
        Waited::Fresh => return Ok(Json(body).into_response()),
        Waited::StillPending(_) => {
            "not all of them were looked at within 10 s; they stay in the queue"
        }
        Waited::Failed(_) => "not all of them could be ingested; they stay in the queue",
    }
    .into();
    Ok((StatusCode::ACCEPTED, Json(body)).into_response())
}

/// Returns a repository, its place in the queue (null if it has left the queue), and why it could not be updated.
fn queued(repo: &store::Repo, places: &HashMap<RepoId, QueuePlace>) -> Value {
    let place = places.get(&repo.id).map(|queued| queued.place);
    let mut told = json!({ "repo": repo.name, "place": place });
    if let Some(failed) = &repo.failed {
        told["failure"] = json!(failed.why);
    }
    told
}
