//! Ingest: brings the index up to date with folders on disk, and publishes the next epoch.
//!
//! The steps, one file each: [`find`] the repositories, their [`trees`] and their [`names`] ([`folders`]); then [`update`] the index:
//! [`walk`] their files, compare them with the index (in Postgres), [`load`] new ones ([`read`] decodes and hashes, [`cut`]
//! makes chunks), build the indexes of fresh shards, and publish. From [`update`] on, files come from a [`source`].
//!
//! Memory does not grow with the tree, except for git's index of one repository at a time: the walk sends the files that it sees to a temporary table at once, and files
//! are read a few megabytes at a time.

pub mod check;
mod configured;
mod cut;
mod find;
mod folders;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
#[cfg(any(test, fuzzing))]
mod fuzz_files;
pub mod history;
mod load;
mod names;
mod notices;
pub mod queue;
mod read;
mod room;
pub mod scip;
mod source;
pub mod symbols;
#[cfg(test)]
mod tests;
mod trees;
mod update;
mod walk;
pub mod watched;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use store::{RepoId, Session, Store, Totals};

pub use configured::Configured;
pub use files::SkipReason;
pub use trees::refs::globs;

/// Options of an ingest.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folders in which to look for repositories.
    pub paths: Vec<PathBuf>,
    /// Levels below each path at which every folder is a repository. `None`: every folder with a `.git` is one.
    pub depth: Option<usize>,
    /// Maximum bytes of a file to index.
    pub max_bytes: u64,
    /// Whether to take files that ignore files name; `None` for what each repository's last ingest chose.
    pub no_ignore: Option<bool>,
    /// Whether to leave out files that look like secrets; `None` for what each repository's last ingest chose.
    pub skip_secrets: Option<bool>,
    /// Whether to take the files of a clone's commit instead of those in its folder; `None` for what its configuration
    /// or the repository's last ingest chose.
    pub commit: Option<bool>,
    /// Whether to index the history of lines, too; `None` for what each repository's last ingest chose.
    pub history: Option<bool>,
    /// Whether to read git's data outside of a path if the user owns them.
    pub follow_git: bool,
    /// Globs of the branches and tags to index; `None` for what each repository's last ingest chose, none for none.
    pub branches: Option<Vec<String>>,
    /// What a configuration file says of folders. A clone's own configuration and the options above override it.
    pub configured: Vec<Configured>,
    /// Whether to read every file, even if its fingerprint is unchanged.
    pub again: bool,
    /// Bytes of text at which a shard is full, for tests; `None` for the default.
    pub shard_bytes: Option<u64>,
    /// Folders on the disks on which the index grows; none if another machine has them.
    pub disks: Vec<PathBuf>,
    /// The program that extracts symbols, as for [`symbols::run`]; `None` to have [`queue::serve`] leave them to others.
    pub parser: Option<PathBuf>,
}

impl Default for Options {
    /// The options of an ingest of nothing, which changes no choice of before.
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            configured: Vec::new(),
            depth: None,
            max_bytes: MAX_BYTES,
            no_ignore: None,
            skip_secrets: None,
            commit: None,
            history: None,
            follow_git: false,
            branches: None,
            again: false,
            shard_bytes: None,
            disks: Vec::new(),
            parser: None,
        }
    }
}

/// Maximum bytes of a file to index, unless another number is chosen.
pub const MAX_BYTES: u64 = 1 << 20;

