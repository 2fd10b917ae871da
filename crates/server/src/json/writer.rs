//! Writes files as JSON while more are being found.
//!
//! An answer may be many megabytes, nearly all of it the text of lines. So it is written to pieces that never move, and
//! a fast escaper scans many bytes of a line at once, where serde scans byte by byte.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

use answer::{Commit, FileMatch, Line};
use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use json_escape_simd::escape_into;
use query::Select;
use rank::Explained;
use serde::Serialize;
use serde_json::Value;

use super::score::ScoreJson;
use super::stats::StatsJson;
use super::symbol::{EnclosingJson, SymbolJson};
use crate::cursor::Cursor;
use crate::error::Failure;
use crate::params::{SearchParams, names};

/// Capacity of the first piece and of the largest, in bytes. Each piece is twice as large as the one before, or as
/// large as a single file needs.
const PIECE_BYTES: Range<usize> = 8 * 1024..128 * 1024;

/// Escaping makes a text longer by about one byte in this many.
const ESCAPED: usize = 8;

/// Smallest JSON of a file, in bytes, that is sent without a copy. Smaller ones are copied together.
const LARGE_BYTES: usize = 16 * 1024;

/// Bytes that the end of an answer needs in most cases.
const TAIL_BYTES: usize = 2 * 1024;

/// Bytes of a line that are escaped at a time. The escaper reserves six times as much.
const ESCAPED_AT_ONCE: usize = 16 * 1024;

/// The fields of a file.
const FIELDS: [&str; 9] = [
    "repo",
    "path",
    "language",
    "path_ranges",
    "matches",
    "trees",
    "commit",
    "renamed_from",
    "copies",
];

/// Copies that are listed of a file, unless all are requested.
const FEW_COPIES: usize = 10;

/// The fields that are sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldSet {
    fields: [bool; FIELDS.len()],
    /// Most copies of a file that are sent.
    copies: usize,
}

impl FieldSet {
    /// Selects all fields, or those that the parameters name.
    pub(crate) fn of(params: &SearchParams) -> Result<Self, Failure> {
        let copies = if params.lists_copies() { usize::MAX } else { FEW_COPIES };
        let Some(names) = params.given.get(&names::FIELDS) else {
            return Ok(Self { fields: [true; FIELDS.len()], copies });
        };
        let mut fields = [false; FIELDS.len()];
        for name in names.split(',').map(str::trim) {
            let at = FIELDS.iter().position(|known| *known == name).ok_or_else(|| {
                let known = FIELDS.join(", ");
                Failure::bad_request(format!("fields={name}: use {known}, separated by commas"))
            })?;
            fields[at] = true;
        }
        Ok(Self { fields, copies })
    }

    /// Writes a file, or only the name of its repository if the query asks for repositories.
    fn write(self, file: &FileMatch, score: Option<Explained>, select: Select, to: &mut Vec<u8>) {
        if select == Select::Repos {
            escape_into(&file.repo, to);
            return;
        }
        let mut before = b'{';
        for (name, _) in FIELDS.into_iter().zip(self.fields).filter(|(_, wanted)| *wanted) {
            let is_missing = match name {
                "copies" => file.copies.is_empty(),
                "trees" => file.trees.is_empty(),
                "commit" => file.commit.is_none(),
                "renamed_from" => file.renamed_from.is_none(),
                _ => false,
            };
            if is_missing {
                continue;
            }
            to.extend_from_slice(&[before, b'"']);
            before = b',';
            to.extend_from_slice(name.as_bytes());
            to.extend_from_slice(b"\":");
            match (name, &file.language) {
                ("repo", _) => escape_into(&file.repo, to),
                ("path", _) => escape_into(&file.path, to),
                ("language", Some(language)) => escape_into(language, to),
                ("language", None) => to.extend_from_slice(b"null"),
                ("path_ranges", _) => pairs(&file.path_ranges, to),
                ("trees", _) => json(&file.trees, to),
                ("commit", _) => json(&file.commit.as_deref().map(CommitJson::from), to),
                ("renamed_from", _) => json(&file.renamed_from, to),
                ("copies", _) => {
                    let copies = file.copies.iter().take(self.copies);
                    let copies = copies.map(|of| CopyJson { repo: &of.repo, path: &of.path });
                    json(&copies.collect::<Vec<_>>(), to);
                    to.extend_from_slice(b",\"copies_total\":");
                    to.extend_from_slice(itoa::Buffer::new().format(file.copies.len()).as_bytes());
                }
                _ => lines(&file.lines, to),
            }
        }
        if let Some(explained) = score {
            to.push(before);
            to.extend_from_slice(b"\"score\":");
            json(&ScoreJson::from(&explained), to);
        }
        to.push(b'}');
    }
}

/// A commit.
#[derive(Serialize)]
struct CommitJson<'a> {
    hash: &'a str,
    author: &'a str,
    time: i64,
    summary: &'a str,
}

