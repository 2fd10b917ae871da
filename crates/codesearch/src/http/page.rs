//! The pages for browsers, rendered from `web/templates`.

use std::ops::Range;
use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::header::{CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use engine::search::{FileMatch, Line, Request, Stats};
use query::Select;

use super::Server;
use super::error::Failure;
use super::search::{Asked, stopped};
use crate::print::{Explain, Printer};

/// Nothing is loaded but our own style sheet, and no script runs.
const POLICY: &str =
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'";

/// Matching lines shown of one file.
const MAX_LINES: usize = 10;

/// Characters shown of one line.
const MAX_CHARS: usize = 250;

#[derive(Template)]
#[template(path = "search.html")]
struct SearchPage<'a> {
    query: &'a str,
    /// How large the index is; on the page without results.
    size: Option<String>,
    error: Option<Trouble>,
    result: Option<Results>,
}

/// What went wrong, and where in the query.
struct Trouble {
    message: String,
    /// A blank for each character before the one it is about.
    indent: Option<String>,
}

struct Results {
    summary: String,
    stopped: Option<String>,
    /// What was left out of the index and might match.
    skipped: Option<String>,
    explanation: Option<String>,
    repos: Vec<RepoGroup>,
}

struct RepoGroup {
    name: String,
    files: Vec<FileView>,
}

/// A file as it is shown.
pub(crate) struct FileView {
    repo: String,
    /// The path as it is sorted.
    sort: String,
    path: Vec<Piece>,
    language: String,
    lines: Vec<LineView>,
    more: usize,
}

struct LineView {
    number: u64,
    pieces: Vec<Piece>,
}

/// A stretch of a line that matches, or does not.
struct Piece {
    hit: bool,
    text: String,
}

/// The page without results.
pub(crate) async fn home(State(server): State<Server>) -> Response {
    let size = server.searcher.catalog().await.map(|catalog| {
        let bytes: i64 = catalog.shards.iter().map(|shard| shard.bytes).sum();
        format!("{} repositories, {:.1} MB of text", catalog.repos.len(), bytes as f64 / 1e6)
    });
    let (size, error) = match size {
        Ok(size) => (Some(size), None),
        Err(error) => {
            let message = Failure::from(error).body.message;
            (None, Some(Trouble { message, indent: None }))
        }
    };
    render(StatusCode::OK, &SearchPage { query: "", size, error, result: None })
}

/// The page with results.
pub(crate) fn found(
    asked: &Asked,
    request: &Arc<Request>,
    loose: bool,
    mut files: Vec<FileView>,
    stats: &Stats,
) -> Response {
    let select = request.program().select;
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    let found = match select {
        Select::Lines => format!(
            "{} matching line{} in {} file{}",
            stats.matches,
            plural(stats.matches),
            stats.files,
            plural(stats.files)
        ),
        Select::Files => format!("{} file{}", stats.files, plural(stats.files)),
        Select::Repos => {
            format!(
                "{} {}",
                stats.files,
                if stats.files == 1 { "repository" } else { "repositories" }
            )
        }
    };
    let summary = format!(
        "{found}, {:.1} ms; {} of {} shards asked",
        stats.duration.as_secs_f64() * 1000.0,
        stats.shards_searched,
        stats.shards
    );
    files.sort_by(|a, b| (&a.repo, &a.sort).cmp(&(&b.repo, &b.sort)));
    let mut repos: Vec<RepoGroup> = Vec::new();
    for file in files {
        if repos.last().is_none_or(|group| group.name != file.repo) {
            repos.push(RepoGroup { name: file.repo.clone(), files: Vec::new() });
        }
        if select != Select::Repos {
            repos.last_mut().expect("there is one now").files.push(file);
        }
    }
    let stopped = stopped(stats).map(|(_, sentence)| sentence);
    let skipped = (!stats.skipped.is_empty()).then(|| {
        format!("Not in the index, though they might match: {} files", crate::print::skipped(stats))
    });
    let explanation = asked.explains().then(|| explained(request, loose, stats));
    let result = Some(Results { summary, stopped, skipped, explanation, repos });
    render(StatusCode::OK, &SearchPage { query: &asked.q, size: None, error: None, result })
}

