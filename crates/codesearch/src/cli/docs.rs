//! `codesearch docs`: its words and filters.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::color::Color;

pub(super) const DOCS_HELP: &str = "\
What is searched:
  Documents (Markdown, reStructuredText, AsciiDoc, manual pages, plain text), and the comment at the head of each \
  source file, without its licence. Only the first 128 KB of a large document are indexed.

All words of the query must occur, in any form: 'retry' finds retries. Matches in titles and headings rank higher. \
Put a phrase in quotes, 'or' between alternatives, and a minus before a word that must not occur. 'user name' also \
finds getUserName and get_user_name.

Examples:
  codesearch docs 'how do I configure retries'
  codesearch docs '\"memory map\" or mmap -windows' --repo linux
  codesearch docs --lang markdown --limit 5 'release notes'
  codesearch docs --json 'rate limit' | jq .

English texts match by word stems, other texts by whole words; in scripts without spaces, two neighbouring \
characters are a word. --dictionary searches only one of the two kinds.

Exit status: 0 when something was found, 1 when nothing was found, 2 on an error or a timeout.";

#[derive(Args, Debug)]
pub(crate) struct DocsArgs {
    /// Words to search for
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,
    /// Print the best N, up to 1000
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Stop after this time: 500ms, 5s, 2m [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = query::duration)]
    pub(crate) timeout: Option<Duration>,
    /// Search only repositories whose name matches (repeatable: any of them)
    #[arg(long, value_name = "REGEX")]
    pub(crate) repo: Vec<String>,
    /// Search only files in this language: markdown, go, ... (repeatable: any of them)
    #[arg(long, value_name = "NAME")]
    pub(crate) lang: Vec<String>,
    /// Which texts to search
    #[arg(long, value_name = "WHICH", default_value = "both")]
    pub(crate) dictionary: Dictionary,
    /// Print JSON: one object with all results
    #[arg(long)]
    pub(crate) json: bool,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dictionary {
    /// English texts by word stems, other texts by whole words
    Both,
    /// Only English texts
    English,
    /// Only other texts; common English words (the, of) count, too
    Plain,
}

impl From<Dictionary> for search::docs::Dictionary {
    fn from(dictionary: Dictionary) -> Self {
        match dictionary {
            Dictionary::Both => Self::Both,
            Dictionary::English => Self::English,
            Dictionary::Plain => Self::Plain,
        }
    }
}
