//! Prints the lines of a block: their prefixes, the visible parts of their texts, and the marked matches.

use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use anstyle::Style;
use answer::{Line, LineChange};
use unicode_segmentation::UnicodeSegmentation;

use super::blocks;
use super::replace::Replacer;
use super::style::{ADDED, COLUMN, COMMIT, Ink, MATCH, NUMBER, PATH, REMOVED};
use crate::cli::{HyperlinkFormat, LINK_END};

/// How lines are printed.
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(super) struct Lines {
    pub(super) ink: Ink,
    pub(super) links: HyperlinkFormat,
    pub(super) number: bool,
    pub(super) column: bool,
    pub(super) byte_offset: bool,
    /// Whether a NUL follows each path.
    pub(super) null: bool,
    /// Whether each match gets a line of its own.
    pub(super) per_match: bool,
    /// Whether only matches are printed.
    pub(super) only_matching: bool,
    pub(super) replacer: Option<Replacer>,
    pub(super) trim: bool,
    /// Most bytes of a line; 0 for no limit.
    pub(super) max_columns: usize,
    /// Whether the beginning of a longer line is printed.
    pub(super) preview: bool,
    /// The line end printed for a line without its own.
    pub(super) end: &'static str,
    /// The separators after path, number and column: of a matching line, and of a line of context.
    pub(super) separators: (String, String),
}

/// A text that is printed as one line.
struct Shown<'a> {
    text: &'a str,
    /// The matches in it.
    ranges: &'a [Range<usize>],
    /// Length of its line feed in bytes.
    ended: usize,
    /// The number of matches that is reported if the text is too long.
    matches: usize,
    context: bool,
    change: Option<LineChange>,
}

/// The start of a printed text: its offset in the file, and the offset from which its column counts.
type Start = (u64, usize);

impl Lines {
    /// Prints the commit that changed the lines which follow.
    pub(super) fn commit(&self, out: &mut dyn Write, text: &str) -> io::Result<()> {
        self.ink.styled(out, COMMIT, text)
    }

    /// Prints a block, each line after the path if one is given. `file` is the target of hyperlinks.
    pub(super) fn print(
        &self,
        out: &mut dyn Write,
        (path, file): (Option<&str>, Option<&Path>),
        block: &[Line],
    ) -> io::Result<()> {
        let first = block[0].offset;
        // The start of the match that continues on the next line.
        let mut begun: Start = (first, 0);
        for line in block {
            let context = line.ranges.is_empty();
            let (text, ranges) = self.replaced(line);
            let (text, ranges): (&str, &[Range<usize>]) = (&text, &ranges);
            let (matches, ended) = (ranges.len(), usize::from(line.ended));
            let change = line.change;
            if context {
                self.before(out, (path, file), line, None)?;
                self.text(out, &Shown { text, ranges, ended, matches, context, change })?;
            } else if self.only_matching || self.per_match {
                for (at, range) in ranges.iter().enumerate() {
                    if at == 0 && line.continues {
                        // A match across lines is shown once, on its first line.
                        if !self.only_matching {
                            continue;
                        }
                    } else {
                        let start = line.offset + range.start as u64;
                        // As in ripgrep, the column counts from the beginning of the block.
                        begun = (start, (start - first) as usize);
                    }
                    // As in ripgrep, a line with only the end of a match is not printed.
                    let of_more =
                        at == 0 && line.continues || at + 1 == ranges.len() && line.takes_feed;
                    if self.only_matching && of_more && range.is_empty() {
                        continue;
                    }
                    if self.only_matching {
                        self.before(out, (path, file), line, Some(begun))?;
                        let text = &text[range.clone()];
                        let whole = 0..text.len();
                        let (ranges, ended, change) = (std::slice::from_ref(&whole), 0, None);
                        self.text(out, &Shown { text, ranges, ended, matches, context, change })?;
                    } else {
                        self.before(out, (path, file), line, Some((line.offset, range.start)))?;
                        let ranges = std::slice::from_ref(range);
                        self.text(out, &Shown { text, ranges, ended, matches, context, change })?;
                    }
                }
            } else {
                let matches = if block.len() > 1 { blocks::count_matches(block) } else { matches };
                let column = block[0].ranges[0].start;
                let column = if block.len() > 1 { column } else { ranges[0].start };
                self.before(out, (path, file), line, Some((line.offset, column)))?;
                self.text(out, &Shown { text, ranges, ended, matches, context, change })?;
            }
        }
        Ok(())
    }

