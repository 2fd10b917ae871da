//! `/search`: JSON for programs, a page for browsers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use engine::search::{FileMatch, Line, Request, Resume, Stats};
use query::Select;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::ask::{Asked, Cursor, Running, compiled, stopped};
use super::error::Failure;
use super::given::{Given, Refused};
use super::sorted::{self, Sorted};
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

/// The answer as it is sent.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    query: &'a str,
    #[serde(flatten)]
    found: FoundJson,
    stats: StatsJson,
    /// The cursor of what comes next.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<Value>,
}

/// What was found: files, or repositories if those were asked for.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum FoundJson {
    Files(Vec<FileJson>),
    Repos(Vec<String>),
}

impl FoundJson {
    fn of(request: &Request, files: Vec<FileMatch>, fields: Fields) -> Self {
        if request.program().select == Select::Repos {
            Self::Repos(files.into_iter().map(|file| file.repo).collect())
        } else {
            Self::Files(files.into_iter().map(|file| fields.file(file)).collect())
        }
    }
}

/// A file as it is sent: what was asked of it.
#[derive(Debug, Serialize)]
pub(crate) struct FileJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    repo: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<Value>,
    /// Pairs of bytes of `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_ranges: Option<Vec<(usize, usize)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<Vec<LineJson>>,
}

/// The fields of a file.
const FIELDS: [&str; 5] = ["repo", "path", "language", "path_ranges", "matches"];

/// Which of them are sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields([bool; FIELDS.len()]);

impl Fields {
    /// All of them, or those that are named.
    pub(crate) fn of(asked: &Asked) -> Result<Self, Failure> {
        let Some(names) = asked.fields.as_deref().filter(|names| !names.is_empty()) else {
            return Ok(Self([true; FIELDS.len()]));
        };
        let mut fields = [false; FIELDS.len()];
        for name in names.split(',').map(str::trim) {
            let at = FIELDS.iter().position(|known| *known == name).ok_or_else(|| {
                let known = FIELDS.join(", ");
                Failure::bad_request(format!(
                    "fields={name}: use {known}, with commas between them"
                ))
            })?;
            fields[at] = true;
        }
        Ok(Self(fields))
    }

    /// A file as it is sent.
    pub(crate) fn file(self, file: FileMatch) -> FileJson {
        let ranges = |ranges: Vec<std::ops::Range<usize>>| {
            ranges.into_iter().map(|range| (range.start, range.end)).collect()
        };
        let line = |line: Line| LineJson {
            line: line.number,
            text: line.text,
            ranges: ranges(line.ranges),
        };
        let [repo, path, language, path_ranges, matches] = self.0;
        FileJson {
            repo: repo.then_some(file.repo),
            path: path.then_some(file.path),
            language: language.then(|| file.language.into()),
            path_ranges: path_ranges.then(|| ranges(file.path_ranges)),
            matches: matches.then(|| file.lines.into_iter().map(line).collect()),
        }
    }
}

/// A line as it is sent; one of context only has no ranges.
#[derive(Debug, Serialize)]
struct LineJson {
    line: u64,
    text: String,
    /// Pairs of bytes of `text`.
    ranges: Vec<(usize, usize)>,
}

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
    let loose = server.searcher.store().is_loose();
    if asked.sorts() {
        let Sorted { request, files, stats, next } = sorted::search(server, asked).await?;
        let mut stats = StatsJson::from(&stats);
        // What was found is not all sent.
        if next.is_some() && stats.complete {
            (stats.complete, stats.stopped_because) = (false, Some("limit"));
        }
        let next = next.map(|next| next.to_string());
        let found = FoundJson::of(&request, files, fields);
        let explain = asked.explains().then(|| explanation(&request, loose));
        return Ok(Json(Answer { query: &asked.q, found, stats, next, explain }).into_response());
    }
    let mut request = compiled(asked, None).await?;
    request.resume = asked.cursor()?.map(|cursor| cursor.resume);
    let request = Arc::new(request);
    // When the client leaves, this is dropped, and the search with it.
    let mut search = Running::start(server, &request);
    let (mut gathered, mut bytes) = (Vec::new(), 0);
    while let Some(found) = search.next().await {
        bytes += found.iter().map(FileMatch::size).sum::<usize>();
        gathered.extend(found);
        if bytes > GATHERED_BYTES {
            let rest = Rest { gathered, search, turn, fields };
            return Ok(stream(asked, &request, loose, rest));
        }
    }
    let stats = search.end()?;
    gathered.sort_by(|a, b| (&a.repo, &a.path).cmp(&(&b.repo, &b.path)));
    let found = FoundJson::of(&request, gathered, fields);
    let explain = asked.explains().then(|| explanation(&request, loose));
    let next = next(&request, &stats);
    let stats = StatsJson::from(&stats);
    Ok(Json(Answer { query: &asked.q, found, stats, next, explain }).into_response())
}