/// The result of an ingest.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Names of the repositories read, in order.
    pub repos: Vec<String>,
    /// Names of the repositories removed because their folders are gone.
    pub removed: Vec<String>,
    /// Folders that could not be read. Their part of the index is unchanged.
    pub untouched: Vec<PathBuf>,
    /// Folders that could not be brought up to date, each with a sentence that says why.
    pub failed: Vec<(PathBuf, String)>,
    /// Names of repositories that are now trees of another one.
    pub merged: Vec<String>,
    /// Number of trees besides the main ones.
    pub trees: usize,
    /// Files seen in main trees, of any kind.
    pub seen: Totals,
    /// Files read because they are new or look changed.
    pub read: Totals,
    /// Texts stored because the index did not have their contents.
    pub stored: Totals,
    /// Files that are new or have new contents.
    pub new_files: i64,
    /// Files that left the index or had other contents.
    pub retired_files: i64,
    /// Time for finding and walking the repositories and comparing them with the index.
    pub walk: Duration,
    /// Time for reading files and storing texts.
    pub load: Duration,
    /// Time for comparing and loading trees besides the main ones.
    pub trees_time: Duration,
    /// Time for building indexes.
    pub index: Duration,
    /// Time for publishing and collecting garbage.
    pub publish: Duration,
    /// The history of lines.
    pub history: history::Report,
    /// Time for the history of lines.
    pub history_time: Duration,
}

impl Report {
    /// Returns why something in a folder, or around it, could not be brought up to date.
    pub fn failure_in(&self, folder: &Path) -> Option<&str> {
        let concerns = |of: &PathBuf| of.starts_with(folder) || folder.starts_with(of);
        self.failed.iter().find(|(of, _)| concerns(of)).map(|(_, why)| why.as_str())
    }
}

/// Progress events of an ingest.
#[derive(Clone, Debug)]
pub enum Event {
    /// A notice for the user: a folder that is not indexed, a repository that moved.
    Notice(String),
    /// Another ingest is running; this one waits for it to end.
    Waiting,
    /// Files seen so far.
    Walked(Totals),
    /// Total of the files to read.
    Reading(Totals),
    /// Files read since the last event of this kind.
    Read(Totals),
    /// Bytes of the shards whose indexes will be built.
    Indexing(i64),
    /// Bytes of the shards whose indexes are built.
    Indexed(i64),
    /// Number of the commits whose lines will be read.
    History(i64),
    /// Number of those read so far.
    HistoryRead(i64),
    /// Bytes of the texts whose symbols will be extracted.
    Symbols(i64),
    /// Bytes of the texts already processed.
    SymbolsTaken(i64),
    /// Bytes of the SCIP index to import.
    Scip(i64),
    /// Bytes of the SCIP index read so far.
    ScipRead(i64),
}

/// The reason why an ingest ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A given path cannot be read.
    #[error("cannot read {path}: {cause}", path = .path.display())]
    Path {
        /// The path.
        path: PathBuf,
        /// The cause.
        cause: std::io::Error,
    },
    /// A given path is a file.
    #[error("{} is not a folder; name the folder that holds the repositories", .0.display())]
    NotAFolder(PathBuf),
    /// There is nothing to index.
    #[error("no files in {}", list(.0))]
    NoFiles(Vec<PathBuf>),
    /// No folder or file that could be indexed can be read.
    #[error("cannot read {}, or its name is not UTF-8; the index was not changed", .0.display())]
    Closed(PathBuf),
    /// The files of no repository can be listed.
    #[error("{0}; the index was not changed")]
    Unlisted(String),
    /// A given path is a folder inside a clone that is the user's home.
    #[error(
        "{path} is in the clone {clone}, your home folder; use --depth 0 for this folder alone, or run: codesearch ingest \
         {clone}",
        path = .path.display(),
        clone = .clone.display()
    )]
    InsideHome {
        /// The path.
        path: PathBuf,
        /// The folder of the clone.
        clone: PathBuf,
    },
    /// A given path is empty, but had repositories.
    #[error(
        "{path} is empty, but {} below it are indexed; is a disk missing? To remove a repository, run: codesearch \
         remove NAME",
        repositories(*.repos),
        path = .path.display()
    )]
    Emptied {
        /// The path.
        path: PathBuf,
        /// Number of indexed repositories below it.
        repos: usize,
    },
    /// `--depth` finds no folder.
    #[error("{} has no folders {depth} levels down; use a smaller --depth", .path.display())]
    NoFolders {
        /// The path.
        path: PathBuf,
        /// Levels below it.
        depth: usize,
    },
    /// No repository has this name.
    #[error("no repository is named '{0}'; codesearch repos lists them")]
    NoSuchRepo(String),
    /// The parsing process cannot be started.
    #[error("no symbols were extracted: cannot start the process that parses texts: {0}")]
    Parser(std::io::Error),
    /// The disk of the index has too little free space.
    #[error(
        "the disk that holds {} is nearly full: {free} MB are left, and this needs about {need} MB; free some space \
         and run it again; nothing is lost", .disk.display()
    )]
    NoRoom {
        /// A folder on the disk.
        disk: PathBuf,
        /// Free space in MB.
        free: u64,
        /// Required space in MB.
        need: u64,
    },
    /// Git changed files while they were read.
    #[error(
        "git is changing {folder}, or changed it while it was read; it is read again when that is done (if no git runs, \
         delete index.lock in its .git)", folder = .0.display()
    )]
    Changing(PathBuf),
    /// A statement failed, or the database could not be reached.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// A callback for progress events. Called from several threads.
