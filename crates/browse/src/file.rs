//! Reads one file with its text.

use futures_util::future::BoxFuture;
use store::{BlobId, ShardId, StoredBlob};

use files::Encoding;
use files::encoding_of;
use search::{ContentsAt, View};

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
    /// The encoding of the file.
    pub encoding: Encoding,
    /// Other files with the same contents: repository and path, in order, at most [`MAX_COPIES`].
    pub copies: Vec<(String, String)>,
    /// Git's hash of its contents as they were on disk, in hexadecimal.
    pub hash: String,
    /// Where the text is stored; `None` if it is not.
    pub stored: Option<(ShardId, BlobId)>,
    /// Whether the file has this text in the newest epoch.
    pub is_current: bool,
    /// The tree that has the file, as typed, if it is not the main one.
    pub revision: Option<String>,
}

/// Most copies of a file that are listed.
pub const MAX_COPIES: usize = 50;

/// Returns a file with its text; `None` if there is no such file.
///
/// # Errors
/// The database cannot be reached or refuses a statement, or a part of the text is missing.
pub fn file_text<'a>(
    view: &'a View,
    repo: &'a str,
    path: &'a str,
) -> BoxFuture<'a, Result<Option<FileText>, store::Error>> {
    Box::pin(async move {
        let tree = view.tree().await?;
        let Some((shard, entry)) = tree.locate(repo, path)? else { return Ok(None) };
        let (blob, bytes) = (entry.blob, entry.bytes);
        let text = view.texts(shard, &[(blob, bytes)]).await?.remove(&blob).unwrap_or_default();
        if text.len() != bytes {
            let have = text.len();
            let what = format!("{repo}/{path} has {have} of its {bytes} bytes");
            return Err(store::Error::Damaged(what));
        }
        let (hash, encoding) = view.hash(shard.id, blob).await?;
        let encoding = encoding_of(encoding.as_deref(), &text, &hash);
        Ok(Some(FileText {
            repo: repo.to_owned(),
            path: path.to_owned(),
            language: entry.language.map(str::to_owned),
            text,
            encoding,
            copies: tree.copies(shard.id, blob, (repo, path), MAX_COPIES),
            hash,
            stored: Some((shard.id, blob)),
            is_current: true,
            revision: None,
        }))
    })
}

/// Returns a file with the text that has this hash, in lowercase, if a file of the same repository has it: in the
/// newest epoch, or in one that searches can still resume in. Texts that only other repositories have or had are not
/// returned, nor are texts that merely await deletion.
///
/// # Errors
/// The database cannot be reached or refuses a statement, or a part of the text is missing.
pub fn file_text_of<'a>(
    view: &'a View,
    repo: &'a str,
    path: &'a str,
    hash: &'a str,
) -> BoxFuture<'a, Result<Option<FileText>, store::Error>> {
    Box::pin(async move {
        if let Some(file) = file_text(view, repo, path).await?.filter(|file| file.hash == hash) {
            return Ok(Some(file));
        }
        let Some(stored) = view.stored(hash, repo).await? else { return Ok(None) };
        let catalog = view.catalog().await?;
        let StoredBlob { shard: id, blob, bytes, encoding, language } = stored;
        let Some(shard) = catalog.shards.iter().find(|shard| shard.id == id) else {
            return Ok(None);
        };
        let text = view.texts(shard, &[(blob, bytes)]).await?.remove(&blob).unwrap_or_default();
        // The text may have been garbage-collected since.
        if text.len() != bytes {
            return Ok(None);
        }
        let encoding = encoding_of(encoding.as_deref(), &text, hash);
        let copies = view.tree().await?.copies(id, blob, (repo, path), MAX_COPIES);
        Ok(Some(FileText {
            repo: repo.to_owned(),
            path: path.to_owned(),
            language,
            text,
            encoding,
            copies,
            hash: hash.to_owned(),
            stored: Some((id, blob)),
            is_current: false,
            revision: None,
        }))
    })
}

/// Returns a file of another tree of a repository: of an indexed worktree, branch or tag, or of any commit that its clone
/// has. `None` if there is no such file.
///
/// # Errors
/// The revision is unknown, or a statement failed, or a part of the text is missing; the file was left out.
pub fn file_text_at<'a>(
    view: &'a View,
    repo: &'a str,
    path: &'a str,
    revision: &'a str,
) -> BoxFuture<'a, Result<Option<FileText>, search::Error>> {
    Box::pin(async move {
        let Some(at) = view.tree_at(repo, revision).await? else { return Ok(None) };
        let Some(contents) = at.contents(view, repo, path).await? else { return Ok(None) };
        let of = revision.to_owned();
        match contents {
            ContentsAt::LeftOut(reason) => {
                let why = format!("{path} at {revision} is not shown: it was left out ({reason})");
                Err(search::Error::Revision(why))
            }
            ContentsAt::Read { hash, text, encoding } => {
                let language = files::language_of(path, &text);
                let text = FileText::elsewhere((repo, path, &hash), (text, encoding), language);
                Ok(Some(FileText { revision: Some(of), ..text }))
            }
            ContentsAt::Stored { shard, blob, bytes, language } => {
                let texts = view.texts(&shard, &[(blob, bytes)]).await?;
                let text = texts.get(&blob).cloned().unwrap_or_default();
                if text.len() != bytes {
                    let have = text.len();
                    let what = format!("{repo}/{path} has {have} of its {bytes} bytes");
                    return Err(store::Error::Damaged(what).into());
                }
                let (hash, encoding) = view.hash(shard.id, blob).await?;
                let encoding = encoding_of(encoding.as_deref(), &text, &hash);
                let copies = view.tree().await?.copies(shard.id, blob, (repo, path), MAX_COPIES);
                Ok(Some(FileText {
                    repo: repo.to_owned(),
                    path: path.to_owned(),
                    language,
                    text,
                    encoding,
                    copies,
                    hash,
                    stored: Some((shard.id, blob)),
                    is_current: false,
                    revision: Some(of),
                }))
            }
        }
    })
}

impl FileText {
    /// Makes a file with a text from outside the index.
    pub fn elsewhere(
        (repo, path, hash): (&str, &str, &str),
        (text, encoding): (String, Encoding),
        language: Option<String>,
    ) -> Self {
        Self {
            repo: repo.to_owned(),
            path: path.to_owned(),
            language,
            text,
            encoding,
            copies: Vec::new(),
            hash: hash.to_owned(),
            stored: None,
            is_current: false,
            revision: None,
        }
    }
}
