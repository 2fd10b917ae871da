//! The tool `search`: its arguments and cursor.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use answer::FileMatch;
use anyhow::{Context, Result, bail};
use query::{Count, MAX_QUERY_BYTES};
use rmcp::schemars::JsonSchema;
pub use search::View;
use search::{Covered, Error, Holds, Request, Resume, Stale, Stats};
use serde::Deserialize;
use tokio::sync::mpsc;

use super::answer::{count, default_bytes};
use super::hints;
use super::progress::FileCounter;
use super::question::is_question;
use request::cursor;
use request::{self, Client, Options, Refused};

/// Batches of files that the search may be ahead of their reader.
const FOUND_AHEAD: usize = 2;

/// What can be asked.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Search {
    /// The query.
    #[schemars(extend("maxLength" = MAX_QUERY_BYTES))]
    pub(super) query: String,
    /// best: most relevant first (default). words: ranked by words (default for a question). exhaustive: every line. docs: READMEs, comments.
    #[serde(default)]
    #[schemars(extend("enum" = ["best", "words", "exhaustive", "docs"]))]
    pub(super) order: Option<String>,
    /// Most files (10; by words 20, of a list 50).
    #[serde(default)]
    #[schemars(range(min = 1, max = 500))]
    pub(super) limit: Option<usize>,
    /// Most matching lines of a file (2 of the best 3 files, 1 of others).
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    pub(super) lines_per_file: Option<usize>,
    /// Lines around each match; then all keep their indentation.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    pub(super) context_lines: usize,
    /// List all equal files.
    #[serde(default)]
    pub(super) copies: bool,
    /// Wait until known changes are indexed.
    #[serde(default)]
    pub(super) fresh: bool,
    /// Most bytes.
    #[serde(default = "default_bytes")]
    #[schemars(range(min = 2048, max = 32768))]
    pub(super) max_bytes: usize,
    /// From an answer, to continue its query and order.
    #[serde(default)]
    #[schemars(extend("maxLength" = cursor::MAX_CURSOR))]
    pub(super) cursor: Option<String>,
}

impl Search {
    /// Returns the order; if none is named, that by words for a question, or else that by relevance.
    pub(super) fn order(&self) -> &str {
        match &self.order {
            Some(order) => order,
            None if self.cursor.is_none() && is_question(&self.query) => "words",
            None => "best",
        }
    }

    /// Returns the most files of an answer, which has lines of them or only names.
    pub(super) fn limit(&self, has_lines: bool) -> usize {
        let usual = match self.order() {
            "best" if has_lines => 10,
            "words" => 20,
            _ => 50,
        };
        self.limit.unwrap_or(usual)
    }

    /// Returns the most lines of any file.
    pub(super) fn lines(&self) -> usize {
        self.lines_per_file.unwrap_or(LINES)
    }

    /// Returns the most lines of a file, given how many files are better.
    pub(super) fn lines_after(&self, better: usize) -> usize {
        self.lines_per_file.unwrap_or(if better < WITH_LINES { LINES } else { 1 })
    }
}

/// Matching lines shown of each of the best files, and how many files these are.
const LINES: usize = 2;
const WITH_LINES: usize = 3;

pub(super) fn description() -> String {
    r#"Searches the code of all indexed repositories at once, instead of grep. Gives the best files first, each with its best
matching lines (NUMBER:LINE) below REPOSITORY: PATH (": PATH" is in the repository of the file before) and the enclosing
function with its lines (in f, 10-24:); lines marked [defines ...] define a name. Begins with the numbers of matching lines,
files and repositories, and says whether that is all.

A query has terms separated by spaces; each must match a line or the path of a file. A term is a regular expression (Rust);
without capitals it matches any case:
  parse_config lang:go         escape . ( ) [ { * + ? | \ with a backslash
  "two words"  lit:a[i]  lit:"f(x) + 1"   a phrase (a regular expression); exactly this text
  foo or bar  -foo  (a or b) c
  file:\.go$  repo:name  lang:rust   path, repository, language; negated: -file:_test
  sym:^New  sym:Foo.bar  kind:function,class   names of definitions
  content:foo  case:yes  foo\n\s*bar   lines only; exact case; across lines
  foo type:repo   which repositories, and how many; type:file: only paths; type:symbol: only definitions
  worktree:fix-1  rev:v1.2.0   another worktree; a branch, tag or commit
  diff:main..HEAD added:foo   lines that changed between revisions; removed:foo; history:foo: commits
  timeout:60s   instead of 10 s
An error text: paste it in quotes; it is also found without its numbers and names. A question (how are retries configured):
type it as it is; it is ranked by its words. So are other words with order=words, or if few files have all of them."#
    .to_owned()
}

/// The end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cursor {
    /// The position in the search to resume from.
    pub(super) resume: Resume,
    /// Whether the answer had the best results.
    pub(super) best: bool,
    /// With `best`, the number of best files that were already shown; otherwise, the last shown line of the next file.
    pub(super) shown: u64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&cursor::encode([u64::from(self.best), self.shown], &self.resume))
    }
}

