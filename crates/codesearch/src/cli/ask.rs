//! `codesearch ask`: its question and filters.

use std::time::Duration;

use clap::Args;

use super::color::Color;

pub(super) const ASK_HELP: &str = "\
All of the question is words: there are no operators and fields. A word also finds its other forms (retries: retry) and \
identifiers that have it as a part (retryCount). A file need not have all words: rare words, words in names of \
definitions, files and folders count most. Each file is shown by its best lines, below the definitions around them.

Examples:
  codesearch ask 'how are validators plugged in'
  codesearch ask where is the retry backoff implemented --lang go
  codesearch ask 'request throttling' --repo kubernetes --file '^pkg/'
  codesearch ask 'parse the header' --rev v1.2.0
  codesearch ask --json 'rate limit' | jq .

Exit status: 0 when something was found, 1 when nothing was found, 2 on an error or a timeout.";

#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct AskArgs {
    /// The question, in words
    #[arg(value_name = "QUESTION", required = true)]
    pub(crate) question: Vec<String>,
    /// Print the best N files, up to 100
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) limit: u16,
    /// Print the best N lines of each file, up to 50; 0 for paths alone
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(0..=50))]
    pub(crate) lines: u16,
    /// Stop after this time: 500ms, 5s, 2m [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = query::duration)]
    pub(crate) timeout: Option<Duration>,
    /// Ask only repositories whose name matches (repeatable: any of them)
    #[arg(long, value_name = "REGEX")]
    pub(crate) repo: Vec<String>,
    /// Ask only files in this language: go, rust, ... (repeatable: any of them)
    #[arg(long, value_name = "NAME")]
    pub(crate) lang: Vec<String>,
    /// Ask only files whose path matches (repeatable: any of them)
    #[arg(long, value_name = "REGEX")]
    pub(crate) file: Vec<String>,
    /// Ask the indexed trees of a branch, a tag or a commit instead of the main ones
    #[arg(long, value_name = "NAME")]
    pub(crate) rev: Option<String>,
    /// Ask worktrees with this name instead of the main trees
    #[arg(long, value_name = "NAME")]
    pub(crate) worktree: Option<String>,
    /// Wait until the known changes of the asked repositories are indexed
    #[arg(long)]
    pub(crate) wait: bool,
    /// Print the parts of each file's score
    #[arg(long)]
    pub(crate) explain: bool,
    /// Read every stored text instead of the index of words, to verify it
    #[arg(long)]
    pub(crate) brute: bool,
    /// Print JSON: one object with all results
    #[arg(long)]
    pub(crate) json: bool,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}
