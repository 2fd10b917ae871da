//! `codesearch ingest` and `up`: the folders, and how to read them. Also `init` and `remove`, which change the index.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::serve::ServeArgs;
use super::settings::SettingsArgs;

pub(super) const INGEST_HELP: &str = "\
What is a repository:
  Every folder below PATH that contains .git is a repository, also inside another one (a submodule). If there is none, \
  PATH itself is the repository. A repository is named by its remote 'origin' (github.com/golang/go), or else by its \
  path below PATH. A folder with HEAD, objects/ and refs/ is a bare clone: its files are those of the commit of HEAD. \
  With --commit, or after 'git config codesearch.source commit' in a clone, so are those of other clones. All worktrees of a clone are trees of one repository, wherever they lie, if you own them and the clone. A search \
  covers the main tree unless it names others (worktree:NAME) or runs inside one.

Which branches and tags are indexed:
  Those that --branches or 'git config codesearch.branches' in the clone names. Equal files are stored once.

What is left out:
  Files larger than --max-size, binary files (with a NUL byte), symbolic links, submodules that are not checked \
  out, pointers of Git LFS, paths over 2,500 bytes, and unreadable files. Of a clone, also files that git does not track and that an ignore file names: .gitignore, \
  .git/info/exclude, or the one of your git configuration (core.excludesFile). In every repository, files that .ignore or \
  .codesearchignore names, even tracked ones. A rule in .codesearchignore overrides one in .ignore, and this overrides \
  git's: '!generated/' brings back what .gitignore names.
  codesearch repos --skipped NAME lists what is left out, with the rule.

What is remembered:
  --history, --no-history, --no-ignore, --ignore, --commit, --no-commit, --secrets and --branches hold for the repositories \
  below PATH until an ingest gives another one. In a clone, 'git config codesearch.history true' stands for --history. \
  A configuration file (codesearch config --help) overrides what is remembered.

Which repositories have history:
  Those whose .git leads to git data below PATH, or to git data that lists the repository as a worktree or submodule. \
  With --follow-git, the data may be anywhere if you own them.

Ingesting a folder again reads only changed files. Searches see each repository either entirely before or entirely \
after the change. If ingest is interrupted, run it again.

Symbols (definitions of functions, types and so on) are extracted last. Texts can be searched before that.";

#[derive(Args, Debug)]
pub(crate) struct UpArgs {
    /// Folders that contain repositories [default: the folders of the configuration file, or else the sample code in
    /// codesearch's checkout]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Do not watch the folders of the indexed repositories for changes
    #[arg(long)]
    pub(crate) no_watch: bool,
    #[command(flatten)]
    pub(crate) how: IngestOptions,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

#[derive(Args, Debug)]
pub(crate) struct IngestArgs {
    /// Folders that contain repositories; with --now, names of repositories, or folders [default: the folders of the
    /// configuration file; with --now, all that waits]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Bring indexed repositories up to date as they were ingested, looking at nothing else; without PATH, all that waits
    /// in the queue of changes
    #[arg(long, conflicts_with_all = [
        "depth", "no_ignore", "ignore", "secrets", "history", "no_history", "commit", "no_commit", "follow_git",
        "branches", "again",
    ])]
    pub(crate) now: bool,
    /// Ingest nothing; print lines for a hook of git that has codesearch look at its repository: post-commit, post-checkout
    /// or post-receive
    #[arg(long, value_name = "HOOK", hide_possible_values = true)]
    pub(crate) print_hook: Option<GitHook>,
    #[command(flatten)]
    pub(crate) how: IngestOptions,
    #[command(flatten)]
    pub(crate) configuration: SettingsArgs,
    /// Remove the history of lines from the index: the default of a new repository
    #[arg(long, conflicts_with = "history")]
    pub(crate) no_history: bool,
    /// Extract no symbols; a later ingest or `codesearch symbols` does
    #[arg(long)]
    pub(crate) no_symbols: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct IngestOptions {
    /// Treat every folder N levels below PATH as a repository, with or without .git
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<usize>,
    /// Leave out files larger than this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    pub(crate) max_size: u64,
    /// Index files that ignore files name, too; later ingests do the same until --ignore
    #[arg(long, overrides_with = "ignore")]
    pub(crate) no_ignore: bool,
    /// Leave out files that ignore files name: the default of a new repository
    #[arg(long, overrides_with = "no_ignore")]
    pub(crate) ignore: bool,
    /// Index files that look like secrets (.env, private keys) or leave them out; later ingests do the same [default: keep]
    #[arg(long, value_name = "WHAT")]
    pub(crate) secrets: Option<Secrets>,
    /// Index the history of lines, too, for history:PATTERN; later ingests do the same until ingest --no-history
    #[arg(long)]
    pub(crate) history: bool,
    /// Index the commit of a clone's HEAD instead of the files in its folder; later ingests do the same until --no-commit
    #[arg(long, overrides_with = "no_commit")]
    pub(crate) commit: bool,
    /// Index the files in a clone's folder: the default of a clone that is not bare
    #[arg(long, overrides_with = "commit")]
    pub(crate) no_commit: bool,
    /// Read git data outside PATH that .git refers to (of a worktree, or borrowed objects) if you own them
    #[arg(long)]
    pub(crate) follow_git: bool,
    /// Index branches and tags, too: names or globs with commas between (release/*,v1.*), newest:N for the N newest
    /// branches, none for none; later ingests do the same
    #[arg(long, value_name = "GLOBS")]
    pub(crate) branches: Option<String>,
    /// Read every file again, even if it looks unchanged
    #[arg(long)]
    pub(crate) again: bool,
    /// Number of shards of a new index; it cannot change later
    #[arg(long, value_name = "N", default_value_t = SHARDS, value_parser = clap::value_parser!(i16).range(1..=1000))]
    pub(crate) shards: i16,
    /// Start another shard after this many bytes of text, so that tests get several shards from few files
    #[arg(long, value_name = "BYTES", hide = true)]
    pub(crate) shard_bytes: Option<u64>,
}

/// What becomes of files that look like secrets.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrets {
    /// They are indexed like others.
    Keep,
    /// They are left out.
    Skip,
}

/// The number of partitions in the reference experiment.
const SHARDS: i16 = 200;

#[derive(Args, Debug)]
pub(crate) struct RemoveArgs {
    /// Names of repositories, as `codesearch repos` lists them
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct InitArgs {
    /// Number of shards; it cannot change later
    #[arg(long, value_name = "N", default_value_t = SHARDS, value_parser = clap::value_parser!(i16).range(1..=1000))]
    pub(crate) shards: i16,
}

/// A hook of git after which files may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(clippy::enum_variant_names, reason = "git names them")]
pub(crate) enum GitHook {
    /// After a commit.
    PostCommit,
    /// After a checkout of another branch.
    PostCheckout,
    /// After a push to the repository.
    PostReceive,
}

impl GitHook {
    /// Returns its name in git.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::PostCommit => "post-commit",
            Self::PostCheckout => "post-checkout",
            Self::PostReceive => "post-receive",
        }
    }
}
