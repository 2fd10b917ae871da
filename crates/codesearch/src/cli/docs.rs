//! `codesearch docs`: its words and filters.

use std::time::Duration;

use clap::{Args, ValueEnum};

use super::color::Color;

pub(super) const DOCS_HELP: &str = "\
What is looked at:
  Documents (Markdown, reStructuredText, AsciiDoc, pages of the manual, plain text) and the comment at the head of each \
source file, without its licence. Of a large one, the first 128 KB.

A query is made of words, all of which must be there, in any form: 'retry' finds retries. Titles and headings count for \
more than the rest. Quotes hold a phrase, 'or' stands between two of which one will do, a minus before what must not be \
there. getUserName and get_user_name are found by 'user name'.

Examples:
  codesearch docs 'how do I configure retries'
  codesearch docs '\"memory map\" or mmap -windows' --repo linux
  codesearch docs --lang markdown --limit 5 'release notes'
  codesearch docs --json 'rate limit' | jq .

Texts in English are found by the stems of their words, all others by their words as they are; --dictionary looks at one \
of the two only.

Exit status: 0 when something was found, 1 when nothing was, 2 when there was an error or not all could be searched in \
time.";

#[derive(Args, Debug)]
pub(crate) struct DocsArgs {
    /// Words to look for
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,
    /// Print the best N, up to 1000
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Stop after this time: 500ms, 5s, 2m [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = query::duration)]
    pub(crate) timeout: Option<Duration>,
    /// Only repositories whose name matches (several: any of them)
    #[arg(long, value_name = "REGEX")]
    pub(crate) repo: Vec<String>,
    /// Only files in this language: markdown, go, ... (several: any of them)
    #[arg(long, value_name = "NAME")]
    pub(crate) lang: Vec<String>,
    /// Which texts to look at
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
    /// Texts in English by the stems of their words, all others by their words as they are
    Both,
    /// Texts in English only
    English,
    /// All others only; words that are in every English text count, too
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