impl FromStr for Cursor {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let cursor = cursor::decode(text.trim()).ok();
        let cursor = cursor.map(|([best, shown], resume)| Self { resume, best: best == 1, shown });
        cursor.context("invalid cursor; copy the one from the previous answer")
    }
}

/// Builds the request for a call, from a cursor and within a repository if they are given; `change` adapts it.
pub(super) async fn request<T: Send + 'static>(
    view: &View,
    asked: &Search,
    (from, within): (Option<&Cursor>, Option<&str>),
    change: impl FnOnce(&mut Request) -> T + Send + 'static,
) -> Result<(Arc<Request>, T)> {
    let (query, limit, lines) = (asked.query.clone(), asked.limit(true), asked.context_lines);
    let resume = from.map(|from| from.resume);
    let repos = within.map(|repo| format!("^{}$", query::escape(repo))).into_iter().collect();
    // A large pattern takes a while to compile.
    let work = tokio::task::spawn_blocking(move || {
        let options = Options {
            limit: Some(Count::of(limit)),
            context: (lines, lines),
            resume,
            repos,
            ..Options::default()
        };
        let query = request::parse(&query, &options, &Client::AGENT)?;
        let mut request = request::build_in_time(query, &options, &Client::AGENT, ())?;
        let changed = change(&mut request);
        Ok::<_, Refused>((request, changed))
    });
    let (mut request, changed) = match work.await.expect("compiling does not panic") {
        Ok(request) => request,
        Err(refused) => return Err(hints::refused(view, &asked.query, refused).await),
    };
    // The next part of an answer is of the epoch of the first one.
    if asked.fresh && resume.is_none() {
        // The tools of a server run in a turn.
        let note = view.await_fresh(&request, Holds::ATurn).await?;
        request.notes.extend(note);
    }
    Ok((Arc::new(request), changed))
}

/// Searches, and passes files to `take` until it returns false.
pub(super) async fn run(
    view: &View,
    request: &Arc<Request>,
    found: &FileCounter,
    mut take: impl FnMut(FileMatch) -> bool,
) -> Result<Stats> {
    let (send, files) = mpsc::channel::<Vec<FileMatch>>(FOUND_AHEAD);
    let taking = async {
        // Moved into this future, so that the receiver is dropped with it, which ends the search.
        let mut files = files;
        'all: while let Some(some) = files.recv().await {
            found.add(some.len());
            for file in some {
                if !take(file) {
                    break 'all;
                }
            }
        }
    };
    match tokio::join!(view.search(request, send), taking).0 {
        Err(error @ Error::Gone) => bail!("{error}, without a cursor"),
        stats => Ok(stats?),
    }
}

/// Longest sentence about files that have changed, in bytes. It stands in the head of an answer, which is short.
const MAX_STALE: usize = 300;

/// Returns a line about files of an answer that have changed on disk since they were indexed; empty if none has.
pub(super) fn stale(stale: &Stale) -> String {
    let sentence = request::stale::sentence(stale).map(|sentence| {
        if sentence.len() <= MAX_STALE {
            sentence
        } else {
            "some of these files changed since they were indexed; run codesearch ingest on their \
             folders"
                .to_owned()
        }
    });
    sentence.map_or_else(String::new, |sentence| format!("\nNote: {sentence}."))
}

/// Returns a line about repositories that could not be updated, after a search that was stopped; else [`left_out`] has it.
pub(super) fn outdated(stats: &Stats) -> String {
    let outdated = request::fresh::outdated(&stats.covered).filter(|_| stats.stopped.is_some());
    outdated.map_or_else(String::new, |outdated| format!("\nNote: {outdated}."))
}

/// Returns a sentence for a search that could not read a part of the index.
pub(super) fn broken(stats: &Stats) -> String {
    request::notes::missing(&stats.shown_missing()).map_or_else(
        || {
            "part of the index could not be searched; see the log on stderr, and try again."
                .to_owned()
        },
        |missing| format!("{missing}. Try again later."),
    )
}

/// Returns a sentence about what could not be searched; empty if there is nothing to say.
pub(super) fn left_out(stats: &Stats) -> String {
    let left = request::notes::unsearched_in_short(stats);
    left.map_or_else(String::new, |left| format!(" Note: {left}."))
}

/// Returns what the last line of an answer says of the index: how many files are left out of it and might match, unless
/// the search was stopped; and how fresh it is. If nothing was found, it says why files are left out.
pub(super) fn about(stats: &Stats) -> Vec<String> {
    let left_out = (!stats.skipped.is_empty() && stats.stopped.is_none()).then(|| {
        if stats.files == 0 {
            return format!("left out of the index: {}", request::notes::skipped(stats));
        }
        let all: usize = stats.skipped.values().sum();
        format!("{} left out of the index", count(all, "file", "files"))
    });
    left_out.into_iter().chain(age(&stats.covered)).collect()
}

/// Returns how long ago the oldest repository of an answer was looked at: `as of 3 min ago`.
pub(super) fn age(covered: &Covered) -> Option<String> {
    Some(format!("as of {}", request::fresh::since(covered.oldest.as_ref()?.looked_at)))
}
