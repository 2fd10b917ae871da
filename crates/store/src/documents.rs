//! Loading, in batches, what a page of results shows: files, chunks, whole texts.

use crate::connect::Store;
use crate::error::Result;
use crate::{BlobId, Epoch, RepoId, ShardId};

/// A file of one epoch.
#[derive(Clone, Debug)]
pub struct File {
    /// Its contents.
    pub blob: BlobId,
    /// Its repository.
    pub repo: RepoId,
    /// Its path in the repository.
    pub path: String,
    /// Its language, when that was recognised.
    pub language: Option<String>,
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

impl Store {
    /// The files of an epoch that have one of these contents; of these repositories only, if any
    /// are named.
    pub async fn files(
        &self,
        shard: ShardId,
        blobs: &[BlobId],
        epoch: Epoch,
        repos: Option<&[RepoId]>,
    ) -> Result<Vec<File>> {
        let blobs: Vec<i32> = blobs.iter().map(|b| b.0).collect();
        let repos: Option<Vec<i32>> = repos.map(|ids| ids.iter().map(|r| r.0).collect());
        let rows: Vec<(i32, i32, String, Option<String>)> = sqlx::query_as(
            "select blob, repo, path, language from files
             where shard = $1 and blob = any($2) and born <= $3 and died > $3
               and ($4::int[] is null or repo = any($4))",
        )
        .bind(shard.0)
        .bind(blobs)
        .bind(epoch.0)
        .bind(repos)
        .fetch_all(&self.pool)
        .await?;
        Ok(rows
            .into_iter()
            .map(|(blob, repo, path, language)| File {
                blob: BlobId(blob),
                repo: RepoId(repo),
                path,
                language,
            })
            .collect())
    }

    /// The chunks with these numbers, in order.
    pub async fn chunks(&self, shard: ShardId, numbers: &[i32]) -> Result<Vec<Chunk>> {
        let rows = sqlx::query_as(
            "select n, blob, line, start, contents from chunks where shard = $1 and n = any($2)",
        )
        .bind(shard.0)
        .bind(numbers)
        .fetch_all(&self.pool)
        .await?;
        Ok(in_order(rows))
    }

    /// All chunks of these blobs, in order.
    pub async fn blobs(&self, shard: ShardId, blobs: &[BlobId]) -> Result<Vec<Chunk>> {
        let ids: Vec<i32> = blobs.iter().map(|b| b.0).collect();
        let rows = sqlx::query_as(
            "select c.n, c.blob, c.line, c.start, c.contents
             from blobs b join chunks c on c.shard = $1 and c.n >= b.id and c.n < b.id + b.chunks
             where b.shard = $1 and b.id = any($2)",
        )
        .bind(shard.0)
        .bind(ids)
        .fetch_all(&self.pool)
        .await?;
        Ok(in_order(rows))
    }

    /// Every chunk of a shard, by number, for reading all of it. No index of trigrams is asked.
    pub async fn all_chunks(&self, shard: ShardId) -> Result<Vec<(i32, BlobId)>> {
        let rows: Vec<(i32, i32)> =
            sqlx::query_as("select n, blob from chunks where shard = $1 order by n")
                .bind(shard.0)
                .fetch_all(&self.pool)
                .await?;
        Ok(rows.into_iter().map(|(n, blob)| (n, BlobId(blob))).collect())
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
