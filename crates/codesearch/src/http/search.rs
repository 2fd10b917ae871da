//! `/search`: JSON for programs, a page for browsers.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use engine::search::{Request, Resume, Stats};
use serde::Serialize;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::ask::{Asked, Cursor, Running, compiled, stopped};
use super::error::Failure;
use super::given::{Given, Refused};
use super::sorted::{self, Sorted};
use super::written::{Fields, Written};
use super::{Server, page, results, wants_page, zoekt};
use crate::print::explanation;

/// An answer of up to this many bytes is sorted by repository and path, and sent at once; a larger one
/// is sent while it is found.
const GATHERED_BYTES: usize = 4 * 1024 * 1024;

/// A streamed answer is sent in pieces of about this many bytes.
const STREAMED_BYTES: usize = 64 * 1024;

/// Pieces that the search may be ahead of the client.
const STREAMED_AHEAD: usize = 8;

/// How long a client may take for the next piece before it is taken to have gone. It keeps others from
/// searching.
const STALLED: Duration = Duration::from_secs(30);

/// What was done, as it is sent.
#[derive(Debug, Serialize)]
pub(crate) struct StatsJson {
    duration_ms: f64,
    files: usize,
    matches: usize,
    shards: usize,
    shards_pruned: usize,
    shards_searched: usize,
    candidates: usize,
    files_considered: usize,
    rechecks: usize,
    bytes: usize,
    phases_ms: PhasesJson,
    complete: bool,
    stopped_because: Option<&'static str>,
    skipped: BTreeMap<String, usize>,
}

impl Display for StatsJson {
    fn fmt(&self, to: &mut Formatter<'_>) -> std::fmt::Result {
        to.write_str(&serde_json::to_string(self).map_err(|_| std::fmt::Error)?)
    }
}

/// Milliseconds, summed over shards that were searched at the same time.
#[derive(Debug, Serialize)]
struct PhasesJson {
    lookup: f64,
    files: f64,
    load: f64,
    verify: f64,
}

/// Answers a search.
pub(crate) async fn search(
    State(server): State<Server>,
    headers: HeaderMap,
    address: Uri,
    asked: Result<Given<Asked>, Refused>,
) -> Response {
    if let Some(answer) = zoekt::answer_web(&server, &address).await {
        return answer;
    }
    let asked = match asked {
        Ok(Given(asked)) => asked,
        Err(refused) => return refused.into_response(),
    };
    let page = wants_page(&headers, asked.format.as_deref());
    if page && asked.q.trim().is_empty() {
        return page::home(State(server)).await;
    }
    let answered =
        if page { results::page(&server, &asked).await } else { answer(&server, &asked).await };
    match answered {
        Ok(response) => response,
        Err(failure) if page => page::failed(&asked, failure),
        Err(failure) => failure.into_response(),
    }
}

async fn answer(server: &Server, asked: &Asked) -> Result<Response, Failure> {
    let turn = server.turn().await?;
    asked.of_a_program()?;
    let fields = Fields::of(asked)?;
    let loose = server.searcher.store().no_recheck();
    if asked.sorts() {
        let Sorted { request, files, stats, next } = sorted::search(server, asked).await?;
        let mut stats = StatsJson::from(&stats);
        // What was found is not all sent.
        if next.is_some() && stats.complete {
            (stats.complete, stats.stopped_because) = (false, Some("limit"));
        }
        let next = next.map(|next| next.to_string());
        let select = request.program().select;
        let mut written = Written::new(&asked.q, select, fields);
        for file in files {
            written.add(file);
        }
        let explain = asked.explains().then(|| explanation(&request, loose));
        return Ok(written.end(&stats, next, explain));
    }
    let mut request = compiled(asked, None).await?;
    request.resume = asked.cursor(None)?.map(|cursor| cursor.resume);
    let request = Arc::new(request);
    // When the client leaves, this is dropped, and the search with it.
    let mut search = Running::start(server, &request);
    let select = request.program().select;
    let mut written = Written::new(&asked.q, select, fields);
    while let Some(found) = search.next().await {
        for file in found {
            written.add(file);
        }
        if written.bytes() > GATHERED_BYTES {
            let rest = Rest { written, search, turn };
            return Ok(stream(server, asked, &request, loose, rest));
        }
    }
    let stats = search.end()?;
    written.sort();
    let explain = asked.explains().then(|| explanation(&request, loose));
    Ok(written.end(&StatsJson::from(&stats), next(&request, &stats), explain))
}

