//! Reads a catalog.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex as StdMutex, OnceLock, RwLock};

use query::Properties;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use super::current::{Current, current_epoch};
use super::pins::{PIN_ANSWERS, Pin, Pins};
use super::{Catalog, CatalogRepo, CatalogRepos, Shard};
use crate::error::{Error, Result};
use crate::freshness;
use crate::locks::PIN_LOCKS;
use crate::metadata;
use crate::store::Store;
use crate::target::{ANSWER, answered};
use crate::trees::{RepoTrees, Tree, TreeFilter, TreeKind, TreeSet};
use crate::{Epoch, RepoId, ShardId, Switch};

/// A row of `shards`: the columns that the catalog reads.
type ShardRow = (i16, i64, i32, i32, i32, i32, i32, Vec<String>, Vec<i32>);

/// A row of `trees`: the columns that the catalog reads.
type TreeRow = (i32, i32, String, String, Option<String>, Option<String>, i64, Option<f64>);

impl Store {
    /// Reads the catalog of the current epoch and pins that epoch.
    ///
    /// # Errors
    /// [`Error::Empty`] if nothing was ever indexed; the server cannot be reached, or does not
    /// answer.
    pub async fn catalog(&self) -> Result<Catalog> {
        answered(ANSWER, self.read_catalog(None)).await
    }

    /// Like [`catalog`](Self::catalog). Shares with an earlier catalog its connection and what has not changed since, so
    /// that a server can keep hundreds.
    ///
    /// # Errors
    /// Those of [`catalog`](Self::catalog).
    pub async fn catalog_after(&self, earlier: &Catalog) -> Result<Catalog> {
        if !earlier.pin.pins.is_broken.load(Ordering::Relaxed) {
            match answered(PIN_ANSWERS, self.read_catalog(Some(earlier))).await {
                Err(Error::Unreachable(why)) => {
                    earlier.pin.pins.is_broken.store(true, Ordering::Relaxed);
                    tracing::debug!("the connection that pins epochs is replaced: {why}");
                }
                read => return read,
            }
        }
        self.catalog().await
    }

    async fn read_catalog(&self, earlier: Option<&Catalog>) -> Result<Catalog> {
        let pins = match earlier {
            Some(earlier) => Arc::clone(&earlier.pin.pins),
            None => Arc::new(Pins::new(self.connection().await?)),
        };
        let mut guard = pins.conn.lock().await;
        let conn = &mut *guard;
        pins.free(conn).await?;
        let mut current = current_epoch(conn).await?;
        let pin = loop {
            // However this ends, its lock will be freed.
            let pin = Pin { pins: Arc::clone(&pins), epoch: current.epoch };
            sqlx::query("select pg_advisory_lock_shared($1, $2)")
                .bind(PIN_LOCKS)
                .bind(current.epoch.0)
                .execute(&mut *conn)
                .await?;
            // An ingest may have published and deleted between the reading and the locking.
            let now = current_epoch(conn).await?;
            if now == current {
                break pin;
            }
            drop(pin);
            pins.free(conn).await?;
            current = now;
        };
        // Both tables are read in one snapshot. If an epoch was published meanwhile, the epochs
        // differ, and all is read again.
        let mut tx = conn.begin_with("begin isolation level repeatable read read only").await?;
        let shards: Vec<ShardRow> = sqlx::query_as(
            "select shard, bytes, live_from, chunks, changed, filtered, worded, languages, language_chunks
             from shards where live_from <= $1 order by shard",
        )
        .bind(current.epoch.0)
        .fetch_all(&mut *tx)
        .await?;
        let mut trees = read_trees(&mut tx, current.epoch).await?;
        let repos = read_repos(&mut tx, &mut trees).await?;
        let (_, freshness) = freshness::read(&mut tx).await?;
        let history: Vec<i64> =
            sqlx::query_scalar("select number from switches").fetch_all(&mut *tx).await?;
        let history: Vec<Switch> = history.into_iter().map(Switch).collect();
        // What is told of another index, or of a state that was lost, is nothing to share.
        let earlier =
            earlier.filter(|of| of.identity == current.identity && history.contains(&of.switch));
        let same_skipped = match earlier {
            Some(of) if of.skipped.initialized() && of.visible.is_none() => {
                let changed: bool = sqlx::query_scalar(
                    "select exists (select from skipped where valid_from > $1 or valid_to > $1 and valid_to <= $2)",
                )
                .bind(of.epoch.0)
                .bind(current.epoch.0)
                .fetch_one(&mut *tx)
                .await?;
                Some(of).filter(|_| !changed)
            }
            _ => None,
        };
        let now = current_epoch(&mut tx).await?;
        tx.commit().await?;
        drop(guard);
        if now != current {
            drop(pin);
            return Box::pin(self.read_catalog(earlier)).await;
        }
        let Current { identity, epoch, switch } = current;
        self.want(identity, switch);
        let known = |id: ShardId| {
            let of = earlier?;
            of.shards.binary_search_by_key(&id, |shard| shard.id).ok().map(|at| &of.shards[at])
        };
        let mut catalog = Catalog {
            identity,
            epoch,
            switch,
            history,
            shards: shards
                .into_iter()
                .map(|(id, bytes, since, chunks, changed, filtered, worded, names, of_names)| {
                    Shard {
                        id: ShardId(id),
                        bytes,
                        since: Epoch(since),
                        chunks,
                        changed: Epoch(changed),
                        filtered,
                        worded,
                        languages: names
                            .into_iter()
                            .zip(of_names.into_iter().map(i32::unsigned_abs))
                            .collect(),
                    }
                })
                .collect(),
            repos: repos.into(),
            visible: None,
            trees: TreeFilter::Main,
            restricted: StdMutex::default(),
            freshness: Arc::new(RwLock::new(Arc::new(freshness))),
            pin: Arc::new(pin),
            was_searched: Arc::default(),
            skipped: same_skipped.map(|of| Arc::clone(&of.skipped)).unwrap_or_default(),
            by_reason: OnceLock::new(),
        };
        for shard in &mut catalog.shards {
            if let Some(known) = known(shard.id).filter(|of| of.languages == shard.languages) {
                shard.languages = Arc::clone(&known.languages);
            }
        }
        if let Some(earlier) = earlier.filter(|of| of.repos == catalog.repos) {
            catalog.repos = Arc::clone(&earlier.repos);
        }
        Ok(catalog)
    }
}

