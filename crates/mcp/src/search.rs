//! The tool `search`: its arguments and cursor.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use answer::{FileMatch, Line, LineChange};
use anyhow::{Context, Result, bail};
use files::{SECRET, looks_secret};
use query::{Count, MAX_QUERY_BYTES};
use rmcp::schemars::JsonSchema;
pub use search::View;
use search::{Error, Holds, Request, Resume, Stale, Stats};
use serde::Deserialize;
use tokio::sync::mpsc;

use super::answer::{default_bytes, shown};
use super::hints;
use super::navigate;
use super::progress::FileCounter;
use request::cursor;
use request::human;
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
    /// best: most relevant first. words: a question in words. exhaustive: every line. docs: READMEs, manuals, comments.
    #[serde(default = "by_relevance")]
    #[schemars(extend("enum" = ["best", "words", "exhaustive", "docs"]))]
    pub(super) order: String,
    /// Most files.
    #[serde(default = "files")]
    #[schemars(range(min = 1, max = 500))]
    pub(super) limit: usize,
    /// Most matching lines of a file.
    #[serde(default = "lines")]
    #[schemars(range(min = 1, max = 1000))]
    pub(super) lines_per_file: usize,
    /// Lines around each match.
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

fn by_relevance() -> String {
    "best".to_owned()
}

fn files() -> usize {
    50
}

fn lines() -> usize {
    10
}

pub(super) fn description() -> String {
    r#"Searches the code of all indexed repositories at once, instead of grep. Gives the best files first, each with its matching
lines (NUMBER:LINE) below REPOSITORY: PATH and the enclosing function or type with its lines (in function f, 10-24:);
lines marked [defines ...] define a name, so one search tells where it is defined and who uses it. Begins with the numbers of
matching lines, files and repositories, and says whether that is all.

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
An error text: paste it in quotes; it is also found without its numbers and names. A question in words (how are retries
configured): type it as it is, with order=words; words alone that find few files are ranked so, too."#
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

/// Builds the request for a call; `change` adapts it.
pub(super) async fn request<T: Send + 'static>(
    view: &View,
    asked: &Search,
    from: Option<&Cursor>,
    change: impl FnOnce(&mut Request) -> T + Send + 'static,
) -> Result<(Arc<Request>, T)> {
    let (query, limit, lines) = (asked.query.clone(), asked.limit, asked.context_lines);
    let resume = from.map(|from| from.resume);
    // A large pattern takes a while to compile.
    let work = tokio::task::spawn_blocking(move || {
        let options = Options {
            limit: Some(Count::of(limit)),
            context: (lines, lines),
            resume,
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

pub(super) fn named(file: &FileMatch) -> String {
    let language = file.language.as_ref().map_or(String::new(), |name| format!(" ({name})"));
    let warning = if looks_secret(&file.path) { format!(" ({SECRET})") } else { String::new() };
    let commit = file.commit.as_deref().map(|commit| format!("commit {}\n", human::commit(commit)));
    let trees = match &*file.trees {
        [] => String::new(),
        names => format!(" [{}]", human::trees(names)),
    };
    let before = file.renamed_from.as_ref().map(|before| format!(" (renamed from {before})"));
    let (commit, before) = (commit.unwrap_or_default(), before.unwrap_or_default());
    format!("{commit}{}: {}{before}{language}{trees}{warning}", file.repo, file.path)
}

pub(super) fn numbered(line: &Line) -> String {
    let (mark, matched) = match line.ranges.first() {
        Some(range) => (":", range.start),
        None => ("-", 0),
    };
    let sign = line.change.map_or("", LineChange::sign);
    let text = shown(&line.text, matched);
    let defines = navigate::defines(line).map(|kinds| format!("  [defines {kinds}]"));
    let defines = defines.unwrap_or_default();
    match line.number {
        // Lines of the history have none.
        0 => format!("{sign}{text}{defines}\n"),
        number => format!("{number}{mark}{sign}{text}{defines}\n"),
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

/// Returns a line about how fresh the repositories of an answer are. If a search was stopped, also names those that could
/// not be updated; else [`left_out`] does.
pub(super) fn freshness(stats: &Stats) -> String {
    let age = request::fresh::age(&stats.covered).map(|age| format!("\n({age})"));
    let outdated = request::fresh::outdated(&stats.covered).filter(|_| stats.stopped.is_some());
    let outdated = outdated.map(|outdated| format!("\nNote: {outdated}."));
    age.into_iter().chain(outdated).collect()
}

/// Advice for a search that could not read a part of the index.
pub(super) const BROKEN: &str =
    "part of the index could not be searched; see the log on stderr, and try again.";

/// Returns a sentence about files that are left out of the index and might match; empty if there are none.
pub(super) fn left_out(stats: &Stats) -> String {
    let symbols = request::notes::unsearched(stats).map(|left| format!(" Note: {left}."));
    let skipped = (!stats.skipped.is_empty()).then(|| {
        format!(" Not in the index, but might match: {}.", request::notes::skipped(stats))
    });
    symbols.into_iter().chain(skipped).collect()
}