fn explained(request: &Arc<Request>, loose: bool, stats: &Stats) -> String {
    let mut text = Vec::new();
    // Writing to memory does not fail.
    let _ = Explain::new(Arc::clone(request), loose).end(&mut text, stats);
    String::from_utf8_lossy(&text).into_owned()
}

/// The page with an error.
pub(crate) fn failed(asked: &Asked, failure: Failure) -> Response {
    let before = failure.body.position.and_then(|at| asked.q.get(..at));
    let indent = before.map(|before| " ".repeat(before.chars().count()));
    let error = Some(Trouble { message: failure.body.message, indent });
    render(failure.status, &SearchPage { query: &asked.q, size: None, error, result: None })
}

fn render(status: StatusCode, page: &SearchPage<'_>) -> Response {
    match page.render() {
        Ok(html) => {
            let mut response = (status, Html(html)).into_response();
            let headers = response.headers_mut();
            headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
            headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
            response
        }
        Err(error) => {
            tracing::error!("a page could not be rendered: {error}");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}

/// What a page shows of a file: not all of what was found, which may be any number of megabytes.
pub(crate) fn view(file: FileMatch) -> FileView {
    FileView {
        path: pieces(&file.path, &file.path_ranges, 0, file.path.len()),
        lines: file.lines.iter().take(MAX_LINES).map(line_view).collect(),
        more: file.lines.len().saturating_sub(MAX_LINES),
        language: file.language.unwrap_or_default(),
        repo: file.repo,
        sort: file.path,
    }
}

/// A line in pieces; of a long one the stretch around its first match.
fn line_view(line: &Line) -> LineView {
    let text = &line.text;
    let first = line.ranges.first().map_or(0, |range| range.start);
    let from = if text.len() <= MAX_CHARS {
        0
    } else {
        text[..first].char_indices().rev().take(MAX_CHARS / 4).last().map_or(first, |(at, _)| at)
    };
    let upto = text[from..].char_indices().nth(MAX_CHARS).map_or(text.len(), |(at, _)| from + at);
    let mut shown = pieces(text, &line.ranges, from, upto);
    let cut = |text: &str| Piece { hit: false, text: text.to_owned() };
    if from > 0 {
        shown.insert(0, cut("… "));
    }
    if upto < text.len() {
        shown.push(cut(" …"));
    }
    LineView { number: line.number, pieces: shown }
}

/// A stretch of a text, cut where a match begins or ends.
fn pieces(text: &str, ranges: &[Range<usize>], from: usize, upto: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut push = |hit: bool, text: &str| {
        if !text.is_empty() {
            pieces.push(Piece { hit, text: text.to_owned() });
        }
    };
    let mut at = from;
    for range in ranges {
        let (start, end) = (range.start.clamp(at, upto), range.end.clamp(at, upto));
        push(false, &text[at..start]);
        push(true, &text[start..end]);
        at = end;
    }
    push(false, &text[at..upto]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, ranges: &[(usize, usize)], expected: &str) {
        let ranges = ranges.iter().map(|(start, end)| *start..*end).collect();
        let line = Line { number: 1, offset: 0, text: text.to_owned(), ended: true, ranges };
        let shown: Vec<String> = line_view(&line)
            .pieces
            .into_iter()
            .map(|piece| if piece.hit { format!("[{}]", piece.text) } else { piece.text })
            .collect();
        assert_eq!(shown.concat(), expected);
    }

    #[test]
    fn a_line_in_pieces() {
        check("a foo b", &[(2, 5)], "a [foo] b");
        check("foofoo", &[(0, 3), (3, 6)], "[foo][foo]");
        check("<b>", &[(0, 0)], "<b>");
    }

    #[test]
    fn a_long_line_is_shown_around_its_first_match() {
        let text = format!("{}é{}", "x".repeat(1000), "y".repeat(1000));
        let expected = format!("… {}[é]{} …", "x".repeat(62), "y".repeat(187));
        check(&text, &[(1000, 1002)], &expected);
    }
}