/// Reads all repositories, to which these trees belong.
async fn read_repos(
    conn: &mut PgConnection,
    trees: &mut HashMap<RepoId, RepoTrees>,
) -> Result<CatalogRepos> {
    let sql = format!(
        "select r.id, r.name, r.rank,
                case when r.tree_shards = '{{}}' then r.shards
                     else array(select unnest(r.shards) union select unnest(r.tree_shards) order by 1) end shards,
                r.source, r.git_folders <> '{{}}' is_linked, extract(epoch from r.listed_at)::float8 listed,
                case when r.from_commit then r.commit end of_commit, m.source is not null has_metadata, {}
         from repos r left join metadata m on m.source = r.source where r.indexed_at is not null",
        metadata::COLUMNS
    );
    let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(conn).await?;
    let unknown = Arc::<Properties>::default();
    let mut repos = HashMap::with_capacity(rows.len());
    for row in &rows {
        let id = RepoId(row.try_get("id")?);
        let (mut rank, mut properties) = (row.try_get::<i32, _>("rank")? as u16, unknown.clone());
        if row.try_get("has_metadata")? {
            let metadata = metadata::read(row)?;
            rank = if rank == 0 { metadata.rank() } else { rank };
            properties = metadata.properties.into();
        }
        let shards: Vec<i16> = row.try_get("shards")?;
        let repo = CatalogRepo {
            name: row.try_get("name")?,
            rank,
            properties,
            shards: shards.into_iter().map(ShardId).collect(),
            trees: trees.remove(&id).unwrap_or_default().into(),
            commit: row.try_get("of_commit")?,
            source: row.try_get("source")?,
            is_linked: row.try_get("is_linked")?,
            listed: row.try_get("listed")?,
        };
        repos.insert(id, Arc::new(repo));
    }
    Ok(repos)
}

/// Reads the trees of all repositories in an epoch, besides the main ones.
async fn read_trees(conn: &mut PgConnection, epoch: Epoch) -> Result<HashMap<RepoId, RepoTrees>> {
    let mut all: HashMap<RepoId, RepoTrees> = HashMap::new();
    let rows: Vec<TreeRow> = sqlx::query_as(
        "select repo, bit, kind, name, source, commit, files, extract(epoch from listed_at)::float8
         from trees where valid_from <= $1 and valid_to > $1 order by kind, name",
    )
    .bind(epoch.0)
    .fetch_all(&mut *conn)
    .await?;
    if rows.is_empty() {
        return Ok(all);
    }
    for (repo, bit, kind, name, source, commit, files, listed) in rows {
        // A newer program's kind has no name here.
        let Some(kind) = TreeKind::of(&kind) else { continue };
        let bit = bit.unsigned_abs() as usize;
        let tree = Tree { bit, kind, name, source, commit, files, listed };
        all.entry(RepoId(repo)).or_default().trees.push(tree);
    }
    let rows: Vec<(i32, i32, Vec<u8>)> = sqlx::query_as(
        "select repo, id, members from tree_sets where valid_from <= $1 and valid_to > $1 order by id",
    )
    .bind(epoch.0)
    .fetch_all(conn)
    .await?;
    for (repo, id, members) in rows {
        all.entry(RepoId(repo)).or_default().sets.push(TreeSet { id, members });
    }
    Ok(all)
}
