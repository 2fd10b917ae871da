//! `/search/stream`: results while they are found, as server-sent events
//! (<https://html.spec.whatwg.org/multipage/server-sent-events.html>).
//!
//! Events are `files`, as often as some were found, `progress` now and then, and at the end `done` or
//! `error`. With `format=html` they hold pieces of the page instead of JSON.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;
use tokio::sync::mpsc;

use super::cursor::Cursor;
use super::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use super::error::Failure;
use super::json::{FieldSet, StatsJson, event};
use super::pages::Prepared;
use super::params::names::{
    CASE, CONTEXT, CURSOR, EXPLAIN, FACETS, FIELDS, FILE, FORMAT, HINTS, LANG, LIMIT, NUM, Q, REPO,
    SORT, TIMEOUT, WAIT,
};
use super::params::{Known, RejectedParams, SearchParams, StrictParams};
use super::request::compiled;
use super::search_stream::SearchStream;
use super::server::Server;
use crate::{human, request};

/// `/search/stream`.
pub(crate) const STREAM: Endpoint = Endpoint {
    path: "/search/stream",
    route: || get(stream),
    class: Class::Search,
    admits: Admits::Clients,
    params: Known {
        told: &[Q, LIMIT, NUM, CASE, REPO, FILE, LANG, TIMEOUT, CONTEXT, CURSOR, FIELDS, EXPLAIN],
        untold: &[FORMAT, HINTS, SORT, WAIT, FACETS],
    },
    doc: Some(Doc {
        summary: "Search, and hear of results while they are found",
        description: "Server-sent events: files (as in /search), progress ({files, elapsed_ms}), and at the end done \
                      ({stats, next}) or error.",
        answers: &[Answer::ok("Events.", Content::Text("text/event-stream"))],
    }),
};

/// How often something is told while nothing else is.
const TICK: Duration = Duration::from_millis(200);

/// Events that a search may be ahead of its client.
const AHEAD: usize = 8;

/// How long a client may take for the next event before it is taken to have gone.
const STALLED: Duration = Duration::from_secs(30);

/// The client, as the search sees it.
struct Client(mpsc::Sender<Event>);

impl Client {
    /// Tells something, as JSON; false if nobody listens any longer.
    async fn tell(&self, name: &str, data: impl AsRef<str>) -> bool {
        let event = Event::default().event(name).data(data);
        matches!(tokio::time::timeout(STALLED, self.0.send(event)).await, Ok(Ok(())))
    }
}

/// Answers a search while it runs.
async fn stream(
    State(server): State<Server>,
    params: Result<StrictParams<SearchParams>, RejectedParams>,
) -> Response {
    let (send, receive) = mpsc::channel(AHEAD);
    let gone = send.clone();
    let threads = server.threads.clone();
    let work = async move {
        let client = Client(send);
        let done = match params {
            Err(refused) => Err(refused.failure),
            Ok(StrictParams(params)) if params.format() == Some("html") => {
                pieces(&server, &params, &client).await
            }
            Ok(StrictParams(params)) => files(&server, &params, &client).await,
        };
        if let Err(failure) = done {
            client.tell("error", json!({ "error": failure.body }).to_string()).await;
        }
    };
    threads.spawn(async move {
        tokio::select! {
            () = work => {}
            // The search is dropped, and with it what runs in the database.
            () = gone.closed() => {}
        }
    });
    let events = futures_util::stream::unfold(receive, async |mut receive| {
        let event = receive.recv().await?;
        Some((Ok::<_, Infallible>(event), receive))
    });
    let mut response = Sse::new(events).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The events for programs.
async fn files(server: &Server, params: &SearchParams, client: &Client) -> Result<(), Failure> {
    params.of_a_program()?;
    if params.sorts() {
        return Err(Failure::bad_request(
            "sort= is not for results that are sent as they are found: leave it out, or ask /search",
        ));
    }
    let fields = FieldSet::of(params)?;
    let mut request = compiled(params, request::Client::PROGRAM).await?;
    request.resume = params.cursor(None)?.map(|cursor| cursor.resume);
    let request = Arc::new(request);
    let _turn = server.turn().await?;
    let begun = Instant::now();
    let mut search = SearchStream::start(server, &request);
    let mut count = 0;
    loop {
        let found = match tokio::time::timeout(TICK, search.next()).await {
            Ok(Some(found)) => found,
            Ok(None) => break,
            Err(_) => {
                let ms = begun.elapsed().as_millis() as u64;
                if !client
                    .tell("progress", json!({ "files": count, "elapsed_ms": ms }).to_string())
                    .await
                {
                    return Ok(());
                }
                continue;
            }
        };
        count += found.len();
        let data = event(&found, request.program().select, fields);
        if !client.tell("files", data).await {
            return Ok(());
        }
    }
    let stats = search.end()?;
    let next = Cursor::after_all(&request, &stats).map(|next| next.to_string());
    client
        .tell("done", json!({ "stats": StatsJson::from(&stats), "next": next }).to_string())
        .await;
    Ok(())
}

/// The events for our own page: the first files as soon as there are some, and then all in order.
async fn pieces(server: &Server, params: &SearchParams, client: &Client) -> Result<(), Failure> {
    let search = Prepared::of(params).await?;
    let _turn = server.turn().await?;
    let mut search = search.start(server);
    let mut shown = 0;
    while !search.go_on(Some(Instant::now() + TICK)).await {
        let found = search.found();
        // What is shown stays until the end: a page that changes under the eye cannot be read.
        if shown == 0 && found > 0 {
            shown = found;
            let html = search.so_far(&params.q).await;
            if !client.tell("files", json!({ "html": html }).to_string()).await {
                return Ok(());
            }
        }
        let text = format!("searching: {} so far", human::count(found, "file"));
        if !client.tell("progress", json!({ "files": found, "text": text }).to_string()).await {
            return Ok(());
        }
    }
    let html = search.html(server, params).await?;
    client.tell("done", json!({ "html": html }).to_string()).await;
    Ok(())
}
