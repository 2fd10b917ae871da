//! `/search`: JSON for programs, a page for browsers.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, VARY};
use axum::response::{IntoResponse, Response};
use engine::search::{FileMatch, Filter, Request, Stats, Stopped};
use query::{Case, Matcher, Pattern};
use serde::{Deserialize, Serialize};

use super::error::Failure;
use super::{Server, page};

/// Files in an answer unless the request says otherwise.
const DEFAULT_LIMIT: usize = 100;

/// What can be asked, as it stands in the address.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Asked {
    /// The regular expression.
    #[serde(default)]
    pub(crate) q: String,
    /// Most files; 0 for all.
    limit: Option<usize>,
    /// The same, as other search engines call it.
    num: Option<usize>,
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
struct Answer {
    query: String,
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
    stopped_because: Option<String>,
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
    let asked = match asked {
        Ok(Query(asked)) => asked,
        Err(error) => {
            let failure = Failure::bad_request(error.body_text());
            return if wants_page(None) {
                page::failed(&Asked::default(), failure)
            } else {
                failure.into_response()
            };
        }
    };
    let page = wants_page(asked.format.as_deref());
    let mut response = match answer(&server, &asked).await {
        Ok((files, stats)) if page => page::found(&asked, &files, &stats),
        Ok((files, stats)) => Json(to_json(asked.q, files, &stats)).into_response(),
        Err(failure) if page => page::failed(&asked, failure),
        Err(failure) => failure.into_response(),
    };
    response.headers_mut().insert(VARY, axum::http::HeaderValue::from_static("accept"));
    response
}

async fn answer(server: &Server, asked: &Asked) -> Result<(Vec<FileMatch>, Stats), Failure> {
    let request = request(asked)?;
    let _turn = server.turn().await?;
    let mut files = Vec::new();
    let found = |file| {
        files.push(file);
        true
    };
    let stats = server.searcher.search(&request, found).await?;
    files.sort_by(|a, b| (&a.repo, &a.path).cmp(&(&b.repo, &b.path)));
    Ok((files, stats))
}

fn request(asked: &Asked) -> Result<Request, Failure> {
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
    let limit = asked.limit.or(asked.num).unwrap_or(DEFAULT_LIMIT);
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

fn to_json(query: String, files: Vec<FileMatch>, stats: &Stats) -> Answer {
    let stopped = stopped(stats);
    Answer {
        query,
        stats: StatsJson {
            duration_ms: stats.duration.as_secs_f64() * 1000.0,
            files: stats.files,
            matches: stats.matches,
            shards: stats.shards,
            shards_searched: stats.shards_searched,
            candidates: stats.candidates,
            complete: stopped.is_none(),
            stopped_because: stopped.map(|(word, _)| word.to_owned()),
        },
        files: files
            .into_iter()
            .map(|file| FileJson {
                repo: file.repo,
                path: file.path,
                language: file.language,
                matches: file
                    .lines
                    .into_iter()
                    .map(|line| LineJson {
                        line: line.number,
                        text: line.text,
                        ranges: line.ranges.into_iter().map(|r| (r.start, r.end)).collect(),
                    })
                    .collect(),
            })
            .collect(),
    }
}