    /// Returns the text and matches of a line, with replacements if requested.
    fn replaced<'l>(&self, line: &'l Line) -> (Cow<'l, str>, Cow<'l, [Range<usize>]>) {
        match &self.replacer {
            Some(replacer) if !line.ranges.is_empty() => {
                let (text, ranges) = replacer.replaced(&line.text, &line.ranges);
                (Cow::Owned(text), Cow::Owned(ranges))
            }
            _ => (Cow::Borrowed(&line.text), Cow::Borrowed(&line.ranges)),
        }
    }

    /// Prints the prefix of a line. `at` is the start of the printed text, for a matching line.
    fn before(
        &self,
        out: &mut dyn Write,
        (path, file): (Option<&str>, Option<&Path>),
        line: &Line,
        at: Option<Start>,
    ) -> io::Result<()> {
        let column = at.map(|(_, column)| column + 1);
        // As in ripgrep, below a heading the number leads to its line, if the format has lines.
        let of_number = file.filter(|_| path.is_none() && self.links.has_line());
        let Self { ink, separators: (of_match, of_context), .. } = self;
        let separator = if at.is_some() { of_match } else { of_context };
        if let Some(path) = path {
            self.linked(out, file, (Some(line.number), column), PATH, path)?;
            out.write_all(if self.null { b"\0" } else { separator.as_bytes() })?;
        }
        // A line of the history has no number, but editors want one.
        if self.number && (line.number > 0 || self.per_match) {
            let number = line.number.max(1).to_string();
            self.linked(out, of_number, (Some(line.number), column), NUMBER, &number)?;
            out.write_all(separator.as_bytes())?;
        }
        if let Some((_, column)) = at.filter(|_| self.column) {
            ink.styled(out, COLUMN, &(column + 1).to_string())?;
            out.write_all(separator.as_bytes())?;
        }
        if self.byte_offset {
            let offset = at.map_or(line.offset, |(offset, _)| offset);
            ink.styled(out, COLUMN, &offset.to_string())?;
            out.write_all(separator.as_bytes())?;
        }
        Ok(())
    }

    /// Prints a text as a hyperlink, if there is a file to lead to.
    pub(super) fn linked(
        &self,
        out: &mut dyn Write,
        file: Option<&Path>,
        (line, column): (Option<u64>, Option<usize>),
        style: Style,
        text: &str,
    ) -> io::Result<()> {
        let Some(file) = file.filter(|_| !self.links.is_none()) else {
            return self.ink.styled(out, style, text);
        };
        out.write_all(self.links.begin(file, line, column).as_bytes())?;
        self.ink.styled(out, style, text)?;
        out.write_all(LINK_END.as_bytes())
    }

    fn text(&self, out: &mut dyn Write, shown: &Shown<'_>) -> io::Result<()> {
        match shown.change {
            None => {}
            Some(LineChange::Added) => self.ink.styled(out, ADDED, "+")?,
            Some(LineChange::Removed) => self.ink.styled(out, REMOVED, "-")?,
        }
        let (mut text, mut end) = (shown.text, self.end);
        let is_as_it_is =
            shown.context || !(self.only_matching || self.replacer.is_some() || self.ink.color);
        if end != "\n" && is_as_it_is && shown.ended > 0 {
            end = "\n";
        } else if end != "\n" {
            text = text.strip_suffix('\r').unwrap_or(text);
        }
        let begin = if self.trim { blank(shown.text) } else { 0 };
        // As in ripgrep, trimmed bytes count towards the limit if matches are marked.
        let counted = if self.ink.color && !shown.context { 0 } else { begin };
        let bytes = shown.text.len() - counted + shown.ended;
        if self.max_columns == 0 || bytes <= self.max_columns {
            self.marked(out, shown, begin.min(text.len())..text.len())?;
            return out.write_all(end.as_bytes());
        }
        if self.preview {
            let rest = &shown.text[begin..];
            let cut = rest.grapheme_indices(true).nth(self.max_columns);
            let end = begin + cut.map_or(rest.len(), |(at, _)| at);
            self.marked(out, shown, begin..end)?;
            let beyond = shown.ranges.iter().filter(|range| range.start >= end).count();
            match beyond {
                _ if shown.context || !self.knows_matches() => {
                    write!(out, " [... omitted end of long line]")?;
                }
                1 => write!(out, " [... 1 more match]")?,
                _ => write!(out, " [... {beyond} more matches]")?,
            }
        } else if shown.context {
            write!(out, "[Omitted long context line]")?;
        } else if self.only_matching || !self.knows_matches() {
            write!(out, "[Omitted long matching line]")?;
        } else {
            write!(out, "[Omitted long line with {} matches]", shown.matches)?;
        }
        out.write_all(self.end.as_bytes())
    }

    /// Returns whether ripgrep would know each match of a line, instead of only that the line matches.
    fn knows_matches(&self) -> bool {
        self.ink.color
            || self.column
            || self.per_match
            || self.only_matching
            || self.replacer.is_some()
    }

    /// Prints a part of a text, with its matches in colour.
    fn marked(&self, out: &mut dyn Write, shown: &Shown<'_>, part: Range<usize>) -> io::Result<()> {
        let mut at = part.start;
        let mut ranges =
            shown.ranges.iter().filter(|range| self.ink.color && !range.is_empty()).peekable();
        while let Some(range) = ranges.next() {
            let (start, mut end) = (range.start.clamp(at, part.end), range.end);
            // Adjacent matches are marked as one.
            while let Some(next) = ranges.next_if(|next| next.start == end) {
                end = next.end;
            }
            let end = end.clamp(start, part.end);
            self.changed(out, shown, &shown.text[at..start])?;
            if start < end {
                self.ink.styled(out, MATCH, &shown.text[start..end])?;
            }
            at = end;
        }
        // A carriage return before the line feed is harmless on a terminal, so it is not replaced.
        let rest = &shown.text[at..part.end];
        let (rest, end) = rest.strip_suffix('\r').map_or((rest, ""), |rest| (rest, "\r"));
        self.changed(out, shown, rest)?;
        out.write_all(end.as_bytes())
    }

    /// Prints a part of a text without matches, in the colour of its change.
    fn changed(&self, out: &mut dyn Write, shown: &Shown<'_>, text: &str) -> io::Result<()> {
        match shown.change {
            None => self.ink.plain(out, text),
            Some(_) if text.is_empty() => Ok(()),
            Some(LineChange::Added) => self.ink.styled(out, ADDED, text),
            Some(LineChange::Removed) => self.ink.styled(out, REMOVED, text),
        }
    }
}

/// Returns the length of leading white space in bytes.
fn blank(text: &str) -> usize {
    let is_blank = |c: char| matches!(c, '\t' | '\u{b}' | '\u{c}' | '\r' | ' ');
    text.len() - text.trim_start_matches(is_blank).len()
}
