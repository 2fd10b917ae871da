//! What a [`View`] reads besides searching, for browsing and navigation.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use store::{
    BlobId, Catalog, Epoch, FileFilter, Lease, RepoId, ScipPlace, Shard, ShardId, Store,
    StoredBlob, SymbolRow,
};

use crate::cache::texts::{DecompressBuffer, TEXT};
use crate::missing::Missing;
use crate::view::View;

/// Information on the symbols of a text besides the symbols themselves.
#[derive(Clone, Debug)]
pub struct SymbolsKnown {
    /// The languages, in lower case, whose symbols are taken.
    pub languages: HashSet<String>,
    /// Whether the symbols of the text's shard were taken up to this text.
    pub is_taken: bool,
    /// The reason, in a word, why those of the text were given up.
    pub given_up: Option<String>,
}

impl View {
    /// Returns the text of a blob if it is in memory.
    pub(crate) fn kept_text(&self, shard: &Shard, blob: BlobId, bytes: usize) -> Option<String> {
        let chunks = self.searcher.cache()?.texts.reader(shard).blob(blob, bytes)?;
        let mut texts = Vec::with_capacity(bytes);
        DecompressBuffer::with(|buffer| {
            for chunk in &chunks {
                texts.extend_from_slice(chunk.unpack(buffer));
            }
        });
        Some(String::from_utf8(texts).expect(TEXT))
    }

    /// Returns the symbols of some blobs of a shard, both ascending: from memory, or from the database.
    ///
    /// # Errors
    /// The database query fails.
    pub fn symbols_of<'a>(
        &'a self,
        shard: &'a Shard,
        blobs: &'a [BlobId],
    ) -> BoxFuture<'a, Result<Vec<SymbolRow>, store::Error>> {
        Box::pin(async move {
            let kept = self.searcher.cache().and_then(|cache| cache.view().of(shard).symbols);
            if let Some(kept) = kept {
                return Ok(kept.rows(blobs));
            }
            let mut lease = self.store().lease().await?;
            let rows = lease.symbols_of(shard.id, blobs).await?;
            lease.done();
            Ok(rows)
        })
    }

    /// Returns what was read of a shard: nothing if its node does not answer, of which `missing` tells then.
    ///
    /// # Errors
    /// The read failed for another reason.
    pub fn or_missing<T: Default>(
        &self,
        shard: &Shard,
        read: Result<T, store::Error>,
        missing: &mut Missing,
    ) -> Result<T, store::Error> {
        match read {
            Ok(read) => Ok(read),
            Err(error) => missing.note(self.store(), shard, error).map(|()| T::default()),
        }
    }

    /// Returns the texts of some blobs of a shard. `blobs` has their sizes in bytes. Reads them from memory, and the
    /// missing ones from the database in one statement.
    ///
    /// # Errors
    /// The database query fails.
    pub fn texts<'a>(
        &'a self,
        shard: &'a Shard,
        blobs: &'a [(BlobId, usize)],
    ) -> BoxFuture<'a, Result<HashMap<BlobId, String>, store::Error>> {
        Box::pin(async move {
            let (mut texts, mut missing) = (HashMap::new(), Vec::new());
            for (blob, bytes) in blobs {
                match self.kept_text(shard, *blob, *bytes) {
                    Some(text) => drop(texts.insert(*blob, text)),
                    None => missing.push(*blob),
                }
            }
            if !missing.is_empty() {
                let mut lease = self.store().lease().await?;
                for chunk in lease.blobs(shard.id, &missing).await? {
                    texts.entry(chunk.blob).or_default().push_str(&chunk.contents);
                }
                lease.done();
            }
            Ok(texts)
        })
    }

    /// Returns git's hash of a text, in hexadecimal, and the stored name of its encoding.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn hash(
        &self,
        shard: ShardId,
        blob: BlobId,
    ) -> Result<(String, Option<String>), store::Error> {
        self.store().hash(shard, blob).await
    }

    /// Returns the contents with git's hash, in hexadecimal, if a file of this repository has them in the newest epoch
    /// or in one that searches can still resume in; `None` also if the repository is not visible.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn stored(&self, hash: &str, repo: &str) -> Result<Option<StoredBlob>, store::Error> {
        let catalog = self.catalog().await?;
        let Some((&id, _)) = catalog.repos.iter().find(|(_, known)| known.name == repo) else {
            return Ok(None);
        };
        let mut epochs = self.earlier_epochs();
        epochs.push(catalog.epoch);
        self.store().stored(hash, id, &epochs).await
    }

    /// Returns one of some paths of a repository that was left out, and why; the longest path if several were, `None` if
    /// none was.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn left_out_reason(
        &self,
        repo: RepoId,
        paths: &[&str],
    ) -> Result<Option<store::LeftOutRow>, store::Error> {
        let catalog = self.catalog().await?;
        if !catalog.repos.contains_key(&repo) {
            return Ok(None);
        }
        self.store().left_out(repo, &catalog.filter().trees, paths).await
    }

    /// Returns information on the symbols of a text besides the symbols themselves.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn symbols_known(
        &self,
        shard: ShardId,
        blob: BlobId,
    ) -> Result<SymbolsKnown, store::Error> {
        let mut lease = self.store().lease().await?;
        let languages = lease.symbols_languages().await?.into_iter().collect();
        let is_taken = lease.symbols_upto().await?.get(&shard).is_some_and(|upto| *upto > blob.0);
        let given_up = lease.symbols_given_up(shard, blob).await?;
        lease.done();
        Ok(SymbolsKnown { languages, is_taken, given_up })
    }

    /// Returns how much of the whole index has its symbols.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn symbols_progress(&self) -> Result<store::SymbolsProgress, store::Error> {
        self.store().symbols_progress().await
    }

    /// Opens the SCIP data of the repositories of a catalog of this view.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn scip(&self, catalog: Arc<Catalog>) -> Result<Scip, store::Error> {
        let (shards, missing) = (HashMap::new(), Missing::default());
        let store = self.store().clone();
        Ok(Scip { lease: store.lease().await?, store, catalog, shards, missing })
    }
}

