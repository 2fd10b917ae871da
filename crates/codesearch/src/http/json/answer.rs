//! The JSON answer to a search: whole and in order, or sent while it is found.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use engine::search::{Request, Stats};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::sorted::{Sort, Sorted};
use super::stats::StatsJson;
use super::writer::{FieldSet, JsonWriter, Tail};
use crate::http::cursor::Cursor;
use crate::http::error::Failure;
use crate::http::hints;
use crate::http::params::SearchParams;
use crate::http::request::compiled;
use crate::http::search_stream::SearchStream;
use crate::http::server::Server;
use crate::print::explanation;
use crate::request::Client;

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

/// Answers a search with JSON.
pub(crate) async fn answer(server: &Server, params: &SearchParams) -> Result<Response, Failure> {
    params.of_a_program()?;
    let fields = FieldSet::of(params)?;
    let loose = server.searcher.store().no_recheck();
    if params.sorts() {
        let search = Sort::of(params).await?;
        let _turn = server.turn().await?;
        let Sorted { request, files, stats, next } = search.run(server).await?;
        let found_all = stats.stopped.is_none();
        let done = stats;
        let mut stats = StatsJson::from(&done);
        // What was found is not all sent.
        if next.is_some() && found_all {
            stats.cut_at_limit();
        }
        let select = request.program().select;
        let mut writer = JsonWriter::new(&params.q, select, fields);
        for file in files {
            writer.add(file);
        }
        let explain = params.explains().then(|| explanation(&request, loose));
        let hints = told(server, params, &request, &done).await;
        return Ok(writer.end(&stats, Tail { next, explain, hints }));
    }
    let mut request = compiled(params, Client::PROGRAM).await?;
    request.resume = params.cursor(None)?.map(|cursor| cursor.resume);
    let request = Arc::new(request);
    // Whatever is wrong with what is asked was told before: only a search waits.
    let turn = server.turn().await?;
    // When the client leaves, this is dropped, and the search with it.
    let mut search = SearchStream::start(server, &request);
    let select = request.program().select;
    let mut writer = JsonWriter::new(&params.q, select, fields);
    while let Some(found) = search.next().await {
        for file in found {
            writer.add(file);
        }
        if writer.bytes() > GATHERED_BYTES {
            let rest = Rest { writer, search, turn };
            return Ok(stream(server, params, &request, loose, rest));
        }
    }
    let stats = search.end()?;
    writer.sort();
    let explain = params.explains().then(|| explanation(&request, loose));
    let hints = told(server, params, &request, &stats).await;
    let next = Cursor::after_all(&request, &stats);
    Ok(writer.end(&StatsJson::from(&stats), Tail { next, explain, hints }))
}

/// What may help beside the results, if that is wanted.
async fn told(
    server: &Server,
    params: &SearchParams,
    request: &Request,
    stats: &Stats,
) -> Option<Value> {
    if !params.wants_hints() {
        return None;
    }
    serde_json::to_value(hints::beside(server, params, request, stats).await).ok()
}

/// An answer that has become too large to be gathered.
struct Rest {
    writer: JsonWriter,
    search: SearchStream,
    turn: OwnedSemaphorePermit,
}

/// The same JSON, sent while it is found, in the order in which it is found: an answer of any size
/// in little memory. What goes wrong on the way is told in its `stats`.
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
    let tell = async move |piece| {
        matches!(tokio::time::timeout(STALLED, send.send(piece)).await, Ok(Ok(())))
    };
    let work = async move {
        let Rest { mut writer, mut search, turn: _turn } = rest;
        while let Some(found) = search.next().await {
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
        // Something was found: there is nothing to tell that may help.
        writer.finish(&stats, Tail { next, explain, hints: None });
        for piece in writer.take() {
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
    })
    // Compression asks again after the end.
    .fuse();
    ([(CONTENT_TYPE, "application/json")], Body::from_stream(pieces)).into_response()
}
