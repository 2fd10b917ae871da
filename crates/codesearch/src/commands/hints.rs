//! Hints that `codesearch search` prints to stderr: the corrected command after a wrong query, and commands that find
//! something after a search found nothing.

use std::time::{Duration, Instant};

use query::{Field, QueryError, Tree};
use search::View;

use crate::cli::{self, Color, SearchArgs, TypedOption};
use crate::console::Console;
use crate::database::Index;
use request::hints::{self, FileCount, NoResultsQuery, QueryContext, Suggested};
use request::shell;
use request::{self, AskOptions, Client, Options};

/// Longest time to count the files that a suggested query finds.
const COUNTING: Duration = Duration::from_millis(50);

/// Longest time for all hints after nothing was found. The process is new and has nothing in memory.
const WITHIN: Duration = Duration::from_secs(1);

/// Returns whether hints are printed. By default they are if stdout and stderr are terminals.
pub(super) fn wanted(console: &Console, args: &SearchArgs) -> bool {
    if args.how.explain || args.output.quiet {
        return false;
    }
    match args.output.hints {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            args.output.is_for_people() && console.stdout_is_terminal && console.stderr_is_terminal
        }
    }
}

/// Adds a corrected command to the error of a wrong query.
pub(super) fn explained(
    index: &Index<'_>,
    console: &Console,
    args: &SearchArgs,
    options: &Options,
    error: anyhow::Error,
) -> anyhow::Error {
    let suggestion = error.downcast_ref::<QueryError>().and_then(|error| error.suggestion.clone());
    let Some(suggestion) = suggestion else { return error };
    let mut suggested = Suggested::from(*suggestion);
    if wanted(console, args) {
        suggested.count = counted(index, &suggested.query, options);
    }
    let count = suggested.count.map_or_else(String::new, |count| format!("  # {}", count.text()));
    let command = command(args, cli::typed_options(&console.line), &suggested);
    anyhow::anyhow!("{error:#}\ntry: {command}{count}")
}

/// Returns the typed command with the suggestion in place of the wrong part.
fn command(args: &SearchArgs, typed: Vec<TypedOption>, suggested: &Suggested) -> String {
    let patterns = args.regexps();
    let wrong = suggested.text.as_ref().filter(|text| patterns.contains(text));
    // If one of several patterns is wrong, only that one is escaped.
    let beside = wrong.filter(|_| patterns.len() > 1 || args.query_text().is_some());
    let mut words = vec!["codesearch".to_owned(), "search".to_owned()];
    for TypedOption { flag, value } in typed {
        let is_pattern = ["-e", "--regexp"].contains(&&*flag);
        let replaced = flag.starts_with("--hints")
            || (wrong.is_some() && (is_pattern || flag == "--regex") && beside.is_none());
        if replaced || ["-F", "--fixed-strings"].contains(&&*flag) {
            continue;
        }
        words.push(shell::word(&flag));
        words.extend(value.map(|value| match beside {
            Some(text) if is_pattern && value == *text => shell::quoted(&query::escape(text)),
            _ => shell::word(&value),
        }));
    }
    let command = words.join(" ");
    match (beside, &suggested.text) {
        (Some(_), _) if args.query.is_empty() => command,
        (Some(text), _) if args.patterns.regex && args.query.join(" ") == *text => {
            hints::with_query(&command, &query::escape(text))
        }
        (Some(_), _) => hints::with_query(&command, &args.query.join(" ")),
        (None, Some(text)) => hints::with_query(&format!("{command} -F"), text),
        (None, None) => hints::with_query(&command, &suggested.query),
    }
}

/// Counts the files that a query finds, if the database is already running.
fn counted(index: &Index<'_>, query: &str, options: &Options) -> Option<FileCount> {
    if !index.is_running() {
        return None;
    }
    let mut count = None;
    let beside = QueryContext { options: options.clone(), client: Client::COMMAND_LINE };
    let asked = index.read(2, 2, async |view| {
        count = hints::count(view, query, &beside, Instant::now() + COUNTING).await;
        Ok(crate::FOUND)
    });
    asked.ok().and(count)
}