/// Reads the SCIP data of the visible repositories.
#[derive(Debug)]
pub struct Scip {
    lease: Lease,
    catalog: Arc<Catalog>,
    /// The shards with documents of an import, or of all, as far as requested.
    shards: HashMap<Option<i32>, Vec<ShardId>>,
    store: Store,
    /// The shards that could not be read.
    missing: Missing,
}

impl Scip {
    /// Returns the SCIP data on a file of this epoch, newest import first. If the node of its shard does not answer,
    /// [`done`](Self::done) tells.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn of(
        &mut self,
        epoch: Epoch,
        text: (ShardId, BlobId),
        (repo, path): (RepoId, &str),
    ) -> Result<Vec<ScipPlace>, store::Error> {
        if !self.catalog.repos.contains_key(&repo) {
            return Ok(Vec::new());
        }
        let filter = FileFilter { epoch, ..self.catalog.filter() };
        let read = self.lease.scip_of(&filter, text, (repo, path)).await;
        self.noted(text.0, read)
    }

    /// Returns the shards with documents of one import, or of any.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn shards(&mut self, import: Option<i32>) -> Result<Vec<ShardId>, store::Error> {
        if let Some(known) = self.shards.get(&import) {
            return Ok(known.clone());
        }
        let shards = self.lease.scip_shards(import).await?;
        self.shards.insert(import, shards.clone());
        Ok(shards)
    }

    /// Returns up to `most` documents of a shard that mention one of some symbols, those of the repository `near`
    /// first. A hash collision of symbols may add another document. If the node of the shard does not answer,
    /// [`done`](Self::done) tells.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn mentions(
        &mut self,
        shard: ShardId,
        symbols: &[&str],
        near: RepoId,
        most: usize,
    ) -> Result<Vec<ScipPlace>, store::Error> {
        let filter = self.catalog.filter();
        let read = self.lease.scip_mentions(&filter, shard, symbols, near, most).await;
        self.noted(shard, read)
    }

    /// Notes the shard of a read if its node does not answer.
    fn noted(
        &mut self,
        shard: ShardId,
        read: Result<Vec<ScipPlace>, store::Error>,
    ) -> Result<Vec<ScipPlace>, store::Error> {
        let of = self.catalog.shards.iter().find(|of| of.id == shard);
        match (read, of) {
            (Err(error), Some(of)) => {
                self.missing.note(&self.store, of, error)?;
                Ok(Vec::new())
            }
            (read, _) => read,
        }
    }

    /// Returns the connection, and what could not be read. Without this call the connection is closed.
    pub fn done(self) -> Missing {
        self.lease.done();
        self.missing
    }
}
