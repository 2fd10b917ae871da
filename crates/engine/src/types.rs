//! What a search is asked and what it answers.

use std::ops::Range;
use std::time::Duration;

use query::{CompiledQuery, Count, Plan, Query, QueryError};
use store::{BlobId, RepoId, ShardId, Switch};

/// Results unless a query or its request says otherwise.
pub const DEFAULT_LIMIT: usize = 100;

/// How long a search may take unless a query or its request says otherwise. A search for everything
/// takes as long as it takes.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// What to search for, and how much of it.
#[derive(Clone, Debug)]
pub struct Request {
    query: CompiledQuery,
    /// Most results; none for all.
    pub limit: Option<usize>,
    /// How long the search may take; none for as long as it takes.
    pub timeout: Option<Duration>,
    /// Lines shown before and after each match.
    pub context: (usize, usize),
    /// Whether to count the files that were left out of the index.
    pub skipped: bool,
    /// Read every stored byte instead of asking the index.
    pub brute: bool,
    /// Go on where an earlier search ended.
    pub resume: Option<Resume>,
}

impl Request {
    /// A request for what a query asks for: unless it says otherwise (`count:`, `timeout:`), up to
    /// [`DEFAULT_LIMIT`] results within [`DEFAULT_TIMEOUT`].
    ///
    /// # Errors
    /// The query takes too much memory when compiled.
    pub fn new(query: &Query) -> Result<Self, QueryError> {
        let limit = match query.settings.count {
            None => Some(DEFAULT_LIMIT),
            Some(Count::Most(limit)) => Some(limit),
            Some(Count::All) => None,
        };
        Ok(Self {
            query: CompiledQuery::new(query)?,
            limit,
            timeout: query.settings.timeout.or(limit.map(|_| DEFAULT_TIMEOUT)),
            context: (0, 0),
            skipped: false,
            brute: false,
            resume: None,
        })
    }

    /// The query, compiled.
    pub fn program(&self) -> &CompiledQuery {
        &self.query
    }

    /// What the index is asked, before anything is known of a shard.
    pub fn plan(&self) -> Plan {
        if self.brute { Plan::Scan } else { Plan::of(&self.query.expr, &self.query) }
    }
}

/// Where a search ended, for one that goes on there: the same query in the same state of the index, with any limit, on
/// any server.
///
/// Shards that were searched to their end are not searched again, and of the shard in which the search ended only what
/// comes after the last result. Only a search for repositories begins anew, and leaves out the results that were given: a
/// repository that is in several shards is one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The state of the index, by the switch to it.
    pub switch: Switch,
    /// A hash of the query: [`Stats::query`](crate::search::Stats::query).
    pub query: u64,
    /// Results that were given before.
    pub results: usize,
    /// The shards that were searched to their end.
    pub searched: ShardSet,
    /// The last result.
    pub last: Option<LastFile>,
}

/// The last file that a search gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastFile {
    /// Its shard.
    pub shard: ShardId,
    /// Its contents.
    pub blob: BlobId,
    /// How many files with these contents were given; they come in the order of their repositories and paths.
    pub files: u32,
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Results, with those that were given before.
    pub results: usize,
    /// The last of them.
    pub last: Option<LastFile>,
}

impl Progress {
    /// Before the first result of a request.
    pub fn of(request: &Request) -> Self {
        request
            .resume
            .map_or_else(Self::default, |from| Self { results: from.results, last: from.last })
    }

    /// Notes that a file was given.
    pub fn note(&mut self, file: &FileMatch) {
        let (shard, blob) = file.place;
        let same = self.last.filter(|last| (last.shard, last.blob) == file.place);
        let files = same.map_or(0, |last| last.files) + 1;
        self.last = Some(LastFile { shard, blob, files });
        self.results += 1;
    }
}

/// Some of the shards: at most 256, by their numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardSet([u64; 4]);

impl ShardSet {
    /// Adds a shard.
    pub fn insert(&mut self, shard: ShardId) {
        let n = usize::from(shard.0.unsigned_abs()) % 256;
        self.0[n / 64] |= 1 << (n % 64);
    }

    /// Whether a shard is one of them.
    pub fn contains(&self, shard: ShardId) -> bool {
        let n = usize::from(shard.0.unsigned_abs()) % 256;
        self.0[n / 64] >> (n % 64) & 1 == 1
    }
}

