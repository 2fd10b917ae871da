//! The rows of files that an epoch changed.

use sqlx::AssertSqlSafe;

use crate::error::Result;
use crate::store::Store;
use crate::trees::Trees;
use crate::{BlobId, Epoch, RepoId, ShardId};

/// A file that an epoch ended or began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVersion {
    /// Its repository.
    pub repo: RepoId,
    /// Its path there.
    pub path: String,
    /// The shard of its text.
    pub shard: ShardId,
    /// The text.
    pub blob: BlobId,
    /// Bytes of the text.
    pub bytes: i32,
    /// Its language, if recognised.
    pub language: Option<String>,
    /// The trees that have it.
    pub trees: Trees,
}

/// What an epoch changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedRows {
    /// The files that ended with it: they were part of the epoch before.
    pub ended: Vec<FileVersion>,
    /// The files that began with it.
    pub begun: Vec<FileVersion>,
    /// The repositories that began with it.
    pub new_repos: Vec<RepoId>,
}

/// A row of `files`: whether it begins, then the columns of a [`FileVersion`].
type Row = (bool, i16, i32, i32, i32, String, Option<String>, i32);

impl Store {
    /// Returns the rows of files that an epoch changed; `None` if some of them may be deleted. They are complete if their
    /// deletion is prevented until the call ends: by a catalog of the epoch before, or by monitors that wait for it.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn changed_rows(&self, epoch: Epoch) -> Result<Option<ChangedRows>> {
        let mut conn = self.control().acquire().await?;
        let shards: Vec<i16> =
            sqlx::query_scalar("select shard from shards where changed >= $1 order by shard")
                .bind(epoch.0)
                .fetch_all(&mut *conn)
                .await?;
        let mut rows = ChangedRows::default();
        // The statements differ with the shards and the epoch, so none is kept prepared.
        for some in shards.chunks(SHARDS_AT_ONCE) {
            let of_shard = |shard: &i16| {
                let shard = ShardId(*shard);
                format!(
                    "select valid_from = {0}, shard, blob, bytes, repo, path, language, trees from {1}
                     where valid_from = {0} or valid_to = {0}",
                    epoch.0,
                    shard.files()
                )
            };
            let sql = some.iter().map(of_shard).collect::<Vec<_>>().join(" union all ");
            let found: Vec<Row> =
                sqlx::query_as(AssertSqlSafe(sql)).persistent(false).fetch_all(&mut *conn).await?;
            for (begins, shard, blob, bytes, repo, path, language, trees) in found {
                let (shard, blob, repo) = (ShardId(shard), BlobId(blob), RepoId(repo));
                let trees = Trees(trees);
                let file = FileVersion { repo, path, shard, blob, bytes, language, trees };
                if begins { &mut rows.begun } else { &mut rows.ended }.push(file);
            }
        }
        let new: Vec<i32> = sqlx::query_scalar("select id from repos where first_epoch = $1")
            .bind(epoch.0)
            .fetch_all(&mut *conn)
            .await?;
        rows.new_repos = new.into_iter().map(RepoId).collect();
        let kept: i32 =
            sqlx::query_scalar("select kept_from from state").fetch_one(&mut *conn).await?;
        Ok((kept < epoch.0).then_some(rows))
    }

    /// Returns the first epoch of which no row is deleted: the changes after it can be told.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn kept_from(&self) -> Result<Epoch> {
        let kept = sqlx::query_scalar("select kept_from from state").fetch_one(self.control());
        Ok(Epoch(kept.await?))
    }
}

/// Shards that one statement reads. Planning takes time for each.
const SHARDS_AT_ONCE: usize = 64;
