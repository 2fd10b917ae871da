//! Loading files, chunks and whole texts in batches.
//!
//! The statements name the partitions, so that planning does not go through all of them. They still
//! compare the shard, since it is the first column of the keys.

use std::ops::{Deref, Range};
use std::sync::Arc;

use sqlx::Row;

use crate::error::Result;
use crate::lease::{BoundStatement, Lease};
use crate::{BlobId, Epoch, RepoId, ShardId};

/// A file of one epoch.
#[derive(Clone, Debug)]
pub struct File {
    /// Its blob.
    pub blob: BlobId,
    /// Bytes of its text.
    pub bytes: i32,
    /// Its repository.
    pub repo: RepoId,
    /// Its path in the repository.
    pub path: String,
    /// Its language, if recognised.
    pub language: Option<String>,
}

/// A condition on files.
#[derive(Clone, Debug)]
pub struct FileFilter {
    /// The epoch in which the files are visible.
    pub epoch: Epoch,
    /// Ids of the repositories, ascending; `None` for all.
    pub repos: Option<Vec<RepoId>>,
    /// Names of the languages, in lower case; `None` for all.
    pub languages: Option<Vec<String>>,
}

/// A run of whole lines of a blob.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Its number in the shard.
    pub n: i32,
    /// The blob it is part of.
    pub blob: BlobId,
    /// The number of its first line in the blob, from 1.
    pub line: i32,
    /// Its offset in the blob, in bytes.
    pub start: i32,
    /// Its text.
    pub contents: SharedText,
}

/// A text that shares one allocation with the texts that were read along with it.
#[derive(Clone, Debug)]
pub struct SharedText {
    all: Arc<str>,
    at: Range<usize>,
}

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.all[self.at.clone()]
    }
}

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        Self { all: text.into(), at: 0..text.len() }
    }
}

/// Chunks in a row of an answer. One row per chunk takes twice as long, here and in the server.
/// With one row for all chunks, server and client wait for each other, and the row outgrows the
/// processor's cache.
const ROW_CHUNKS: usize = 8;

/// Returns the statement that reads the chunks for which a condition holds, some to a row.
fn texts_of(shard: ShardId, from: &str, condition: &str) -> String {
    format!(
        "select t.* from {from} cross join lateral (
             select array_agg(n), array_agg(blob), array_agg(line), array_agg(start),
                    array_agg(octet_length(contents)), string_agg(contents, '')
             from {} where shard = {} and {condition} offset 0) t",
        shard.chunks(),
        shard.0
    )
}

