//! Matches a compiled pattern against texts, line by line.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use memchr::{memchr, memchr_iter, memrchr};
use regex_automata::Input;
use regex_automata::meta::{BuildError, Cache, Config, Regex};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_syntax::hir::Hir;

use crate::error::QueryError;
use crate::pattern::Pattern;
use crate::stepped::{Interrupted, Stepped, SteppedScratch};

/// Largest compiled pattern, in bytes of its NFA; the `regex` crate's own default.
const MAX_COMPILED_BYTES: usize = 10 * 1024 * 1024;

/// Maximum work of one uninterrupted search: bytes of the compiled pattern times bytes of text. Longer texts are
/// searched some lines at a time, with a call of `go_on` in between. [`Stepped`] searches longer lines and calls
/// `go_on` on its way. It has no search for literals, so it takes three times as long for `\bxyz\d+`. The slowest
/// engine does 10,000 units a microsecond, so this limits a search to 30 ms of CPU time.
const MAX_UNINTERRUPTED: usize = 300_000_000;

/// Size of a compiled pattern, in bytes, above which `go_on` is called for each name or path. Below it, a name takes 20
/// microseconds at worst.
const SLOW_BYTES: usize = 200_000;

/// A compiled pattern. Threads may share it; each needs its own [`Scratch`].
#[derive(Clone, Debug)]
pub struct Matcher {
    regex: Regex,
    spans_lines: bool,
    /// Size of the compiled pattern in bytes. Computing it takes as long as matching a path, so it is kept.
    memory: usize,
    /// Maximum number of bytes that are searched without a call of `go_on`.
    uninterrupted: usize,
    /// Whether the pattern is an alternation of literals, which every engine finds fast.
    is_literal: bool,
    hir: Hir,
    /// Built when a search first needs it.
    stepped: Arc<OnceLock<Stepped>>,
}

/// The mutable state that matching needs. Creating it and filling its caches takes much longer than matching a chunk,
/// so a search reuses it.
#[derive(Clone, Debug)]
pub struct Scratch {
    cache: Cache,
    stepped: Option<SteppedScratch>,
}

/// One line that matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMatch {
    /// The line's number in the text, counted from 0.
    pub line: usize,
    /// The line's byte range in the text, without its line feed.
    pub span: Range<usize>,
    /// The matches, as byte ranges from the start of the line, in order and without overlaps. There is at least one; a
    /// range may be empty (`x*`).
    pub ranges: Vec<Range<usize>>,
    /// Whether the first match begins in an earlier line.
    pub continues: bool,
    /// Whether the last match includes the line feed.
    pub takes_feed: bool,
}

impl Matcher {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The compiled pattern is larger than 10 MiB (`\w{1000}{100}`).
    pub fn new(pattern: &Pattern) -> Result<Self, QueryError> {
        // Automata built ahead of time cost more than they save on the texts of one search: without them `bytes.Buffer`
        // compiles in 0.04 ms instead of 0.5.
        let config = Config::new()
            .nfa_size_limit(Some(MAX_COMPILED_BYTES))
            .which_captures(WhichCaptures::Implicit)
            .dfa(false)
            .onepass(false);
        Regex::builder()
            .configure(config)
            .build_from_hir(pattern.hir())
            .map(|regex| {
                let memory = regex.memory_usage();
                let is_literal = pattern.hir().properties().is_alternation_literal();
                let of_any = MAX_UNINTERRUPTED / memory.max(1);
                Self {
                    regex,
                    spans_lines: pattern.spans_lines(),
                    memory,
                    uninterrupted: if is_literal { usize::MAX } else { of_any },
                    is_literal,
                    hir: pattern.hir().clone(),
                    stepped: Arc::default(),
                }
            })
            .map_err(|error| pattern.error(build_message(&error)))
    }

    /// Creates the scratch space for this pattern.
    pub fn scratch(&self) -> Scratch {
        Scratch { cache: self.regex.create_cache(), stepped: None }
    }

    /// Returns the size of the compiled pattern in bytes.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Returns whether a match may cross lines, so that only the whole text decides.
    pub fn spans_lines(&self) -> bool {
        self.spans_lines
    }

    /// Calls `found` for each matching line of `text`, which must be UTF-8, in order, until it returns false. Calls
    /// `go_on` at each match, and many times during a search that takes long. Once `go_on` returns false it stops, and
    /// drops the matches of the unfinished line.
    pub fn lines(
        &self,
        scratch: &mut Scratch,
        text: &[u8],
        go_on: &dyn Fn() -> bool,
        found: &mut dyn FnMut(LineMatch) -> bool,
    ) {
        self.each_line(scratch, text, false, go_on, found);
    }

