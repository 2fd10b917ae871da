//! `/hooks/NAME`: webhooks by which hosts tell of pushes.
//!
//! NAME is a `[hook.NAME]` of the configuration file, with a secret. A webhook is proven ([`proof`]) before anything of it
//! is parsed ([`event`]), and answered as soon as the repository is in the queue: hosts wait for a few seconds only.

mod event;
mod origins;
mod proof;
pub(super) mod shared;

use std::time::Duration;

use axum::Json;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::json;
use settings::Hook;
use statistics::Refusal;
use store::{Change, Reason};
use tokio::time::timeout;

use super::connections::OnSocket;
use super::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use super::error::Failure;
use super::ingest::Refused;
use super::layers::{HOOKS_PATH, MAX_HOOK_BODY};
use super::sender::Sender;
use super::server::Shared;
use event::{Changed, Event};
use proof::{Proof, Unproven};
use request::human::count;

/// Largest body, in bytes, that needs no turn. Almost all are smaller.
const SMALL_BODY: usize = 256 << 10;

/// How long a larger body waits for its turn.
const TURN: Duration = Duration::from_secs(5);

/// `/hooks/NAME`.
pub(crate) const HOOKS: Endpoint = Endpoint {
    admits: Admits::Anyone,
    doc: Some(Doc {
        summary: "Receive a webhook of GitHub, GitLab, Gitea or Forgejo",
        description: "name is a [hook.NAME] of the configuration file. The signature or token must be that of its secret.",
        answers: &[
            Answer {
                status: 202,
                says: "The repository is in the queue; or it is not known.",
                content: Content::Json(&["Hooked"]),
            },
            Answer::ok("Nothing is to be done.", Content::Json(&["Hooked"])),
            Answer::BAD,
            Answer {
                status: 401,
                says: "The signature or the token is missing or wrong.",
                content: Content::Json(&["Error"]),
            },
            Answer::NOT_FOUND,
            Answer {
                status: 413,
                says: "The body is larger than 25 MiB.",
                content: Content::Json(&["Error"]),
            },
            Answer::UNAVAILABLE,
        ],
    }),
    ..Endpoint::undocumented("/hooks/{name}", Class::Queue, || {
        post(receive).fallback(|| async { Failure::use_post() })
    })
};

async fn receive(State(server): State<Shared>, request: Request) -> Response {
    match answer(&server, request).await {
        Ok(response) => response,
        Err(Refused { failure, wait: Some(wait) }) => {
            ([(RETRY_AFTER, wait.to_string())], failure).into_response()
        }
        Err(Refused { failure, wait: None }) => failure.into_response(),
    }
}

async fn answer(server: &Shared, request: Request) -> Result<Response, Refused> {
    let hooks = &server.hooks;
    if request.extensions().get::<OnSocket>().is_none() {
        let address = server.limits.network(Sender::of(&request));
        hooks.rates.take(address).map_err(|wait| (Failure::too_many("webhooks", wait), wait))?;
    }
    let name = request.uri().path().strip_prefix(HOOKS_PATH).unwrap_or_default();
    let settings = server.configuration.get();
    let hook = settings.hooks.iter().find(|hook| hook.name == name);
    let hook = hook.ok_or_else(|| {
        Failure::no_such("unknown webhook; the configuration file needs a [hook.NAME] for it")
    })?;
    let (head, body) = request.into_parts();
    let headers = head.headers;
    let refused = |why| unproven(server, why);
    let proof = Proof::of(&headers).map_err(refused)?;
    let secret = hooks.secret(hook).await?;
    proof.check_early(secret.reveal()).map_err(refused)?;
    let turn = if declared(&headers).is_some_and(|bytes| bytes <= SMALL_BODY) {
        None
    } else {
        let turn = timeout(TURN, hooks.large.acquire()).await.map_err(|_| Failure::busy())?;
        Some(turn.expect("it is never closed"))
    };
    let body = to_bytes(body, MAX_HOOK_BODY).await.map_err(|_| Failure::too_large_hook())?;
    let now = jiff::Timestamp::now().as_second();
    proof.check(secret.reveal(), &body, now).map_err(refused)?;
    let event = Event::read(&headers, &body).map_err(Failure::bad_request)?;
    drop((body, turn));
    Ok(match event {
        Event::Ping => done(StatusCode::OK, "the webhook works", &[]),
        Event::Other(name) => {
            let name = query::shortened(&name, 100);
            done(StatusCode::OK, &format!("the event {name} changes no branch"), &[])
        }
        Event::Changed(changed) => queue(server, hook, kinds(&headers), &changed).await?,
    })
}