impl<'a> From<&'a Commit> for CommitJson<'a> {
    fn from(commit: &'a Commit) -> Self {
        let Commit { hash, author, time, summary } = commit;
        Self { hash, author, time: *time, summary }
    }
}

/// A copy of a file.
#[derive(Serialize)]
struct CopyJson<'a> {
    repo: &'a str,
    path: &'a str,
}

/// Writes lines; a line of context has no ranges. Fields for symbols are left out if empty.
fn lines(lines: &[Line], to: &mut Vec<u8>) {
    to.push(b'[');
    for (at, line) in lines.iter().enumerate() {
        to.extend_from_slice(if at == 0 { b"{\"line\":" } else { b",{\"line\":" });
        to.extend_from_slice(itoa::Buffer::new().format(line.number).as_bytes());
        to.extend_from_slice(b",\"text\":");
        string(&line.text, to);
        to.extend_from_slice(b",\"ranges\":");
        pairs(&line.ranges, to);
        if let Some(change) = line.change {
            to.extend_from_slice(b",\"change\":");
            escape_into(change.word(), to);
        }
        if !line.symbols.is_empty() {
            let symbols: Vec<SymbolJson<'_>> = line.symbols.iter().map(SymbolJson::from).collect();
            to.extend_from_slice(b",\"symbols\":");
            json(&symbols, to);
        }
        if let Some(enclosing) = &line.enclosing {
            to.extend_from_slice(b",\"enclosing\":");
            json(&EnclosingJson::from(&**enclosing), to);
        }
        to.push(b'}');
    }
    to.push(b']');
}

/// Writes a value with serde.
fn json(value: &impl Serialize, to: &mut Vec<u8>) {
    serde_json::to_writer(to, value).expect("texts and numbers are JSON");
}

/// Writes byte ranges, each as its start and end.
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

/// Writes a string of any length.
fn string(text: &str, to: &mut Vec<u8>) {
    if text.len() <= ESCAPED_AT_ONCE {
        escape_into(text, to);
        return;
    }
    let (mut rest, mut part) = (text, Vec::new());
    to.push(b'"');
    while !rest.is_empty() {
        let (first, others) = rest.split_at(rest.floor_char_boundary(ESCAPED_AT_ONCE));
        escape_into(first, &mut part);
        // Leave out the enclosing quotes.
        to.extend_from_slice(&part[1..part.len() - 1]);
        part.clear();
        rest = others;
    }
    to.push(b'"');
}

/// An answer under construction: files, or repositories if the query asks for those.
#[derive(Debug)]
pub(crate) struct JsonWriter {
    /// The head of the answer, then its files in the order in which they were found, separated by commas.
    pieces: Vec<Vec<u8>>,
    /// The repository, path and place of each file.
    files: Vec<(String, String, Place)>,
    /// Bytes before the first file.
    head: usize,
    /// Whether there is no file yet.
    empty: bool,
    /// Capacity of the next piece in bytes.
    room: usize,
    fields: FieldSet,
    select: Select,
}

/// The index of a piece, and a byte range in it.
type Place = (usize, Range<usize>);

impl JsonWriter {
    pub(crate) fn new(q: &str, select: Select, fields: FieldSet) -> Self {
        let what = if select == Select::Repos { "repos" } else { "files" };
        let mut head = Vec::with_capacity(PIECE_BYTES.start);
        head.extend_from_slice(b"{\"query\":");
        string(q, &mut head);
        head.extend_from_slice(format!(",\"{what}\":[").as_bytes());
        Self {
            head: head.len(),
            pieces: vec![head],
            files: Vec::new(),
            empty: true,
            room: PIECE_BYTES.start,
            fields,
            select,
        }
    }

    /// Adds a file.
    pub(crate) fn add(&mut self, file: FileMatch) {
        self.add_scored(file, None);
    }

    /// Adds a file, and if given, its score and the parts of it.
    pub(crate) fn add_scored(&mut self, file: FileMatch, score: Option<Explained>) {
        let size = file.size() + file.size() / ESCAPED;
        let last = match self.pieces.last_mut() {
            Some(last) if last.capacity() - last.len() >= size => last,
            _ => {
                self.room = (self.room * 2).min(PIECE_BYTES.end);
                self.pieces.push(Vec::with_capacity(self.room.max(size)));
                self.pieces.last_mut().expect("it is there now")
            }
        };
        if !std::mem::take(&mut self.empty) {
            last.push(b',');
        }
        let from = last.len();
        self.fields.write(&file, score, self.select, last);
        let range = from..last.len();
        self.files.push((file.repo, file.path, (self.pieces.len() - 1, range)));
    }

    /// Returns files that are not results as a separate list; `None` if there are none.
    pub(crate) fn listed(&self, files: &[FileMatch]) -> Option<String> {
        (!files.is_empty()).then(|| list(files, self.select, self.fields))
    }

    /// Returns the number of bytes that are written but not taken.
    pub(crate) fn bytes(&self) -> usize {
        self.pieces.iter().map(Vec::len).sum()
    }