    /// Returns the first matching line of `text`, as [`Matcher::lines`] finds it.
    pub fn first_line(
        &self,
        scratch: &mut Scratch,
        text: &[u8],
        go_on: &dyn Fn() -> bool,
    ) -> Option<LineMatch> {
        let mut first = None;
        self.each_line(scratch, text, true, go_on, &mut |line| {
            first = Some(line);
            false
        });
        first
    }

    fn each_line(
        &self,
        scratch: &mut Scratch,
        text: &[u8],
        first_only: bool,
        go_on: &dyn Fn() -> bool,
        found: &mut dyn FnMut(LineMatch) -> bool,
    ) {
        // Ignore an interruption: the caller's `go_on` caused it.
        let _ = if self.spans_lines {
            self.spans(scratch, text, go_on, found)
        } else {
            self.line_by_line(scratch, text, first_only, go_on, found)
        };
    }

    /// Returns the first match in a part of a text.
    #[inline]
    fn find(
        &self,
        scratch: &mut Scratch,
        text: &[u8],
        part: Range<usize>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Range<usize>>, Interrupted> {
        if part.len() <= self.uninterrupted {
            return Ok(self.find_at_once(scratch, text, part));
        }
        self.find_in_pieces(scratch, text, part, go_on)
    }

    /// Returns the first match in a part of a text that is too long to search at once.
    fn find_in_pieces(
        &self,
        scratch: &mut Scratch,
        text: &[u8],
        part: Range<usize>,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Option<Range<usize>>, Interrupted> {
        let mut from = part.start;
        loop {
            // A match ends before a line feed, so the text after the line feed can be searched separately.
            let end = if part.end - from <= self.uninterrupted || self.spans_lines {
                part.end
            } else {
                let upto = from + self.uninterrupted;
                let last = memrchr(b'\n', &text[from..upto]).map(|length| from + length);
                let next = || memchr(b'\n', &text[upto..part.end]).map(|length| upto + length);
                last.or_else(next).unwrap_or(part.end)
            };
            let found = if end - from <= self.uninterrupted {
                self.find_at_once(scratch, text, from..end)
            } else {
                let stepped = || Stepped::new(&self.hir, MAX_COMPILED_BYTES);
                let stepped = self.stepped.get_or_init(stepped);
                let scratch = scratch.stepped.get_or_insert_with(|| stepped.scratch());
                stepped.find(scratch, text, from..end, go_on)?
            };
            if found.is_some() || end == part.end {
                return Ok(found);
            }
            if !go_on() {
                return Err(Interrupted);
            }
            from = end + 1;
        }
    }

    fn find_at_once(
        &self,
        scratch: &mut Scratch,
        text: &[u8],
        part: Range<usize>,
    ) -> Option<Range<usize>> {
        let input = Input::new(text).span(part);
        self.regex.search_with(&mut scratch.cache, &input).map(|found| found.range())
    }

    /// Finds the matching lines of a pattern that stays within lines. With `first_only`, stops at the first one.
    fn line_by_line(
        &self,
        scratch: &mut Scratch,
        text: &[u8],
        first_only: bool,
        go_on: &dyn Fn() -> bool,
        found: &mut dyn FnMut(LineMatch) -> bool,
    ) -> Result<(), Interrupted> {
        if text.is_empty() {
            return Ok(());
        }
        let (mut counted, mut line) = (0, 0);
        let mut next = self.find(scratch, text, 0..text.len(), go_on)?;
        while let Some(first) = next.take() {
            // No line follows a final line feed, though `$` matches there.
            if first.start == text.len() && text.ends_with(b"\n") {
                break;
            }
            let start =
                memrchr(b'\n', &text[counted..first.start]).map_or(counted, |i| counted + i + 1);
            let end = memchr(b'\n', &text[first.end..]).map_or(text.len(), |i| first.end + i);
            line += memchr_iter(b'\n', &text[counted..start]).count();
            counted = start;

            let upto = if first_only { end } else { text.len() };
            let mut from = after(text, &first);
            let mut ranges: Vec<Range<usize>> = Vec::new();
            ranges.push(first.start - start..first.end - start);
            while from <= upto {
                if !go_on() {
                    return Err(Interrupted);
                }
                let Some(more) = self.find(scratch, text, from..upto, go_on)? else { break };
                if more.start > end {
                    next = Some(more);
                    break;
                }
                // An empty match right after another match does not count, as in the `regex` crate.
                let behind = ranges.last().is_some_and(|last| start + last.end == more.end);
                if !(more.is_empty() && behind) {
                    ranges.push(more.start - start..more.end - start);
                }
                from = after(text, &more);
            }
            let (continues, takes_feed) = (false, false);
            if !found(LineMatch { line, span: start..end, ranges, continues, takes_feed }) {
                break;
            }
        }
        Ok(())
    }

    /// Calls `found` for each line that a match touches. A match touches all lines of which it contains a character,
    /// line feeds included.
    fn spans(
        &self,
        scratch: &mut Scratch,
        text: &[u8],
        go_on: &dyn Fn() -> bool,
        found: &mut dyn FnMut(LineMatch) -> bool,
    ) -> Result<(), Interrupted> {
        let line_end = |at: usize| memchr(b'\n', &text[at..]).map_or(text.len(), |i| at + i);
        let mut current: Option<LineMatch> = None;
        // The current line: where it starts and ends in the text, and its number.
        let (mut start, mut end, mut line) = (0, line_end(0), 0);
        let (mut from, mut last_end) = (0, None);
        while from <= text.len() {
            let Some(whole) = self.find(scratch, text, from..text.len(), go_on)? else { break };
            if !go_on() {
                return Err(Interrupted);
            }
            from = after(text, &whole);
            // An empty match right after another match does not count.
            if whole.is_empty() && last_end == Some(whole.end) {
                continue;
            }
            last_end = Some(whole.end);
            if whole.start == text.len() && (text.is_empty() || text.ends_with(b"\n")) {
                break;
            }
            if whole.start > end
                && let Some(i) = memrchr(b'\n', &text[end..whole.start])
            {
                line += memchr_iter(b'\n', &text[end..=end + i]).count();
                start = end + i + 1;
                end = line_end(start);
            }
            loop {
                let range = whole.start.max(start) - start..whole.end.min(end) - start;
                let takes_feed = whole.end > end;
                match &mut current {
                    Some(same) if same.line == line => {
                        same.ranges.push(range);
                        same.takes_feed = takes_feed;
                    }
                    _ => {
                        let (span, ranges) = (start..end, vec![range]);
                        let continues = whole.start < start;
                        let next = LineMatch { line, span, ranges, continues, takes_feed };
                        if let Some(done) = current.replace(next)
                            && !found(done)
                        {
                            return Ok(());
                        }
                    }
                }
                // Does the match continue in the next line?
                if whole.end <= end + 1 || end == text.len() {
                    break;
                }
                (start, line) = (end + 1, line + 1);
                end = line_end(start);
            }
        }
        if let Some(last) = current {
            found(last);
        }
        Ok(())
    }

    /// Returns whether the pattern occurs in `text`, taken as one line: a name or a path.
    pub fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Like [`Matcher::is_match`], but a heavy pattern calls `go_on`; once that returns false, the answer is false.
    pub fn is_match_within(&self, text: &str, go_on: &dyn Fn() -> bool) -> bool {
        if self.is_slow() {
            self.is_match_with(&mut self.scratch(), text, go_on)
        } else {
            self.is_match(text)
        }
    }

    /// Like [`Matcher::is_match_within`], but uses the given scratch space.
    pub fn is_match_with(
        &self,
        scratch: &mut Scratch,
        text: &str,
        go_on: &dyn Fn() -> bool,
    ) -> bool {
        if self.is_slow() {
            let all = 0..text.len();
            return go_on()
                && matches!(self.find(scratch, text.as_bytes(), all, go_on), Ok(Some(_)));
        }
        let input = Input::new(text).earliest(true);
        self.regex.search_half_with(&mut scratch.cache, &input).is_some()
    }

    /// Returns the byte ranges of the matches in `text`, taken as one line: a name or a path. A heavy pattern calls
    /// `go_on`; once that returns false, the result is empty.
    pub fn ranges(&self, text: &str, go_on: &dyn Fn() -> bool) -> Vec<Range<usize>> {
        if !self.is_slow() {
            return self.regex.find_iter(text).map(|found| found.range()).collect();
        }
        let line = self.first_line(&mut self.scratch(), text.as_bytes(), go_on);
        line.map(|line| line.ranges).unwrap_or_default()
    }

    /// Returns whether matching the pattern against a few names may take long.
    pub fn is_slow(&self) -> bool {
        !self.is_literal && self.memory > SLOW_BYTES
    }
}

/// Returns the offset at which to continue after a match: its end, or one character further if it is empty.
fn after(text: &[u8], found: &Range<usize>) -> usize {
    if !found.is_empty() {
        return found.end;
    }
    let inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let next = text.get(found.end + 1..).unwrap_or_default();
    found.end + 1 + next.iter().take_while(inside).count()
}

fn build_message(error: &BuildError) -> String {
    match error.size_limit() {
        Some(limit) => {
            format!("the pattern is too large: compiled, it exceeds {limit} bytes")
        }
        None => format!("the pattern cannot be compiled: {error}"),
    }
}

#[cfg(test)]
mod tests;
