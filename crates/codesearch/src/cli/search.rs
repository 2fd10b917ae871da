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
A query consists of terms separated by spaces. Every term must match somewhere in a file: in a line or in the path. A \
term is a regular expression; in lowercase it matches any case. Put a phrase in quotes, 'or' between alternatives, \
and a minus before an exclusion. For the whole syntax, run: codesearch help syntax

Examples:
  codesearch search deadlock                          a word
  codesearch search func main lang:go                 several words, in Go
  codesearch search '\"static int\" -file:test'         a phrase, not in tests
  codesearch search 'TODO or FIXME' --repo k8s        either of two words
  codesearch search -e 'func \\w+\\(ctx'                one regular expression
  codesearch search -F 'a[i] = *p'                    exactly this text
  codesearch search -w -t go -g '!vendor/' ctx        a word, in some files
  codesearch search TODO src/                         a word, below a folder
  codesearch search -l0 --local TODO | xargs -0 vi    edit files that match
  codesearch search --json deadlock | jq .            JSON for programs

A word of the query may begin with a minus (foo -lang:go, '->next'). After --, all words belong to the query: \
codesearch search -l -- foo -error. Settings in the query (count:, timeout:, case:) override options. Options of \
ripgrep that would change nothing are accepted; an unsupported option fails with the reason. docs/ripgrep.md lists \
them all.

Exit status: 0 when something was found, 1 when nothing was found, 2 on an error or a timeout.";

#[derive(Args, Clone, Debug)]
#[command(args_override_self = true)]
pub(crate) struct SearchArgs {
    /// The query: see `codesearch help syntax`. Several arguments are one query, joined by spaces
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

impl SearchArgs {
    /// Returns the query, in the query language; `None` if there is none.
    pub(crate) fn query_text(&self) -> Option<String> {
        // The shell has removed the quotes, so phrases cannot be told apart.
        (!self.patterns.regex && !self.query.is_empty()).then(|| self.query.join(" "))
    }

    /// Returns the patterns of `-e`, and the query if it is one pattern.
    pub(crate) fn regexps(&self) -> Vec<String> {
        let mut regexps = self.patterns.regexp.clone();
        if self.patterns.regex && !self.query.is_empty() {
            regexps.push(self.query.join(" "));
        }
        regexps
    }
}

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Search")]
pub(crate) struct HowArgs {
    /// Stop after N files; 0 for all [default: 100 on a terminal, else 0]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Stop after this time: 500ms, 5s, 2m [default: 10s, or none without a limit]
    #[arg(long, value_name = "TIME", value_parser = query::duration)]
    pub(crate) timeout: Option<Duration>,
    /// Wait until the known changes of the searched repositories are indexed, up to the timeout
    #[arg(long)]
    pub(crate) wait: bool,
    /// List the files that would be searched, without searching them
    #[arg(long)]
    pub(crate) files: bool,
    /// List the types for --type, with their globs
    #[arg(long)]
    pub(crate) type_list: bool,
    /// Scan every text instead of using the index
    #[arg(long)]
    pub(crate) brute: bool,
    /// Print statistics to stderr: shards, candidates, time
    #[arg(long)]
    pub(crate) stats: bool,
    /// Search, but instead of the results print how the query was parsed, planned and run; with --sort relevance also
    /// the parts of each file's score
    #[arg(long, conflicts_with = "json")]
    pub(crate) explain: bool,
}
