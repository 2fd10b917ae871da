//! Stores a SCIP index: all of it in one transaction.

use std::collections::BTreeSet;

use sqlx::{AssertSqlSafe, Connection, Executor, Postgres, Transaction};

use super::copy::{self, Rows};
use super::session::{FOREVER, Session};
use super::symbols::texts;
use crate::error::Result;
use crate::other_work::OtherWork;
use crate::scip::ScipDocument;
use crate::scip::keep;
use crate::tables::Groups;
use crate::{BlobId, RepoId, ShardId};

/// The origin of an index.
#[derive(Clone, Copy, Debug)]
pub struct ScipSource<'a> {
    /// The folder of the repository for which the index was made; empty for the whole.
    pub root: &'a str,
    /// The tool that made it.
    pub tool: &'a str,
    /// The version of that tool.
    pub version: &'a str,
}

/// A file of the repository to which a document may belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScipFile {
    /// Its path.
    pub path: String,
    /// Its shard.
    pub shard: ShardId,
    /// Its blob.
    pub blob: BlobId,
    /// Bytes of its text.
    pub bytes: i32,
    /// Whether an earlier document asked for it.
    pub taken: bool,
}

/// Stores an index. The index takes effect once it has [finished](Self::finish); if dropped before, nothing changes.
#[derive(Debug)]
pub struct ScipWriter<'s> {
    tx: Transaction<'s, Postgres>,
    import: i32,
    shards: BTreeSet<i16>,
    documents: i32,
    occurrences: i64,
    replaces: bool,
    groups: Groups,
    other_work: OtherWork,
}

impl Session {
    /// Begins to store an index of a repository; it replaces one of the same folder and tool.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn scip_writer(
        &mut self,
        repo: RepoId,
        source: ScipSource<'_>,
    ) -> Result<ScipWriter<'_>> {
        let (groups, other_work) = (self.groups, self.other_work.clone());
        let mut tx = self.conn.begin().await?;
        let of = Some((source.root, source.tool));
        let gone = keep::delete_imports(&mut tx, self.groups, &[repo.0], of).await?;
        let import: i32 = sqlx::query_scalar(
            "insert into scip_imports (repo, root, tool, version) values ($1, $2, $3, $4) returning id",
        )
        .bind(repo.0)
        .bind(source.root)
        .bind(source.tool)
        .bind(source.version)
        .fetch_one(&mut *tx)
        .await?;
        tx.execute(
            "create temp table scip_files (path text, shard smallint, blob int, bytes int,
                                           taken boolean not null default false) on commit drop",
        )
        .await?;
        let shards: Vec<i16> = sqlx::query_scalar("select unnest(shards) from repos where id = $1")
            .bind(repo.0)
            .fetch_all(&mut *tx)
            .await?;
        for shard in shards.into_iter().map(ShardId) {
            let sql = format!(
                "insert into scip_files select path, shard, blob, bytes from {}
                 where shard = {} and repo = $1 and valid_to = {FOREVER}",
                shard.files(),
                shard.0
            );
            sqlx::query(AssertSqlSafe(sql)).bind(repo.0).execute(&mut *tx).await?;
        }
        // Paths may be too long for a B-tree.
        tx.execute("create index on scip_files using hash (path); analyze scip_files").await?;
        let (shards, replaces) = (BTreeSet::new(), gone > 0);
        Ok(ScipWriter {
            tx,
            import,
            shards,
            documents: 0,
            occurrences: 0,
            replaces,
            groups,
            other_work,
        })
    }

    /// Deletes all indexes of a repository, and returns their number.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn delete_scip(&mut self, repo: RepoId) -> Result<usize> {
        let mut tx = self.conn.begin().await?;
        let count = keep::delete_imports(&mut tx, self.groups, &[repo.0], None).await?;
        tx.commit().await?;
        Ok(count)
    }
}

impl ScipWriter<'_> {
    /// Returns whether the index replaces another one.
    pub fn replaces(&self) -> bool {
        self.replaces
    }

    /// Awaits work outside of Postgres, during which silence is normal.
    pub async fn await_other<T>(&self, work: impl Future<Output = T>) -> T {
        self.other_work.during(work).await
    }

    /// Returns the files with some paths. Paths without a file are missing.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn files(&mut self, paths: &[String]) -> Result<Vec<ScipFile>> {
        // Both parts see the table before the update.
        let rows: Vec<(String, i16, i32, i32, bool)> = sqlx::query_as(
            "with taken as (update scip_files set taken = true where path = any($1) and not taken)
             select path, shard, blob, bytes, taken from scip_files where path = any($1)",
        )
        .bind(paths)
        .fetch_all(&mut *self.tx)
        .await?;
        let file = |(path, shard, blob, bytes, taken)| ScipFile {
            path,
            shard: ShardId(shard),
            blob: BlobId(blob),
            bytes,
            taken,
        };
        Ok(rows.into_iter().map(file).collect())
    }

    /// Returns the texts of some blobs, ascending by blob.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn texts(
        &mut self,
        shard: ShardId,
        blobs: &[BlobId],
    ) -> Result<Vec<(BlobId, String)>> {
        let texts = texts(&mut self.tx, shard, blobs).await?;
        Ok(texts.into_iter().map(|(blob, text, _)| (blob, text)).collect())
    }

    /// Stores the documents of some files of a shard: blob, path and document.
    ///
    /// # Errors
    /// The server cannot be reached, its disk is full, or it refuses the statement.
    pub async fn store(
        &mut self,
        shard: ShardId,
        all: &[(BlobId, String, ScipDocument)],
    ) -> Result<()> {
        let mut rows = Rows::new();
        for (blob, path, document) in all {
            rows.row(7).i16(shard.0).i32(blob.0).i32(self.import).text(Some(path.as_str()));
            rows.text(Some(document.names.as_str()))
                .i64s(&document.hashes())
                .bytes(&document.pack());
            self.documents += 1;
            self.occurrences += document.occurrences.len() as i64;
        }
        let statement = format!(
            "copy {} (shard, blob, import, path, names, hashes, occurrences) from stdin (format binary)",
            shard.scip(self.groups)
        );
        copy::send(&mut self.tx, &statement, rows).await?;
        self.shards.insert(shard.0);
        Ok(())
    }

    /// Makes all stored documents visible at once. `refused` is the number of documents that were not stored.
    ///
    /// # Errors
    /// The server cannot be reached, its disk is full, or it refuses a statement.
    pub async fn finish(mut self, refused: usize) -> Result<()> {
        sqlx::query(
            "update scip_imports set documents = $2, fitting = $2, refused = $3, occurrences = $4, shards = $5
             where id = $1",
        )
        .bind(self.import)
        .bind(self.documents)
        .bind(i32::try_from(refused).unwrap_or(i32::MAX))
        .bind(self.occurrences)
        .bind(self.shards.iter().copied().collect::<Vec<i16>>())
        .execute(&mut *self.tx)
        .await?;
        self.tx.commit().await?;
        Ok(())
    }
}
