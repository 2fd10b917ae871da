//! Reads one file with its text.

use crate::search::Searcher;

/// A file with its text.
#[derive(Clone, Debug)]
pub struct FileText {
    /// Name of its repository.
    pub repo: String,
    /// Path in its repository.
    pub path: String,
    /// Language, if it was recognised.
    pub language: Option<String>,
    /// Text, as UTF-8.
    pub text: String,
    /// Other files with the same contents: repository and path, in order, at most [`MAX_COPIES`].
    pub copies: Vec<(String, String)>,
    /// Git's hash of its contents as they were on disk, in hexadecimal.
    pub hash: String,
}

/// Most copies of a file that are listed.
pub const MAX_COPIES: usize = 50;

impl Searcher {
    /// Returns a file with its text; `None` if there is no such file.
    ///
    /// # Errors
    /// The database cannot be reached or refuses a statement, or a part of the text is missing.
    pub async fn file_text(
        &self,
        repo: &str,
        path: &str,
    ) -> Result<Option<FileText>, store::Error> {
        let tree = self.tree().await?;
        let Some((shard, entry)) = tree.locate(repo, path) else { return Ok(None) };
        let (blob, bytes) = (entry.blob, entry.bytes);
        let text = self.texts(shard, &[(blob, bytes)]).await?.remove(&blob).unwrap_or_default();
        if text.len() != bytes {
            let have = text.len();
            let what = format!("of the {bytes} bytes of {repo}/{path}, {have} are there");
            return Err(store::Error::Damaged(what));
        }
        let hash = self.store().hash(shard.id, blob).await?;
        Ok(Some(FileText {
            repo: repo.to_owned(),
            path: path.to_owned(),
            language: entry.language.map(str::to_owned),
            text,
            copies: tree.copies(shard.id, blob, (repo, path), MAX_COPIES),
            hash,
        }))
    }
}
