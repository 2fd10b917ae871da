//! `/search/stream`: sends results while they are found, as server-sent events
//! (<https://html.spec.whatwg.org/multipage/server-sent-events.html>).
//!
//! The first event is `begin`. Then follow `files` for each batch of results, `progress` while nothing is found, and
//! finally `done` or `failed` (browsers use `error` for a broken connection). With `format=html` the events carry
//! pieces of the page instead of JSON.
//!
//! A browser's `EventSource` reconnects when an answer ends, and sends the id of the last event that it saw. A client
//! that saw the end gets 204; any other client gets all events again, from `begin` on.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use answer::FileMatch;
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::StreamExt;
use search::{Request, ShownFiles, View};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::cursor::Cursor;
use super::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use super::error::Failure;
use super::fresh;
use super::json::{FieldSet, StatsJson, event, stale_json};
use super::pages::Prepared;
use super::params::names::{
    CASE, CONTEXT, COPIES, CURSOR, ENCLOSING, EXPLAIN, FACETS, FIELDS, FILE, FORMAT, FRESH, HINTS,
    LANG, LIMIT, NUM, Q, REPO, SORT, STALE, TIMEOUT, WAIT,
};
use super::params::{DeclaredParams, RejectedParams, SearchParams, StrictParams};
use super::request::compiled;
use super::search_stream::SearchStream;
use super::server::Server;
use request::human;

/// `/search/stream`.
pub(crate) const STREAM: Endpoint = Endpoint {
    path: "/search/stream",
    route: || get(stream),
    class: Class::Search,
    admits: Admits::Clients,
    params: DeclaredParams {
        documented: &[
            Q, LIMIT, NUM, CASE, REPO, FILE, LANG, TIMEOUT, CONTEXT, CURSOR, FIELDS, EXPLAIN,
            ENCLOSING, STALE, FRESH,
        ],
        undocumented: &[FORMAT, HINTS, SORT, WAIT, FACETS, COPIES],
    },
    doc: Some(Doc {
        summary: "Search, with results as events while they are found",
        description: "Server-sent events with JSON data: begin (the query), files (some results), progress (files \
                      found so far, and milliseconds), and finally done (statistics and a cursor) or failed. An \
                      invalid request gets an error status instead. A client that reconnects with Last-Event-ID gets \
                      204 if it saw the end; otherwise all events from begin on.",
        answers: &[
            Answer::ok(
                "Events.",
                Content::Events(&[
                    "BeginEvent",
                    "FilesEvent",
                    "ProgressEvent",
                    "DoneEvent",
                    "Error",
                ]),
            ),
            Answer {
                status: 204,
                says: "The client already saw the end (Last-Event-ID).",
                content: Content::Nothing,
            },
            Answer::GONE,
            Answer::UNAVAILABLE,
        ],
    }),
};

/// Longest silence: without results, a `progress` event is sent this often.
const TICK: Duration = Duration::from_millis(200);

/// Events that a search may be ahead of its client.
const AHEAD: usize = 8;

/// Longest time that a client may take for an event before the search is aborted.
const STALLED: Duration = Duration::from_secs(30);

/// The id of the last event.
const END: &str = "end";

/// The client's end of the stream of events.
struct EventSender {
    events: mpsc::Sender<Event>,
    sent: u64,
}

/// The client is gone.
struct Gone;

impl EventSender {
    /// Sends an event with JSON data and the next number as its id.
    async fn tell(&mut self, name: &str, data: impl AsRef<str>) -> Result<(), Gone> {
        self.sent += 1;
        let id = self.sent.to_string();
        self.send(Event::default().event(name).id(id).data(data)).await
    }

    /// Sends the last event.
    async fn end(&mut self, name: &str, data: &Value) -> Result<(), Gone> {
        self.send(Event::default().event(name).id(END).data(data.to_string())).await
    }

    async fn send(&self, event: Event) -> Result<(), Gone> {
        match tokio::time::timeout(STALLED, self.events.send(event)).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Gone),
        }
    }
}

/// The data of the last event or the search's failure; `Gone` if the client left early.
type StreamEnd = Result<Result<Value, Failure>, Gone>;

/// The future that sends the events of a running search.
type EventFuture = Pin<Box<dyn Future<Output = Result<(), Gone>> + Send>>;