impl Resume {
    /// All of it as numbers, to be written into a cursor.
    pub fn numbers(&self) -> Vec<u64> {
        let mut numbers = vec![self.switch.0.cast_unsigned(), self.query, self.results as u64];
        if let Some(LastFile { shard, blob, files }) = self.last {
            numbers.extend([shard.0 as u64, blob.0 as u64, u64::from(files)]);
            let used = self.searched.0.iter().rposition(|word| *word != 0).map_or(0, |at| at + 1);
            numbers.extend(&self.searched.0[..used]);
        }
        numbers
    }

    /// The same from those numbers; none if they are not such.
    pub fn from_numbers(numbers: &[u64]) -> Option<Self> {
        let (switch, query, results, rest) = match numbers {
            [switch, query, results, rest @ ..] => (*switch, *query, *results, rest),
            _ => return None,
        };
        let mut searched = ShardSet::default();
        let last = match rest {
            [] => None,
            [shard, blob, files, words @ ..] if words.len() <= 4 => {
                searched.0[..words.len()].copy_from_slice(words);
                let shard = ShardId(i16::try_from(*shard).ok()?);
                let (blob, files) = (i32::try_from(*blob).ok()?, u32::try_from(*files).ok()?);
                Some(LastFile { shard, blob: BlobId(blob), files })
            }
            _ => return None,
        };
        let (switch, results) = (Switch(switch.cast_signed()), usize::try_from(results).ok()?);
        Some(Self { switch, query, results, searched, last })
    }
}

/// A file for which the query holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMatch {
    pub(crate) repo_id: RepoId,
    /// Its contents.
    pub(crate) place: (ShardId, BlobId),
    /// The name of its repository.
    pub repo: String,
    /// The rank of its repository; 0 for none.
    pub rank: u16,
    /// Its path in the repository.
    pub path: String,
    /// What matches in the path, in bytes.
    pub path_ranges: Vec<Range<usize>>,
    /// Its language, when that was recognised.
    pub language: Option<String>,
    /// Bytes of its text.
    pub bytes: usize,
    /// The lines that match, and those around them that were asked for, in order.
    pub lines: Vec<Line>,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Where it begins in the file's text, in bytes.
    pub offset: u64,
    /// Its text, without the line feed.
    pub text: String,
    /// Whether a line feed follows; only a file's last line can be without.
    pub ended: bool,
    /// What matches in it, in bytes of the text. Empty for a line of context only: a match of
    /// nothing is a range too.
    pub ranges: Vec<Range<usize>>,
}

impl FileMatch {
    /// How many of its lines match.
    pub fn matches(&self) -> usize {
        self.lines.iter().filter(|line| !line.ranges.is_empty()).count()
    }

    /// Bytes that it takes in memory, and in an answer, about.
    pub fn size(&self) -> usize {
        let line = |line: &Line| 64 + line.text.len() + 16 * line.ranges.len();
        128 + self.path.len() + self.lines.iter().map(line).sum::<usize>()
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The query is not one.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The database could not do its part.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A search cannot go on where an earlier one ended: that state of the index is gone.
    #[error("the index has changed since this cursor was given; search again")]
    Gone,
    /// A search cannot go on where another one ended.
    #[error("this cursor belongs to another query; give the query with which it came, unchanged")]
    OtherQuery,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_search_ended_is_the_same_as_numbers() {
        let mut searched = ShardSet::default();
        for shard in [0, 7, 64, 199] {
            searched.insert(ShardId(shard));
            assert!(searched.contains(ShardId(shard)) && !searched.contains(ShardId(shard + 1)));
        }
        let last = LastFile { shard: ShardId(3), blob: BlobId(70_000), files: 2 };
        for (searched, last) in
            [(ShardSet::default(), None), (ShardSet::default(), Some(last)), (searched, Some(last))]
        {
            let switch = Switch(i64::MAX);
            let resume = Resume { switch, query: u64::MAX, results: 100, searched, last };
            assert_eq!(Resume::from_numbers(&resume.numbers()), Some(resume));
        }
        for mangled in [&[][..], &[1, 2], &[1, 2, 3, 4], &[1, 2, 3, 1 << 20, 5, 6], &[0; 11]] {
            assert_eq!(Resume::from_numbers(mangled), None);
        }
    }
}
