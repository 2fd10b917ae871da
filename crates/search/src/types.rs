//! A search request, and the types of its results.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use query::{CompiledQuery, Count, Plan, Query, QueryError, Select};
use store::{BlobId, ShardId, Switch};

use crate::changes::CompareError;

/// Limit of results, unless the query or request sets one.
pub const DEFAULT_LIMIT: usize = 100;

/// Timeout of a search, unless the query or request sets one. By default, a search without a limit has no timeout.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

/// Texts of some shards: the blobs of each, ascending.
pub(crate) type Texts = HashMap<ShardId, Vec<BlobId>>;

/// A query and the options of its search.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches of a search")]
pub struct Request {
    program: CompiledQuery,
    query: Query,
    /// Maximum number of results; `None` for all.
    pub limit: Option<usize>,
    /// Maximum time of the search, including the time to compile its patterns; `None` for no timeout.
    pub timeout: Option<Duration>,
    /// Number of lines shown before and after each match.
    pub context: (usize, usize),
    /// Whether to add the symbol around each matching line.
    pub enclosing: bool,
    /// Whether to count the files that were left out of the index.
    pub skipped: bool,
    /// Whether to read every stored text instead of using the index.
    pub brute: bool,
    /// Whether a search of the history of lines begins with the oldest commit.
    pub oldest_first: bool,
    /// Position at which an earlier search ended and this one continues.
    pub resume: Option<Resume>,
    /// Sentences for the notes of the answer: about changes that are not indexed yet ([`View::await_fresh`]).
    ///
    /// [`View::await_fresh`]: crate::View::await_fresh
    pub notes: Vec<String>,
    /// The time spent on compiling its patterns.
    pub(crate) compiling: Duration,
    /// Whether it is auxiliary: another request runs at the same time and counts the files left out.
    pub(crate) is_auxiliary: bool,
    /// Whether results will be ranked: also find files likely to rank high that the limit would exclude.
    pub(crate) best: bool,
    /// The texts to search; `None` for all.
    pub(crate) texts: Option<Arc<Texts>>,
}

impl Request {
    /// Creates a request from a query. Without `count:` the limit is [`DEFAULT_LIMIT`]; without `timeout:` a
    /// search with a limit may take [`DEFAULT_TIMEOUT`].
    ///
    /// # Errors
    /// The query takes too much memory when compiled.
    pub fn new(query: &Query) -> Result<Self, QueryError> {
        let limit = match query.settings.count {
            None => Some(DEFAULT_LIMIT),
            Some(Count::Most(limit)) => Some(limit),
            Some(Count::All) => None,
        };
        let begun = Instant::now();
        Ok(Self {
            program: CompiledQuery::new(query)?,
            compiling: begun.elapsed(),
            query: query.clone(),
            limit,
            timeout: query.settings.timeout.or(limit.map(|_| DEFAULT_TIMEOUT)),
            context: (0, 0),
            enclosing: false,
            skipped: false,
            brute: false,
            oldest_first: false,
            resume: None,
            notes: Vec::new(),
            is_auxiliary: false,
            best: false,
            texts: None,
        })
    }

    /// Returns the query.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Makes the search find what ranking needs: files that the limit would exclude, and lines even if only files are
    /// shown. The settings of [`Request::query`] tell what to show.
    pub fn rank(&mut self) {
        self.best = true;
        find_lines(&mut self.program);
    }

    /// Returns the compiled query.
    pub fn compiled_query(&self) -> &CompiledQuery {
        &self.program
    }

    /// Returns the request for another query beside this one, for up to `limit` results.
    pub(crate) fn auxiliary(
        &self,
        mut program: CompiledQuery,
        limit: usize,
        timeout: Option<Duration>,
    ) -> Self {
        if self.best {
            find_lines(&mut program);
        }
        Self {
            program,
            query: self.query.clone(),
            limit: Some(limit),
            timeout,
            context: self.context,
            enclosing: self.enclosing,
            skipped: false,
            brute: self.brute,
            oldest_first: self.oldest_first,
            resume: None,
            notes: Vec::new(),
            compiling: Duration::ZERO,
            is_auxiliary: true,
            best: false,
            texts: None,
        }
    }

    /// Returns this request as one beside another that is no search, for up to `limit` results.
    pub(crate) fn alone(&self, limit: usize, timeout: Option<Duration>) -> Self {
        self.auxiliary(self.program.clone(), limit, timeout)
    }

    /// Returns this request beside itself, for up to `limit` results among some texts.
    pub(crate) fn within(&self, texts: Texts, limit: usize, timeout: Option<Duration>) -> Self {
        let texts = Some(Arc::new(texts));
        Self { texts, ..self.auxiliary(self.program.clone(), limit, timeout) }
    }

    /// Returns the plan of the query, before it is simplified for each shard.
    pub fn plan(&self) -> Plan {
        if self.brute { Plan::Scan } else { Plan::of(&self.program.expr, &self.program) }
    }
}

/// Makes a query that shows only files find their lines, too.
fn find_lines(program: &mut CompiledQuery) {
    if program.select == Select::Files {
        program.select = Select::Lines;
    }
}

/// The position at which a search ended. The same query in the same epoch continues there, with any limit and on any
/// server.
///
/// The next search skips the shards that were searched to their end, and the files up to the last result in its shard.
/// Only a search for repositories starts over and leaves out the earlier results, because a repository may lie in
/// several shards and yet is one result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume {
    /// The switch that made the epoch current.
    pub switch: Switch,
    /// A hash of the query: [`Stats::query`](crate::Stats::query).
    pub query: u64,
    /// A hash of the commits that were searched on demand; 0 if none were.
    pub commits: u64,
    /// Number of earlier results.
    pub results: usize,
    /// Shards that were searched to their end.
    pub searched: ShardSet,
    /// Last result, if there was one.
    pub last: Option<LastFile>,
}

