//! Loads files, chunks and whole texts in batches.
//!
//! The statements name the partitions, so that planning does not go through all of them. They still compare the shard,
//! since it is the first column of the keys.

use std::collections::HashMap;
use std::ops::{Deref, Range};
use std::sync::Arc;

use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::cost::ROW_CHUNKS;
use crate::error::Result;
use crate::filters::named_shards;
use crate::lease::{BoundStatement, Lease};
use crate::trees::{self, TreeFilter, Trees};
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
    /// The trees that have it.
    pub trees: Trees,
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
    /// The trees of which one has the files.
    pub trees: TreeFilter,
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

/// A text that shares one allocation with the texts read with it.
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

impl From<Arc<str>> for SharedText {
    fn from(all: Arc<str>) -> Self {
        Self { at: 0..all.len(), all }
    }
}

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        Self { all: text.into(), at: 0..text.len() }
    }
}

/// The columns of a file.
const FILE_COLUMNS: &str = "blob, bytes, repo, path, language, trees";

/// Returns the condition that a row of `files` passes a filter, with [`FILTER_PARAMETERS`] parameters from `first` on:
/// those of [`bind_filter`].
pub(crate) fn visible(first: usize) -> String {
    let [epoch, repos, languages, sets, replaced] = std::array::from_fn(|at| first + at);
    format!(
        "valid_from <= ${epoch} and valid_to > ${epoch}
         and (${repos}::int[] is null or repo = any(${repos}))
         and (${languages}::text[] is null or lower(language) = any(${languages}))
         and {}",
        trees::condition("", sets, replaced)
    )
}

/// Number of parameters of [`visible`].
pub(crate) const FILTER_PARAMETERS: usize = 5;

pub(crate) fn bind_filter(bound: BoundStatement, filter: &FileFilter) -> BoundStatement {
    let repos: Option<Vec<i32>> =
        filter.repos.as_ref().map(|ids| ids.iter().map(|r| r.0).collect());
    let bound = bound.bind(filter.epoch.0).bind(repos).bind(filter.languages.clone());
    let (sets, replaced) = filter.trees.parameters();
    bound.bind(sets).bind(replaced)
}

/// Returns the file in a row with [`FILE_COLUMNS`] from column `at` on.
fn file_of(row: &PgRow, at: usize) -> Result<File> {
    Ok(File {
        blob: BlobId(row.try_get(at)?),
        bytes: row.try_get(at + 1)?,
        repo: RepoId(row.try_get(at + 2)?),
        path: row.try_get(at + 3)?,
        language: row.try_get(at + 4)?,
        trees: Trees(row.try_get(at + 5)?),
    })
}

/// Sorts files by blob, repository and path.
fn sort(files: &mut [File]) {
    files.sort_unstable_by(|a, b| (a.blob, a.repo, &a.path).cmp(&(b.blob, b.repo, &b.path)));
}

/// Returns the statement that reads the chunks that satisfy a condition, some in each row.
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
    /// Returns the files with one of these blobs, or all files of the shard, ordered by blob, repository and path.
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
        let condition = if blobs.is_some() { "blob = any($6)" } else { "$6::int[] is null" };
        let sql = format!(
            "select {FILE_COLUMNS} from {} where shard = {} and {condition} and {}",
            shard.files(),
            shard.0,
            visible(1)
        );
        let bound = bind_filter(BoundStatement::new(sql), filter).bind(blobs);
        let rows = self.rows(bound).await?;
        let mut files = rows.iter().map(|row| file_of(row, 0)).collect::<Result<Vec<File>>>()?;
        sort(&mut files);
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
        let chunks = "n >= of_blob.id and n < of_blob.id + of_blob.chunks";
        if self.groups().are_distributed() {
            let counts = self.chunk_counts(shard, &ids).await?;
            let sql = texts_of(shard, "unnest($1::int[], $2::int[]) of_blob (id, chunks)", chunks);
            return self.texts(BoundStatement::new(sql).bind(ids).bind(counts)).await;
        }
        let sql = texts_of(shard, "blobs of_blob", chunks);
        let sql = format!("{sql} where of_blob.shard = {} and of_blob.id = any($1)", shard.0);
        self.texts(BoundStatement::new(sql).bind(ids)).await
    }

    /// Returns the numbers of chunks of some blobs of a shard, in their order. On Citus they are here and the chunks on a
    /// node; there, a statement that joins both would first send these to the node.
    async fn chunk_counts(&mut self, shard: ShardId, ids: &[i32]) -> Result<Vec<i32>> {
        let sql =
            "select coalesce(b.chunks, 0) from unnest($1::int[]) with ordinality asked (id, n)
                   left join blobs b on b.shard = $2 and b.id = asked.id order by n";
        let bound = BoundStatement::new(sql.to_owned()).bind(ids).bind(shard.0);
        let rows: Vec<(i32,)> = self.fetch(bound).await?;
        Ok(rows.into_iter().map(|(count,)| count).collect())
    }

    /// Returns the chunks that hold these bytes of their blobs, ascending, without duplicates.
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
        let groups = self.groups();
        let counts = if groups.are_distributed() {
            Some(self.chunk_counts(shard, &of_blob).await?)
        } else {
            None
        };
        let from = match &counts {
            Some(_) => "unnest($1::int[], $2::int[], $3::int[]) b (id, at, chunks)".to_owned(),
            None => format!(
                "unnest($1::int[], $2::int[]) place(blob, at) join blobs b on b.shard = {} and b.id = place.blob",
                shard.0
            ),
        };
        let sql = format!(
            "select array_agg(distinct t.n) from {from}
             cross join lateral (
                 select c.n from {0} c where c.shard = {1} and c.n >= b.id and c.n < b.id + b.chunks
                     and c.start <= at order by c.n desc limit 1) t",
            shard.chunks(),
            shard.0
        );
        let mut bound = BoundStatement::new(sql).bind(of_blob).bind(at);
        if let Some(counts) = counts {
            bound = bound.bind(counts);
        }
        let found: Vec<(Option<Vec<i32>>,)> = self.fetch(bound).await?;
        match found.into_iter().next().and_then(|(numbers,)| numbers) {
            Some(numbers) => self.chunks(shard, &numbers).await,
            None => Ok(Vec::new()),
        }
    }

    /// Returns the chunks that a statement of [`texts_of`] finds, ascending.
    async fn texts(&mut self, bound: BoundStatement) -> Result<Vec<Chunk>> {
        let mut chunks = Vec::new();
        for row in self.rows(bound).await? {
            chunks.extend(chunks_of(&row, 0)?);
        }
        chunks.sort_unstable_by_key(|chunk| chunk.n);
        Ok(chunks)
    }
}

