//! The tool `search`: what matches a query, a page at a time.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use engine::search::{Error, FileMatch, Line, Progress, Request, Resume, Searcher, Stats, Stopped};
use query::{Count, Select};
use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::mpsc;

use super::answer::{MAX_ANSWER_BYTES, MAX_LINE_BYTES, Text, count, shown};
use super::hints;
use crate::cursor;
use crate::request::{self, Client, Options, Refused};

/// Batches of files that the search may be ahead of what is done with them.
const FOUND_AHEAD: usize = 2;

/// What can be asked.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    /// What to search for, in the query language of this tool's description.
    query: String,
    /// Most files in the answer, up to 500; 50 unless given.
    limit: Option<usize>,
    /// Where to go on: the cursor of the answer before, with the same query.
    cursor: Option<String>,
    /// Lines shown before and after each line that matches; none unless given.
    #[serde(default)]
    context_lines: usize,
}

pub(super) fn description() -> String {
    format!(
        r#"Searches all indexed repositories and gives the lines that match, as NUMBER:LINE below REPOSITORY: PATH (NUMBER-LINE for lines of context).

A query is made of terms with blanks between them; a file is found if every term matches somewhere in its lines or in its path. A term is a regular expression (Rust's, matched line by line); in small letters it matches any case.
  fmt\.Print.* lang:go         files in Go; escape . ( ) [ * + ? | \ with a backslash
  "two words"                  a phrase: blanks need quotes (it is still a regular expression)
  lit:a[i]   lit:"f(x) + 1"    the very characters, nothing to escape
  foo or bar   -foo   (a or b) c
  file:\.go$  repo:name  lang:rust   regular expressions on path and repository, and the language; negate: -file:_test
  content:foo                  in lines only, not in paths
  case:yes                     exactly this case
  foo\n\s*bar                  across lines, with \n in it
  type:file, type:repo         only paths, only repositories
  timeout:60s                  instead of 10 s

An answer has `limit` files and {MAX_ANSWER_BYTES} bytes at most. Its first line says whether that is all; if not, it has a cursor: call again with the same query and this cursor for the next part. Parts put together are the whole answer. Of a line over {MAX_LINE_BYTES} bytes only a part around its first match is shown; read_file has all of it."#
    )
}

/// Where an answer ended.
struct Cursor {
    /// Where the search goes on.
    resume: Resume,
    /// Up to this line of the next file it was told already; 0 for none of it.
    line: u64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&cursor::encode([self.line], &self.resume))
    }
}

impl FromStr for Cursor {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let cursor = cursor::decode(text.trim()).ok();
        let cursor = cursor.map(|([line], resume)| Self { resume, line });
        cursor.context("invalid cursor; copy the one from the previous answer")
    }
}

pub(super) async fn search(searcher: &Searcher, asked: Search) -> Result<String> {
    let from = asked.cursor.as_deref().map(Cursor::from_str).transpose()?;
    // A large pattern takes its time to compile.
    let resume = from.as_ref().map(|from| from.resume);
    let text = asked.query.clone();
    let compiled = tokio::task::spawn_blocking(move || request(&asked, resume)).await;
    let request = match compiled.expect("compiling does not panic") {
        Ok(request) => Arc::new(request),
        Err(refused) => return Err(hints::refused(searcher, refused).await),
    };
    let (found, files) = mpsc::channel(FOUND_AHEAD);
    let select = request.program().select;
    let told = from.as_ref().map_or(0, |from| from.line);
    let progress = Progress::of(&request);
    let fill = async {
        // Its own: when the page is full nobody listens to the search any longer, and it ends.
        let mut files = files;
        let mut page = Page { select, progress, told, ..Page::default() };
        'all: while let Some(found) = files.recv().await {
            for file in &found {
                if !page.add(file) {
                    break 'all;
                }
            }
        }
        page
    };
    let (stats, page) = tokio::join!(searcher.search(&request, found), fill);
    let stats = match stats {
        Err(error @ Error::Gone) => bail!("{error}, without a cursor"),
        stats => stats?,
    };
    let cursor = Cursor { resume: stats.from(&request, page.progress), line: page.told };
    let head = head(&page, &stats, &cursor, from.is_some());
    let hints = hints::told(searcher, &text, &request, &stats).await;
    Ok(format!("{}{hints}", page.text.below(&head)))
}