/// Answers a search with events while it runs.
async fn stream(
    server: Server,
    headers: HeaderMap,
    params: Result<StrictParams<SearchParams>, RejectedParams>,
) -> Response {
    if headers.get("last-event-id").is_some_and(|id| id == END) {
        return StatusCode::NO_CONTENT.into_response();
    }
    let (send, receive) = mpsc::channel(AHEAD);
    let gone = send.clone();
    let threads = server.threads.clone();
    let client = EventSender { events: send, sent: 0 };
    let begun = match params {
        Err(refused) => Err(refused.failure),
        Ok(StrictParams(params)) => begin(server, params, client).await,
    };
    let telling = match begun {
        Ok(telling) => telling,
        Err(failure) => return failure.into_response(),
    };
    threads.spawn(audit::told().scope(async move {
        tokio::select! {
            _ = telling => {}
            // Drops the search, and with it its statements in the database.
            () = gone.closed() => {}
        }
    }));
    let events = futures_util::stream::unfold(receive, async |mut receive| {
        let event = receive.recv().await?;
        Some((Ok::<_, Infallible>(event), receive))
    });
    // The compression layer polls the stream again after its end.
    let events = events.fuse();
    let mut response = Sse::new(events).into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Begins a search. An invalid request, or one without a turn, fails here, before any event is sent.
async fn begin(
    server: Server,
    params: SearchParams,
    mut client: EventSender,
) -> Result<EventFuture, Failure> {
    let query = json!({ "query": params.q }).to_string();
    if params.format() == Some("html") {
        let mut search = Prepared::of(&params).await?;
        fresh::wait(&server, &params, search.request()).await?;
        let turn = server.turn().await?;
        return Ok(Box::pin(async move {
            client.tell("begin", query).await?;
            let _turn = turn;
            let told = pieces(&server, &params, search, &mut client).await?;
            end(client, told).await
        }));
    }
    let files = Files::begin(&server, &params).await?;
    Ok(Box::pin(async move {
        client.tell("begin", query).await?;
        let told = files.tell(&mut client).await?;
        end(client, told).await
    }))
}

async fn end(mut client: EventSender, told: Result<Value, Failure>) -> Result<(), Gone> {
    match told {
        Ok(done) => client.end("done", &done).await,
        Err(failure) => client.end("failed", &json!({ "error": failure.body })).await,
    }
}

/// A search for a program, with its first results if there are some already.
struct Files {
    request: Arc<Request>,
    fields: FieldSet,
    search: SearchStream,
    first: Vec<FileMatch>,
    begun: Instant,
    view: View,
    tells_stale: bool,
    _turn: OwnedSemaphorePermit,
}

impl Files {
    async fn begin(server: &Server, params: &SearchParams) -> Result<Self, Failure> {
        params.check_no_page_params()?;
        if params.sorts() {
            return Err(Failure::bad_request(
                "sort= is not supported for results as events; leave it out, or use /search",
            ));
        }
        let fields = FieldSet::of(params)?;
        let mut request = compiled(params, request::Client::PROGRAM).await?;
        request.resume = params.cursor(None)?.map(|cursor| cursor.resume);
        fresh::wait(server, params, &mut request).await?;
        let request = Arc::new(request);
        let turn = server.turn().await?;
        let begun = Instant::now();
        let mut search = SearchStream::start(server, &request);
        // A search fails at once if its cursor names an old epoch, or if nothing is indexed.
        let first = match tokio::time::timeout(TICK, search.next()).await {
            Ok(None) => {
                search.succeeded()?;
                Vec::new()
            }
            first => first.ok().flatten().unwrap_or_default(),
        };
        let (view, tells_stale) = (server.view().clone(), params.tells_stale());
        Ok(Self { request, fields, search, first, begun, view, tells_stale, _turn: turn })
    }

    async fn tell(mut self, client: &mut EventSender) -> StreamEnd {
        let select = self.request.compiled_query().select;
        let (mut count, mut shown) = (0, ShownFiles::default());
        let mut found = std::mem::take(&mut self.first);
        loop {
            if !found.is_empty() {
                count += found.len();
                audit::told().files(&found);
                if self.tells_stale {
                    for file in &found {
                        shown.add(file);
                    }
                }
                client.tell("files", event(&found, select, self.fields)).await?;
            }
            match tokio::time::timeout(TICK, self.search.next()).await {
                Ok(Some(more)) => found = more,
                Ok(None) => break,
                Err(_) => {
                    found = Vec::new();
                    let ms = self.begun.elapsed().as_millis() as u64;
                    let so_far = json!({ "files": count, "elapsed_ms": ms });
                    client.tell("progress", so_far.to_string()).await?;
                }
            }
        }
        let stale = stale_json(&self.view.stale(shown).await);
        Ok(self.search.end().map(|stats| {
            let next = Cursor::after_all(&self.request, &stats).map(|next| next.to_string());
            let mut done = json!({ "stats": StatsJson::from(&stats), "next": next });
            if let Some(stale) = stale {
                done["stale"] = stale;
            }
            done
        }))
    }
}

/// Sends the events for our own page: the first files as soon as there are some, and finally all files in order.
async fn pieces(
    server: &Server,
    params: &SearchParams,
    search: Prepared,
    client: &mut EventSender,
) -> StreamEnd {
    let mut search = search.start(server);
    let mut shown = 0;
    while !search.go_on(Some(Instant::now() + TICK)).await {
        let found = search.found();
        // The first files stay until the end: people cannot read a changing page.
        if shown == 0 && found > 0 {
            shown = found;
            let html = search.so_far(server.view(), params).await;
            client.tell("files", json!({ "html": html }).to_string()).await?;
        }
        let text = format!("searching: {} so far", human::count(found, "file"));
        client.tell("progress", json!({ "files": found, "text": text }).to_string()).await?;
    }
    Ok(search.html(server, params).await.map(|html| json!({ "html": html })))
}
