//! The repositories: lists them, and the files left out of each.

use std::collections::HashMap;

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row};

use crate::error::Result;
use crate::freshness::FailedUpdate;
use crate::metadata::{self, RepoMetadata};
use crate::store::Store;
use crate::trees::{self, TreeFilter};
use crate::{BlobId, Epoch, RepoId, ShardId};

/// Contents that are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBlob {
    /// Its shard.
    pub shard: ShardId,
    /// Its number there.
    pub blob: BlobId,
    /// Bytes of its text.
    pub bytes: usize,
    /// The encoding of its file: `blobs.encoding`.
    pub encoding: Option<String>,
    /// The language of a file that has or had it, if recognised.
    pub language: Option<String>,
}

/// An indexed repository.
#[derive(Clone, Debug, PartialEq)]
pub struct Repo {
    /// Its key.
    pub id: RepoId,
    /// Its name.
    pub name: String,
    /// The folder it was read from.
    pub source: String,
    /// The URL at which its files can be read; their paths follow.
    pub web: Option<String>,
    /// The commit that was checked out when it was read, if it is a clone.
    pub commit: Option<String>,
    /// Folders outside of `source` that git may read for its history.
    pub git_folders: Vec<String>,
    /// Number of its indexed files.
    pub files: i64,
    /// Bytes of their texts.
    pub bytes: i64,
    /// Number of its files that were left out.
    pub skipped: i64,
    /// Its rank among the repositories, set by the operator; 0 for none.
    pub rank: u16,
    /// What its host or the configuration of its clone says of it.
    pub metadata: RepoMetadata,
    /// Whether it is read without the rules of ignore files: `ingest --no-ignore`.
    pub no_ignore: bool,
    /// What becomes of files that look like secrets: `keep` or `skip`.
    pub secrets: String,
    /// The time of its last ingest, as `2026-01-31 12:00:00Z`.
    pub indexed_at: String,
    /// When the last ingest that brought it up to date began to look at it, in seconds since 1970.
    pub looked_at: f64,
    /// What failed since.
    pub failed: Option<FailedUpdate>,
}

impl Repo {
    /// Returns its rank in results: the operator's, or else that of its stars; 0 for none.
    pub fn effective_rank(&self) -> u16 {
        if self.rank == 0 { self.metadata.rank() } else { self.rank }
    }
}

/// A file or folder that was left out.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct LeftOutRow {
    /// Its path in the repository. That of a folder that a rule left out ends with a slash.
    pub path: String,
    /// Its size on disk in bytes; 0 if a rule left it out.
    pub bytes: i64,
    /// The word for the reason.
    pub reason: String,
    /// The rule that left it out, with its file and line.
    pub rule: Option<String>,
}

/// Returns what failed, of a row of `repos`.
fn failed(row: &PgRow) -> Result<Option<FailedUpdate>> {
    let Some(at) = row.try_get::<Option<f64>, _>("failed_at")? else { return Ok(None) };
    let why = row.try_get::<Option<String>, _>("failure")?.unwrap_or_default();
    let (times, is_lost) = (row.try_get("failures")?, row.try_get("is_lost")?);
    Ok(Some(FailedUpdate { at, why, times, is_lost }))
}

impl Store {
    /// Returns the indexed repositories, ordered by name.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn repos(&self) -> Result<Vec<Repo>> {
        let sql = format!(
            "select r.id, r.name, r.source, r.web, r.commit, r.git_folders, r.files, r.bytes, r.skipped, r.rank,
                    r.no_ignore, r.secrets,
                    to_char(r.indexed_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS\"Z\"') indexed_at,
                    extract(epoch from coalesce(r.looked_at, r.listed_at, r.indexed_at))::float8 looked_at,
                    extract(epoch from r.failed_at)::float8 failed_at, r.failure, r.failures, r.lost is not null is_lost, {}
             from repos r left join metadata m on m.source = r.source
             where r.indexed_at is not null order by r.name",
            metadata::COLUMNS
        );
        let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(self.control()).await?;
        let repo = |row: &PgRow| {
            Ok(Repo {
                id: RepoId(row.try_get("id")?),
                name: row.try_get("name")?,
                source: row.try_get("source")?,
                web: row.try_get("web")?,
                commit: row.try_get("commit")?,
                git_folders: row.try_get("git_folders")?,
                files: row.try_get("files")?,
                bytes: row.try_get("bytes")?,
                skipped: row.try_get("skipped")?,
                rank: row.try_get::<i32, _>("rank")? as u16,
                metadata: metadata::read(row)?,
                no_ignore: row.try_get("no_ignore")?,
                secrets: row.try_get("secrets")?,
                indexed_at: row.try_get("indexed_at")?,
                looked_at: row.try_get("looked_at")?,
                failed: failed(row)?,
            })
        };
        rows.iter().map(repo).collect()
    }

