//! `/api/v1/search/`, by GET or POST, and its answer.

use std::time::{Duration, Instant};

use answer::{FileMatch, Line};
use axum::Form;
use axum::Json;
use axum::extract::rejection::FormRejection;
use axum::http::StatusCode;
use axum::routing::get;
use query::{Field, Matcher};
use search::{Stats, Stopped};
use serde::Serialize;
use store::MAIN_TREE;

use super::params::read;
use super::query::wrong;
use crate::compat::collect::{MAX_ANSWER_BYTES, around, gather};
use crate::endpoint::{Class, Endpoint};
use crate::error::{Body, Failure};
use crate::server::Server;

/// Lines of context before and after each match; livegrep's default.
const CONTEXT: usize = 3;

/// Time after the request during which matches in paths are located.
const MARKING: Duration = Duration::from_secs(20);

/// An answer, as it is sent.
#[derive(Debug, Serialize)]
struct Answer {
    info: Info,
    results: Vec<LineResult>,
    file_results: Vec<FileResult>,
    search_type: &'static str,
}

/// The durations of a search, in milliseconds.
#[derive(Debug, Serialize)]
struct Info {
    re2_time: u64,
    git_time: u64,
    sort_time: u64,
    index_time: u64,
    analyze_time: u64,
    total_time: u64,
    why: &'static str,
}

/// A matching line.
#[derive(Debug, Serialize)]
struct LineResult {
    tree: String,
    version: String,
    path: String,
    lno: u64,
    context_before: Vec<String>,
    context_after: Vec<String>,
    bounds: [usize; 2],
    line: String,
}

/// A matching path.
#[derive(Debug, Serialize)]
struct FileResult {
    tree: String,
    version: String,
    path: String,
    bounds: [usize; 2],
}

/// livegrep's endpoint, with and without the name of a backend, which is ignored: there is one index.
pub(crate) const ENDPOINTS: [Endpoint; 3] =
    [api("/api/v1/search"), api("/api/v1/search/"), api("/api/v1/search/{backend}")];

const fn api(path: &'static str) -> Endpoint {
    Endpoint::undocumented(path, Class::Whole, || get(search).post(search))
}

/// Answers a search.
async fn search(
    server: Server,
    form: Result<Form<Vec<(String, String)>>, FormRejection>,
) -> Result<Json<Answer>, Failure> {
    let Form(parameters) =
        form.map_err(|error| Failure { status: error.status(), ..bad_query(error.body_text()) })?;
    let typed = parameters.iter().find(|(name, _)| name == "q");
    audit::told().query(typed.map_or("", |(_, typed)| typed));
    let query = read(&parameters).map_err(bad_query)?;
    let begun = Instant::now();
    let pattern = query.pattern().map_err(wrong)?;
    let of_lines = if query.paths_only {
        None
    } else {
        let place = if query.asks_symbols() { Field::Symbol } else { Field::Content };
        Some(query.request(place, &pattern, CONTEXT).await?)
    };
    let of_paths = query.request(Field::Path, &pattern, 0).await?;
    let _turn = server.turn().await?;
    let most = of_paths.limit;
    let (mut stats, mut results, mut bytes) = (Stats::default(), Vec::new(), 0);
    let full = |count: usize, bytes: usize| {
        most.is_some_and(|most| count >= most) || bytes > MAX_ANSWER_BYTES
    };
    if let Some(request) = of_lines {
        stats = gather(&server, request, |file| {
            for line in lines(&file) {
                bytes += line.size();
                results.push(line);
                if full(results.len(), bytes) {
                    return false;
                }
            }
            true
        })
        .await?;
    }
    let mut file_results = Vec::new();
    // The first term is the pattern.
    let matcher = of_paths.compiled_query().terms[0].matcher.clone();
    // A query for tags does not ask for paths.
    if query.paths_only || !query.asks_symbols() {
        let of_paths = gather(&server, of_paths, |file| {
            bytes += file.size();
            file_results.push(file_result(file, &matcher, &|| begun.elapsed() < MARKING));
            !full(file_results.len(), bytes)
        })
        .await?;
        if query.paths_only {
            stats = of_paths;
        }
    }
    let count = if query.paths_only { file_results.len() } else { results.len() };
    let why = match stats.stopped {
        Some(Stopped::Timeout(_) | Stopped::Shards(_) | Stopped::Revision(_)) => "TIMEOUT",
        _ if full(count, bytes) => "MATCH_LIMIT",
        // livegrep has no other word for a search that is incomplete.
        _ if !stats.is_complete() => "TIMEOUT",
        _ => "NONE",
    };
    results.truncate(most.unwrap_or(usize::MAX));
    audit::told().results(results.iter().map(|line| line.tree.as_str()));
    audit::told().results(file_results.iter().map(|file| file.tree.as_str()));
    Ok(Json(Answer {
        info: Info {
            re2_time: millis(stats.phases.verify),
            git_time: 0,
            sort_time: 0,
            index_time: millis(stats.phases.lookup),
            analyze_time: 0,
            total_time: millis(begun.elapsed()),
            why,
        },
        results,
        file_results,
        search_type: if query.paths_only { "filename_only" } else { "normal" },
    }))
}

impl LineResult {
    /// Returns its approximate size in memory and in an answer, in bytes.
    fn size(&self) -> usize {
        let near = self.context_before.iter().chain(&self.context_after);
        let texts = near.chain([&self.tree, &self.path, &self.line]);
        128 + texts.map(|text| 24 + text.len()).sum::<usize>()
    }
}

/// Returns the matching lines of a file.
fn lines(file: &FileMatch) -> impl Iterator<Item = LineResult> {
    file.lines.iter().enumerate().filter_map(|(at, line)| {
        let range = line.ranges.first()?;
        let (before, after) = around(&file.lines, at, CONTEXT);
        let text = |line: &Line| line.text.clone();
        Some(LineResult {
            tree: file.repo.clone(),
            version: version(file),
            path: file.path.clone(),
            lno: line.number,
            context_before: before.iter().rev().map(text).collect(),
            context_after: after.iter().map(text).collect(),
            bounds: bounds(&line.text, range),
            line: line.text.clone(),
        })
    })
}

/// Returns a file whose path matches, with the range of the match unless locating it takes too long.
fn file_result(file: FileMatch, matcher: &Matcher, goes_on: &dyn Fn() -> bool) -> FileResult {
    let range = matcher.ranges(&file.path, goes_on).into_iter().next().unwrap_or_default();
    let bounds = bounds(&file.path, &range);
    FileResult { version: version(&file), tree: file.repo, path: file.path, bounds }
}

/// Returns the name of the first tree with a file; empty if its repository has one tree.
fn version(file: &FileMatch) -> String {
    let first = file.trees.first().map_or("", String::as_str);
    if first == MAIN_TREE { "HEAD".to_owned() } else { first.to_owned() }
}

/// Converts a range of bytes to one of characters.
fn bounds(text: &str, range: &std::ops::Range<usize>) -> [usize; 2] {
    let left = text[..range.start].chars().count();
    [left, left + text[range.clone()].chars().count()]
}

fn millis(duration: Duration) -> u64 {
    duration.as_millis() as u64
}

fn bad_query(message: String) -> Failure {
    let body = Body::new("bad_query", message);
    Failure { status: StatusCode::BAD_REQUEST, body }
}