impl Lease {
    /// Returns the files with one of these blobs, or all files of the shard, ordered by blob,
    /// repository and path.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn files(
        &mut self,
        shard: ShardId,
        blobs: Option<&[BlobId]>,
        filter: &FileFilter,
    ) -> Result<Vec<File>> {
        let blobs: Option<Vec<i32>> = blobs.map(|blobs| blobs.iter().map(|b| b.0).collect());
        let repos: Option<Vec<i32>> =
            filter.repos.as_ref().map(|ids| ids.iter().map(|r| r.0).collect());
        let condition = if blobs.is_some() { "blob = any($1)" } else { "$1::int[] is null" };
        let sql = format!(
            "select blob, bytes, repo, path, language from {}
             where shard = {} and {condition} and valid_from <= $2 and valid_to > $2
               and ($3::int[] is null or repo = any($3))
               and ($4::text[] is null or lower(language) = any($4))",
            shard.files(),
            shard.0
        );
        let bound = BoundStatement::new(sql).bind(blobs).bind(filter.epoch.0).bind(repos);
        let bound = bound.bind(filter.languages.clone());
        let rows: Vec<(i32, i32, i32, String, Option<String>)> = self.fetch(bound).await?;
        let mut files: Vec<File> = rows
            .into_iter()
            .map(|(blob, bytes, repo, path, language)| File {
                blob: BlobId(blob),
                bytes,
                repo: RepoId(repo),
                path,
                language,
            })
            .collect();
        files.sort_unstable_by(|a, b| (a.blob, a.repo, &a.path).cmp(&(b.blob, b.repo, &b.path)));
        Ok(files)
    }

    /// Returns the chunks with these numbers, ascending.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn chunks(&mut self, shard: ShardId, numbers: &[i32]) -> Result<Vec<Chunk>> {
        let (from, last) =
            (format!("generate_series(1, cardinality($1), {ROW_CHUNKS}) first"), ROW_CHUNKS - 1);
        let sql = texts_of(shard, &from, &format!("n = any(($1::int[])[first:first + {last}])"));
        self.texts(BoundStatement::new(sql).bind(numbers)).await
    }

    /// Returns the chunks whose numbers lie in a range, ascending.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn chunk_range(&mut self, shard: ShardId, numbers: Range<i32>) -> Result<Vec<Chunk>> {
        let from = format!("generate_series($1, $2 - 1, {ROW_CHUNKS}) first");
        let sql =
            texts_of(shard, &from, &format!("n >= first and n < least(first + {ROW_CHUNKS}, $2)"));
        self.texts(BoundStatement::new(sql).bind(numbers.start).bind(numbers.end)).await
    }

    /// Returns all chunks of these blobs, ascending.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn blobs(&mut self, shard: ShardId, blobs: &[BlobId]) -> Result<Vec<Chunk>> {
        let ids: Vec<i32> = blobs.iter().map(|blob| blob.0).collect();
        let sql =
            texts_of(shard, "blobs of_blob", "n >= of_blob.id and n < of_blob.id + of_blob.chunks");
        let sql = format!("{sql} where of_blob.shard = {} and of_blob.id = any($1)", shard.0);
        self.texts(BoundStatement::new(sql).bind(ids)).await
    }

    /// Returns the chunks that hold these bytes of their blobs, ascending, each once.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn chunks_at(
        &mut self,
        shard: ShardId,
        places: &[(BlobId, i32)],
    ) -> Result<Vec<Chunk>> {
        let of_blob: Vec<i32> = places.iter().map(|(blob, _)| blob.0).collect();
        let at: Vec<i32> = places.iter().map(|(_, at)| *at).collect();
        let sql = format!(
            "select array_agg(distinct t.n) from unnest($1::int[], $2::int[]) place(blob, at)
             join blobs b on b.shard = {1} and b.id = place.blob
             cross join lateral (
                 select c.n from {0} c where c.shard = {1} and c.n >= b.id and c.n < b.id + b.chunks
                     and c.start <= place.at order by c.n desc limit 1) t",
            shard.chunks(),
            shard.0
        );
        let found: Vec<(Option<Vec<i32>>,)> =
            self.fetch(BoundStatement::new(sql).bind(of_blob).bind(at)).await?;
        match found.into_iter().next().and_then(|(numbers,)| numbers) {
            Some(numbers) => self.chunks(shard, &numbers).await,
            None => Ok(Vec::new()),
        }
    }

    /// Returns the chunks that a statement of [`texts_of`] finds, ascending.
    async fn texts(&mut self, bound: BoundStatement) -> Result<Vec<Chunk>> {
        let mut chunks = Vec::new();
        for row in self.rows(bound).await? {
            // The aggregates are null if no chunk was found.
            let Some(all) = row.try_get::<Option<&str>, _>(5)? else { continue };
            let all: Arc<str> = all.into();
            let numbers = |column| row.try_get::<Vec<i32>, _>(column);
            let (n, blob, line) = (numbers(0)?, numbers(1)?, numbers(2)?);
            let (start, bytes) = (numbers(3)?, numbers(4)?);
            let mut end = 0;
            chunks.extend((0..n.len()).map(|i| {
                let begin = end;
                end += bytes[i] as usize;
                let contents = SharedText { all: Arc::clone(&all), at: begin..end };
                Chunk { n: n[i], blob: BlobId(blob[i]), line: line[i], start: start[i], contents }
            }));
        }
        chunks.sort_unstable_by_key(|chunk| chunk.n);
        Ok(chunks)
    }
}
