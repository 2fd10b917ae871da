//! `codesearch ingest` and `up`: the folders, and how they are read. Also `init` and `remove`, which change the index.

use std::path::PathBuf;

use clap::Args;

use super::serve::ServeArgs;

pub(super) const INGEST_HELP: &str = "\
What is a repository:
  Every folder below PATH that holds a .git is one, also inside of another (a worktree, a submodule); without any, PATH \
itself is one. Its name is that of its remote 'origin' (github.com/golang/go), or else its path below PATH.

What is left out:
  Files over --max-size, binary files (with a NUL byte), symbolic links, paths over 2,500 bytes, and what cannot be read; \
each is listed by: codesearch repos --skipped NAME

Whose history is shown:
  That of a repository whose .git leads to git's data below PATH, or to data that name it as their worktree or submodule. \
With --follow-git, they may be anywhere if they are yours.

Ingesting the same folder again reads only what has changed. A repository is seen by searches wholly as it was before, or \
wholly as it is after. If ingest is interrupted, run it again.

Symbols (definitions of functions, types and so on) are extracted last; texts can be searched before.";

#[derive(Args, Debug)]
pub(crate) struct UpArgs {
    /// Folders to look for repositories in [default: the sample that comes with codesearch]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) how: IngestOptions,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

#[derive(Args, Debug)]
pub(crate) struct IngestArgs {
    /// Folders to look for repositories in
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) how: IngestOptions,
    /// Leave symbols to a later ingest, or to: codesearch symbols
    #[arg(long)]
    pub(crate) no_symbols: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct IngestOptions {
    /// Make every folder N levels below a path a repository, with or without .git
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<usize>,
    /// Leave out files larger than this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    pub(crate) max_size: u64,
    /// Leave out files that .gitignore matches, tracked ones too
    #[arg(long)]
    pub(crate) gitignore: bool,
    /// Read git's data that .git names outside of PATH (of a worktree, or borrowed objects) if they are yours
    #[arg(long)]
    pub(crate) follow_git: bool,
    /// Read every file again, also those that look unchanged
    #[arg(long)]
    pub(crate) again: bool,
    /// How many shards to make if the index is new; fixed from then on
    #[arg(long, value_name = "N", default_value_t = SHARDS, value_parser = clap::value_parser!(i16).range(1..=1000))]
    pub(crate) shards: i16,
    /// Begin another shard after this many bytes of text: tests make several of a few files
    #[arg(long, value_name = "BYTES", hide = true)]
    pub(crate) shard_bytes: Option<u64>,
}

/// The number of partitions in the reference experiment.
const SHARDS: i16 = 200;

#[derive(Args, Debug)]
pub(crate) struct RemoveArgs {
    /// Names, as `codesearch repos` lists them
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// How many shards to make; fixed from then on
    #[arg(long, value_name = "N", default_value_t = SHARDS, value_parser = clap::value_parser!(i16).range(1..=1000))]
    pub(crate) shards: i16,
}
