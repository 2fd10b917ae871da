//! `codesearch files`: its query and filters.

use clap::Args;

pub(super) const FILES_HELP: &str = "\
Type the name of the file, a part of its path, or some letters of it in their order. Case does not matter, gaps are \
fine, and few wrong letters are forgiven: one missing, too many, another one, or two swapped. What is separated by a \
space may stand in any order. The name of the repository may stand before the path. The nearest comes first: a name \
that is what was typed or whose words begin with its letters, then what begins with it or is short, then what has \
gaps and errors.

Examples:
  codesearch files main.go                       files of that name, or like it
  codesearch files srch/candidats                search/candidates.rs
  codesearch files linux/kernel/fork.c           fork.c in the repository linux
  codesearch files shard --lang rs --limit 0     all such paths in Rust
  codesearch files deployment test --repo k8s    two parts, in any order
  $EDITOR \"$(codesearch files --local --limit 1 writer.rs)\"

Exit status: 0 when files were found, 1 when nothing is near, 2 on an error.";

#[derive(Args, Clone, Debug)]
pub(crate) struct FilesArgs {
    /// What is typed of the path. Several arguments are one query, joined by spaces
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,
    /// Print at most N files; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Only in repositories whose name holds this
    #[arg(long, value_name = "PART")]
    pub(crate) repo: Option<String>,
    /// Only files in this language: go, rust, c++, ...
    #[arg(long, value_name = "NAME")]
    pub(crate) lang: Option<String>,
    /// Print JSON, one object a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print paths in the folders that were indexed
    ///
    /// Editors and other programs can open them. Other paths begin with the name of their repository.
    #[arg(long)]
    pub(crate) local: bool,
}
