//! `/search`: JSON for programs, a page for browsers.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use engine::search::{FileMatch, Line, Request, Resume, Stats};
use json_escape_simd::escape_into;
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

/// Room for what follows the files, about.
const TAIL_BYTES: usize = 1024;

/// Pieces that the search may be ahead of the client.
const STREAMED_AHEAD: usize = 8;

/// How long a client may take for the next piece before it is taken to have gone. It keeps others from
/// searching.
const STALLED: Duration = Duration::from_secs(30);

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

    /// Writes a file, or its repository if that was asked for, as it is sent.
    ///
    /// Nearly all of that are texts of lines. Here they are looked through for what must be escaped many bytes at
    /// once, which serde does one by one.
    pub(crate) fn write(self, file: &FileMatch, select: Select, to: &mut Vec<u8>) {
        if select == Select::Repos {
            escape_into(&file.repo, to);
            return;
        }
        let mut before = b'{';
        for (name, _) in FIELDS.into_iter().zip(self.0).filter(|(_, wanted)| *wanted) {
            to.push(before);
            before = b',';
            escape_into(name, to);
            to.push(b':');
            match (name, &file.language) {
                ("repo", _) => escape_into(&file.repo, to),
                ("path", _) => escape_into(&file.path, to),
                ("language", Some(language)) => escape_into(language, to),
                ("language", None) => to.extend(b"null"),
                ("path_ranges", _) => pairs(&file.path_ranges, to),
                _ => lines(&file.lines, to),
            }
        }
        to.push(b'}');
    }
}

/// Writes lines; one of context only has no ranges.
fn lines(lines: &[Line], to: &mut Vec<u8>) {
    let mut before: &[u8] = b"[";
    for line in lines {
        to.extend_from_slice(before);
        before = b",";
        to.extend_from_slice(b"{\"line\":");
        to.extend_from_slice(itoa::Buffer::new().format(line.number).as_bytes());
        to.extend_from_slice(b",\"text\":");
        escape_into(&line.text, to);
        to.extend_from_slice(b",\"ranges\":");
        pairs(&line.ranges, to);
        to.push(b'}');
    }
    to.extend_from_slice(if lines.is_empty() { b"[]" } else { b"]" });
}

/// Writes stretches of bytes, each as its beginning and its end.
fn pairs(ranges: &[Range<usize>], to: &mut Vec<u8>) {
    to.push(b'[');
    for (at, range) in ranges.iter().enumerate() {
        to.extend_from_slice(if at == 0 { b"[" } else { b",[" });
        to.extend_from_slice(itoa::Buffer::new().format(range.start).as_bytes());
        to.push(b',');
        to.extend_from_slice(itoa::Buffer::new().format(range.end).as_bytes());
        to.push(b']');
    }
    to.push(b']');
}

/// An answer, written while more is being found: files, or repositories if those were asked for.
#[derive(Debug)]
struct Written {
    /// How it begins, then all of them in the order in which they were found, with commas between.
    text: Vec<u8>,
    /// Of each its repository and its path, and where in the text it stands.
    files: Vec<(String, String, Range<usize>)>,
}

impl Written {
    fn new(asked: &Asked, select: Select) -> Self {
        let what = if select == Select::Repos { "repos" } else { "files" };
        let head = format!("{{\"query\":{},\"{what}\":[", json!(asked.q));
        Self { text: head.into_bytes(), files: Vec::new() }
    }

    fn add(&mut self, file: FileMatch, fields: Fields, select: Select) {
        if !self.files.is_empty() {
            self.text.push(b',');
        }
        let from = self.text.len();
        fields.write(&file, select, &mut self.text);
        self.files.push((file.repo, file.path, from..self.text.len()));
    }

