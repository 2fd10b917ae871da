//! The tool `search`: its arguments and cursor. `best` answers with the best results, `exhaustive` with all of them.

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

use super::answer::{MAX_BYTES, MAX_LINE_BYTES, default_bytes, shown};
use super::hints;
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
    /// The query, in the language of this tool's description.
    #[schemars(extend("maxLength" = MAX_QUERY_BYTES))]
    pub(super) query: String,
    /// best: the most relevant files first, each with its most relevant lines. exhaustive: every file and every line,
    /// in the order of the index.
    #[serde(default = "best")]
    #[schemars(extend("enum" = ["best", "exhaustive"]))]
    pub(super) order: String,
    /// Maximum number of files in the answer.
    #[serde(default = "files")]
    #[schemars(range(min = 1, max = 500))]
    pub(super) limit: usize,
    /// Maximum number of matching lines of each file, with order=best.
    #[serde(default = "lines")]
    #[schemars(range(min = 1, max = 1000))]
    pub(super) lines_per_file: usize,
    /// Number of lines before and after each matching line.
    #[serde(default)]
    #[schemars(range(min = 0, max = 100))]
    pub(super) context_lines: usize,
    /// Whether to list all identical copies of each file, with order=best, not only the first ones.
    #[serde(default)]
    pub(super) copies: bool,
    /// Whether to wait, up to the timeout, until the known changes of the searched repositories are indexed.
    #[serde(default)]
    pub(super) fresh: bool,
    /// Maximum number of bytes of text in the answer.
    #[serde(default = "default_bytes")]
    #[schemars(range(min = 2048, max = 32768))]
    pub(super) max_bytes: usize,
    /// The cursor of the previous answer, to continue the same query and order.
    #[serde(default)]
    #[schemars(extend("maxLength" = cursor::MAX_CURSOR))]
    pub(super) cursor: Option<String>,
}

fn best() -> String {
    "best".to_owned()
}

fn files() -> usize {
    50
}

fn lines() -> usize {
    10
}

pub(super) fn description() -> String {
    format!(
        r#"Searches all indexed repositories and gives the matching lines, as NUMBER:LINE below REPOSITORY: PATH
(NUMBER-LINE for context), under the enclosing function or type (in KIND NAME:). Definitions of the name,
and files with that name, come first.

A query consists of terms separated by spaces; a file matches if every term matches one of its lines or its path. A
term is a regular expression (Rust syntax, matched line by line); without capital letters it matches any case.
  fmt\.Print.* lang:go         files in Go; escape . ( ) [ * + ? | \ with a backslash
  json.Unmarshal               uses, and the definition of Unmarshal in a folder or file called json
  "two words"                  a phrase: spaces need quotes (it is still a regular expression)
  lit:a[i]   lit:"f(x) + 1"    exactly these characters, without escapes
  foo or bar   -foo   (a or b) c
  file:\.go$  repo:name  lang:rust   regular expressions for path and repository, and a language; negate: -file:_test
  sym:^New   sym:Foo.bar       names of definitions; kind:function,class restricts them
  content:foo                  in lines only, not in paths
  case:yes                     match case exactly
  foo\n\s*bar                  a pattern with \n matches across lines
  worktree:fix-1  rev:v1.2.0   another worktree of a clone; a branch, tag or commit (globs: rev:release/*)
  diff:main..HEAD foo          lines with foo that changed between two revisions; added:foo, removed:foo
  history:foo                  commits that added or removed a line with foo, where history is indexed
  type:file, type:repo         only paths, only repositories; type:symbol: only definitions
  timeout:60s                  instead of 10 s

An answer has up to `limit` files, `lines_per_file` lines of each, and `max_bytes` bytes ({MAX_BYTES} at most). It
begins with counts and says whether that is all; files with the same contents are one entry, with its copies below
it; if not, it has a cursor: for the next files, call again with the
same query and this cursor. It ends with the files that were not searched. With order=exhaustive, the answers
together contain every matching line. Of a line over {MAX_LINE_BYTES} bytes, only the part around its first match is
shown; read_file shows all of it."#
    )
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
        Err(refused) => return Err(hints::refused(view, refused).await),
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
    match line.number {
        // Lines of the history have none.
        0 => format!("{sign}{text}\n"),
        number => format!("{number}{mark}{sign}{text}\n"),
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

/// Returns advice for a search that timed out.
pub(super) fn late(time: std::time::Duration) -> String {
    let seconds = time.as_secs_f64();
    format!(
        "timed out after {seconds} s. Narrow the query with repo:, file: or lang:, or raise the timeout, as in \
         timeout:{:.0}s.",
        (seconds * 6.0).max(60.0)
    )
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