/// `/explain`: how a query is understood and planned, without searching.
pub(crate) async fn explain(
    State(server): State<Server>,
    Given(asked): Given<Asked>,
) -> Result<Response, Failure> {
    let request = compiled(&asked, None).await?;
    Ok(Json(explanation(&request, server.searcher.store().no_recheck())).into_response())
}

/// The cursor of what comes after an answer, if it ended at its limit.
pub(crate) fn next(request: &Request, stats: &Stats) -> Option<String> {
    let before = request.resume.map_or(0, |resume| resume.results);
    let results = before + stats.files;
    let resume = Resume { epoch: stats.epoch, order: stats.order, results };
    stats.ended_at_limit().then(|| Cursor { resume, shown: 0, order: None }.to_string())
}

/// An answer that has become too large to be gathered.
struct Rest {
    written: Written,
    search: Running,
    turn: OwnedSemaphorePermit,
}

/// The same JSON, sent while it is found, in the order in which it is found: an answer of any size
/// in little memory. What goes wrong on the way is told in its `stats`.
fn stream(
    server: &Server,
    asked: &Asked,
    request: &Arc<Request>,
    loose: bool,
    rest: Rest,
) -> Response {
    let (send, receive) = mpsc::channel::<Vec<u8>>(STREAMED_AHEAD);
    let client = send.clone();
    let request = Arc::clone(request);
    let explains = asked.explains();
    let tell = async move |piece| {
        matches!(tokio::time::timeout(STALLED, send.send(piece)).await, Ok(Ok(())))
    };
    let work = async move {
        let Rest { mut written, mut search, turn: _turn } = rest;
        while let Some(found) = search.next().await {
            for file in found {
                written.add(file);
                if written.bytes() < STREAMED_BYTES {
                    continue;
                }
                for piece in written.take() {
                    if !tell(piece).await {
                        return;
                    }
                }
            }
        }
        let (stats, next) = match search.end() {
            Ok(stats) => (StatsJson::from(&stats).to_string(), next(&request, &stats)),
            Err(failure) => {
                let stats = json!({ "complete": false, "stopped_because": failure.body.code });
                (stats.to_string(), None)
            }
        };
        let explain = explains.then(|| explanation(&request, loose));
        written.finish(&stats, next, explain);
        for piece in written.take() {
            if !tell(piece).await {
                return;
            }
        }
    };
    server.threads.spawn(async move {
        tokio::select! {
            () = work => {}
            // The client has left: the search is dropped, and with it what runs in the database.
            () = client.closed() => {}
        }
    });
    let pieces = futures_util::stream::unfold(receive, async |mut receive| {
        let piece: Vec<u8> = receive.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(piece), receive))
    });
    ([(CONTENT_TYPE, "application/json")], Body::from_stream(pieces)).into_response()
}

impl From<&Stats> for StatsJson {
    fn from(stats: &Stats) -> Self {
        let stopped = stopped(stats);
        Self {
            duration_ms: ms(stats.duration),
            files: stats.files,
            matches: stats.matches,
            shards: stats.shards,
            shards_pruned: stats.shards_pruned,
            shards_searched: stats.shards_searched,
            candidates: stats.candidates,
            files_considered: stats.files_considered,
            rechecks: stats.rechecks,
            bytes: stats.bytes,
            phases_ms: PhasesJson {
                lookup: ms(stats.phases.lookup),
                files: ms(stats.phases.files),
                load: ms(stats.phases.load),
                verify: ms(stats.phases.verify),
            },
            complete: stopped.is_none(),
            stopped_because: stopped.map(|(word, _)| word),
            skipped: stats.skipped.clone(),
        }
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
