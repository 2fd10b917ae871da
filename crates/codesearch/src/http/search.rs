//! `/search`: JSON for programs, a page for browsers.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue, Uri};
use axum::response::{IntoResponse, Response};
use engine::search::{DEFAULT_TIMEOUT, FileMatch, Line, Request, Stats, Stopped};
use futures_util::FutureExt;
use query::{Case, Count, Query as Parsed, Select};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::error::Failure;
use super::{Server, page, zoekt};
use crate::narrow::Narrow;
use crate::print::explanation;

/// Files on a page at most; more is not read, and makes a browser slow.
const MAX_PAGE_FILES: usize = 500;

/// An answer of up to this many bytes is sorted by repository and path, and sent at once; a larger one
/// is sent while it is found.
const GATHERED_BYTES: usize = 4 * 1024 * 1024;

/// Batches of files that the search may be ahead of who reads them.
const FOUND_AHEAD: usize = 2;

/// Bytes of a query that is compiled where it is.
const MAX_SHORT: usize = 256;

/// A streamed answer is sent in pieces of about this many bytes.
const STREAMED_BYTES: usize = 64 * 1024;

/// Pieces that the search may be ahead of the client.
const STREAMED_AHEAD: usize = 8;

/// How long a client may take for the next piece before it is taken to have gone. It keeps others from
/// searching.
const STALLED: Duration = Duration::from_secs(30);

/// What can be asked, as it stands in the address.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Asked {
    /// The query.
    #[serde(default)]
    pub(crate) q: String,
    /// Most results; 0 for all.
    limit: Option<String>,
    /// The same, as other search engines call it.
    num: Option<String>,
    /// `yes`, `no` or `auto`.
    case: Option<String>,
    /// A pattern for names of repositories.
    repo: Option<String>,
    /// A pattern for paths.
    file: Option<String>,
    /// A language.
    lang: Option<String>,
    /// How long it may take: `500ms`, `5s`, `2m`.
    timeout: Option<String>,
    /// `1` to be told how the query was understood, planned and run.
    explain: Option<String>,
    /// `json` or `html`, whatever the client accepts.
    format: Option<String>,
}

/// The answer as it is sent.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    query: &'a str,
    #[serde(flatten)]
    found: FoundJson,
    stats: StatsJson,
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

#[derive(Debug, Serialize)]
struct FileJson {
    repo: String,
    path: String,
    language: Option<String>,
    /// Pairs of bytes of `path`.
    path_ranges: Vec<(usize, usize)>,
    matches: Vec<LineJson>,
}

#[derive(Debug, Serialize)]
struct LineJson {
    line: u64,
    text: String,
    /// Pairs of bytes of `text`.
    ranges: Vec<(usize, usize)>,
}

#[derive(Debug, Serialize)]
struct StatsJson {
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
    asked: Result<Query<Asked>, QueryRejection>,
) -> Response {
    if let Some(answer) = zoekt::answer_web(&server, &address).await {
        return answer;
    }
    let wants_page = |format: Option<&str>| match format {
        Some(format) => format == "html",
        None => headers
            .get(ACCEPT)
            .and_then(|a| a.to_str().ok())
            .is_some_and(|a| a.contains("text/html")),
    };
    let Ok(Query(asked)) = asked else {
        let failure = Failure::bad_request("the address cannot be read: give each parameter once");
        return if wants_page(None) {
            page::failed(&Asked::default(), failure)
        } else {
            failure.into_response()
        };
    };
    let page = wants_page(asked.format.as_deref());
    let mut response = match answer(&server, &asked, page).await {
        Ok(response) => response,
        Err(failure) if page => page::failed(&asked, failure),
        Err(failure) => failure.into_response(),
    };
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept"));
    response
}

