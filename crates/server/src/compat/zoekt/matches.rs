//! Matches in Zoekt's two formats: lines with fragments, or chunks of lines with ranges.
//!
//! A file is shown by the matches in its text or, if there are none, by those in its path. If the path has none either,
//! the whole path is marked.

use std::ops::Range;

use answer::{FileMatch, Line};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};

use crate::compat::collect::around;

/// Bytes in base64, as in Go's JSON.
#[derive(Clone, Debug, Default)]
pub(super) struct Base64(pub(super) Vec<u8>);

impl Base64 {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Base64 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

/// A matching line, with its line feed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct LineMatch {
    pub(super) line: Base64,
    line_start: u64,
    line_end: u64,
    /// Counted from 1; 0 for a path.
    pub(super) line_number: u64,
    pub(super) before: Option<Base64>,
    pub(super) after: Option<Base64>,
    file_name: bool,
    pub(super) score: f64,
    debug_score: &'static str,
    pub(super) line_fragments: Vec<Fragment>,
}

/// A match in a line. All numbers are bytes.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Fragment {
    pub(super) line_offset: usize,
    offset: u64,
    pub(super) match_length: usize,
    symbol_info: Option<SymbolInfo>,
}

/// The symbol whose name a match is.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct SymbolInfo {
    sym: String,
    kind: &'static str,
    /// Empty for none.
    parent: String,
    parent_kind: &'static str,
}

/// Consecutive lines, and the matches in them.
#[derive(Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ChunkMatch {
    debug_score: &'static str,
    content: Base64,
    ranges: Vec<Span>,
    /// One per range; `None` if no range is a symbol.
    symbol_info: Option<Vec<Option<SymbolInfo>>>,
    file_name: bool,
    content_start: Position,
    pub(super) score: f64,
    best_line_match: u64,
}

/// The range of a match.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Span {
    start: Position,
    end: Position,
}

/// A position in a file.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Position {
    /// Counted from 0, in bytes.
    byte_offset: u64,
    /// Counted from 1.
    line_number: u64,
    /// Counted from 1, in characters.
    column: u64,
}

/// The space left in an answer.
#[derive(Debug)]
pub(super) struct Room {
    /// Number of matches: fragments of lines, or ranges of chunks.
    pub(super) matches: Option<usize>,
    /// Approximate number of bytes of JSON.
    pub(super) bytes: usize,
}

impl Room {
    pub(super) fn is_full(&self) -> bool {
        self.matches == Some(0) || self.bytes == 0
    }

    /// Returns how many of some matches fit, and takes their space.
    fn take(&mut self, matches: usize) -> usize {
        let taken = self.matches.map_or(matches, |left| left.min(matches));
        self.matches = self.matches.map(|left| left - taken);
        taken
    }

    /// Takes the space of a text in base64, and of some matches.
    fn take_bytes(&mut self, text: usize, matches: usize) {
        self.bytes = self.bytes.saturating_sub(256 + text / 3 * 4 + 128 * matches);
    }
}

/// Returns the number of matching lines, or 1 for a path.
pub(super) fn count(file: &FileMatch) -> usize {
    if of_path(file) { 1 } else { file.lines.iter().filter(|line| shown(line)).count() }
}

/// Returns whether a file is shown by its path.
fn of_path(file: &FileMatch) -> bool {
    file.matches() == 0
}

/// Returns whether a line is shown. Zoekt leaves out lines with only empty matches.
fn shown(line: &Line) -> bool {
    line.ranges.iter().any(|range| !range.is_empty())
}

