//! Finds the lines that commits added and removed, in several threads.
//!
//! The commits are dealt out in blocks, in turn, and each thread has a channel of its own. So their changes arrive in
//! order, and no thread runs far ahead.

use std::ops::Range;
use std::sync::Arc;
use std::thread;

use files::Encoding;
use git::{BlobReader, ChangedFile, CommitInfo, FileMode, Oid, line_changes};
use memchr::memchr_iter;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tokio::sync::mpsc;

/// Number of commits that a thread takes at once.
const BLOCK: usize = 8;

/// Bytes of lines in one message, unless one file has more.
const MESSAGE_BYTES: usize = 256 << 10;

/// Number of messages that wait in each channel.
const MESSAGES: usize = 8;

/// Bytes of texts kept for all threads. The text before a commit is often that after another one.
const CACHE_BYTES: u64 = 48 << 20;

/// What a thread found.
pub(super) enum Found {
    /// Lines of some files of a commit.
    Files(Vec<FileLines>),
    /// The end of a commit.
    Commit(CommitInfo),
    /// The end of a block of commits.
    Block,
    /// The clone cannot be read.
    Failed(git::Error),
}

/// The lines of a changed file.
#[derive(Debug, Default)]
pub(super) struct FileLines {
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
    /// The lines, with a line feed after each.
    pub(super) text: String,
    /// For each line, whether it was removed.
    pub(super) signs: Vec<bool>,
    /// Whether the clone lacks its contents.
    pub(super) is_missing: bool,
}

impl FileLines {
    /// Returns its lines, each with whether it was removed.
    pub(super) fn lines(&self) -> impl Iterator<Item = (bool, &str)> {
        let lines = self.text.split_inclusive('\n').map(|line| &line[..line.len() - 1]);
        self.signs.iter().copied().zip(lines)
    }
}

/// The changes of some commits, in order.
pub(super) struct Changes {
    channels: Vec<mpsc::Receiver<Found>>,
    /// The channel that is read.
    at: usize,
}

impl Changes {
    /// Begins to read the changes of some commits.
    pub(super) fn of(
        clone: &git::Clone,
        commits: &Arc<Vec<Oid>>,
        max_bytes: u64,
        threads: usize,
    ) -> Self {
        let texts = Arc::new(Texts(Cache::with_weighter(10_000, CACHE_BYTES, TextWeight)));
        let channels = (0..threads).map(|thread| {
            let (send, receive) = mpsc::channel(MESSAGES);
            let (reader, commits, texts) =
                (clone.reader(), Arc::clone(commits), Arc::clone(&texts));
            let mut worker = Worker { reader, texts, max_bytes, send };
            let work = move || {
                for block in commits.chunks(BLOCK).skip(thread).step_by(threads) {
                    if worker.block(block).is_none() {
                        return;
                    }
                }
            };
            // Without a thread, the channel is closed, which `next` takes for the end: the caller counts commits.
            let _ = thread::Builder::new().name("history".to_owned()).spawn(work);
            receive
        });
        Self { channels: channels.collect(), at: 0 }
    }

    /// Returns what was found next; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Found> {
        loop {
            match self.channels[self.at].recv().await? {
                Found::Block => self.at = (self.at + 1) % self.channels.len(),
                found => return Some(found),
            }
        }
    }
}

/// Decoded texts by their names in git; `None` for what is no text.
struct Texts(Cache<Oid, Option<Arc<str>>, TextWeight>);

#[derive(Clone)]
struct TextWeight;

impl Weighter<Oid, Option<Arc<str>>> for TextWeight {
    fn weight(&self, _: &Oid, text: &Option<Arc<str>>) -> u64 {
        100 + text.as_ref().map_or(0, |text| text.len() as u64)
    }
}

struct Worker {
    reader: BlobReader,
    texts: Arc<Texts>,
    max_bytes: u64,
    send: mpsc::Sender<Found>,
}

/// One side of a change.
enum Side {
    Text(Arc<str>),
    /// It is binary or too large.
    NoText,
    Missing,
}

impl Worker {
    /// Sends the changes of a block of commits; `None` if nobody receives them.
    fn block(&mut self, commits: &[Oid]) -> Option<()> {
        for commit in commits {
            match self.commit(*commit) {
                Ok(sent) => sent?,
                Err(error) => {
                    let _ = self.send.blocking_send(Found::Failed(error));
                    return None;
                }
            }
        }
        self.send.blocking_send(Found::Block).ok()
    }

    fn commit(&mut self, id: Oid) -> Result<Option<()>, git::Error> {
        let commit = self.reader.commit(id)?;
        let (mut files, mut bytes) = (Vec::new(), 0);
        // A merge commit has no lines, as in `git log -p`.
        let changes = match &commit.parents[..] {
            [] => self.reader.changes(None, Some(id))?,
            [parent] => self.reader.changes(Some(*parent), Some(id))?,
            _ => Vec::new(),
        };
        for change in changes {
            let file = self.file(change.old.as_ref(), change.new.as_ref())?;
            if !file.signs.is_empty() || file.is_missing {
                bytes += file.text.len();
                files.push(file);
            }
            if bytes >= MESSAGE_BYTES {
                bytes = 0;
                let found = Found::Files(std::mem::take(&mut files));
                if self.send.blocking_send(found).is_err() {
                    return Ok(None);
                }
            }
        }
        let pass = |found| self.send.blocking_send(found).ok();
        let passed = if files.is_empty() { Some(()) } else { pass(Found::Files(files)) };
        Ok(passed.and_then(|()| pass(Found::Commit(commit))))
    }

