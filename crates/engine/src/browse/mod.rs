//! Browsing: which files there are and what is in them, without a search.
//!
//! A [`Tree`] is the list of all files of one state of the index, in order, and answers what pages and
//! tools ask beside searches: one file, a folder, a repository, the files whose path is like what was
//! typed. It is a list of places in what a server keeps in memory anyway, eight bytes for each file.

mod align;
mod find;
mod names;
mod tree;
mod typed;
mod words;

pub use find::{Finding, Near};
pub use names::{Names, Nearest};
pub use tree::{Child, Counted, Entry, RepoTree, Tree};
pub use typed::{MAX_LETTERS, MAX_PARTS, TooMuch, Typed};

use crate::search::Searcher;

/// A file with its text.
#[derive(Clone, Debug)]
pub struct Document {
    /// The name of its repository.
    pub repo: String,
    /// Its path in the repository.
    pub path: String,
    /// Its language, when that was recognised.
    pub language: Option<String>,
    /// Its text, as UTF-8.
    pub text: String,
    /// Where the same contents stand, too: repository and path, in order, at most [`MAX_SAME`].
    pub same: Vec<(String, String)>,
    /// The same for each contents, and never for others: git's hash of it as it lay on disk, in hex.
    pub hash: String,
}

/// Places of the same contents that are told.
pub const MAX_SAME: usize = 50;

impl Searcher {
    /// A file with its text; none if there is no such file.
    pub async fn document(&self, repo: &str, path: &str) -> Result<Option<Document>, store::Error> {
        let tree = self.tree().await?;
        let Some((shard, entry)) = tree.place(repo, path) else { return Ok(None) };
        let (blob, bytes) = (entry.blob, entry.bytes);
        let text = self.texts(shard, &[(blob, bytes)]).await?.remove(&blob).unwrap_or_default();
        let hash = self.store().hash(shard.id, blob).await?;
        Ok(Some(Document {
            repo: repo.to_owned(),
            path: path.to_owned(),
            language: entry.language.map(str::to_owned),
            text,
            same: tree.same(shard.id, blob, (repo, path), MAX_SAME),
            hash,
        }))
    }
}
