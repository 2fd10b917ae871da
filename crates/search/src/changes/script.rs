//! The lines of two texts in the order of a unified diff: unchanged lines once, and where the texts differ, the removed
//! lines before the added ones.

use std::ops::Range;

use answer::LineChange;
use memchr::memchr_iter;

use super::file::Texts;

/// A text and the offsets of its lines.
pub(super) struct Lines<'t> {
    pub(super) text: &'t str,
    /// The offset of each line, and the length of the text.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
        if starts.last() != Some(&text.len()) {
            starts.push(text.len());
        }
        Self { text, starts }
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the byte range of some lines, counted from 0.
    pub(super) fn bytes(&self, lines: &Range<u32>) -> Range<usize> {
        let at = |line: u32| self.starts[(line as usize).min(self.count())];
        at(lines.start)..at(lines.end)
    }

    fn line(&self, at: usize) -> (u64, &'t str, bool) {
        let whole = &self.text[self.starts[at]..self.starts[at + 1]];
        let line = whole.strip_suffix('\n');
        (self.starts[at] as u64, line.unwrap_or(whole), line.is_some())
    }
}

/// Some lines that are alike: unchanged, removed or added.
struct Part {
    change: Option<LineChange>,
    /// Position of its first line in the script.
    at: usize,
    /// The first line in the older and in the newer text, from 0.
    old: usize,
    new: usize,
    lines: usize,
}

/// The lines of two texts in the order of a unified diff.
pub struct Script<'t> {
    pub(super) old: Lines<'t>,
    pub(super) new: Lines<'t>,
    parts: Vec<Part>,
}

/// A line of a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiffLine<'t> {
    /// How it changed; `None` if it is in both texts.
    pub change: Option<LineChange>,
    /// Its number in the older text, from 1; for an added line, that of the next line.
    pub old: usize,
    /// Its number in the newer text, from 1; for a removed line, that of the next line.
    pub new: usize,
    /// Its text without the line feed.
    pub text: &'t str,
    /// Whether a line feed follows.
    pub ended: bool,
    /// The offset of its start in its text: the older one for a removed line, else the newer one.
    pub offset: u64,
}

/// Changed lines that are near each other, with the unchanged lines around them.
#[derive(Clone, Debug)]
pub struct Block<'t> {
    /// The lines.
    pub lines: Vec<DiffLine<'t>>,
}

impl Block<'_> {
    /// Returns the first line and the number of lines in the older and in the newer text, as the head of a hunk has them:
    /// a number of 0 lines stands after the line before.
    pub fn places(&self) -> [(usize, usize); 2] {
        let count = |without: LineChange| {
            self.lines.iter().filter(|line| line.change != Some(without)).count()
        };
        let counts = [count(LineChange::Added), count(LineChange::Removed)];
        let first = self.lines.first().map_or((0, 0), |line| (line.old, line.new));
        let start = |at: usize, lines: usize| if lines == 0 { at.saturating_sub(1) } else { at };
        [(start(first.0, counts[0]), counts[0]), (start(first.1, counts[1]), counts[1])]
    }
}

impl<'t> Script<'t> {
    /// Makes it of two texts and their differences.
    pub fn of(texts: &'t Texts) -> Self {
        let mut script =
            Self { old: Lines::of(&texts.old), new: Lines::of(&texts.new), parts: Vec::new() };
        let (mut old, mut new) = (0, 0);
        for hunk in &texts.hunks {
            let [from, upto] =
                [&hunk.old, &hunk.new].map(|lines| lines.start as usize..lines.end as usize);
            script.push(None, (old, new), from.start - old);
            script.push(Some(LineChange::Removed), (from.start, upto.start), from.len());
            script.push(Some(LineChange::Added), (from.end, upto.start), upto.len());
            (old, new) = (from.end, upto.end);
        }
        // Texts that are the same are not kept.
        if !texts.hunks.is_empty() {
            script.push(None, (old, new), script.old.count() - old);
        }
        script
    }

    fn push(&mut self, change: Option<LineChange>, (old, new): (usize, usize), lines: usize) {
        if lines > 0 {
            let at = self.len();
            self.parts.push(Part { change, at, old, new, lines });
        }
    }

    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        self.parts.last().map_or(0, |part| part.at + part.lines)
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the lines at some positions.
    pub fn lines(&self, positions: Range<usize>) -> impl Iterator<Item = DiffLine<'t>> + '_ {
        let first = self.parts.partition_point(|part| part.at + part.lines <= positions.start);
        self.parts[first..].iter().flat_map(move |part| {
            let from = positions.start.saturating_sub(part.at);
            let upto = positions.end.saturating_sub(part.at).min(part.lines);
            (from..upto.max(from)).map(move |at| self.line(part, at))
        })
    }

