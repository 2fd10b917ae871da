//! `/search`: JSON for programs, a page for browsers.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use engine::search::{FileMatch, Filter, Line, Request, Stats, Stopped};
use query::{Case, Matcher, Pattern};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::error::Failure;
use super::{Server, page};

/// Files in an answer unless the request says otherwise.
const DEFAULT_LIMIT: usize = 100;

/// Files on a page at most; more is not read, and makes a browser slow.
const MAX_PAGE_FILES: usize = 500;

/// Answers with up to this limit are sorted by repository and path; larger ones are sent as they are
/// found.
const MAX_SORTED_FILES: usize = 1000;

/// Files that the search may be ahead of who reads them.
const FOUND_AHEAD: usize = 64;

/// A streamed answer is sent in pieces of about this many bytes.
const STREAMED_BYTES: usize = 64 * 1024;

/// Pieces that the search may be ahead of the client.
const STREAMED_AHEAD: usize = 8;

/// What can be asked, as it stands in the address.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Asked {
    /// The regular expression.
    #[serde(default)]
    pub(crate) q: String,
    /// Most files; 0 for all.
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
    /// `json` or `html`, whatever the client accepts.
    format: Option<String>,
}

/// The answer as it is sent.
#[derive(Debug, Serialize)]
struct Answer<'a> {
    query: &'a str,
    files: Vec<FileJson>,
    stats: StatsJson,
}

#[derive(Debug, Serialize)]
struct FileJson {
    repo: String,
    path: String,
    language: Option<String>,
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
    shards_searched: usize,
    candidates: usize,
    complete: bool,
    stopped_because: Option<&'static str>,
}

/// Answers a search.
pub(crate) async fn search(
    State(server): State<Server>,
    headers: HeaderMap,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Response {
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
    let mut request = request(asked)?;
    let turn = server.turn().await?;
    if page {
        request.limit =
            Some(request.limit.map_or(MAX_PAGE_FILES, |limit| limit.min(MAX_PAGE_FILES)));
    } else if request.limit.is_none_or(|limit| limit > MAX_SORTED_FILES) {
        return stream(server, asked, request, turn).await;
    }
    let (found, mut receive) = mpsc::channel(FOUND_AHEAD);
    let request = Arc::new(request);
    let search = server.searcher.search(&request, found);
    let collect = async {
        let mut files = Vec::new();
        while let Some(file) = receive.recv().await {
            files.push(file);
        }
        files
    };
    let (stats, mut files) = tokio::join!(search, collect);
    let stats = stats?;
    files.sort_by(|a, b| (&a.repo, &a.path).cmp(&(&b.repo, &b.path)));
    if page {
        return Ok(page::found(asked, &files, &stats));
    }
    let files = files.into_iter().map(FileJson::from).collect();
    Ok(Json(Answer { query: &asked.q, files, stats: StatsJson::from(&stats) }).into_response())
}

/// The same JSON, sent while it is found, in the order in which it is found: an answer of any size
/// in little memory. What goes wrong on the way is told in its `stats`.
async fn stream(
    server: &Server,
    asked: &Asked,
    request: Request,
    turn: OwnedSemaphorePermit,
) -> Result<Response, Failure> {
    // While there is still a status to send: is there a database, and an index?
    server.searcher.catalog().await?;
    let (found, mut files) = mpsc::channel(FOUND_AHEAD);
    let (send, receive) = mpsc::channel::<String>(STREAMED_AHEAD);
    let searcher = Arc::clone(&server.searcher);
    let mut text = format!("{{\"query\":{},\"files\":[", json!(asked.q));
    tokio::spawn(async move {
        let _turn = turn;
        let request = Arc::new(request);
        let write = async {
            let mut comma = "";
            while let Some(file) = files.recv().await {
                text.push_str(std::mem::replace(&mut comma, ","));
                text.push_str(&json!(FileJson::from(file)).to_string());
                if text.len() >= STREAMED_BYTES
                    && send.send(std::mem::take(&mut text)).await.is_err()
                {
                    // The client has left. Nobody listens to the search any longer, so it ends.
                    files.close();
                }
            }
        };
        let (done, ()) = tokio::join!(searcher.search(&request, found), write);
        let stats = match done {
            Ok(stats) => json!(StatsJson::from(&stats)),
            Err(error) => {
                let failure = Failure::from(error);
                json!({ "complete": false, "stopped_because": failure.body.code })
            }
        };
        let _ = send.send(format!("{text}],\"stats\":{stats}}}")).await;
    });
    let pieces = futures_util::stream::unfold(receive, async |mut receive| {
        let piece = receive.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(piece), receive))
    });
    Ok(([(CONTENT_TYPE, "application/json")], Body::from_stream(pieces)).into_response())
}

fn request(asked: &Asked) -> Result<Request, Failure> {
    if let Some(format) = asked.format.as_deref().filter(|f| !matches!(*f, "json" | "html")) {
        return Err(Failure::bad_request(format!("format={format}: use json or html")));
    }
    if asked.q.is_empty() {
        return Err(Failure::bad_request("nothing to search for: give a regular expression in q="));
    }
    let case = match asked.case.as_deref() {
        None | Some("auto") => Case::Smart,
        Some("yes") => Case::Sensitive,
        Some("no") => Case::Insensitive,
        Some(other) => {
            return Err(Failure::bad_request(format!("case={other}: use yes, no or auto")));
        }
    };
    let mut request = Request::new(&Pattern::parse(&asked.q, case)?)?;
    let matchers = |name: &str, pattern: &Option<String>| -> Result<Vec<Matcher>, Failure> {
        let Some(pattern) = pattern.as_deref().filter(|p| !p.is_empty()) else {
            return Ok(Vec::new());
        };
        Pattern::parse(pattern, Case::Smart)
            .and_then(|p| Matcher::new(&p))
            .map(|matcher| vec![matcher])
            .map_err(|e| {
                Failure::bad_request(format!("{name}= is not a regular expression: {}", e.message))
            })
    };
    request.filter = Filter {
        repos: matchers("repo", &asked.repo)?,
        paths: matchers("file", &asked.file)?,
        languages: asked.lang.iter().filter(|l| !l.is_empty()).cloned().collect(),
    };
    let limit =
        match asked.limit.as_deref().or(asked.num.as_deref()).filter(|text| !text.is_empty()) {
            None => DEFAULT_LIMIT,
            Some(text) => text.parse().map_err(|_| {
                Failure::bad_request(format!("limit={text}: use a number of files, 0 for all"))
            })?,
        };
    request.limit = (limit > 0).then_some(limit);
    Ok(request)
}

/// Why an answer is not complete, as a word for programs and a sentence for people.
pub(crate) fn stopped(stats: &Stats) -> Option<(&'static str, String)> {
    match &stats.stopped {
        None => None,
        Some(Stopped::Limit) => Some((
            "limit",
            format!("stopped at the limit of {} files; there are more", stats.files),
        )),
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
            duration_ms: stats.duration.as_secs_f64() * 1000.0,
            files: stats.files,
            matches: stats.matches,
            shards: stats.shards,
            shards_searched: stats.shards_searched,
            candidates: stats.candidates,
            complete: stopped.is_none(),
            stopped_because: stopped.map(|(word, _)| word),
        }
    }
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
            matches: file.lines.into_iter().map(line).collect(),
        }
    }
}