/// Returns the matching lines of a file that fit.
pub(super) fn lines(file: &FileMatch, context: usize, room: &mut Room) -> Vec<LineMatch> {
    let mut all = Vec::new();
    let mut add = |mut found: LineMatch, room: &mut Room| {
        found.line_fragments.truncate(room.take(found.line_fragments.len()));
        room.take_bytes(found.text_bytes(), found.line_fragments.len());
        all.push(found);
    };
    if of_path(file) {
        add(LineMatch::of_path(&file.path, &file.path_ranges), room);
        return all;
    }
    for (at, line) in file.lines.iter().enumerate().filter(|(_, line)| shown(line)) {
        if room.is_full() {
            break;
        }
        add(LineMatch::new(file, at, line, context), room);
    }
    all
}

/// Returns the matches of a file, in order. With `spanning`, a match that ends a line is joined with one that begins
/// the next line.
pub(super) fn spans(file: &FileMatch, spanning: bool) -> Vec<Span> {
    if of_path(file) {
        return spans_of_path(&file.path, &file.path_ranges);
    }
    let mut spans: Vec<Span> = Vec::new();
    // The line whose end the last match reaches.
    let mut open = None;
    for line in file.lines.iter().filter(|line| !line.ranges.is_empty()) {
        for range in &line.ranges {
            let span = Span::of(&line.text, line.number, line.offset, range);
            match spans.last_mut() {
                Some(last) if range.start == 0 && open == Some(line.number - 1) => {
                    last.end = span.end;
                }
                _ => spans.push(span),
            }
            open = None;
        }
        let to_end = line.ranges.last().is_some_and(|range| range.end == line.text.len());
        open = (spanning && to_end).then_some(line.number);
    }
    spans
}

/// Returns the chunks of a file that fit.
pub(super) fn chunks(
    file: &FileMatch,
    context: usize,
    spanning: bool,
    room: &mut Room,
) -> Vec<ChunkMatch> {
    let mut spans = spans(file, spanning);
    spans.truncate(room.take(spans.len()));
    if of_path(file) {
        return vec![ChunkMatch::of_path(&file.path, spans)];
    }
    let context = context as u64;
    // Matches whose lines of context touch or overlap form one chunk.
    let mut groups: Vec<(u64, Vec<Span>)> = Vec::new();
    for span in spans {
        match groups.last_mut() {
            Some((last, group))
                if *last + context >= span.start.line_number.saturating_sub(context) =>
            {
                *last = span.end.line_number.max(*last);
                group.push(span);
            }
            _ => groups.push((span.end.line_number, vec![span])),
        }
    }
    groups
        .into_iter()
        .map_while(|(last, ranges)| {
            if room.bytes == 0 {
                return None;
            }
            let first = ranges[0].start.line_number;
            let from = file.lines.partition_point(|line| line.number + context < first);
            let end = file.lines.partition_point(|line| line.number <= last + context);
            let lines = &file.lines[from..end];
            let start = lines.first().expect("a range is in a line");
            let texts = text(lines.iter());
            room.take_bytes(texts.0.len(), ranges.len());
            Some(ChunkMatch {
                debug_score: "",
                content: texts,
                symbol_info: symbols(lines.iter(), &ranges),
                ranges,
                file_name: false,
                content_start: Position {
                    byte_offset: start.offset,
                    line_number: start.number,
                    column: 1,
                },
                score: 0.0,
                best_line_match: first,
            })
        })
        .collect()
}

/// Returns the matches in a path.
pub(super) fn spans_of_path(path: &str, ranges: &[Range<usize>]) -> Vec<Span> {
    ranges_of_path(path, ranges).map(|range| Span::of(path, 1, 0, &range)).collect()
}

/// Returns the ranges to mark in a path: the whole path if there are no matches.
fn ranges_of_path(path: &str, ranges: &[Range<usize>]) -> impl Iterator<Item = Range<usize>> {
    let all = ranges.is_empty().then_some(0..path.len());
    ranges.iter().cloned().chain(all)
}

/// Returns lines as they are in the file.
fn text<'l>(lines: impl Iterator<Item = &'l Line>) -> Base64 {
    let mut text = Vec::new();
    for line in lines {
        text.extend(line.text.as_bytes());
        text.extend(line.ended.then_some(b'\n'));
    }
    Base64(text)
}

