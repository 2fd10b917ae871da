//! The commit that last changed each line of a file.

use std::collections::HashMap;

use super::{Commit, Error, MAX_ANSWER, TrackedFile, bounded, is_hash, run};
use files::{Encoding, decode_lossy};

/// The lines of a file at a commit, and the commit that each comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blame {
    /// The lines, as UTF-8.
    pub lines: Vec<String>,
    /// Runs of lines of one commit, in order. Together they are all lines.
    pub runs: Vec<BlameRun>,
    /// The commits, each once.
    pub commits: Vec<Commit>,
    /// For each commit, whether the file existed before it.
    pub has_before: Vec<bool>,
}

/// Neighbouring lines that come from one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlameRun {
    /// The number of the first line, from 1.
    pub line: usize,
    /// The number of lines.
    pub count: usize,
    /// The index of their commit in [`Blame::commits`].
    pub commit: usize,
}

impl TrackedFile {
    /// Returns which commit each line of the file comes from.
    ///
    /// # Errors
    /// Git cannot run, or takes too long.
    pub async fn blame(&self) -> Result<Blame, Error> {
        let answer =
            run::bytes_of(self, &["blame", "--porcelain", &self.commit], MAX_ANSWER).await?;
        parse(&answer).ok_or(Error::Failed)
    }
}

/// Parses the output of `git blame --porcelain`: for each line its commit, at the commit's first line its details, and
/// the line after a tab.
fn parse(answer: &[u8]) -> Option<Blame> {
    let mut blame = Blame::default();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut at = None;
    let mut lines = Vec::new();
    for line in answer.split(|byte| *byte == b'\n') {
        if let Some(text) = line.strip_prefix(b"\t") {
            let commit: usize = at.take()?;
            lines.push(text);
            match blame.runs.last_mut().filter(|run| run.commit == commit) {
                Some(run) => run.count += 1,
                None => blame.runs.push(BlameRun { line: lines.len(), count: 1, commit }),
            }
            continue;
        }
        let line = decode_lossy(line);
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match at {
            None if is_hash(word) => {
                at = Some(*known.entry(word.to_owned()).or_insert_with(|| {
                    let hash = word.to_owned();
                    let (author, summary) = (String::new(), String::new());
                    blame.commits.push(Commit { hash, author, time: 0, summary });
                    blame.has_before.push(false);
                    blame.commits.len() - 1
                }));
            }
            None if line.is_empty() => {}
            None => return None,
            Some(at) => {
                let commit = &mut blame.commits[at];
                match word {
                    "previous" => blame.has_before[at] = true,
                    "author" => bounded(rest).clone_into(&mut commit.author),
                    "author-time" => commit.time = rest.parse().unwrap_or_default(),
                    "summary" => bounded(rest).clone_into(&mut commit.summary),
                    _ => {}
                }
            }
        }
    }
    blame.lines = decoded(&lines);
    Some(blame)
}

/// Decodes the lines of a file, without line ends.
fn decoded(lines: &[&[u8]]) -> Vec<String> {
    // Git ends a line at a byte; in UTF-16 the next one then begins within a character. Joined, they are the file.
    let all = Encoding::decode(lines.join(&b'\n')).map(|(text, _)| {
        let lines = text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned());
        lines.collect::<Vec<_>>()
    });
    all.filter(|all| all.len() == lines.len())
        .unwrap_or_else(|| lines.iter().map(|line| decode_lossy(line)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_from_commits() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let answer = format!(
            "{one} 1 1 2\nauthor Ann O\nauthor-time 7\nsummary First: one\nprevious {two} g\nfilename f\n\t\u{feff}a\r\n{one} 2 2\n\t\tb\n\
             {two} 9 3 1\nauthor \nauthor-time x\nsummary \nboundary\nfilename g\n\t\n{one} 3 4 1\n\tauthor c\n"
        );
        let blame = parse(answer.as_bytes()).unwrap();
        assert_eq!(blame.lines, ["a", "\tb", "", "author c"]);
        let runs: Vec<_> = blame.runs.iter().map(|run| (run.line, run.count, run.commit)).collect();
        assert_eq!(runs, [(1, 2, 0), (3, 1, 1), (4, 1, 0)]);
        let first = &blame.commits[0];
        assert_eq!((&*first.author, first.time, &*first.summary), ("Ann O", 7, "First: one"));
        assert_eq!(blame.commits[1].hash, two);
        assert_eq!(blame.has_before, [true, false]);
        assert_eq!(parse(b""), Some(Blame::default()));
        assert_eq!(parse(b"fatal: no\n"), None);
        assert_eq!(parse(b"\tno commit\n"), None);
    }
}
