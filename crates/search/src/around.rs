//! Adds to results what stands around their lines: context, and symbols.

use std::collections::{BTreeMap, HashMap};

use answer::FileMatch;
use futures_util::future::BoxFuture;
use store::{BlobId, ShardId, Switch};

use crate::context;
use crate::missing::Missing;
use crate::revision::memory::{self, MEMORY_SHARD};
use crate::symbols::enclose;
use crate::view::View;

impl View {
    /// Adds the lines around matches to `files`, as [`Request::context`](crate::Request::context) does for all files of a search. `switch`
    /// identifies the epoch in which the files were found. Files whose text is gone since then are unchanged, and so are
    /// those of shards whose nodes do not answer, which are returned.
    ///
    /// # Errors
    /// The database query fails.
    pub fn add_context<'a>(
        &'a self,
        files: Vec<&'a mut FileMatch>,
        switch: Switch,
        (before, after): (usize, usize),
    ) -> BoxFuture<'a, Result<Missing, store::Error>> {
        Box::pin(async move {
            let mut missing = Missing::default();
            let catalog = self.whole_state(switch).await?;
            let mut by_shard: HashMap<ShardId, Vec<&mut FileMatch>> = HashMap::new();
            for file in files.into_iter().filter(|file| !file.lines.is_empty()) {
                by_shard.entry(file.blob_key.0).or_default().push(file);
            }
            if let Some(files) = by_shard.remove(&MEMORY_SHARD) {
                memory::add_context(self.searcher.commits(), files, switch, (before, after)).await;
            }
            for (id, files) in by_shard {
                let Some(shard) = catalog.shards.iter().find(|shard| shard.id == id) else {
                    continue;
                };
                let blobs: Vec<(BlobId, usize)> =
                    files.iter().map(|file| (file.blob_key.1, file.bytes)).collect();
                let texts = match self.texts(shard, &blobs).await {
                    Ok(texts) => texts,
                    Err(error) => {
                        missing.note(self.store(), shard, error)?;
                        continue;
                    }
                };
                for file in files {
                    // A shard may have been emptied and refilled since the search, so that the blob number belongs to
                    // another text.
                    let of = |text: &&String| {
                        file.lines.iter().all(|line| context::stands_in(line, text))
                    };
                    if let Some(text) = texts.get(&file.blob_key.1).filter(of) {
                        file.lines =
                            context::around(std::mem::take(&mut file.lines), text, before, after);
                    }
                }
            }
            Ok(missing)
        })
    }

    /// Returns for each of some files the numbers of the last lines of the symbols around its lines, by the bytes at which
    /// these symbols end. `switch` identifies the epoch in which the files were found. Nothing is known of files whose
    /// text is gone since then, or whose nodes do not answer.
    ///
    /// # Errors
    /// The database query fails.
    pub fn last_lines<'a>(
        &'a self,
        files: &'a [&'a FileMatch],
        switch: Switch,
    ) -> BoxFuture<'a, Result<Vec<HashMap<u64, u64>>, store::Error>> {
        Box::pin(async move {
            let mut all = vec![HashMap::new(); files.len()];
            let has_symbols =
                |file: &FileMatch| file.lines.iter().any(|line| line.enclosing.is_some());
            let mut by_shard: BTreeMap<ShardId, Vec<usize>> = BTreeMap::new();
            for (at, file) in files.iter().enumerate().filter(|(_, file)| has_symbols(file)) {
                by_shard.entry(file.blob_key.0).or_default().push(at);
            }
            if by_shard.is_empty() {
                return Ok(all);
            }
            let catalog = self.whole_state(switch).await?;
            for (id, places) in by_shard {
                let Some(shard) = catalog.shards.iter().find(|shard| shard.id == id) else {
                    continue;
                };
                let blobs = places.iter().map(|at| (files[*at].blob_key.1, files[*at].bytes));
                let texts = match self.texts(shard, &blobs.collect::<Vec<_>>()).await {
                    Err(store::Error::Node { .. }) => continue,
                    texts => texts?,
                };
                for at in places {
                    if let Some(text) = texts.get(&files[at].blob_key.1) {
                        all[at] = context::last_lines(files[at], text);
                    }
                }
            }
            Ok(all)
        })
    }

    /// Adds to the matching lines of `files` the symbol around each, as [`Request::enclosing`] does for all files of a
    /// search. `switch` identifies the epoch in which the files were found. Returns the shards whose nodes do not answer.
    ///
    /// # Errors
    /// The database query fails.
    pub fn add_enclosing<'a>(
        &'a self,
        files: Vec<&'a mut FileMatch>,
        switch: Switch,
    ) -> BoxFuture<'a, Result<Missing, store::Error>> {
        Box::pin(async move {
            let mut missing = Missing::default();
            let mut by_shard: BTreeMap<ShardId, Vec<&mut FileMatch>> = BTreeMap::new();
            for file in files.into_iter().filter(|file| !file.lines.is_empty()) {
                by_shard.entry(file.blob_key.0).or_default().push(file);
            }
            if by_shard.is_empty() {
                return Ok(missing);
            }
            let catalog = self.whole_state(switch).await?;
            for (id, files) in by_shard {
                let Some(shard) = catalog.shards.iter().find(|shard| shard.id == id) else {
                    continue;
                };
                let mut blobs: Vec<BlobId> = files.iter().map(|file| file.blob_key.1).collect();
                blobs.sort_unstable();
                blobs.dedup();
                let rows = match self.symbols_of(shard, &blobs).await {
                    Ok(rows) => rows,
                    Err(error) => {
                        missing.note(self.store(), shard, error)?;
                        continue;
                    }
                };
                for file in files {
                    if let Ok(at) = rows.binary_search_by_key(&file.blob_key.1, |row| row.blob) {
                        enclose(&mut file.lines, &rows[at]);
                    }
                }
            }
            Ok(missing)
        })
    }
}