/// The last file that a search returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastFile {
    /// Its shard.
    pub shard: ShardId,
    /// Its contents.
    pub blob: BlobId,
    /// Number of returned files with these contents. They are ordered by repository and path.
    pub files: u32,
}

/// The progress of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerProgress {
    /// Number of results, including those of the continued searches.
    pub results: usize,
    /// Last result.
    pub last: Option<LastFile>,
}

impl AnswerProgress {
    /// Returns the progress before the first result of a request.
    pub fn of(request: &Request) -> Self {
        request
            .resume
            .map_or_else(Self::default, |from| Self { results: from.results, last: from.last })
    }

    /// Counts a file as returned.
    pub fn note(&mut self, file: &answer::FileMatch) {
        let (shard, blob) = file.blob_key;
        let same = self.last.filter(|last| (last.shard, last.blob) == file.blob_key);
        let files = same.map_or(0, |last| last.files) + 1;
        self.last = Some(LastFile { shard, blob, files });
        self.results += 1;
    }
}

/// A set of shards, by number. Holds numbers up to 1023: an index has at most 1000 shards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardSet([u64; WORDS]);

/// Numbers of 64 bits in a set of shards.
const WORDS: usize = 16;

impl ShardSet {
    /// Adds a shard.
    pub fn insert(&mut self, shard: ShardId) {
        let n = usize::from(shard.0.unsigned_abs());
        // A shard that is not in the set is searched again.
        if let Some(word) = self.0.get_mut(n / 64) {
            *word |= 1 << (n % 64);
        }
    }

    /// Returns whether the set contains a shard.
    pub fn contains(&self, shard: ShardId) -> bool {
        let n = usize::from(shard.0.unsigned_abs());
        self.0.get(n / 64).is_some_and(|word| word >> (n % 64) & 1 == 1)
    }
}

/// Before the hash of commits in the numbers of a position. No shard has this number.
const WITH_COMMITS: u64 = 1 << 32;

impl Resume {
    /// Returns the position before the first result of a query in a state of the index.
    pub(crate) fn start(switch: Switch, query: u64) -> Self {
        Self { switch, query, commits: 0, results: 0, searched: ShardSet::default(), last: None }
    }

    /// Encodes the position as numbers for a cursor.
    pub fn numbers(&self) -> Vec<u64> {
        let mut numbers = vec![self.switch.0.cast_unsigned(), self.query, self.results as u64];
        if self.commits != 0 {
            numbers.extend([WITH_COMMITS, self.commits]);
        }
        if let Some(LastFile { shard, blob, files }) = self.last {
            numbers.extend([shard.0 as u64, blob.0 as u64, u64::from(files)]);
            let used = self.searched.0.iter().rposition(|word| *word != 0).map_or(0, |at| at + 1);
            numbers.extend(&self.searched.0[..used]);
        }
        numbers
    }

    /// Decodes the numbers of [`numbers`](Self::numbers); `None` if they are not a position.
    pub fn from_numbers(numbers: &[u64]) -> Option<Self> {
        let (switch, query, results, rest) = match numbers {
            [switch, query, results, rest @ ..] => (*switch, *query, *results, rest),
            _ => return None,
        };
        let (commits, rest) = match rest {
            [WITH_COMMITS, commits, rest @ ..] => (*commits, rest),
            _ => (0, rest),
        };
        let mut searched = ShardSet::default();
        let last = match rest {
            [] => None,
            [shard, blob, files, words @ ..] if words.len() <= WORDS => {
                searched.0[..words.len()].copy_from_slice(words);
                let shard = ShardId(i16::try_from(*shard).ok()?);
                let (blob, files) = (i32::try_from(*blob).ok()?, u32::try_from(*files).ok()?);
                Some(LastFile { shard, blob: BlobId(blob), files })
            }
            _ => return None,
        };
        let (switch, results) = (Switch(switch.cast_signed()), usize::try_from(results).ok()?);
        Some(Self { switch, query, commits, results, searched, last })
    }
}

/// The error of a search that has no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The query is invalid.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// A statement failed, or the database could not be reached.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The revisions cannot be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
    /// The epoch of [`Request::resume`] is gone.
    #[error("the index has changed since this cursor was issued; search again")]
    Gone,
    /// The query's revision cannot be searched; a sentence.
    #[error("{0}")]
    Revision(String),
    /// [`Request::resume`] belongs to another query, or to somebody who sees other repositories.
    #[error("this cursor belongs to another query or user; send the original query unchanged")]
    OtherQuery,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_search_ended_is_the_same_as_numbers() {
        let mut searched = ShardSet::default();
        for shard in [0, 7, 64, 199, 456, 998] {
            searched.insert(ShardId(shard));
            assert!(searched.contains(ShardId(shard)) && !searched.contains(ShardId(shard + 1)));
            assert!(shard < 256 || !searched.contains(ShardId(shard % 256)));
        }
        let last = LastFile { shard: ShardId(3), blob: BlobId(70_000), files: 2 };
        for (searched, last) in
            [(ShardSet::default(), None), (ShardSet::default(), Some(last)), (searched, Some(last))]
        {
            let switch = Switch(i64::MAX);
            for commits in [0, 1, u64::MAX] {
                let (query, results) = (u64::MAX, 100);
                let resume = Resume { switch, query, commits, results, searched, last };
                assert_eq!(Resume::from_numbers(&resume.numbers()), Some(resume));
            }
        }
        for mangled in [&[][..], &[1, 2], &[1, 2, 3, 4], &[1, 2, 3, 1 << 20, 5, 6], &[0; 23]] {
            assert_eq!(Resume::from_numbers(mangled), None);
        }
    }
}
