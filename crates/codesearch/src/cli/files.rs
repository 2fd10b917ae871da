//! `codesearch files`: its query and filters.

use clap::Args;

pub(super) const FILES_HELP: &str = "\
Type the name of the file, a part of its path, or some of its letters in order. Case does not matter, letters may be \
left out, and a few typing errors are forgiven: a letter missing, added, wrong or swapped with the next. Parts \
separated by spaces may be in any order. The path may begin with the name of the repository. The nearest file comes \
first: one with exactly this name, or whose words begin with these letters; then names that begin with the query, and \
short paths; then paths with gaps and errors.

Examples:
  codesearch files main.go                       files with such a name
  codesearch files srch/candidats                search/candidates.rs
  codesearch files linux/kernel/fork.c           fork.c in the repository linux
  codesearch files shard --lang rs --limit 0     all matching files in Rust
  codesearch files deployment test --repo k8s    two parts, in any order
  $EDITOR \"$(codesearch files --local --limit 1 writer.rs)\"

Exit status: 0 when files were found, 1 when no path is similar, 2 on an error.";

#[derive(Args, Clone, Debug)]
pub(crate) struct FilesArgs {
    /// Name or part of a path. Several arguments are one query, joined by spaces
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,
    /// Print at most N files; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: usize,
    /// Search only repositories whose name contains PART
    #[arg(long, value_name = "PART")]
    pub(crate) repo: Option<String>,
    /// Search only files in this language: go, rust, c++, ...
    #[arg(long, value_name = "NAME")]
    pub(crate) lang: Option<String>,
    /// Print JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
    /// Print paths in the ingested folders
    ///
    /// Other programs can open these paths. By default, a path begins with the name of its repository.
    #[arg(long)]
    pub(crate) local: bool,
}
