//! Gathers commits into a batch: gives each distinct line a number, and notes which commits changed it.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use hashbrown::HashTable;
use query::Lexemes;
use store::{
    ChangedFile, ChangedLine, HistoryCommit, NewBatch, NewLines, PackedNumbers, pack_changes,
};

/// Bytes of lines in one row. A search reads the rows that may have a match.
const ROW_BYTES: usize = 32 << 10;

/// Bytes of distinct lines at which a batch is full, unless a test says otherwise.
pub(super) const FULL_BYTES: u64 = 128 << 20;

/// Number of changes of lines at which a batch is full; each takes 8 bytes of memory.
const FULL_TOUCHES: usize = 16 << 20;

/// Number of commits at which a batch is full.
const FULL_COMMITS: usize = 250_000;

/// Bytes of distinct lines after which no more are taken, even of one commit: places are numbers of 32 bits.
const MAX_BYTES: usize = 3 << 30;

/// A batch that is being gathered. Memory: its distinct lines, 16 bytes for each of them, and 8 for each change.
pub(super) struct Builder {
    /// Bytes at which it is full.
    full: u64,
    text: String,
    /// The end of each line, after its line feed.
    ends: Vec<u32>,
    /// The numbers of the lines, by their hashes.
    known: HashTable<u32>,
    hasher: RandomState,
    /// For each change of a line, the line and then, inverted, the number of the commit.
    touches: Vec<u64>,
    /// For each line, the last commit that touched it.
    last: Vec<i32>,
    paths: Vec<String>,
    known_paths: HashMap<String, u32>,
    path_touches: Vec<u64>,
    commits: Vec<HistoryCommit>,
    /// Bytes of the commits, about.
    commit_bytes: usize,
    files: Vec<ChangedFile>,
    number: i32,
    /// Whether lines were not taken because there were too many.
    pub(super) overflowed: bool,
}

/// A line that was added or removed, without its line feed.
pub(super) type SignedLine<'t> = (bool, &'t str);

impl Builder {
    /// Creates a batch that is full at so many bytes.
    pub(super) fn new(full: u64) -> Self {
        Self {
            full,
            text: String::new(),
            ends: Vec::new(),
            known: HashTable::new(),
            hasher: RandomState::new(),
            touches: Vec::new(),
            last: Vec::new(),
            paths: Vec::new(),
            known_paths: HashMap::new(),
            path_touches: Vec::new(),
            commits: Vec::new(),
            commit_bytes: 0,
            files: Vec::new(),
            number: 0,
            overflowed: false,
        }
    }

    /// Begins the files of the commit with a number.
    pub(super) fn begin(&mut self, number: i32) {
        self.number = number;
        self.files.clear();
    }

    /// Adds a changed file of the commit.
    pub(super) fn add<'t>(
        &mut self,
        (old, new): (Option<&str>, Option<&str>),
        lines: impl Iterator<Item = SignedLine<'t>>,
    ) {
        let number = self.number;
        let old_path = old.map(|path| self.path(path));
        let new_path = new.map(|path| self.path(path));
        let mut changed = Vec::new();
        for (is_removed, line) in lines {
            let Some(id) = self.line(line) else {
                self.overflowed = true;
                break;
            };
            changed.push(ChangedLine { line: id, is_removed });
            let last = &mut self.last[id as usize];
            if *last != number {
                *last = number;
                self.touches.push(touch(id, number));
            }
        }
        self.files.push(ChangedFile { old_path, new_path, lines: changed });
    }

    /// Ends the files of the commit.
    pub(super) fn end(&mut self, commit: HistoryCommit) {
        let changes = pack_changes(&self.files);
        self.commit_bytes += 120 + commit.author.len() + commit.summary.len() + changes.len();
        self.commits.push(HistoryCommit { changes, ..commit });
    }

    /// Returns the number of a line; `None` if there is no more room.
    fn line(&mut self, line: &str) -> Option<u32> {
        let hash = self.hasher.hash_one(line);
        let (text, ends) = (&self.text, &self.ends);
        let of = |id: u32| &text[place(ends, id)];
        if let Some(id) = self.known.find(hash, |id| of(*id) == line) {
            return Some(*id);
        }
        if self.text.len() + line.len() >= MAX_BYTES {
            return None;
        }
        let id = self.ends.len() as u32;
        self.text.push_str(line);
        self.text.push('\n');
        self.ends.push(self.text.len() as u32);
        self.last.push(i32::MIN);
        let (text, ends, hasher) = (&self.text, &self.ends, &self.hasher);
        let hash_of = |id: &u32| hasher.hash_one(&text[place(ends, *id)]);
        self.known.insert_unique(hash, id, hash_of);
        Some(id)
    }

    fn path(&mut self, path: &str) -> u32 {
        let id = match self.known_paths.get(path) {
            Some(id) => *id,
            None => {
                let id = self.paths.len() as u32;
                self.paths.push(path.to_owned());
                self.known_paths.insert(path.to_owned(), id);
                self.commit_bytes += 2 * path.len() + 60;
                id
            }
        };
        self.path_touches.push(touch(id, self.number));
        id
    }

    /// Returns the number of its commits.
    pub(super) fn commits(&self) -> usize {
        self.commits.len()
    }

    /// Returns whether it is so large that the next commit belongs into another one.
    pub(super) fn is_full(&self) -> bool {
        (self.text.len() + self.commit_bytes) as u64 >= self.full
            || self.touches.len() + self.path_touches.len() >= FULL_TOUCHES
            || self.commits.len() >= FULL_COMMITS
    }

    /// Returns the batch and its rows.
    pub(super) fn finish(self) -> (NewBatch, impl Iterator<Item = NewLines> + Send) {
        let Self { text, ends, known, mut touches, last, paths, known_paths, commits, .. } = self;
        drop((known, last, known_paths));
        let mut path_touches = self.path_touches;
        let mut batch = NewBatch {
            commits,
            lines: ends.len() as u32,
            bytes: text.len() as u64,
            paths,
            path_commits: PackedNumbers::default(),
        };
        let (_, upto) = batch.range();
        path_touches.sort_unstable();
        path_touches.dedup();
        let mut of_paths = Groups { touches: path_touches, at: 0, upto };
        for path in 0..batch.paths.len() {
            batch.path_commits.push(&of_paths.of(path as u32), upto);
        }
        touches.sort_unstable();
        let rows = RowCutter { text, ends, at: 0, groups: Groups { touches, at: 0, upto } };
        (batch, rows)
    }
}

