//! Reads commits and the history of files from the clones that repositories were ingested from.
//!
//! Branches, trees and commits are read by gix ([`Clone`]). The program `git` reads the history of a file, in a process
//! without network, hooks and the user's configuration ([`run`]). Since a clone may come from anybody, git sees nothing of
//! it but the objects ([`skeleton`]), if ingest allowed reading them.

pub mod attributes;
mod blame;
pub mod checkout;
mod clone;
pub mod ignore;
mod log;
mod run;
mod skeleton;
pub mod user;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use checkout::{GitData, Trust, Unread};
use skeleton::Skeleton;

use files::Encoding;
use files::{SkipReason, language_of};

pub use blame::{Blame, BlameRun};
pub use clone::{
    BlobReader, ChangedFile, Clone, CommitInfo, Commits, FileMode, GitRef, Hunk, RefKind,
    RevisionError, TreeChange, TreeFile, line_changes,
};
pub use log::{Change, History, MAX_CHANGES};

/// Git's name of an object: its hash by SHA-1 or SHA-256.
pub type Oid = gix::ObjectId;

/// Time limit for git to answer.
pub const LIMIT: Duration = Duration::from_secs(10);

/// Maximum size of git's output in bytes: a file of the largest usual size with the commit of each line.
const MAX_ANSWER: usize = 64 << 20;

/// Maximum size in bytes of a text that is read from a clone.
const MAX_TEXT: usize = 4 << 20;

/// Why a file's history is unknown. Messages name no folders, as everyone who may search sees them.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program cannot be started.
    #[error("git is not installed on the server's machine")]
    NoGit,
    /// The folder does not exist, or the server may not read it.
    #[error("the repository's folder no longer exists, or the server may not read it")]
    NoFolder,
    /// There is no clone in the folder.
    #[error("the repository was not ingested from a git clone")]
    NoClone,
    /// Its data lie where they are not trusted.
    #[error(
        "the repository's .git leads to data that the last ingest did not allow; ingest it again, with \
         --follow-git if you own the data"
    )]
    Outside,
    /// The clone has no worktree of this name.
    #[error(
        "the clone no longer has this worktree; bring the index up to date with: codesearch ingest"
    )]
    NoWorktree,
    /// The clone changed while git read it.
    #[error("the clone changed while git read it; try again")]
    Changed,
    /// The file is not in the commit.
    #[error("git has no history of this path: it was never committed")]
    Untracked,
    /// It took too long.
    #[error("git did not answer within {}s", LIMIT.as_secs())]
    TooSlow,
    /// The output exceeds the limit.
    #[error("git's output is too large to display")]
    TooLarge,
    /// Git failed, or its output is unexpected.
    #[error("git cannot read the clone")]
    Failed,
    /// An object is not in the clone.
    #[error("the clone does not have {object}{}", why(*is_shallow, *is_partial))]
    Missing {
        /// Its name.
        object: Oid,
        /// Whether the clone has only a part of the history.
        is_shallow: bool,
        /// Whether the clone fetches objects when they are used.
        is_partial: bool,
    },
    /// An object cannot be decoded.
    #[error("object {0} of the clone is damaged; check the clone with: git fsck")]
    Damaged(Oid),
    /// A commit has a path that git does not check out.
    #[error("the commit has a path that git forbids: {0:?}")]
    Forbidden(String),
    /// A commit, a tag or a tree exceeds a limit.
    #[error("the commit has more files, changes or levels of folders than can be read")]
    Huge,
    /// The clone keeps its branches in the format reftable.
    #[error(
        "the clone keeps its branches and tags in the format reftable, which is not supported; convert it with: git refs \
         migrate --ref-format=files"
    )]
    Reftable,
}

/// Says why an object may be missing, and what to do.
fn why(is_shallow: bool, is_partial: bool) -> &'static str {
    match (is_shallow, is_partial) {
        (_, true) => {
            ", as it is a partial clone; fetch all of it with: git fetch --refetch --no-filter"
        }
        (true, false) => ", as it is a shallow clone; fetch all of it with: git fetch --unshallow",
        (false, false) => "; check the clone with: git fsck",
    }
}

/// Returns the error for a part of a clone that is not read.
fn not_read(unread: &Unread) -> Error {
    match unread.reason {
        SkipReason::Outside | SkipReason::Symlink => Error::Outside,
        SkipReason::Vanished => Error::Changed,
        _ => Error::Failed,
    }
}

/// A text with its encoding, and its language if recognised.
pub type OldText = ((String, Encoding), Option<String>);

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its hash, in hexadecimal.
    pub hash: String,
    /// The name of its author.
    pub author: String,
    /// When it was authored, in seconds since 1970.
    pub time: i64,
    /// The first line of its message.
    pub summary: String,
}