/// Puts the repository of a webhook into the queue.
async fn queue(
    server: &Shared,
    hook: &Hook,
    kinds: &[&str],
    changed: &Changed,
) -> Result<Response, Failure> {
    let store = &server.admin().store;
    // A fetch by an old name would fail.
    if changed.is_other && store.want_listing(kinds).await? {
        let message = "the host is listed soon";
        return Ok(done(StatusCode::ACCEPTED, message, &[]));
    }
    let id = changed.id.map(|id| id.to_string());
    let folders = match (&hook.host, id) {
        (Some(host), Some(id)) => {
            let mirror = store.mirror(host, &id).await?;
            let is_there = |of: &store::Mirror| of.cloned_at.is_some() && of.hidden_at.is_none();
            mirror.filter(is_there).map(|mirror| mirror.folder).into_iter().collect()
        }
        (Some(_), None) => Vec::new(),
        (None, id) => {
            let mut folders = match id {
                Some(id) => store.mirror_folders(kinds, &id).await?,
                None => Vec::new(),
            };
            folders.extend(server.hooks.origins.folders_of(store, changed).await?);
            folders.sort_unstable();
            folders.dedup();
            folders
        }
    };
    let of = changed.reference.as_deref().unwrap_or("all branches");
    tracing::debug!("a webhook {} about {of} of {}", hook.name, count(folders.len(), "repository"));
    if folders.is_empty() {
        let message = if store.want_listing(kinds).await? {
            "the repository is not known yet; its host is listed soon"
        } else {
            "the index has no repository with this address"
        };
        return Ok(done(StatusCode::ACCEPTED, message, &[]));
    }
    // That of a mirror is fetched first.
    let reason = Reason::Hook;
    let change = |source: &String| Change { source: source.clone(), paths: None, reason };
    let rows: Vec<Change> = folders.iter().map(change).collect();
    store.enqueue(&rows).await?;
    Ok(done(StatusCode::ACCEPTED, "the repository is in the queue", &folders))
}

/// Returns the kinds of hosts that send the headers of a webhook.
fn kinds(headers: &HeaderMap) -> &'static [&'static str] {
    // Gitea and Forgejo also send the header of GitHub.
    for (header, kinds) in [
        ("x-gitea-event", &["gitea", "forgejo"][..]),
        ("x-forgejo-event", &["gitea", "forgejo"]),
        ("x-gitlab-event", &["gitlab"]),
        ("x-github-event", &["github"]),
    ] {
        if headers.contains_key(header) {
            return kinds;
        }
    }
    &[]
}

/// Returns the answer to a webhook. It names no repository: hosts show it to everybody who may edit the webhook.
fn done(status: StatusCode, message: &str, queued: &[String]) -> Response {
    (status, Json(json!({ "message": message, "queued": queued.len() }))).into_response()
}

fn declared(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn unproven(server: &Shared, why: Unproven) -> Failure {
    let (status, code, message) = match why {
        Unproven::Missing => (
            StatusCode::UNAUTHORIZED,
            "unproven",
            "the webhook has no signature and no token; enter the secret at the host",
        ),
        Unproven::Wrong => (
            StatusCode::UNAUTHORIZED,
            "unproven",
            "the signature or the token is not that of the secret; enter the same secret at the host and here",
        ),
        Unproven::Old => (
            StatusCode::BAD_REQUEST,
            "old",
            "the webhook is more than 5 minutes old, or the clocks differ; set the clocks",
        ),
    };
    server.metrics.refuse(Refusal::Token);
    Failure::new(status, code, message)
}