    /// Returns the lines of a changed file.
    fn file(
        &mut self,
        old: Option<&ChangedFile>,
        new: Option<&ChangedFile>,
    ) -> Result<FileLines, git::Error> {
        // A link or a submodule has no lines: a file that became one lost its own.
        let is_file =
            |file: &&ChangedFile| matches!(file.mode, FileMode::File | FileMode::Executable);
        let (old, new) = (old.filter(is_file), new.filter(is_file));
        let path =
            |file: &ChangedFile| String::from_utf8_lossy(&file.path).replace('\0', "\u{FFFD}");
        let mut lines =
            FileLines { old: old.map(path), new: new.map(path), ..FileLines::default() };
        if old.map(|file| file.oid) == new.map(|file| file.oid) {
            return Ok(lines);
        }
        let mut sides = [None, None];
        for (file, side) in [old, new].into_iter().zip(&mut sides) {
            *side = match file.map(|file| self.text(file.oid)).transpose()? {
                None => None,
                Some(Side::Text(text)) => Some(text),
                Some(Side::NoText) => return Ok(lines),
                Some(Side::Missing) => {
                    lines.is_missing = true;
                    return Ok(lines);
                }
            };
        }
        let [old, new] = sides;
        let (old, new) = (old.as_deref().unwrap_or_default(), new.as_deref().unwrap_or_default());
        lines.diff(old, new);
        Ok(lines)
    }

    /// Returns the text of a blob.
    fn text(&mut self, blob: Oid) -> Result<Side, git::Error> {
        let known = self.texts.0.get(&blob);
        let text = match known {
            Some(text) => text,
            None => {
                let bytes = match self.reader.read(blob, self.max_bytes) {
                    Err(git::Error::Missing { is_partial: true, .. }) => return Ok(Side::Missing),
                    read => read?,
                };
                let text = bytes.and_then(Encoding::decode).map(|(text, _)| Arc::from(text));
                self.texts.0.insert(blob, text.clone());
                text
            }
        };
        Ok(text.map_or(Side::NoText, Side::Text))
    }
}

impl FileLines {
    /// Adds the lines in which two texts differ.
    fn diff(&mut self, old: &str, new: &str) {
        // Most files are added or removed whole, or changed in a few places.
        if old.is_empty() || new.is_empty() {
            let (text, is_removed) = if old.is_empty() { (new, false) } else { (old, true) };
            text.split_inclusive('\n').for_each(|line| self.line(line, is_removed));
            return;
        }
        let (mut olds, mut news) = (Places::of(old), Places::of(new));
        for hunk in line_changes(old, new) {
            for (text, is_removed) in [(olds.lines(hunk.old), true), (news.lines(hunk.new), false)]
            {
                text.split_inclusive('\n').for_each(|line| self.line(line, is_removed));
            }
        }
    }

    fn line(&mut self, line: &str, is_removed: bool) {
        self.text.push_str(line.strip_suffix('\n').unwrap_or(line));
        self.text.push('\n');
        self.signs.push(is_removed);
    }
}

/// The places of lines in a text, found in ascending order.
struct Places<'t> {
    rest: &'t str,
    /// The number of the line with which `rest` begins.
    line: u32,
}

impl<'t> Places<'t> {
    fn of(text: &'t str) -> Self {
        Self { rest: text, line: 0 }
    }

    /// Returns the lines with some numbers, after those that were asked before.
    fn lines(&mut self, numbers: Range<u32>) -> &'t str {
        self.skip(numbers.start);
        let from = self.rest;
        self.skip(numbers.end);
        &from[..from.len() - self.rest.len()]
    }

    fn skip(&mut self, upto: u32) {
        let lines = upto.saturating_sub(self.line) as usize;
        if lines > 0 {
            let end = memchr_iter(b'\n', self.rest.as_bytes()).nth(lines - 1);
            self.rest = end.map_or("", |end| &self.rest[end + 1..]);
            self.line = upto;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: &str, new: &str) -> Vec<(bool, String)> {
        let mut lines = FileLines::default();
        lines.diff(old, new);
        lines.lines().map(|(is_removed, line)| (is_removed, line.to_owned())).collect()
    }

    #[test]
    fn the_lines_of_each_hunk_follow_each_other() {
        let line = |is_removed: bool, line: &str| (is_removed, line.to_owned());
        assert_eq!(diff("", ""), []);
        assert_eq!(diff("", "a\n\nb"), [line(false, "a"), line(false, ""), line(false, "b")]);
        assert_eq!(diff("a\r\n", ""), [line(true, "a\r")]);
        assert_eq!(diff("a", "a\n"), [line(true, "a"), line(false, "a")]);
        let (old, new) = ("1\n2\n3\n4\n5\n6\n7\n8", "1\n2b\n3\n4\n5\n6\n7\nnew\n8\nend");
        let expected = [
            line(true, "2"),
            line(false, "2b"),
            line(false, "new"),
            line(true, "8"),
            line(false, "8"),
            line(false, "end"),
        ];
        let mut found = diff(old, new);
        found[2..].sort();
        let mut sorted = expected.to_vec();
        sorted[2..].sort();
        assert_eq!(found, sorted);
    }
}
