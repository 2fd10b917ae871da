//! `codesearch diff`: the revisions, and what is printed of their differences.

use std::time::Duration;

use clap::{Args, FromArgMatches};

use super::color::Color;
use super::search::SearchArgs;

pub(super) const DIFF_HELP: &str = "\
RANGE is A..B, or A...B for what changed in B since it left A. A and B are branches, tags or commits (HEAD~3); either \
can be left out for HEAD. Renamed files are found by their contents.

With a query, the changed lines that match are printed, removed ones with -, added ones with +. added: and removed: in \
the query match one kind. `codesearch search 'diff:A..B QUERY'` is the same, in several repositories if repo: names them. A \
word that is an existing path with a slash restricts the files.

Examples:
  codesearch diff v1.2.0..v1.3.0                 a unified diff
  codesearch diff main... --stat                 what this branch changed, counted
  codesearch diff main...topic 'added:unsafe'    lines with unsafe that topic added
  codesearch diff v1..v2 --repo tokio src/io/    one folder of a repository

Exit status: 0 when something was found, 1 when nothing was found, 2 on an error or a timeout.";

#[derive(Args, Clone, Debug)]
pub(crate) struct DiffArgs {
    /// The revisions: A..B or A...B
    #[arg(value_name = "RANGE")]
    pub(crate) range: String,
    /// A query for changed lines, and paths
    #[arg(value_name = "QUERY|PATH")]
    pub(crate) words: Vec<String>,
    /// The name of the repository [default: that of the current folder]
    #[arg(long, value_name = "NAME")]
    pub(crate) repo: Option<String>,
    /// Print the numbers of changed lines in each file
    #[arg(long, conflicts_with_all = ["name_only", "json"])]
    pub(crate) stat: bool,
    /// Print only the paths of changed files
    #[arg(long, conflicts_with = "json")]
    pub(crate) name_only: bool,
    /// Print JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print N unchanged lines around changed ones [default: 3, or none with a query]
    #[arg(short = 'U', long, value_name = "N")]
    pub(crate) unified: Option<usize>,
    /// Stop after this time: 500ms, 5s, 2m [default: none]
    #[arg(long, value_name = "TIME", value_parser = query::duration)]
    pub(crate) timeout: Option<Duration>,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

impl DiffArgs {
    /// Returns the search for a query in the changed lines; `words` are the query and the paths after the range.
    pub(crate) fn search(&self, words: &[String]) -> SearchArgs {
        let command = SearchArgs::augment_args(clap::Command::new("search"));
        let found = command.try_get_matches_from(["search", "query"]);
        let args = found.and_then(|found| SearchArgs::from_arg_matches(&found));
        let mut args = args.expect("a query is all that a search needs");
        args.query =
            [query::written("diff", &self.range)].into_iter().chain(words.to_vec()).collect();
        args.filters.repo =
            self.repo.iter().map(|name| format!("^{}$", query::escape(name))).collect();
        args.output.count = self.stat;
        args.output.files_with_matches = self.name_only;
        args.output.json = self.json;
        args.output.context = self.unified.unwrap_or_default();
        args.output.color = self.color;
        args.how.timeout = self.timeout;
        args
    }
}
