//! The lines around a match.

use std::collections::HashMap;

use memchr::memchr_iter;
use store::{BlobId, Epoch, Shard, ShardId};

use super::{FileMatch, Line, Searcher};

/// Adds to the matching lines of each file those before and after them. `texts` are whole blobs.
pub(crate) fn add(
    files: &mut [(BlobId, FileMatch)],
    texts: &HashMap<BlobId, String>,
    (before, after): (usize, usize),
) {
    for (blob, file) in files {
        let Some(text) = texts.get(blob) else { continue };
        file.lines = around(std::mem::take(&mut file.lines), text, before, after);
    }
}

impl Searcher {
    /// Adds to the matching lines of some files those before and after them, as
    /// [`Request::context`](super::Request) does for all files of a search. The files are of a search in
    /// this state of the index; what is gone since then stays as it is.
    pub async fn add_context(
        &self,
        files: &mut [FileMatch],
        epoch: Epoch,
        (before, after): (usize, usize),
    ) -> Result<(), store::Error> {
        let catalog = self.state(epoch).await?;
        let mut by_shard: HashMap<ShardId, Vec<&mut FileMatch>> = HashMap::new();
        for file in files.iter_mut().filter(|file| !file.lines.is_empty()) {
            by_shard.entry(file.place.0).or_default().push(file);
        }
        for (id, files) in by_shard {
            let Some(shard) = catalog.shards.iter().find(|shard| shard.id == id) else { continue };
            let blobs: Vec<(BlobId, usize)> =
                files.iter().map(|file| (file.place.1, file.bytes)).collect();
            let texts = self.texts(shard, &blobs).await?;
            for file in files {
                // A shard may have been emptied and filled anew.
                let of = |text: &&String| file.lines.iter().all(|line| stands_in(line, text));
                if let Some(text) = texts.get(&file.place.1).filter(of) {
                    file.lines = around(std::mem::take(&mut file.lines), text, before, after);
                }
            }
        }
        Ok(())
    }

    /// The texts of some blobs of a shard, with their sizes in bytes: from memory, and what is not there
    /// from the database in one statement.
    pub(crate) async fn texts(
        &self,
        shard: &Shard,
        blobs: &[(BlobId, usize)],
    ) -> Result<HashMap<BlobId, String>, store::Error> {
        let (mut texts, mut missing) = (HashMap::new(), Vec::new());
        for (blob, bytes) in blobs {
            match self.kept_text(shard, *blob, *bytes) {
                Some(text) => drop(texts.insert(*blob, text)),
                None => missing.push(*blob),
            }
        }
        if !missing.is_empty() {
            let mut lease = self.store().lease().await?;
            for chunk in lease.blobs(shard.id, &missing).await? {
                texts.entry(chunk.blob).or_default().push_str(&chunk.contents);
            }
            lease.done();
        }
        Ok(texts)
    }
}

/// Whether a line stands in a text where it says.
fn stands_in(line: &Line, text: &str) -> bool {
    let from = line.offset as usize;
    text.as_bytes().get(from..from + line.text.len()) == Some(line.text.as_bytes())
}

fn around(matches: Vec<Line>, text: &str, before: usize, after: usize) -> Vec<Line> {
    let mut starts = vec![0];
    starts.extend(memchr_iter(b'\n', text.as_bytes()).map(|i| i + 1));
    if starts.last() == Some(&text.len()) {
        starts.pop();
    }
    let mut lines: Vec<Line> = Vec::with_capacity(matches.len());
    let mut matches = matches.into_iter().peekable();
    while let Some(found) = matches.next() {
        let at = found.number as usize - 1;
        let shown = lines.last().map_or(0, |line| line.number as usize);
        for index in at.saturating_sub(before).max(shown)..at {
            lines.push(line(text, &starts, index));
        }
        lines.push(found);
        let next = matches.peek().map_or(starts.len(), |line| line.number as usize - 1);
        for index in at + 1..after.saturating_add(at + 1).min(next) {
            lines.push(line(text, &starts, index));
        }
    }
    lines
}

fn line(text: &str, starts: &[usize], index: usize) -> Line {
    let start = starts[index];
    let rest = &text[start..starts.get(index + 1).copied().unwrap_or(text.len())];
    let line = rest.strip_suffix('\n');
    Line {
        number: index as u64 + 1,
        offset: start as u64,
        text: line.unwrap_or(rest).to_owned(),
        ended: line.is_some(),
        ranges: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the lines shown, those that match with a star.
    fn check(text: &str, matches: &[u64], before: usize, after: usize, expected: &str) {
        let matches = matches
            .iter()
            .map(|n| {
                let ranges = std::iter::once(0..0).collect();
                Line { number: *n, offset: 0, text: String::new(), ended: true, ranges }
            })
            .collect();
        let shown: Vec<String> = around(matches, text, before, after)
            .iter()
            .map(|l| {
                format!("{}{}{}", l.number, if l.ranges.is_empty() { ":" } else { "*" }, l.text)
            })
            .collect();
        assert_eq!(shown.join(" "), expected);
    }

    #[test]
    fn lines_before_and_after_each_once() {
        check("a\nb\nc\nd\ne\n", &[3], 1, 1, "2:b 3* 4:d");
        check("a\nb\nc\nd\ne\n", &[1, 5], 9, 9, "1* 2:b 3:c 4:d 5*");
        check("a\nb\nc\nd\ne\n", &[1, 2], 1, 0, "1* 2*");
        check("a\nb\nc\nd\ne", &[4], 0, 3, "4* 5:e");
        check("a\nb\nc\nd\ne\nf\n", &[1, 5], 1, 1, "1* 2:b 4:d 5* 6:f");
    }
}
