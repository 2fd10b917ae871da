//! `codesearch search`: the query, restrictions beside it, and what is printed.

use std::time::Duration;

use clap::{ArgAction, Args};

use super::color::Color;
use super::sort::Sort;

pub(super) const SEARCH_HELP: &str = "\
A query is made of terms with blanks between them, all of which must match somewhere in a file. Each is a
regular expression, looked for in the file's lines and in its path; in small letters it matches any case.
Write phrases in quotes, alternatives with 'or', exclusions with a minus. All of it: codesearch help syntax

Examples:
  codesearch search deadlock                           a word
  codesearch search func main lang:go                  several arguments are one query
  codesearch search '\"static int\" lang:c -file:test'   a phrase, in C, not in tests
  codesearch search 'TODO or FIXME' --repo kubernetes  either of two words
  codesearch search -e 'func \\w+\\(ctx'               one regular expression, blanks and all
  codesearch search -F 'a[i] = *p'                     one text, character by character
  codesearch search -l --limit 0 TODO                  every file with it
  codesearch search --json deadlock | jq .             for programs
  codesearch search --vimgrep deadlock                 for editors

Quotes of the shell make no phrase: search 'func main' and search func main are the same query.
Options come first, then -- before a query that begins with a minus: codesearch search -l -- '-foo lang:go'
What the query itself says (count:, timeout:, case:) goes before an option that says otherwise.

Exit status: 0 when something was found, 1 when nothing was, 2 when there was an error or not all could be
searched in time.";

#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    /// What to search for: see `codesearch help syntax`. Several arguments are one query, joined by spaces
    #[arg(value_name = "QUERY", required_unless_present_any = ["regexp", "fixed"])]
    pub(crate) query: Vec<String>,
    /// Search the files' lines for this regular expression, as it stands (several: any of them)
    #[arg(short = 'e', long, value_name = "PATTERN", allow_hyphen_values = true)]
    pub(crate) regexp: Vec<String>,
    /// Search the files' lines for this very text (several: any of them)
    #[arg(short = 'F', long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) fixed: Vec<String>,
    /// Let patterns match across lines
    #[arg(short = 'U', long)]
    pub(crate) multiline: bool,
    /// Search without regard to case
    #[arg(short, long, overrides_with_all = ["case_sensitive", "smart_case"])]
    pub(crate) ignore_case: bool,
    /// Search for exactly this case
    #[arg(short = 's', long, overrides_with_all = ["ignore_case", "smart_case"])]
    pub(crate) case_sensitive: bool,
    /// Search without regard to case if the pattern holds no capital letter [the default]
    #[arg(short = 'S', long, overrides_with_all = ["ignore_case", "case_sensitive"])]
    pub(crate) smart_case: bool,
    /// Print only the paths of files that match
    #[arg(short = 'l', long, conflicts_with_all = ["count", "json"])]
    pub(crate) files_with_matches: bool,
    /// Print only how many lines match in each file
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) count: bool,
    /// Print N lines after each match
    #[arg(short = 'A', long, value_name = "N")]
    pub(crate) after_context: Option<usize>,
    /// Print N lines before each match
    #[arg(short = 'B', long, value_name = "N")]
    pub(crate) before_context: Option<usize>,
    /// Print N lines before and after each match
    #[arg(short = 'C', long, value_name = "N", default_value_t = 0)]
    pub(crate) context: usize,
    /// Stop after N files; 0 for all [default: 100]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Print files in this order [default: relevance on a terminal, none elsewhere and with --limit 0]
    #[arg(long, value_name = "ORDER")]
    pub(crate) sort: Option<Sort>,
    /// Stop after this time: 500ms, 5s, 2m [default: 10s, but none with --limit 0]
    #[arg(long, value_name = "TIME", value_parser = query::duration)]
    pub(crate) timeout: Option<Duration>,
    /// Only repositories whose name matches (several: any of them)
    #[arg(long, value_name = "REGEX")]
    pub(crate) repo: Vec<String>,
    /// Only files whose path matches (several: any of them)
    #[arg(long, value_name = "REGEX")]
    pub(crate) file: Vec<String>,
    /// Only files in this language: go, rust, c++, ... (several: any of them)
    #[arg(long, value_name = "NAME")]
    pub(crate) lang: Vec<String>,
    /// Print JSON, one object a line, as ripgrep does
    #[arg(long)]
    pub(crate) json: bool,
    /// Print path:line:column:text for editors, a line for each match, with paths as of --local
    #[arg(long, conflicts_with_all = ["json", "count", "heading"])]
    pub(crate) vimgrep: bool,
    /// Print paths in the folders that were indexed, so that editors and other programs can open
    /// them, instead of paths that begin with the name of their repository
    #[arg(long)]
    pub(crate) local: bool,
    /// Read every stored byte instead of asking the index
    #[arg(long)]
    pub(crate) brute: bool,
    /// Print to stderr what was done: shards, candidates, time
    #[arg(long)]
    pub(crate) stats: bool,
    /// Search, but print how the query was understood, planned and run instead of what was found
    #[arg(long, conflicts_with = "json")]
    pub(crate) explain: bool,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// Say on stderr what would find something where nothing was found [auto: on a terminal]
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) hints: Color,
    /// Print each path once, above its matches [the default on a terminal]
    #[arg(long, overrides_with = "no_heading")]
    pub(crate) heading: bool,
    /// Print the path on every line [the default elsewhere]
    #[arg(long, overrides_with = "heading")]
    pub(crate) no_heading: bool,
    /// Cut printed lines after N characters; 0 for never [default: 500 on a terminal, else 0]
    #[arg(short = 'M', long, value_name = "N", action = ArgAction::Set)]
    pub(crate) max_columns: Option<usize>,
}
