//! `codesearch search`: the query, and options of the search.

mod filters;
mod output;
mod patterns;

use std::time::Duration;

use clap::Args;

use super::ripgrep::ForeignFlags;
pub(crate) use filters::FilterArgs;
pub(crate) use output::OutputArgs;
pub(crate) use patterns::PatternArgs;

pub(super) const SEARCH_HELP: &str = "\
A query is made of terms with spaces between them, all of which must match somewhere in a file. Each is a regular \
expression, looked for in the file's lines and in its path; in lowercase it matches any case. Write phrases in quotes, \
alternatives with 'or', exclusions with a minus. All of it: codesearch help syntax

Examples:
  codesearch search deadlock                          a word
  codesearch search func main lang:go                 several words, in Go
  codesearch search '\"static int\" -file:test'         a phrase, not in tests
  codesearch search 'TODO or FIXME' --repo k8s        either of two words
  codesearch search -e 'func \\w+\\(ctx'                one regular expression
  codesearch search -F 'a[i] = *p'                    one text, as it stands
  codesearch search -w -t go -g '!vendor/' ctx        a word, in some files
  codesearch search -l0 --local TODO | xargs -0 vi    every file with it
  codesearch search --json deadlock | jq .            for programs

A word of the query may begin with a minus (foo -lang:go, '->next'). After --, all words belong to the query: codesearch \
search -l -- foo -error. What the query itself says \
(count:, timeout:, case:) overrides options. ripgrep's other options are accepted if they change nothing here; the others \
say why not. docs/ripgrep.md lists all of them.

Exit status: 0 when something was found, 1 when nothing was, 2 when there was an error or not all could be searched \
in time.";

#[derive(Args, Debug)]
#[command(args_override_self = true)]
pub(crate) struct SearchArgs {
    /// What to search for: see `codesearch help syntax`. Several arguments are one query, joined by spaces
    #[arg(
        value_name = "QUERY",
        required_unless_present_any = ["regexp", "pattern_file", "files", "type_list"]
    )]
    pub(crate) query: Vec<String>,
    #[command(flatten)]
    pub(crate) patterns: PatternArgs,
    #[command(flatten)]
    pub(crate) filters: FilterArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) how: HowArgs,
    #[command(flatten)]
    _foreign: ForeignFlags,
}

#[derive(Args, Debug)]
#[command(next_help_heading = "Search")]
pub(crate) struct HowArgs {
    /// Stop after N files; 0 for all [default: 100 on a terminal, else 0]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Stop after this time: 500ms, 5s, 2m [default: 10s, but none without a limit]
    #[arg(long, value_name = "TIME", value_parser = query::duration)]
    pub(crate) timeout: Option<Duration>,
    /// List the files that would be searched, without searching them
    #[arg(long)]
    pub(crate) files: bool,
    /// List the types that --type knows, with their globs
    #[arg(long)]
    pub(crate) type_list: bool,
    /// Read every stored byte instead of asking the index
    #[arg(long)]
    pub(crate) brute: bool,
    /// Print to stderr what was done: shards, candidates, time
    #[arg(long)]
    pub(crate) stats: bool,
    /// Search, but print how the query was understood, planned and run instead of what was found; with --sort relevance
    /// also how the score of each file came about
    #[arg(long, conflicts_with = "json")]
    pub(crate) explain: bool,
}
