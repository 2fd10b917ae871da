//! The JSON answer to a search: whole and sorted, or streamed while results are found.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use search::{Request, ShownFiles, Stats};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::sorted::{Sort, Sorted};
use super::stale::stale_json;
use super::stats::StatsJson;
use super::writer::{FieldSet, JsonWriter, Tail};
use crate::by_words;
use crate::cursor::Cursor;
use crate::error::Failure;
use crate::fresh;
use crate::hints;
use crate::params::SearchParams;
use crate::request::compiled;
use crate::search_stream::SearchStream;
use crate::server::Server;
use rank::Order;
use request::Client;
use request::explain::explanation;

/// Largest answer, in bytes, that is collected, sorted by repository and path, and sent as a whole. A larger one is
/// streamed.
const GATHERED_BYTES: usize = 4 * 1024 * 1024;

/// Approximate size of a piece of a streamed answer, in bytes.
const STREAMED_BYTES: usize = 64 * 1024;

/// Pieces that a search may be ahead of its client.
const STREAMED_AHEAD: usize = 8;

/// Longest time that a client may take for a piece before the search is aborted, since the search holds a turn.
const STALLED: Duration = Duration::from_secs(30);

/// Answers a search with JSON.
pub(crate) async fn answer(server: &Server, params: &SearchParams) -> Result<Response, Failure> {
    params.check_no_page_params()?;
    let fields = FieldSet::of(params)?;
    let loose = server.view().no_recheck();
    if params.sorts() {
        let mut search = Sort::of(params).await?;
        fresh::wait(server, params, search.request()).await?;
        let _turn = server.turn().await?;
        let Sorted { request, files, scores, near, stats, next, stale } =
            search.run(server).await?;
        audit::told().files(files.iter().chain(&near));
        let found_all = stats.stopped.is_none();
        let done = stats;
        let mut stats = StatsJson::from(&done);
        // Some of the found files are not sent.
        if next.is_some() && found_all {
            stats.cut_at_limit();
        }
        let select = request.query().settings.select;
        let found: Vec<(String, String)> =
            files.iter().map(|file| (file.repo.clone(), file.path.clone())).collect();
        let by_words = ranked_by_words(server, params, (&request, &done), &found).await?;
        let mut writer = JsonWriter::new(&params.q, select, fields);
        for (file, score) in files.into_iter().zip(scores) {
            writer.add_scored(file, score.filter(|_| params.explains()));
        }
        let explain = params.explains().then(|| explanation(&request, loose));
        let hints = hints_for(server, params, &request, &done).await;
        let near = writer.listed(&near);
        let stale = stale_json(&stale);
        return Ok(writer.end(&stats, Tail { near, next, explain, hints, stale, by_words }));
    }
    let mut request = compiled(params, Client::PROGRAM).await?;
    request.resume = params.cursor(None)?.map(|cursor| cursor.resume);
    fresh::wait(server, params, &mut request).await?;
    let request = Arc::new(request);
    // All errors of the request are reported by now, so only valid searches wait.
    let turn = server.turn().await?;
    // When the client disconnects, this future is dropped, and the search with it.
    let mut search = SearchStream::start(server, &request);
    let select = request.query().settings.select;
    let mut writer = JsonWriter::new(&params.q, select, fields);
    let mut shown = ShownFiles::default();
    while let Some(found) = search.next().await {
        audit::told().files(&found);
        for file in found {
            if params.tells_stale() {
                shown.add(&file);
            }
            writer.add(file);
        }
        if writer.bytes() > GATHERED_BYTES {
            let rest = Rest { writer, search, shown, turn };
            return Ok(stream(server, params, &request, loose, rest));
        }
    }
    let stats = search.end()?;
    // Changes are found in their order.
    if request.query().changes.is_none() {
        writer.sort();
    }
    let explain = params.explains().then(|| explanation(&request, loose));
    let hints = hints_for(server, params, &request, &stats).await;
    let next = Cursor::after_all(&request, &stats);
    let stale = stale_json(&server.view().stale(shown).await);
    Ok(writer
        .end(&StatsJson::from(&stats), Tail { next, explain, hints, stale, ..Tail::default() }))
}

/// Returns the files that follow few results in the order of relevance.
async fn ranked_by_words(
    server: &Server,
    params: &SearchParams,
    search: (&Request, &Stats),
    found: &[(String, String)],
) -> Result<Option<Value>, Failure> {
    if params.order() != Order::Relevance {
        return Ok(None);
    }
    let asked = by_words::after(server, params, search, found).await?;
    Ok(asked.map(|asked| {
        let answer = request::ask_answer::Answer::of(&params.q, &asked, params.explains());
        let mut told = json!(answer);
        told["why"] = request::by_words::why(search.1.files, &asked).into();
        told
    }))
}

/// Returns hints, if the client wants them.
async fn hints_for(
    server: &Server,
    params: &SearchParams,
    request: &Request,
    stats: &Stats,
) -> Option<Value> {
    if !params.wants_hints() {
        return None;
    }
    serde_json::to_value(hints::beside(server, params, request, stats, false).await).ok()
}

/// A search whose answer has become too large to be collected.
struct Rest {
    writer: JsonWriter,
    search: SearchStream,
    /// The files whose state on disk the answer tells.
    shown: ShownFiles,
    turn: OwnedSemaphorePermit,
}

/// Streams the answer in the order in which results are found, so that an answer of any size needs little memory. A
/// later failure is reported in the answer's `stats`.
fn stream(
    server: &Server,
    params: &SearchParams,
    request: &Arc<Request>,
    loose: bool,
    rest: Rest,
) -> Response {
    let (send, receive) = mpsc::channel::<Vec<u8>>(STREAMED_AHEAD);
    let client = send.clone();
    let request = Arc::clone(request);
    let explains = params.explains();
    let view = server.view().clone();
    let tell = async move |piece| {
        matches!(tokio::time::timeout(STALLED, send.send(piece)).await, Ok(Ok(())))
    };
    let work = async move {
        let Rest { mut writer, mut search, shown, turn: _turn } = rest;
        while let Some(found) = search.next().await {
            audit::told().files(&found);
            for file in found {
                writer.add(file);
                if writer.bytes() < STREAMED_BYTES {
                    continue;
                }
                for piece in writer.take() {
                    if !tell(piece).await {
                        return;
                    }
                }
            }
        }
        let (stats, next) = match search.end() {
            Ok(stats) => (StatsJson::from(&stats).to_string(), Cursor::after_all(&request, &stats)),
            Err(failure) => {
                let stats = json!({ "complete": false, "stopped_because": failure.body.code });
                (stats.to_string(), None)
            }
        };
        let explain = explains.then(|| explanation(&request, loose));
        let stale = stale_json(&view.stale(shown).await);
        // Hints are for searches that found nothing.
        writer.finish(&stats, Tail { next, explain, stale, ..Tail::default() });
        for piece in writer.take() {
            if !tell(piece).await {
                return;
            }
        }
    };
    let told = audit::told();
    server.threads.spawn(told.scope(async move {
        tokio::select! {
            () = work => {}
            // Drops the search, and with it its statements in the database.
            () = client.closed() => {}
        }
    }));
    let pieces = futures_util::stream::unfold(receive, async |mut receive| {
        let piece: Vec<u8> = receive.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(piece), receive))
    })
    // The compression layer polls the stream again after its end.
    .fuse();
    ([(CONTENT_TYPE, "application/json")], Body::from_stream(pieces)).into_response()
}