/// Returns the name of the branch that is checked out in the folder of a repository, if the index has its newest
/// commit: after a switch to another branch, what is indexed is of the one before. `None` if it is unknown.
pub fn branch_of(repo: &store::Repo) -> Option<String> {
    let known = repo.commit.as_deref()?;
    let source = Path::new(&repo.source);
    let mut trust = Trust::known(repo.git_folders.iter().map(PathBuf::from).collect());
    let data = GitData::of(source, &mut trust).ok().flatten().filter(GitData::has_head);
    let data = data.or_else(|| GitData::bare(source))?;
    let now = data.commit(&mut trust).ok().flatten()?;
    (now == known).then(|| data.branch(&mut trust).ok().flatten()).flatten()
}

/// Returns host and path of the address of a repository, such as `github.com/golang/go`; `None` if it has none.
pub fn origin_of_address(address: &str) -> Option<String> {
    match checkout::of_url(address) {
        checkout::Origin::At(origin) => Some(origin),
        checkout::Origin::None | checkout::Origin::Odd => None,
    }
}

/// Returns host and path of the origin of the clone in the folder of a repository, as its configuration says now; `None`
/// if there is none.
pub fn origin_of(repo: &store::Repo) -> Option<String> {
    let source = Path::new(&repo.source);
    let mut trust = Trust::known(repo.git_folders.iter().map(PathBuf::from).collect());
    let data = GitData::of(source, &mut trust).ok().flatten().filter(GitData::has_head);
    let data = data.or_else(|| GitData::bare(source))?;
    match data.config(&mut trust).ok().flatten()?.origin() {
        checkout::Origin::At(origin) => Some(origin),
        checkout::Origin::None | checkout::Origin::Odd => None,
    }
}

/// Returns whether the configuration of the clone in a folder wants the history of its lines to be indexed
/// (`codesearch.history`); `None` if it does not say. `folders` may be read, too.
pub fn wants_history(source: &Path, folders: Vec<PathBuf>) -> Option<bool> {
    let mut trust = Trust::known(folders);
    let data = GitData::of(source, &mut trust).ok().flatten().filter(GitData::has_head);
    let data = data.or_else(|| GitData::bare(source))?;
    data.config(&mut trust).ok().flatten()?.history()
}

/// A file in a clone, at a commit.
#[derive(Clone, Debug)]
pub struct TrackedFile {
    clone: Arc<Skeleton>,
    /// Its path at the commit.
    pub path: String,
    /// The commit: the one that was asked for, or else the one that was checked out at the last ingest or, if the clone
    /// no longer has it, the one that is now.
    pub commit: String,
    /// Git's hash of the contents at that commit.
    pub blob: String,
}

impl TrackedFile {
    /// Finds a file in the clone that its repository was ingested from.
    ///
    /// # Errors
    /// There is no clone, the file is not in it, or git cannot run.
    pub async fn find(repo: &store::Repo, path: &str) -> Result<Self, Error> {
        Self::look_up(repo, path, None).await
    }

    /// Finds a file of a commit, by its whole hash, in the clone that its repository was ingested from.
    ///
    /// # Errors
    /// There is no clone, the commit does not have the file, or git cannot run.
    pub async fn find_at(repo: &store::Repo, path: &str, commit: &str) -> Result<Self, Error> {
        if !is_hash(commit) {
            return Err(Error::Untracked);
        }
        Self::look_up(repo, path, Some(commit.to_owned())).await
    }