/// Packs a line or path and the number of a commit, so that they sort by line, the last commit first.
fn touch(id: u32, number: i32) -> u64 {
    u64::from(id) << 32 | u64::from(!number.cast_unsigned())
}

/// Returns the place of a line in the text, without its line feed.
fn place(ends: &[u32], id: u32) -> Range<usize> {
    let start = if id == 0 { 0 } else { ends[id as usize - 1] as usize };
    start..ends[id as usize] as usize - 1
}

/// Sorted touches, read line by line.
struct Groups {
    touches: Vec<u64>,
    at: usize,
    upto: i32,
}

impl Groups {
    /// Returns the commits of the next line, the last first.
    fn of(&mut self, id: u32) -> Vec<i32> {
        let rest = &self.touches[self.at..];
        let numbers = rest.iter().take_while(|touch| **touch >> 32 == u64::from(id));
        let numbers: Vec<i32> = numbers.map(|touch| (!(*touch as u32)).cast_signed()).collect();
        self.at += numbers.len();
        numbers
    }
}

/// Cuts lines into rows.
struct RowCutter {
    text: String,
    ends: Vec<u32>,
    at: usize,
    groups: Groups,
}

impl Iterator for RowCutter {
    type Item = NewLines;

    fn next(&mut self) -> Option<NewLines> {
        let first = self.at;
        let start = if first == 0 { 0 } else { self.ends[first - 1] as usize };
        let upto = self.ends.partition_point(|end| *end as usize <= start + ROW_BYTES);
        // A longer line has a row of its own.
        let upto = upto.max(first + 1);
        let end = *self.ends.get(upto - 1)? as usize;
        let lines = self.text[start..end].to_owned();
        let mut lexemes = Lexemes::default();
        lexemes.add(&lines);
        let mut commits = PackedNumbers::default();
        for id in first..upto {
            commits.push(&self.groups.of(id as u32), self.groups.upto);
        }
        self.at = upto;
        Some(NewLines { first: first as u32, lines, lexemes: lexemes.text().to_owned(), commits })
    }
}

#[cfg(test)]
mod tests {
    use store::unpack_changes;

    use super::*;

    fn commit(number: i32) -> HistoryCommit {
        HistoryCommit {
            number,
            oid: vec![number as u8; 20],
            author: String::new(),
            time: 0,
            summary: String::new(),
            changes: Vec::new(),
        }
    }

    #[test]
    fn each_line_is_there_once_with_its_commits() {
        let mut builder = Builder::new(FULL_BYTES);
        let long = "x".repeat(ROW_BYTES);
        for (number, lines) in
            [(9, vec!["a", "", long.as_str()]), (8, vec!["", "b", ""]), (3, vec!["a"])]
        {
            builder.begin(number);
            builder.add((Some("old"), Some("new")), lines.iter().map(|line| (number == 8, *line)));
            builder.end(commit(number));
        }
        assert_eq!(builder.commits(), 3);
        assert!(!builder.is_full() && !builder.overflowed);
        let (batch, rows) = builder.finish();
        assert_eq!((batch.range(), batch.lines, batch.paths.len()), ((3, 10), 4, 2));
        let mut found = Vec::new();
        for row in rows {
            let lines: Vec<&str> = row.lines.lines().collect();
            let mut commits = vec![Vec::new(); lines.len()];
            assert!(row.commits.each(0..lines.len(), 10, &mut |at, n| commits[at].push(n)));
            found.extend(lines.iter().map(|line| line.len()).zip(commits));
        }
        assert_eq!(found, [(1, vec![9, 3]), (0, vec![9, 8]), (ROW_BYTES, vec![9]), (1, vec![8])]);
        let changes = unpack_changes(&batch.commits[1].changes).unwrap();
        let lines: Vec<u32> = changes[0].lines.iter().map(|line| line.line).collect();
        assert_eq!(lines, [1, 3, 1]);
        assert!(changes[0].lines.iter().all(|line| line.is_removed));
    }
}