/// Returns the symbols at some ranges in lines; `None` if no range is a symbol.
fn symbols<'l>(
    lines: impl Iterator<Item = &'l Line>,
    ranges: &[Span],
) -> Option<Vec<Option<SymbolInfo>>> {
    let lines: Vec<&Line> = lines.filter(|line| !line.symbols.is_empty()).collect();
    let of = |span: &Span| {
        let line = lines.iter().find(|line| line.number == span.start.line_number)?;
        SymbolInfo::of(line, (span.start.byte_offset - line.offset) as usize)
    };
    let all: Vec<Option<SymbolInfo>> = ranges.iter().map(of).collect();
    all.iter().any(Option::is_some).then_some(all)
}

impl SymbolInfo {
    /// Returns the symbol whose name begins at a byte of a line.
    fn of(line: &Line, at: usize) -> Option<Self> {
        let found = line.symbols.iter().find(|found| found.range.start == at)?;
        let (parent, parent_kind) = found.symbol.container.clone().unwrap_or_default();
        Some(Self { sym: found.symbol.name.clone(), kind: found.symbol.kind, parent, parent_kind })
    }
}

impl LineMatch {
    fn new(file: &FileMatch, at: usize, line: &Line, context: usize) -> Self {
        let (before, after) = around(&file.lines, at, context);
        let near = |lines: &[Line]| (context > 0).then(|| text(lines.iter()));
        let fragments = line.ranges.iter().filter(|range| !range.is_empty());
        Self {
            line: text(std::iter::once(line)),
            line_start: line.offset,
            line_end: line.offset + line.text.len() as u64 + u64::from(line.ended),
            line_number: line.number,
            before: near(before),
            after: near(after),
            file_name: false,
            score: 0.0,
            debug_score: "",
            line_fragments: fragments
                .map(|range| Fragment {
                    symbol_info: SymbolInfo::of(line, range.start),
                    ..Fragment::of(line.offset, range)
                })
                .collect(),
        }
    }

    /// Returns the length of its texts, in bytes.
    fn text_bytes(&self) -> usize {
        let near = [&self.before, &self.after].into_iter().flatten();
        self.line.0.len() + near.map(|text| text.0.len()).sum::<usize>()
    }

    /// Makes the match of a path, in the format of a line.
    pub(super) fn of_path(path: &str, ranges: &[Range<usize>]) -> Self {
        Self {
            line: Base64(path.as_bytes().to_vec()),
            line_start: 0,
            line_end: 0,
            line_number: 0,
            before: None,
            after: None,
            file_name: true,
            score: 0.0,
            debug_score: "",
            line_fragments: ranges_of_path(path, ranges)
                .map(|range| Fragment::of(0, &range))
                .collect(),
        }
    }
}

impl Fragment {
    fn of(offset: u64, range: &Range<usize>) -> Self {
        Self {
            line_offset: range.start,
            offset: offset + range.start as u64,
            match_length: range.len(),
            symbol_info: None,
        }
    }
}

impl ChunkMatch {
    /// Makes the match of a path, in the format of a chunk.
    pub(super) fn of_path(path: &str, ranges: Vec<Span>) -> Self {
        Self {
            debug_score: "",
            content: Base64(path.as_bytes().to_vec()),
            ranges,
            symbol_info: None,
            file_name: true,
            content_start: Position { byte_offset: 0, line_number: 1, column: 1 },
            score: 0.0,
            best_line_match: 0,
        }
    }
}

impl Span {
    /// Converts a range of bytes in a line that begins at `offset`.
    fn of(line: &str, number: u64, offset: u64, range: &Range<usize>) -> Self {
        let place = |at: usize| Position {
            byte_offset: offset + at as u64,
            line_number: number,
            column: line[..at].chars().count() as u64 + 1,
        };
        Self { start: place(range.start), end: place(range.end) }
    }
}