fn request(asked: &Search, resume: Option<Resume>) -> Result<Request, Refused> {
    let options = Options {
        limit: asked.limit.map(Count::of),
        context: (asked.context_lines, asked.context_lines),
        resume,
        ..Options::default()
    };
    let query = request::parse(&asked.query, &options, &Client::AGENT)?;
    request::build(query, &options, &Client::AGENT)
}

/// What an answer shows.
#[derive(Default)]
struct Page {
    select: Select,
    text: Text,
    /// Results that are in it, the last one perhaps in part.
    results: usize,
    /// How far the answers have come with the results that are in it to their end.
    progress: Progress,
    /// Matching lines in it.
    matches: usize,
    /// Up to which line the file that comes next was told, here or on the page before.
    told: u64,
    /// There was no room for more.
    full: bool,
}

impl Page {
    /// Adds a file, or as many of its lines as there is room for; false if that is not all.
    fn add(&mut self, file: &FileMatch) -> bool {
        let told = self.told;
        let mut lines = file.lines.iter().filter(|line| line.number > told);
        let mut piece = match self.select {
            Select::Repos => format!("{}\n", file.repo),
            Select::Files => format!("{}\n", named(file)),
            Select::Lines => {
                let gap = if self.text.is_empty() { "" } else { "\n" };
                format!("{gap}{}\n", named(file))
            }
        };
        // No file is named without a line of it.
        let mut line = lines.next();
        if let Some(line) = line {
            piece.push_str(&numbered(line));
        }
        loop {
            if !self.text.add(&piece) {
                self.full = true;
                return false;
            }
            if self.told == told {
                self.results += 1;
            }
            if let Some(line) = line {
                self.told = line.number;
                self.matches += usize::from(!line.ranges.is_empty());
            }
            line = lines.next();
            match line {
                Some(line) => piece = numbered(line),
                None => break,
            }
        }
        self.told = 0;
        self.progress.note(file);
        true
    }
}

fn named(file: &FileMatch) -> String {
    let language = file.language.as_ref().map_or(String::new(), |name| format!(" ({name})"));
    format!("{}: {}{language}", file.repo, file.path)
}

fn numbered(line: &Line) -> String {
    let (mark, matched) = match line.ranges.first() {
        Some(range) => (':', range.start),
        None => ('-', 0),
    };
    format!("{}{mark}{}\n", line.number, shown(&line.text, matched))
}

/// What the answer is, whether it is all there is, and how to get the rest.
fn head(page: &Page, stats: &Stats, cursor: &Cursor, goes_on: bool) -> String {
    let found = match page.select {
        Select::Lines => format!(
            "{} in {}",
            count(page.matches, "matching line", "matching lines"),
            count(page.results, "file", "files")
        ),
        Select::Files => count(page.results, "file", "files"),
        Select::Repos => count(page.results, "repository", "repositories"),
    };
    let next = format!("For the rest, search again with the same query and cursor \"{cursor}\".");
    let seconds = |time: &Duration| time.as_secs_f64();
    match &stats.stopped {
        _ if page.full => format!(
            "{found}, and there is more: the answer is full, at {MAX_ANSWER_BYTES} bytes. {next} With type:file \
             the query gives paths only."
        ),
        Some(Stopped::Limit) => {
            format!("{found}, and there is more: the limit was reached. {next}")
        }
        Some(Stopped::Timeout(time)) => format!(
            "{found}, and there may be more: the time was up, {} s. Narrow the query with repo:, file: or lang:, \
             or give it more time, as in timeout:{:.0}s.",
            seconds(time),
            (seconds(time) * 6.0).max(60.0)
        ),
        Some(Stopped::Shards(_)) => format!(
            "{found}, and there may be more: a part of the index could not be searched. The log on stderr says \
             why; try again."
        ),
        None => {
            let all = match (page.results, goes_on) {
                (0, false) => "Nothing matches.".to_owned(),
                (_, false) => format!("{found}. That is all."),
                (_, true) => format!("{found}. That is the rest."),
            };
            let skipped = crate::print::skipped(stats);
            if stats.skipped.is_empty() {
                all
            } else {
                format!("{all} Not in the index, though they might match: {skipped}.")
            }
        }
    }
}