async fn answer(server: &Server, asked: &Asked, page: bool) -> Result<Response, Failure> {
    let turn = server.turn().await?;
    let mut request = compiled(asked).await?;
    if page {
        request.limit =
            Some(request.limit.map_or(MAX_PAGE_FILES, |limit| limit.min(MAX_PAGE_FILES)));
        // Nobody looks at an empty page for longer.
        request.timeout.get_or_insert(DEFAULT_TIMEOUT);
    }
    let request = Arc::new(request);
    let loose = server.searcher.store().is_loose();
    // When the client leaves, this is dropped, and the search with it.
    let mut search = Running::start(server, &request);
    if page {
        let mut shown = Vec::new();
        while let Some(found) = search.next().await {
            shown.extend(found.into_iter().map(page::view));
        }
        let stats = search.end()?;
        return Ok(page::found(asked, &request, loose, shown, &stats));
    }
    let (mut gathered, mut bytes) = (Vec::new(), 0);
    while let Some(found) = search.next().await {
        bytes += found.iter().map(FileMatch::size).sum::<usize>();
        gathered.extend(found);
        if bytes > GATHERED_BYTES {
            let rest = Rest { gathered, search, turn };
            return Ok(stream(asked, &request, loose, rest));
        }
    }
    let stats = search.end()?;
    gathered.sort_by(|a, b| (&a.repo, &a.path).cmp(&(&b.repo, &b.path)));
    let found = if request.program().select == Select::Repos {
        FoundJson::Repos(gathered.into_iter().map(|file| file.repo).collect())
    } else {
        FoundJson::Files(gathered.into_iter().map(FileJson::from).collect())
    };
    let stats = StatsJson::from(&stats);
    let explain = asked.explains().then(|| explanation(&request, loose));
    Ok(Json(Answer { query: &asked.q, found, stats, explain }).into_response())
}

/// The request, compiled.
async fn compiled(asked: &Asked) -> Result<Request, Failure> {
    // What is short is compiled in less time than it takes to wake another thread. A large pattern would
    // keep others waiting here, and a short one is large when it repeats something many times.
    let short = asked.q.len() <= MAX_SHORT && !asked.q.contains('{');
    if short && [&asked.repo, &asked.file].iter().all(|pattern| pattern.is_none()) {
        return request(asked);
    }
    let asking = asked.clone();
    let compiled = tokio::task::spawn_blocking(move || request(&asking)).await;
    compiled.expect("compiling does not panic")
}

/// A search whose results are taken one batch after another. It goes on only while they are waited for,
/// and ends when this is dropped.
struct Running {
    search: Pin<Box<dyn Future<Output = Ended> + Send>>,
    files: mpsc::Receiver<Vec<FileMatch>>,
    ended: Option<Ended>,
}

type Ended = Result<Stats, Failure>;

impl Running {
    fn start(server: &Server, request: &Arc<Request>) -> Self {
        let (found, files) = mpsc::channel(FOUND_AHEAD);
        let (searcher, request) = (Arc::clone(&server.searcher), Arc::clone(request));
        let search = async move {
            let search = AssertUnwindSafe(searcher.search(&request, found)).catch_unwind();
            search.await.map_or_else(|_| Err(Failure::broke_off()), |stats| Ok(stats?))
        };
        Self { search: Box::pin(search), files, ended: None }
    }

    /// The next files; none at the end.
    async fn next(&mut self) -> Option<Vec<FileMatch>> {
        while self.ended.is_none() {
            tokio::select! {
                biased;
                ended = &mut self.search => self.ended = Some(ended),
                Some(files) = self.files.recv() => return Some(files),
            }
        }
        self.files.recv().await
    }

    /// What the search ended with, when there is no more to come.
    fn end(self) -> Ended {
        self.ended.unwrap_or_else(|| Err(Failure::broke_off()))
    }
}

/// An answer that has become too large to be gathered.
struct Rest {
    gathered: Vec<FileMatch>,
    search: Running,
    turn: OwnedSemaphorePermit,
}

