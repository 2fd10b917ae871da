//! Reads the history of files from the clones that repositories were ingested from.
//!
//! The program `git` does the reading, as a process of its own without network, hooks, configuration of the user, and
//! without any program that the clone's own configuration names ([`run`]): a clone may come from anybody.

mod blame;
mod log;
mod run;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::encoding::Encoding;
use crate::ingest::{commit_of, git_folder_of, language_of};

pub use blame::{Blame, BlameRun};
pub use log::{Change, History, MAX_CHANGES};

/// Longest time for git to answer.
pub const LIMIT: Duration = Duration::from_secs(10);

/// Most bytes of an answer of git: a file of the largest usual size with the commit of each line.
const MAX_ANSWER: usize = 64 << 20;

/// Most bytes of a text that is read from a clone.
const MAX_TEXT: usize = 4 << 20;

/// Why nothing is known of a file's history. Messages name no folder, as they go to all who may search.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program cannot be started.
    #[error("git is not installed where the server runs")]
    NoGit,
    /// The folder is not there, or not for the server.
    #[error(
        "the folder that the repository was ingested from is gone, or the server may not read it"
    )]
    NoFolder,
    /// There is no clone in the folder.
    #[error("the repository was not ingested from a clone of git")]
    NoClone,
    /// The commit does not have the file.
    #[error("git has no history of this file: it was never committed, or not under this path")]
    Untracked,
    /// It took too long.
    #[error("git did not answer within {}s", LIMIT.as_secs())]
    TooSlow,
    /// The answer is longer than is read.
    #[error("what git says is too long to be shown")]
    TooLarge,
    /// Git failed, or answered something else than was expected.
    #[error("git cannot read the clone")]
    Failed,
}

/// A text with its encoding, and its language if that was recognised.
pub type OldText = ((String, Encoding), Option<String>);

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its hash, in hexadecimal.
    pub hash: String,
    /// The name of its author.
    pub author: String,
    /// When it was written, in seconds since 1970.
    pub time: i64,
    /// The first line of its message.
    pub summary: String,
}

/// A file in a clone, at a commit.
#[derive(Clone, Debug)]
pub struct TrackedFile {
    git: PathBuf,
    path: String,
    /// The commit: the one that was checked out at the last ingest or, if the clone does not have it any more, the one
    /// that is now.
    pub commit: String,
    /// Git's hash of the contents at that commit.
    pub blob: String,
}

impl TrackedFile {
    /// Finds a file in the clone that its repository was ingested from.
    ///
    /// # Errors
    /// There is no clone, or the file is not in it; or git cannot be asked.
    pub async fn find(repo: &store::Repo, path: &str) -> Result<Self, Error> {
        let (source, known) = (PathBuf::from(&repo.source), repo.commit.clone());
        let look = tokio::task::spawn_blocking(move || {
            let git = git_folder(&source)?;
            let known = known.filter(|hash| is_hash(hash)).or_else(|| commit_of(&source));
            Ok::<_, Error>((git, known))
        });
        let (git, known) = look.await.map_err(|_| Error::Failed)??;
        for commit in known.into_iter().chain(["HEAD".to_owned()]) {
            let revisions = [format!("{commit}^{{commit}}"), format!("{commit}:{path}")];
            let args = ["rev-parse", "--quiet", &revisions[0], &revisions[1]];
            match run::text(&git, &args, MAX_ANSWER).await {
                Ok(answer) => {
                    let mut hashes = answer.lines().filter(|line| is_hash(line));
                    if let (Some(commit), Some(blob)) = (hashes.next(), hashes.next()) {
                        let (commit, blob) = (commit.to_owned(), blob.to_owned());
                        return Ok(Self { git, path: path.to_owned(), commit, blob });
                    }
                }
                Err(Error::Failed) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::Untracked)
    }

    /// Returns the text that the file had after one of its last [`MAX_CHANGES`], by git's hash of it; `None` if it did not have it, or if it is no text.
    ///
    /// # Errors
    /// Git cannot be asked.
    pub async fn text_before(&self, hash: &str) -> Result<Option<OldText>, Error> {
        if !is_hash(hash) {
            return Ok(None);
        }
        // Other objects of the clone are not shown.
        let is_ours = |change: &Change| change.blob.as_deref() == Some(hash);
        if hash != self.blob && !self.history(0, MAX_CHANGES).await?.changes.iter().any(is_ours) {
            return Ok(None);
        }
        let bytes = run::bytes(&self.git, &["cat-file", "blob", hash], MAX_TEXT).await?;
        Ok(Encoding::decode(bytes).map(|(text, encoding)| {
            let language = language_of(&self.path, &text);
            ((text, encoding), language)
        }))
    }
}

/// Whether a text is a whole hash.
pub fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the folder of git's data of a clone, which may be bare.
fn git_folder(source: &Path) -> Result<PathBuf, Error> {
    if !source.is_dir() {
        return Err(Error::NoFolder);
    }
    let is_git = |folder: &PathBuf| folder.join("HEAD").is_file();
    if let Some(git) = git_folder_of(source).filter(is_git) {
        return Ok(git);
    }
    let is_bare = ["objects", "refs"].iter().all(|part| source.join(part).is_dir());
    let bare = Some(source.to_owned()).filter(|folder| is_bare && is_git(folder));
    bare.ok_or(Error::NoClone)
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
    fn folders_of_clones() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        for folder in ["clone/.git", "bare.git/objects", "bare.git/refs", "plain"] {
            std::fs::create_dir_all(at(folder)).unwrap();
        }
        for head in ["clone/.git/HEAD", "bare.git/HEAD"] {
            std::fs::write(at(head), "ref: refs/heads/main\n").unwrap();
        }
        assert_eq!(git_folder(&at("clone")).unwrap(), at("clone/.git"));
        assert_eq!(git_folder(&at("bare.git")).unwrap(), at("bare.git"));
        assert!(matches!(git_folder(&at("plain")), Err(Error::NoClone)));
        assert!(matches!(git_folder(&at("gone")), Err(Error::NoFolder)));
    }
}