    async fn look_up(repo: &store::Repo, path: &str, only: Option<String>) -> Result<Self, Error> {
        let (source, known) = (PathBuf::from(&repo.source), repo.commit.clone());
        let folders = repo.git_folders.iter().map(PathBuf::from).collect();
        let look = tokio::task::spawn_blocking(move || look(&source, known, folders));
        let (clone, commits) = look.await.map_err(|_| Error::Failed)??;
        let commits = only.map_or(commits, |only| vec![only]);
        for commit in commits {
            let revisions = [format!("{commit}^{{commit}}"), format!("{commit}:{path}")];
            let args = ["rev-parse", "--quiet", &revisions[0], &revisions[1]];
            match run::text(&clone, &args, MAX_ANSWER).await {
                Ok(answer) => {
                    let mut hashes = answer.lines().filter(|line| is_hash(line));
                    if let (Some(commit), Some(blob)) = (hashes.next(), hashes.next()) {
                        let (commit, blob) = (commit.to_owned(), blob.to_owned());
                        return Ok(Self { clone, path: path.to_owned(), commit, blob });
                    }
                }
                Err(Error::Failed) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Untracked)
    }

    /// Returns the file as it was before one of the last [`MAX_CHANGES`] commits that changed it, under the name that it
    /// had then; `None` if the commit is none of these, or made the file.
    ///
    /// # Errors
    /// Git cannot run.
    pub async fn before(&self, commit: &str) -> Result<Option<Self>, Error> {
        let history = self.history(0, MAX_CHANGES).await?;
        // Other commits of the clone are not shown.
        let Some(change) = history.changes.into_iter().find(|change| change.commit.hash == commit)
        else {
            return Ok(None);
        };
        let path = change.renamed_from.unwrap_or(change.path);
        let revisions = [format!("{commit}^^{{commit}}"), format!("{commit}^:{path}")];
        let args = ["rev-parse", "--quiet", &revisions[0], &revisions[1]];
        let answer = match run::text(&self.clone, &args, MAX_ANSWER).await {
            Ok(answer) => answer,
            Err(Error::Failed) => return Ok(None),
            Err(error) => return Err(error),
        };
        let hashes: Vec<String> =
            answer.lines().filter(|line| is_hash(line)).map(str::to_owned).collect();
        let Ok([commit, blob]) = <[String; 2]>::try_from(hashes) else { return Ok(None) };
        Ok(Some(Self { clone: Arc::clone(&self.clone), path, commit, blob }))
    }

    /// Returns the text that the file had after one of its last [`MAX_CHANGES`], by git's hash of it; `None` if it
    /// never had it, or it is not text.
    ///
    /// # Errors
    /// Git cannot run.
    pub async fn text_before(&self, hash: &str) -> Result<Option<OldText>, Error> {
        if !is_hash(hash) {
            return Ok(None);
        }
        // Other objects of the clone are not shown.
        let is_ours = |change: &Change| change.blob.as_deref() == Some(hash);
        if hash != self.blob && !self.history(0, MAX_CHANGES).await?.changes.iter().any(is_ours) {
            return Ok(None);
        }
        let bytes = run::bytes(&self.clone, &["cat-file", "blob", hash], MAX_TEXT).await?;
        Ok(Encoding::decode(bytes).map(|(text, encoding)| {
            let language = language_of(&self.path, &text);
            ((text, encoding), language)
        }))
    }
}

/// Returns whether a text is a complete hash.
pub fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Maximum number of bytes kept of an author's name and of the first line of a message.
const MAX_WORDS: usize = 1000;

/// Shortens a name or a line of a commit, which may have megabytes.
fn bounded(words: &str) -> &str {
    &words[..words.floor_char_boundary(MAX_WORDS)]
}

/// Checks the clone in a folder, which may be bare, and returns it with the commits to try: the known one, and the one
/// checked out now. `folders` may be read, too.
fn look(
    source: &Path,
    known: Option<String>,
    folders: Vec<PathBuf>,
) -> Result<(Arc<Skeleton>, Vec<String>), Error> {
    if !source.is_dir() {
        return Err(Error::NoFolder);
    }
    let mut trust = Trust::known(folders);
    let not_read = |unread: Unread| not_read(&unread);
    let data = match GitData::of(source, &mut trust) {
        Ok(Some(data)) if data.has_head() => data,
        Ok(_) => GitData::bare(source).ok_or(Error::NoClone)?,
        Err(unread) => return Err(not_read(unread)),
    };
    let now = data.commit(&mut trust).map_err(not_read)?;
    let mut commits: Vec<String> =
        known.filter(|hash| is_hash(hash)).into_iter().chain(now).collect();
    commits.dedup();
    let Some(first) = commits.first() else { return Err(Error::Untracked) };
    let objects = data.objects(&mut trust).map_err(not_read)?.ok_or(Error::NoClone)?;
    let clone = Skeleton::new(objects, first).map_err(|_| Error::Failed)?;
    Ok((Arc::new(clone), commits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_whole() {
        let hash = "0123456789abcdef0123456789abcdef01234567";
        assert!(is_hash(hash));
        for wrong in ["", "HEAD", &hash[1..], "--0123456789abcdef0123456789abcdef0123456"] {
            assert!(!is_hash(wrong), "{wrong}");
        }
    }

    #[test]
    fn clones_are_known_by_their_folders() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let at = |path: &str| root.join(path);
        for folder in ["clone/.git/objects", "bare.git/objects", "bare.git/refs", "plain"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        let hash = "0123456789abcdef0123456789abcdef01234567";
        for head in ["clone/.git/HEAD", "bare.git/HEAD"] {
            std::fs::write(at(head), hash).unwrap();
        }
        let look = |path: &str| look(&at(path), None, Vec::new());
        for path in ["clone", "bare.git"] {
            assert_eq!(look(path).unwrap().1, [hash], "{path}");
        }
        assert!(matches!(look("plain"), Err(Error::NoClone)));
        assert!(matches!(look("gone"), Err(Error::NoFolder)));
        std::os::unix::fs::symlink(at("clone/.git"), at("plain/.git")).unwrap();
        assert!(matches!(look("plain"), Err(Error::Outside)));
    }
}