/// Returns the chunks in a row, from column `at` on.
fn chunks_of(row: &PgRow, at: usize) -> Result<Vec<Chunk>> {
    // The aggregates are null if no chunk was found.
    let Some(all) = row.try_get::<Option<&str>, _>(at + 5)? else { return Ok(Vec::new()) };
    let all: Arc<str> = all.into();
    let numbers = |column| row.try_get::<Vec<i32>, _>(at + column);
    let (n, blob, line) = (numbers(0)?, numbers(1)?, numbers(2)?);
    let (start, bytes) = (numbers(3)?, numbers(4)?);
    let mut end = 0;
    let chunk = |i| {
        let begin = end;
        end += bytes[i] as usize;
        let contents = SharedText { all: Arc::clone(&all), at: begin..end };
        Chunk { n: n[i], blob: BlobId(blob[i]), line: line[i], start: start[i], contents }
    };
    Ok((0..n.len()).map(chunk).collect())
}

/// Reads a few rows of several shards with one statement.
impl Lease {
    /// Returns the chunks with some numbers of some shards, by shard, ascending. Shards must be distinct.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn chunks_of_shards(
        &mut self,
        asked: &[(ShardId, Vec<i32>)],
    ) -> Result<HashMap<ShardId, Vec<Chunk>>> {
        let branch = |shard: ShardId, parameter: usize| {
            format!(
                "select {0}::smallint, array_agg(n), array_agg(blob), array_agg(line), array_agg(start),
                        array_agg(octet_length(contents)), string_agg(contents, '')
                 from {1} where shard = {0} and n = any(${parameter}::int[])",
                shard.0,
                shard.chunks()
            )
        };
        let mut chunks: HashMap<ShardId, Vec<Chunk>> = HashMap::new();
        for row in self.of_shards(asked, &[], branch).await? {
            let shard = ShardId(row.try_get(0)?);
            chunks.entry(shard).or_default().extend(chunks_of(&row, 1)?);
        }
        for chunks in chunks.values_mut() {
            chunks.sort_unstable_by_key(|chunk| chunk.n);
        }
        Ok(chunks)
    }

    /// Returns the files with some blobs of some shards, by shard, in the order of [`files`](Self::files). Shards must
    /// be distinct.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn files_of_shards(
        &mut self,
        asked: &[(ShardId, Vec<i32>)],
        filter: &FileFilter,
    ) -> Result<HashMap<ShardId, Vec<File>>> {
        let branch = |shard: ShardId, parameter: usize| {
            format!(
                "select {0}::smallint, {FILE_COLUMNS} from {1}
                 where shard = {0} and blob = any(${parameter}::int[]) and {2}",
                shard.0,
                shard.files(),
                visible(1)
            )
        };
        let mut files: HashMap<ShardId, Vec<File>> = HashMap::new();
        for row in self.of_shards(asked, &[filter], branch).await? {
            files.entry(ShardId(row.try_get(0)?)).or_default().push(file_of(&row, 1)?);
        }
        for files in files.values_mut() {
            sort(files);
        }
        Ok(files)
    }

    /// Runs a statement with a branch for each of some shards. `$1` to `$5` are those of [`visible`] if there is a
    /// filter; each shard has a parameter for the numbers to look up.
    ///
    /// Every connection must prepare each different statement, so there should be few: see [`named_shards`].
    pub(crate) async fn of_shards(
        &mut self,
        asked: &[(ShardId, Vec<i32>)],
        filter: &[&FileFilter],
        branch: impl Fn(ShardId, usize) -> String,
    ) -> Result<Vec<PgRow>> {
        let mut numbers: Vec<i16> = asked.iter().map(|(shard, _)| shard.0).collect();
        numbers.sort_unstable();
        let count = self.shard_count().await?;
        let mut rows = Vec::new();
        for named in named_shards(&numbers, count, self.groups()) {
            let first = filter.len() * FILTER_PARAMETERS + 1;
            let branches: Vec<String> =
                (first..).zip(&named).map(|(at, n)| branch(ShardId(*n), at)).collect();
            let mut bound = BoundStatement::new(branches.join(" union all "));
            for filter in filter {
                bound = bind_filter(bound, filter);
            }
            for n in named {
                let of = asked.iter().find(|(shard, _)| shard.0 == n);
                bound = bound.bind(of.map_or(&[][..], |(_, numbers)| numbers));
            }
            rows.extend(self.rows(bound).await?);
        }
        Ok(rows)
    }
}
