//! Loading, in batches, what a page of results shows: files, chunks, whole texts.
//!
//! The statements name the partitions, so that planning does not go through all of them; the shard is
//! still a condition, since it leads the keys.

use std::ops::Range;

use crate::error::Result;
use crate::lease::{Ask, Lease};
use crate::{BlobId, Epoch, RepoId, ShardId};

/// A file of one epoch.
#[derive(Clone, Debug)]
pub struct File {
    /// Its contents.
    pub blob: BlobId,
    /// Bytes of its text.
    pub bytes: i32,
    /// Its repository.
    pub repo: RepoId,
    /// Its path in the repository.
    pub path: String,
    /// Its language, when that was recognised.
    pub language: Option<String>,
}

/// Which files are asked for.
#[derive(Clone, Debug)]
pub struct FileFilter {
    /// The epoch they are part of.
    pub epoch: Epoch,
    /// Of these repositories only, if not all; ascending.
    pub repos: Option<Vec<RepoId>>,
    /// In these languages only, if not all; in small letters.
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
    /// Where it begins in the blob, in bytes.
    pub start: i32,
    /// Its text.
    pub contents: String,
}

impl Lease {
    /// The files that have one of these contents, or all files of the shard, by their contents and
    /// then by repository and path.
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
        let ask = Ask::new(sql).bind(blobs).bind(filter.epoch.0).bind(repos);
        let ask = ask.bind(filter.languages.clone());
        let rows: Vec<(i32, i32, i32, String, Option<String>)> = self.fetch(ask).await?;
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

    /// The chunks with these numbers, in order.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn chunks(&mut self, shard: ShardId, numbers: &[i32]) -> Result<Vec<Chunk>> {
        let sql = format!(
            "select n, blob, line, start, contents from {} where shard = {} and n = any($1)",
            shard.chunks(),
            shard.0
        );
        Ok(in_order(self.fetch(Ask::new(sql).bind(numbers)).await?))
    }

    /// The chunks whose numbers are in a range, in order.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn chunk_range(&mut self, shard: ShardId, numbers: Range<i32>) -> Result<Vec<Chunk>> {
        let sql = format!(
            "select n, blob, line, start, contents from {} where shard = {} and n >= $1 and n < $2",
            shard.chunks(),
            shard.0
        );
        let ask = Ask::new(sql).bind(numbers.start).bind(numbers.end);
        Ok(in_order(self.fetch(ask).await?))
    }

    /// All chunks of these blobs, in order.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn blobs(&mut self, shard: ShardId, blobs: &[BlobId]) -> Result<Vec<Chunk>> {
        let ids: Vec<i32> = blobs.iter().map(|b| b.0).collect();
        let sql = format!(
            "select c.n, c.blob, c.line, c.start, c.contents
             from blobs b join {} c on c.shard = {1} and c.n >= b.id and c.n < b.id + b.chunks
             where b.shard = {1} and b.id = any($1)",
            shard.chunks(),
            shard.0
        );
        Ok(in_order(self.fetch(Ask::new(sql).bind(ids)).await?))
    }
}

fn in_order(rows: Vec<(i32, i32, i32, i32, String)>) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = rows
        .into_iter()
        .map(|(n, blob, line, start, contents)| Chunk {
            n,
            blob: BlobId(blob),
            line,
            start,
            contents,
        })
        .collect();
    chunks.sort_unstable_by_key(|chunk| chunk.n);
    chunks
}