    /// Sorts it by repository and path.
    fn sort(&mut self) {
        let Some((_, _, first)) = self.files.first() else { return };
        let mut sorted = Vec::with_capacity(self.text.len() + TAIL_BYTES);
        sorted.extend_from_slice(&self.text[..first.start]);
        self.files.sort_by(|(a, at, _), (b, bt, _)| (a, at).cmp(&(b, bt)));
        for (at, (_, _, range)) in self.files.drain(..).enumerate() {
            if at > 0 {
                sorted.push(b',');
            }
            sorted.extend_from_slice(&self.text[range]);
        }
        self.text = sorted;
    }

    /// The answer, with nothing more to come.
    fn end(mut self, stats: &StatsJson, next: Option<String>, explain: Option<Value>) -> Response {
        self.text.extend(tail(&stats.to_string(), next, explain).into_bytes());
        ([(CONTENT_TYPE, "application/json")], self.text).into_response()
    }
}

/// How an answer ends.
fn tail(stats: &str, next: Option<String>, explain: Option<Value>) -> String {
    let next = next.map_or_else(String::new, |next| format!(",\"next\":\"{next}\""));
    let explain = explain.map_or_else(String::new, |explain| format!(",\"explain\":{explain}"));
    format!("],\"stats\":{stats}{next}{explain}}}")
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
    let loose = server.searcher.store().is_loose();
    if asked.sorts() {
        let Sorted { request, files, stats, next } = sorted::search(server, asked).await?;
        let mut stats = StatsJson::from(&stats);
        // What was found is not all sent.
        if next.is_some() && stats.complete {
            (stats.complete, stats.stopped_because) = (false, Some("limit"));
        }
        let next = next.map(|next| next.to_string());
        let select = request.program().select;
        let mut written = Written::new(asked, select);
        for file in files {
            written.add(file, fields, select);
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
    let mut written = Written::new(asked, select);
    while let Some(found) = search.next().await {
        for file in found {
            written.add(file, fields, select);
        }
        if written.text.len() > GATHERED_BYTES {
            let rest = Rest { written, search, turn, fields };
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
    Ok(Json(explanation(&request, server.searcher.store().is_loose())).into_response())
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
    fields: Fields,
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
    let select = request.program().select;
    let explains = asked.explains();
    let work = async move {
        let Rest { written, mut search, turn: _turn, fields } = rest;
        let mut text = written.text;
        while let Some(found) = search.next().await {
            for file in found {
                text.push(b',');
                fields.write(&file, select, &mut text);
                if text.len() >= STREAMED_BYTES {
                    let piece =
                        std::mem::replace(&mut text, Vec::with_capacity(STREAMED_BYTES * 2));
                    let piece = send.send(piece);
                    if !matches!(tokio::time::timeout(STALLED, piece).await, Ok(Ok(()))) {
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
        text.extend(tail(&stats, next, explain).into_bytes());
        let end = send.send(text);
        let _ = tokio::time::timeout(STALLED, end).await;
    };
    server.threads.spawn(async move {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_written_as_they_are() {
        let every: String = (0..0x3000).filter_map(char::from_u32).collect();
        let mut texts = vec![String::new(), every];
        for length in 1..100 {
            texts.extend(["\"", "\\", "\u{1}", "\u{7f}", "ü"].map(|odd| {
                let plain = "x".repeat(length);
                format!("{plain}{odd}{plain}{odd}")
            }));
        }
        let line = |text: &String| Line {
            number: 7,
            offset: 0,
            text: text.clone(),
            ended: true,
            ranges: vec![0..1, 20..300],
        };
        let all: Vec<Line> = texts.iter().map(line).collect();
        for some in [&all[..], &all[..1], &[]] {
            let mut written = Vec::new();
            lines(some, &mut written);
            let read: Value = serde_json::from_slice(&written).unwrap();
            let line = |line: &Line| json!({ "line": 7, "text": line.text, "ranges": [[0, 1], [20, 300]] });
            assert_eq!(read, Value::Array(some.iter().map(line).collect()));
        }
    }
}