    /// Takes the text written so far, to be sent before the rest.
    pub(crate) fn take(&mut self) -> Vec<Vec<u8>> {
        self.files.clear();
        std::mem::take(&mut self.pieces)
    }

    /// Writes the end of the answer, after the files.
    pub(crate) fn finish(&mut self, stats: &str, parts: Tail) {
        self.pieces.push(tail(stats, parts).into_bytes());
    }

    /// Sorts the files by repository and path.
    pub(crate) fn sort(&mut self) {
        self.files.sort_by(|(a, at, _), (b, bt, _)| (a, at).cmp(&(b, bt)));
    }

    /// Makes the response with the whole answer.
    pub(crate) fn end(self, stats: &StatsJson, parts: Tail) -> Response {
        let pieces: Vec<Bytes> = self.pieces.into_iter().map(Bytes::from).collect();
        let mut body = Pieces::default();
        let small = self.files.iter().map(|(.., (_, range))| range.len() + 1);
        let small: usize = small.filter(|bytes| *bytes <= LARGE_BYTES).sum();
        let mut small = Vec::with_capacity(self.head + small + TAIL_BYTES);
        small.extend_from_slice(&pieces[0][..self.head]);
        for (at, (.., (piece, range))) in self.files.into_iter().enumerate() {
            if at > 0 {
                small.push(b',');
            }
            if range.len() < LARGE_BYTES {
                small.extend_from_slice(&pieces[piece][range]);
            } else {
                body.add(Bytes::from(std::mem::take(&mut small)));
                body.add(pieces[piece].slice(range));
            }
        }
        small.extend_from_slice(tail(&stats.to_string(), parts).as_bytes());
        body.add(Bytes::from(small));
        ([(CONTENT_TYPE, "application/json")], Body::new(body)).into_response()
    }
}

/// The parts of an answer after its statistics.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    /// Near definitions, as JSON.
    pub(crate) near: Option<String>,
    /// The cursor to continue with.
    pub(crate) next: Option<Cursor>,
    pub(crate) explain: Option<Value>,
    pub(crate) hints: Option<Value>,
    /// The files that have changed on disk.
    pub(crate) stale: Option<Value>,
    /// Files that do not match but have some words of the query, ranked by these.
    pub(crate) by_words: Option<Value>,
}

/// Returns the end of an answer.
fn tail(stats: &str, parts: Tail) -> String {
    let Tail { near, next, explain, hints, stale, by_words } = parts;
    let near = near.map_or_else(String::new, |near| format!(",\"near_definitions\":{near}"));
    let next = next.map_or_else(String::new, |next| format!(",\"next\":\"{next}\""));
    let explain = explain.map_or_else(String::new, |explain| format!(",\"explain\":{explain}"));
    let hints = hints.map_or_else(String::new, |hints| format!(",\"hints\":{hints}"));
    let stale = stale.map_or_else(String::new, |stale| format!(",\"stale\":{stale}"));
    let by_words =
        by_words.map_or_else(String::new, |by_words| format!(",\"by_words\":{by_words}"));
    format!("],\"stats\":{stats}{near}{next}{explain}{hints}{stale}{by_words}}}")
}

/// Returns the data of an event with some files.
pub(crate) fn event(found: &[FileMatch], select: Select, fields: FieldSet) -> String {
    let what = if select == Select::Repos { "repos" } else { "files" };
    format!("{{\"{what}\":{}}}", list(found, select, fields))
}

/// Returns files as a list.
fn list(files: &[FileMatch], select: Select, fields: FieldSet) -> String {
    let mut list = vec![b'['];
    for (at, file) in files.iter().enumerate() {
        if at > 0 {
            list.push(b',');
        }
        fields.write(file, None, select, &mut list);
    }
    list.push(b']');
    String::from_utf8(list).expect("names and lines are texts")
}

/// A body in several pieces, of known length.
#[derive(Debug, Default)]
struct Pieces {
    pieces: VecDeque<Bytes>,
    bytes: u64,
}

impl Pieces {
    fn add(&mut self, piece: Bytes) {
        self.bytes += piece.len() as u64;
        self.pieces.push_back(piece);
    }
}

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.pieces.pop_front();
        self.bytes -= next.as_ref().map_or(0, |piece| piece.len() as u64);
        Poll::Ready(next.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_are_written_as_they_are() {
        let every: String = (0..0x3000).filter_map(char::from_u32).collect();
        let mut texts = vec![String::new(), every];
        for length in (1..100).chain(ESCAPED_AT_ONCE - 3..ESCAPED_AT_ONCE + 3) {
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
            ..Line::default()
        };
        let all: Vec<Line> = texts.iter().map(line).collect();
        for some in [&all[..], &all[..1], &[]] {
            let mut writer = Vec::new();
            lines(some, &mut writer);
            let read: Value = serde_json::from_slice(&writer).unwrap();
            let line = |line: &Line| json!({ "line": 7, "text": line.text, "ranges": [[0, 1], [20, 300]] });
            assert_eq!(read, Value::Array(some.iter().map(line).collect()));
        }
    }
}