/// Prints changes to the query that find something.
pub(super) async fn nothing_found(
    view: &View,
    console: &Console,
    args: &SearchArgs,
    options: &Options,
) {
    note!(to console, "codesearch: nothing found");
    let Some(query) = as_one_query(args, options) else {
        let narrowed = narrowing(args);
        if !narrowed.is_empty() {
            note!(to console, "  try without {}", narrowed.join(" "));
        }
        if args.patterns.line_regexp && !args.patterns.crlf {
            note!(to console, "  for lines that end in a carriage return and a line feed, add --crlf");
        }
        return;
    };
    let asked = NoResultsQuery {
        query: &query,
        client: Client::COMMAND_LINE,
        within: WITHIN,
        left_out: true,
    };
    for hint in hints::for_no_results(view, &asked).await {
        note!(to console, "  {}", hints::line(&hint));
    }
    by_words(view, console, args, options).await;
}

/// Prints a command that ranks files by words, if the query is only words and there are such files.
async fn by_words(view: &View, console: &Console, args: &SearchArgs, options: &Options) {
    let words = args.query.join(" ");
    if !query::is_only_words(&words) || !args.regexps().is_empty() {
        return;
    }
    let options = AskOptions {
        repos: options.repos.clone(),
        files: options.files.clone(),
        languages: options.languages.clone(),
        limit: Some(1),
        lines: Some(0),
        timeout: Some(WITHIN),
        ..AskOptions::default()
    };
    let Ok(question) = request::ask(&words, &options, &Client::COMMAND_LINE) else { return };
    let asked = search::ask::ask(view, &question).await;
    if asked.is_ok_and(|asked| !asked.files.is_empty()) {
        let command = hints::with_query("codesearch ask", &words);
        note!(to console, "  ranked by words, of which a file need not have all: {command}");
    }
}

/// Returns the restrictive options of a search that no query can express.
fn narrowing(args: &SearchArgs) -> Vec<&'static str> {
    let (patterns, filters) = (&args.patterns, &args.filters);
    [
        ("-w", patterns.word_regexp),
        ("-x", patterns.line_regexp),
        ("-g", !filters.glob.is_empty()),
        ("--iglob", !filters.iglob.is_empty()),
        ("-t", !filters.types.is_empty()),
        ("-T", !filters.type_not.is_empty()),
        ("--max-depth", filters.max_depth.is_some()),
    ]
    .into_iter()
    .filter_map(|(option, is_given)| is_given.then_some(option))
    .collect()
}

/// Returns the search as one query; `None` if it has options that no query can express.
fn as_one_query(args: &SearchArgs, options: &Options) -> Option<String> {
    let (patterns, filters) = (&args.patterns, &args.filters);
    let shaped =
        patterns.word_regexp || patterns.line_regexp || patterns.multiline_dotall || patterns.crlf;
    let by_glob = [&filters.glob, &filters.iglob, &filters.types, &filters.type_not];
    let is_query = !shaped
        && patterns.pattern_file.is_empty()
        && by_glob.iter().all(|globs| globs.is_empty())
        && filters.max_depth.is_none()
        && !args.output.files_without_match;
    if !is_query {
        return None;
    }
    let kind: fn(String) -> request::LinePattern = if patterns.fixed_strings {
        request::LinePattern::Text
    } else {
        request::LinePattern::Regexp
    };
    let pattern = |text: &String| kind(text.clone());
    let mut beside: Vec<request::LinePattern> = args.regexps().iter().map(pattern).collect();
    let mut text = args.query_text().unwrap_or_default();
    if patterns.fixed_strings && !text.is_empty() {
        // Both must match, while the patterns in the list are alternatives.
        if !beside.is_empty() {
            return None;
        }
        beside.push(request::LinePattern::Text(std::mem::take(&mut text)));
    }
    Some(request::as_one_query(&text, &beside, options))
}

/// Returns the patterns for repository names that a query requires.
pub(super) fn repositories(tree: &Tree) -> Vec<String> {
    match tree {
        Tree::All(parts) => parts.iter().flat_map(repositories).collect(),
        Tree::Term(term) if term.field == Field::Repo => vec![term.pattern.source().to_owned()],
        Tree::Any(_)
        | Tree::Not(_)
        | Tree::Term(_)
        | Tree::Language(_)
        | Tree::InTree(_)
        | Tree::Property(_) => Vec::new(),
    }
}

/// Prints a hint if a query was read as a regular expression but was probably meant as literal text.
pub(super) fn meant_as_text(console: &Console, args: &SearchArgs) {
    if args.patterns.fixed_strings {
        return;
    }
    let Some(text) = args.query_text() else { return };
    let Ok(parsed) = query::Query::parse(&text, query::Case::Smart) else { return };
    if let Some(hint) = hints::meant_as_text(&text, &parsed) {
        note!(to console, "codesearch: {}", hints::line(&hint));
    }
}
