//! Looks up documents: by place, and by a symbol that they mention.

use sqlx::postgres::PgRow;
use sqlx::{FromRow, Row};

use super::document::{ScipDocument, hash};
use crate::error::Result;
use crate::lease::{BoundStatement, Lease};
use crate::store::Store;
use crate::tables::Groups;
use crate::trees;
use crate::{BlobId, FileFilter, RepoId, ShardId};

/// An imported index.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct ScipImport {
    /// Key of its repository.
    #[sqlx(try_from = "i32")]
    pub repo: RepoId,
    /// The folder of the repository for which the index was made; empty for the whole.
    pub root: String,
    /// The tool that made it.
    pub tool: String,
    /// The version of that tool.
    pub version: String,
    /// Number of its documents that were stored.
    pub documents: i32,
    /// Number of stored documents whose files are unchanged.
    pub fitting: i32,
    /// Number of its documents that were not stored.
    pub refused: i32,
    /// Number of places in the stored documents.
    pub occurrences: i64,
    /// The time when it was imported, as `2026-01-31 12:00:00Z`.
    pub imported_at: String,
}

/// A document, and the file that it describes.
#[derive(Clone, Debug)]
pub struct ScipPlace {
    /// The shard of the file.
    pub shard: ShardId,
    /// Its blob.
    pub blob: BlobId,
    /// Its repository.
    pub repo: RepoId,
    /// Key of the import.
    pub import: i32,
    /// Its path in the repository.
    pub path: String,
    /// Bytes of its text.
    pub bytes: i32,
    /// Its language, if recognised.
    pub language: Option<String>,
    /// The document.
    pub document: ScipDocument,
}

/// A row of a document with its file.
struct PlaceRow(Option<ScipPlace>);

impl FromRow<'_, PgRow> for PlaceRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let (shard, path): (i16, String) = (row.try_get("shard")?, row.try_get("path")?);
        let Some(document) =
            ScipDocument::unpack(row.try_get("names")?, row.try_get("occurrences")?)
        else {
            tracing::warn!("the SCIP data of {path} are damaged; run: codesearch check");
            return Ok(Self(None));
        };
        Ok(Self(Some(ScipPlace {
            shard: ShardId(shard),
            blob: BlobId(row.try_get("blob")?),
            repo: RepoId(row.try_get("repo")?),
            import: row.try_get("import")?,
            path,
            bytes: row.try_get("bytes")?,
            language: row.try_get("language")?,
            document,
        })))
    }
}

/// Returns the statement that reads the documents of a shard that satisfy a condition, and whose files are unchanged in
/// the epoch `$1`, in one of the trees that `$2` and `$3` tell.
fn places(shard: ShardId, groups: Groups, condition: &str) -> String {
    format!(
        "select s.shard, s.blob, i.repo, s.import, s.path, f.bytes, f.language, s.names, s.occurrences
         from {} s join scip_imports i on i.id = s.import
              join {} f on f.shard = {n} and f.blob = s.blob and f.repo = i.repo and f.path = s.path
                       and f.valid_from <= $1 and f.valid_to > $1 and {trees}
         where s.shard = {n} and {condition}",
        shard.scip(groups),
        shard.files(),
        n = shard.0,
        trees = trees::condition("f.", 2, 3)
    )
}

impl Lease {
    /// Returns the documents of a file that passes a filter, the newest import first.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn scip_of(
        &mut self,
        filter: &FileFilter,
        (shard, blob): (ShardId, BlobId),
        (repo, path): (RepoId, &str),
    ) -> Result<Vec<ScipPlace>> {
        let sql = places(shard, self.groups(), "s.blob = $4 and i.repo = $5 and s.path = $6");
        let sql = format!("{sql} order by s.import desc");
        let (sets, replaced) = filter.trees.parameters();
        let bound = BoundStatement::new(sql).bind(filter.epoch.0).bind(sets).bind(replaced);
        let bound = bound.bind(blob.0).bind(repo.0);
        self.places_of(bound.bind(path.to_owned())).await
    }

    /// Returns the documents of a shard that mention one of some symbols, those of the repository `near` first; at most
    /// `most`, of the repositories that may be `visible`. May include another document, if one of its symbols has the
    /// same hash.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn scip_mentions(
        &mut self,
        filter: &FileFilter,
        shard: ShardId,
        symbols: &[&str],
        near: RepoId,
        most: usize,
    ) -> Result<Vec<ScipPlace>> {
        let hashes: Vec<i64> = symbols.iter().map(|symbol| hash(symbol)).collect();
        let condition = "s.hashes && $4 and ($7::int[] is null or i.repo = any($7))";
        let sql = places(shard, self.groups(), condition);
        let sql = format!("{sql} order by i.repo <> $5, s.blob, s.path, s.import limit $6");
        let visible =
            filter.repos.as_ref().map(|ids| ids.iter().map(|id| id.0).collect::<Vec<_>>());
        let (sets, replaced) = filter.trees.parameters();
        let bound = BoundStatement::new(sql)
            .bind(filter.epoch.0)
            .bind(sets)
            .bind(replaced)
            .bind(hashes)
            .bind(near.0)
            .bind(most as i64)
            .bind(visible);
        self.places_of(bound).await
    }

    /// Returns the shards with documents of one import, or of any.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn scip_shards(&mut self, import: Option<i32>) -> Result<Vec<ShardId>> {
        let sql = "select distinct unnest(shards) from scip_imports where $1::int is null or id = $1 order by 1";
        let rows: Vec<(i16,)> =
            self.fetch(BoundStatement::new(sql.to_owned()).bind(import)).await?;
        Ok(rows.into_iter().map(|(shard,)| ShardId(shard)).collect())
    }

    async fn places_of(&mut self, bound: BoundStatement) -> Result<Vec<ScipPlace>> {
        let rows: Vec<PlaceRow> = self.fetch(bound).await?;
        Ok(rows.into_iter().filter_map(|row| row.0).collect())
    }
}

impl Store {
    /// Returns the imported indexes, by repository, folder and tool.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn scip_imports(&self) -> Result<Vec<ScipImport>> {
        Ok(sqlx::query_as(
            "select repo, root, tool, version, documents, fitting, refused, occurrences,
                    to_char(imported_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS\"Z\"') imported_at
             from scip_imports order by repo, root, tool",
        )
        .fetch_all(self.control())
        .await?)
    }

    /// Returns the bytes on disk of imported data.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn scip_bytes(&self) -> Result<i64> {
        let here: i64 = sqlx::query_scalar(
            "select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class
             where relnamespace = 'codesearch'::regnamespace and relkind = 'r' and relname like 'scip\\_%'",
        )
        .fetch_one(self.control())
        .await?;
        Ok(here + self.bytes_on_nodes(&["scip"]).await?)
    }
}