/// `/explain`: how a query is understood and planned, without searching.
pub(crate) async fn explain(
    State(server): State<Server>,
    Given(asked): Given<Asked>,
) -> Result<Response, Failure> {
    let request = compiled(&asked, None).await?;
    Ok(Json(explanation(&request, server.searcher.store().is_loose())).into_response())
}

/// The cursor of what comes after an answer, if it ended at its limit.
pub(crate) fn next(request: &Request, stats: &Stats) -> Option<String> {
    let before = request.resume.map_or(0, |resume| resume.results);
    let results = before + stats.files;
    let resume = Resume { epoch: stats.epoch, order: stats.order, results };
    stats.ended_at_limit().then(|| Cursor { resume, shown: 0 }.to_string())
}

/// An answer that has become too large to be gathered.
struct Rest {
    gathered: Vec<FileMatch>,
    search: Running,
    turn: OwnedSemaphorePermit,
    fields: Fields,
}

/// The same JSON, sent while it is found, in the order in which it is found: an answer of any size
/// in little memory. What goes wrong on the way is told in its `stats`.
fn stream(asked: &Asked, request: &Arc<Request>, loose: bool, rest: Rest) -> Response {
    let (send, receive) = mpsc::channel::<Vec<u8>>(STREAMED_AHEAD);
    let client = send.clone();
    let (q, explains, request) = (asked.q.clone(), asked.explains(), Arc::clone(request));
    let work = async move {
        let Rest { gathered, mut search, turn: _turn, fields } = rest;
        let repos = request.program().select == Select::Repos;
        let mut text =
            format!("{{\"query\":{},\"{}\":[", json!(q), if repos { "repos" } else { "files" })
                .into_bytes();
        let mut comma = false;
        let mut found = Some(gathered);
        while let Some(some) = found {
            for file in some {
                if std::mem::replace(&mut comma, true) {
                    text.push(b',');
                }
                let written = if repos {
                    serde_json::to_writer(&mut text, &file.repo)
                } else {
                    serde_json::to_writer(&mut text, &fields.file(file))
                };
                written.expect("texts and numbers can be written to memory");
                if text.len() >= STREAMED_BYTES {
                    let piece =
                        std::mem::replace(&mut text, Vec::with_capacity(STREAMED_BYTES * 2));
                    let piece = send.send(piece);
                    if !matches!(tokio::time::timeout(STALLED, piece).await, Ok(Ok(()))) {
                        return;
                    }
                }
            }
            found = search.next().await;
        }
        let (stats, next) = match search.end() {
            Ok(stats) => (json!(StatsJson::from(&stats)), next(&request, &stats)),
            Err(failure) => {
                (json!({ "complete": false, "stopped_because": failure.body.code }), None)
            }
        };
        let next = next.map_or_else(String::new, |next| format!(",\"next\":\"{next}\""));
        let explain = if explains {
            format!(",\"explain\":{}", explanation(&request, loose))
        } else {
            String::new()
        };
        text.extend(format!("],\"stats\":{stats}{next}{explain}}}").into_bytes());
        let end = send.send(text);
        let _ = tokio::time::timeout(STALLED, end).await;
    };
    tokio::spawn(async move {
        tokio::select! {
            () = work => {}
            // The client has left: the search is dropped, and with it what runs in the database.
            () = client.closed() => {}
        }
    });
    let pieces = futures_util::stream::unfold(receive, async |mut receive| {
        let piece = receive.recv().await?;
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