/// The same JSON, sent while it is found, in the order in which it is found: an answer of any size
/// in little memory. What goes wrong on the way is told in its `stats`.
fn stream(asked: &Asked, request: &Arc<Request>, loose: bool, rest: Rest) -> Response {
    let (send, receive) = mpsc::channel::<Vec<u8>>(STREAMED_AHEAD);
    let client = send.clone();
    let (q, explains, request) = (asked.q.clone(), asked.explains(), Arc::clone(request));
    let work = async move {
        let Rest { gathered, mut search, turn: _turn } = rest;
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
                    serde_json::to_writer(&mut text, &FileJson::from(file))
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
        let stats = match search.end() {
            Ok(stats) => json!(StatsJson::from(&stats)),
            Err(failure) => json!({ "complete": false, "stopped_because": failure.body.code }),
        };
        let explain = if explains {
            format!(",\"explain\":{}", explanation(&request, loose))
        } else {
            String::new()
        };
        text.extend(format!("],\"stats\":{stats}{explain}}}").into_bytes());
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

impl Asked {
    pub(crate) fn explains(&self) -> bool {
        self.explain.as_deref().is_some_and(|value| !matches!(value, "" | "0" | "no" | "false"))
    }
}

fn request(asked: &Asked) -> Result<Request, Failure> {
    if let Some(format) = asked.format.as_deref().filter(|f| !matches!(*f, "json" | "html")) {
        return Err(Failure::bad_request(format!("format={format}: use json or html")));
    }
    if asked.q.trim().is_empty() {
        return Err(Failure::bad_request("nothing to search for: give a query in q="));
    }
    let case = match asked.case.as_deref() {
        None | Some("auto") => Case::Smart,
        Some("yes") => Case::Sensitive,
        Some("no") => Case::Insensitive,
        Some(other) => {
            return Err(Failure::bad_request(format!("case={other}: use yes, no or auto")));
        }
    };
    let mut query = Parsed::parse(&asked.q, case)?;
    let given = |value: &Option<String>| -> Vec<String> {
        value.iter().filter(|text| !text.is_empty()).cloned().collect()
    };
    let (repos, files, languages) = (given(&asked.repo), given(&asked.file), given(&asked.lang));
    // What the query itself says goes before what is said beside it.
    let limit = asked.limit.as_deref().or(asked.num.as_deref()).filter(|text| !text.is_empty());
    if let (Some(text), None) = (limit, query.count) {
        let limit: usize = text.parse().map_err(|_| {
            Failure::bad_request(format!("limit={text}: use a number of files, 0 for all"))
        })?;
        query.count = Some(if limit == 0 { Count::All } else { Count::Most(limit) });
    }
    if let (Some(text), None) = (asked.timeout.as_deref().filter(|t| !t.is_empty()), query.timeout)
    {
        let timeout = query::duration(text)
            .map_err(|why| Failure::bad_request(format!("timeout={text}: {why}")))?;
        query.timeout = Some(timeout);
    }
    let narrow = Narrow { repos: &repos, files: &files, languages: &languages };
    let query = narrow
        .apply(query)
        .map_err(|(kind, why)| Failure::bad_request(format!("{kind}=: {why}")))?;
    let mut request = Request::new(&query)?;
    request.skipped = true;
    Ok(request)
}

/// Why an answer is not complete, as a word for programs and a sentence for people.
pub(crate) fn stopped(stats: &Stats) -> Option<(&'static str, String)> {
    match &stats.stopped {
        None => None,
        Some(Stopped::Limit) => Some((
            "limit",
            format!("stopped at the limit of {} results; there are more", stats.files),
        )),
        Some(Stopped::Timeout(timeout)) => {
            Some(("timeout", format!("stopped after {timeout:?}; there may be more")))
        }
        Some(Stopped::Shards(_)) => Some((
            "shard_error",
            "some shards could not be searched; the server's log says why".to_owned(),
        )),
    }
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

impl From<FileMatch> for FileJson {
    fn from(file: FileMatch) -> Self {
        let line = |line: Line| LineJson {
            line: line.number,
            text: line.text,
            ranges: line.ranges.into_iter().map(|r| (r.start, r.end)).collect(),
        };
        Self {
            repo: file.repo,
            path: file.path,
            language: file.language,
            path_ranges: file.path_ranges.into_iter().map(|r| (r.start, r.end)).collect(),
            matches: file.lines.into_iter().map(line).collect(),
        }
    }
}