    /// Returns Git's hash of a blob, in hex, and the encoding of its file (`blobs.encoding`); an empty hash if the blob
    /// does not exist.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn hash(&self, shard: ShardId, blob: BlobId) -> Result<(String, Option<String>)> {
        let row: Option<(String, Option<String>)> = sqlx::query_as(
            "select encode(oid, 'hex'), encoding from blobs where shard = $1 and id = $2",
        )
        .bind(shard.0)
        .bind(blob.0)
        .fetch_optional(self.control())
        .await?;
        Ok(row.unwrap_or_default())
    }

    /// Returns the contents with Git's hash `hash`, in hex, if a file of this repository has them in one of these
    /// epochs. Contents of other repositories, and those awaiting deletion, are not returned.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn stored(
        &self,
        hash: &str,
        repo: RepoId,
        epochs: &[Epoch],
    ) -> Result<Option<StoredBlob>> {
        let row: Option<(i16, i32, i32, Option<String>)> = sqlx::query_as(
            "select shard, id, bytes, encoding from blobs where oid = decode($1, 'hex')",
        )
        .bind(hash)
        .fetch_optional(self.control())
        .await?;
        let Some((shard, blob, bytes, encoding)) = row else { return Ok(None) };
        let (shard, blob) = (ShardId(shard), BlobId(blob));
        let sql = format!(
            "select language from {} where shard = $1 and blob = $2 and repo = $3
             and exists (select from unnest($4) e where valid_from <= e and valid_to > e)
             order by valid_to desc, language limit 1",
            shard.files()
        );
        let row: Option<(Option<String>,)> = sqlx::query_as(AssertSqlSafe(sql))
            .bind(shard.0)
            .bind(blob.0)
            .bind(repo.0)
            .bind(epochs.iter().map(|epoch| epoch.0).collect::<Vec<_>>())
            .fetch_optional(self.control())
            .await?;
        let bytes = bytes as usize;
        Ok(row.map(|(language,)| StoredBlob { shard, blob, bytes, encoding, language }))
    }

    /// Returns the files that were left out of some trees of a repository.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn skipped(&self, repo: RepoId, trees: &TreeFilter) -> Result<Vec<LeftOutRow>> {
        let (sets, replaced) = trees.parameters();
        Ok(sqlx::query_as(AssertSqlSafe(format!(
            "select path, bytes, reason, rule from skipped, state
             where repo = $1 and valid_from <= epoch and valid_to > epoch and {} order by reason, path",
            trees::condition("", 2, 3)
        )))
        .bind(repo.0)
        .bind(sets)
        .bind(replaced)
        .fetch_all(self.control())
        .await?)
    }

    /// Returns one of some paths that was left out of some trees of a repository, and why: the longest such path. `None` if none was.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn left_out(
        &self,
        repo: RepoId,
        trees: &TreeFilter,
        paths: &[&str],
    ) -> Result<Option<LeftOutRow>> {
        let (sets, replaced) = trees.parameters();
        Ok(sqlx::query_as(AssertSqlSafe(format!(
            "select path, bytes, reason, rule from skipped, state
             where repo = $1 and path = any($4) and valid_from <= epoch and valid_to > epoch and {}
             order by length(path) desc limit 1",
            trees::condition("", 2, 3)
        )))
        .bind(repo.0)
        .bind(sets)
        .bind(replaced)
        .bind(paths)
        .fetch_optional(self.control())
        .await?)
    }

    /// Returns the number of files whose texts do not reproduce their bytes.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn inexact_files(&self) -> Result<i64> {
        let shards: Vec<i16> = sqlx::query_scalar(
            "select distinct shard from blobs where right(encoding, 9) = '(inexact)' order by 1",
        )
        .fetch_all(self.control())
        .await?;
        let mut all = 0;
        for shard in shards.into_iter().map(ShardId) {
            let sql = format!(
                "select count(*) from {} f
                 join blobs b on b.shard = f.shard and b.id = f.blob and right(b.encoding, 9) = '(inexact)'
                 cross join state s
                 where f.shard = $1 and f.valid_from <= s.epoch and f.valid_to > s.epoch",
                shard.files()
            );
            let files: i64 = sqlx::query_scalar(AssertSqlSafe(sql))
                .bind(shard.0)
                .fetch_one(self.control())
                .await?;
            all += files;
        }
        Ok(all)
    }

    /// Returns the number of files left out of the main trees of all repositories, by reason.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn skipped_by_reason(&self) -> Result<HashMap<String, i64>> {
        let rows: Vec<(String, i64)> = sqlx::query_as(
            "select reason, count(*) from skipped, state
             where valid_from <= epoch and valid_to > epoch and trees >= 0 group by reason",
        )
        .fetch_all(self.control())
        .await?;
        Ok(rows.into_iter().collect())
    }
}