    fn line(&self, part: &Part, at: usize) -> DiffLine<'t> {
        let is_old = part.change == Some(LineChange::Removed);
        let is_new = part.change == Some(LineChange::Added);
        let (old, new) =
            (part.old + if is_new { 0 } else { at }, part.new + if is_old { 0 } else { at });
        let (offset, text, ended) = if is_old { self.old.line(old) } else { self.new.line(new) };
        DiffLine { change: part.change, old: old + 1, new: new + 1, text, ended, offset }
    }

    /// Returns the position of a changed line, by its number from 0 in its own text.
    pub(super) fn position(&self, change: LineChange, number: usize) -> Option<usize> {
        let start = |part: &Part| if change == LineChange::Removed { part.old } else { part.new };
        let is_in = |part: &&Part| {
            part.change == Some(change) && (start(part)..start(part) + part.lines).contains(&number)
        };
        let part = self.parts.iter().find(is_in)?;
        Some(part.at + number - start(part))
    }

    /// Returns the changed lines in blocks, each with up to `context` unchanged lines before and after.
    pub fn blocks(&self, context: usize) -> Vec<Block<'t>> {
        let changed = self.parts.iter().filter(|part| part.change.is_some());
        let around = changed.map(|part| {
            let end = (part.at + part.lines).saturating_add(context).min(self.len());
            part.at.saturating_sub(context)..end
        });
        joined(around).into_iter().map(|at| Block { lines: self.lines(at).collect() }).collect()
    }
}

/// Joins ranges, in order of their starts, that touch or overlap.
pub(super) fn joined(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(old: &str, new: &str) -> Texts {
        let hunks = git::line_changes(old, new);
        Texts { old: old.to_owned(), new: new.to_owned(), hunks }
    }

    /// Returns a unified diff.
    fn unified(old: &str, new: &str, context: usize) -> String {
        let texts = texts(old, new);
        let mut told = String::new();
        for block in Script::of(&texts).blocks(context) {
            let [(old, olds), (new, news)] = block.places();
            told += &format!("@@ -{old},{olds} +{new},{news} @@\n");
            for line in &block.lines {
                told.push(match line.change {
                    None => ' ',
                    Some(LineChange::Added) => '+',
                    Some(LineChange::Removed) => '-',
                });
                told += line.text;
                told += if line.ended { "\n" } else { "\\\n" };
            }
        }
        told
    }

    #[test]
    fn a_diff_has_removed_lines_before_added_ones() {
        let (old, new) = ("a\nb\nc\nd\ne\nf\ng\n", "a\nB\nC\nd\ne\nf\ng");
        assert_eq!(
            unified(old, new, 1),
            "@@ -1,4 +1,4 @@\n a\n-b\n-c\n+B\n+C\n d\n@@ -6,2 +6,2 @@\n f\n-g\n+g\\\n"
        );
        assert_eq!(unified(old, new, 3).matches("@@ -").count(), 1);
        assert_eq!(unified("", "x\ny\n", 3), "@@ -0,0 +1,2 @@\n+x\n+y\n");
        assert_eq!(unified("x\n", "", 3), "@@ -1,1 +0,0 @@\n-x\n");
        assert_eq!(unified("a\nb\n", "a\nx\nb\n", 0), "@@ -1,0 +2,1 @@\n+x\n");
        assert_eq!(unified("a\n", "a\n", 3), "");
    }

    #[test]
    fn lines_have_their_numbers_and_places() {
        let texts = texts("a\nb\nc\n", "a\nX\nY\nc\n");
        let script = Script::of(&texts);
        let told: Vec<_> =
            script.lines(0..script.len()).map(|line| (line.text, line.old, line.new)).collect();
        assert_eq!(told, [("a", 1, 1), ("b", 2, 2), ("X", 3, 2), ("Y", 3, 3), ("c", 3, 4)]);
        assert_eq!(script.position(LineChange::Added, 2), Some(3));
        assert_eq!(script.position(LineChange::Removed, 1), Some(1));
        assert_eq!(script.position(LineChange::Removed, 2), None);
        assert_eq!(script.lines(2..4).map(|line| line.text).collect::<String>(), "XY");
    }
}