pub trait Progress: Fn(Event) + Send + Sync {}
impl<F: Fn(Event) + Send + Sync> Progress for F {}

/// Brings the index up to date with the repositories below some folders.
///
/// # Errors
/// A given path is no folder or cannot be read, there is nothing to index, or the database fails or is silent for a minute.
pub async fn run(
    store: &Store,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    store.watched(Box::pin(bring_up_to_date(store, options, progress))).await
}

async fn bring_up_to_date(
    store: &Store,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let mut report = Report::default();
    let begun = Instant::now();
    let (mut session, repos, gone) =
        folders::repositories(store, options, &mut report, progress).await?;
    report.walk = begun.elapsed();
    let ids: Vec<RepoId> = repos.iter().map(|repo| repo.row.id).collect();
    let rows = session.covered(begun.elapsed()).await?;
    let rows = queue::covered(rows, &options.paths);
    let taken = update::Taken { rows, is_queue: false };
    update::update(store, &mut session, repos, &gone, (options, taken), &mut report, progress)
        .await?;
    let begun = Instant::now();
    report.history = history::update(store, &mut session, &ids, options, progress).await?;
    report.history_time = begun.elapsed();
    session.close().await?;
    report.repos.sort();
    Ok(report)
}

/// Removes repositories from the index.
///
/// # Errors
/// [`Error::NoSuchRepo`], or the database fails.
pub async fn remove(store: &Store, names: &[String], progress: &dyn Progress) -> Result<(), Error> {
    store.watched(Box::pin(take_out(store, names, progress))).await
}

async fn take_out(store: &Store, names: &[String], progress: &dyn Progress) -> Result<(), Error> {
    let mut session = lock(store, progress).await?;
    let mut gone = Vec::new();
    let known = session.repos().await?;
    for name in names {
        let row = known.iter().find(|row| row.name == *name);
        gone.push(row.ok_or_else(|| Error::NoSuchRepo(name.clone()))?.id);
    }
    session.publish(&[], &gone, &[]).await?;
    session.collect_garbage(&[]).await?;
    Ok(session.close().await?)
}

/// Time between two attempts to take the lock on ingests: at first, and at most.
const ATTEMPT: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));

/// Takes the lock on ingests; waits while another ingest holds it.
pub(crate) async fn lock(store: &Store, progress: &dyn Progress) -> Result<Session, Error> {
    let (mut told, mut pause) = (None, ATTEMPT.0);
    loop {
        if let Some(session) = store.try_session().await? {
            return Ok(session);
        }
        if told.is_none() {
            progress(Event::Waiting);
            told = Some(store.announce_waiting().await?);
        }
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(ATTEMPT.1);
    }
}

fn list(paths: &[PathBuf]) -> String {
    let shown: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    shown.join(", ")
}

fn repositories(count: usize) -> String {
    if count == 1 { "1 repository".to_owned() } else { format!("{count} repositories") }
}

/// Returns the number of threads that this machine can run at once.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}
