//! Publishing: the new state of some repositories becomes current, in two steps.
//!
//! The first step writes all rows of the next epoch and commits them. Nobody reads them yet, since every search filters
//! by its epoch. The second step, a transaction of a few rows, increments the epoch. So a search sees an epoch
//! completely or not at all, even with shards on several servers. An ingest killed in between has changed nothing
//! visible, and the next one undoes its rows.

mod counts;

use std::collections::BTreeSet;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

pub(crate) use self::counts::{Counts, count};
use self::counts::{count_languages, update_repos};
use super::diff::RepoRow;
use super::session::{FOREVER, Session};
use super::symbols;
use super::trees::{self, Plan, main_left_out};
use crate::error::Result;
use crate::history::keep as history;
use crate::metadata;
use crate::scip::keep as scip;
use crate::{Epoch, RepoId, RepoMetadata, ShardId, monitors, nodes};

/// The channel on which listeners are notified of a new epoch.
pub(crate) const EPOCHS: &str = "codesearch_epoch";

/// Number of files that an epoch changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// Files that are new or have new contents.
    pub stored: i64,
    /// Files that are gone or had other contents.
    pub retired: i64,
    /// Other rows that changed with the trees of repositories.
    pub moved: i64,
}

/// An epoch whose rows are written, but which is not current yet.
#[derive(Debug)]
struct Prepared {
    epoch: Epoch,
    published: Published,
    /// Number of rows of `skipped` that begin or end with this epoch.
    skips: u64,
    /// The shards with files that begin or end with this epoch.
    changed: BTreeSet<ShardId>,
}

impl Session {
    /// Makes the new state of these repositories current, removes the repositories in `gone` (others than these), and
    /// makes the shards in `indexed` live. Until [`Store::build_path_indexes`], lookups scan all paths of those shards.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement; then the index is unchanged, except for rows that the next
    /// session undoes.
    pub async fn publish(
        &mut self,
        repos: &[RepoRow],
        gone: &[RepoId],
        indexed: &[ShardId],
    ) -> Result<Published> {
        let prepared = self.prepare(repos, gone).await?;
        self.make_current(repos, gone, indexed, &prepared).await?;
        for state in &mut self.shards {
            state.live |= indexed.contains(&state.shard);
        }
        self.changed.extend(prepared.changed);
        Ok(prepared.published)
    }

    /// Writes the rows of the next epoch: the first step.
    async fn prepare(&mut self, repos: &[RepoRow], gone: &[RepoId]) -> Result<Prepared> {
        let ids: Vec<i32> = repos.iter().map(|repo| repo.id.0).collect();
        let gone: Vec<i32> = gone.iter().map(|id| id.0).collect();
        let left = self.shards_of(&gone).await?;
        self.conn
            .execute(
                "create index if not exists loaded_shard on loaded (shard, blob);
                 analyze loaded; analyze left_out",
            )
            .await?;
        let compares = self.compares("k");
        let mut tx = self.conn.begin().await?;
        nodes::commit_as_one(&mut tx, self.groups).await?;
        let (next,): (i32,) =
            sqlx::query_as("update state set prepared = epoch + 1 returning prepared")
                .fetch_one(&mut *tx)
                .await?;
        let mut changed = BTreeSet::new();
        renew(&mut tx).await?;
        let plans = &self.trees;
        let moved = trees::apply(&mut tx, next, plans, &mut changed).await?;
        trees::end_of(&mut tx, next, &gone).await?;
        let mut retired = moved.retired;
        retired += end(&mut tx, next, &ids, &mut changed).await?;
        for shard in left {
            let sql = format!(
                "update {} set valid_to = $1 where valid_to = {FOREVER} and repo = any($2)",
                shard.files()
            );
            let ended = sqlx::query(AssertSqlSafe(sql)).bind(next).bind(&gone);
            retired += ended.execute(&mut *tx).await?.rows_affected();
            changed.insert(shard);
        }
        let stored = insert(&mut tx, next, &mut changed).await?;
        let skips = skip(&mut tx, next, (&ids, &gone), &compares, plans).await?;
        tx.commit().await?;
        let (stored, retired, moved) = (stored as i64, retired as i64, moved.rows as i64);
        let published = Published { stored, retired, moved };
        Ok(Prepared { epoch: Epoch(next), published, skips, changed })
    }

    /// Makes the prepared epoch current and notifies listeners: the second step.
    async fn make_current(
        &mut self,
        repos: &[RepoRow],
        gone: &[RepoId],
        indexed: &[ShardId],
        prepared: &Prepared,
    ) -> Result<()> {
        let Prepared { epoch, published, skips, changed } = prepared;
        let ids: Vec<i32> = repos.iter().map(|repo| repo.id.0).collect();
        let gone: Vec<i32> = gone.iter().map(|id| id.0).collect();
        let mut shards = self.shards_of(&ids).await?;
        shards.extend(changed);
        shards.sort_unstable();
        shards.dedup();
        let counts = count(&mut self.conn, *epoch, &ids, &shards).await?;
        let languages = count_languages(&mut self.conn, *epoch, changed).await?;
        nodes::settle(&mut self.conn, self.groups).await?;
        let mut tx = self.conn.begin().await?;
        nodes::commit_as_one(&mut tx, self.groups).await?;
        let sources: Vec<(RepoId, &str)> =
            repos.iter().map(|repo| (repo.id, &*repo.source)).collect();
        let said: Vec<(&str, RepoMetadata)> = repos
            .iter()
            .filter_map(|repo| Some((&*repo.source, self.metadata.remove(&repo.id)?)))
            .collect();
        metadata::forget(&mut tx, &sources, &gone).await?;
        let mut told = update_repos(&mut tx, repos, &counts, &self.listed, &self.looked).await?;
        told += metadata::publish(&mut tx, &said).await?;
        take(&mut tx, &std::mem::take(&mut self.taken)).await?;
        let plans = std::mem::take(&mut self.trees);
        trees::make_current(&mut tx, &plans).await?;
        for repo in &ids {
            if let Some(globs) = self.branches.remove(&RepoId(*repo)) {
                sqlx::query("update repos set branches = $2 where id = $1")
                    .bind(repo)
                    .bind(globs)
                    .execute(&mut *tx)
                    .await?;
            }
        }
        sqlx::query("delete from repos where id = any($1)").bind(&gone).execute(&mut *tx).await?;
        scip::delete_imports(&mut tx, self.groups, &gone, None).await?;
        history::delete(&mut tx, &gone).await?;
        monitors::delete(&mut tx, &gone).await?;
        monitors::note_first_epoch(&mut tx, &ids, *epoch).await?;
        scip::recount(&mut tx, self.groups, &ids).await?;
        let numbers = |shards: &mut dyn Iterator<Item = ShardId>| -> Vec<i16> {
            shards.map(|shard| shard.0).collect()
        };
        sqlx::query("update shards set live_from = coalesce(live_from, $1) where shard = any($2)")
            .bind(epoch.0)
            .bind(numbers(&mut indexed.iter().copied()))
            .execute(&mut *tx)
            .await?;
        sqlx::query("update shards set changed = $1 where shard = any($2)")
            .bind(epoch.0)
            .bind(numbers(&mut changed.iter().copied()))
            .execute(&mut *tx)
            .await?;
        for (shard, names, chunks) in languages {
            sqlx::query("update shards set languages = $2, language_chunks = $3 where shard = $1")
                .bind(shard.0)
                .bind(names)
                .bind(chunks)
                .execute(&mut *tx)
                .await?;
        }
        // The first ingest makes an epoch even if it found nothing to index.
        let Published { stored, retired, moved } = *published;
        let differs = stored + retired + moved > 0 || skips + told > 0;
        if epoch.0 == 1 || differs || !gone.is_empty() {
            advance(&mut tx, *epoch).await?;
        } else {
            tx.execute("update state set prepared = null").await?;
        }
        tx.execute("truncate loaded, left_out, renewed, ended").await?;
        Ok(tx.commit().await?)
    }
}

/// Number of switches to keep. A server that missed more than these drops its memory. Cursors of the last five minutes
/// resume at one epoch a second, and at two.
const KEPT_SWITCHES: i32 = 640;

/// Deletes rows of the queue, in the transaction that publishes what they named.
async fn take(conn: &mut PgConnection, rows: &[i64]) -> Result<()> {
    if !rows.is_empty() {
        sqlx::query("delete from pending where id = any($1)").bind(rows).execute(conn).await?;
    }
    Ok(())
}

/// Makes an epoch current, and notifies listeners once the transaction has committed.
pub(crate) async fn advance(conn: &mut PgConnection, epoch: Epoch) -> Result<()> {
    // Flushes before anyone is notified, so that no crash can undo the epoch; all earlier commits are flushed, too.
    conn.execute("set local synchronous_commit = on").await?;
    sqlx::query("update state set epoch = $1, prepared = null")
        .bind(epoch.0)
        .execute(&mut *conn)
        .await?;
    sqlx::query(
        "insert into switches (epoch, number) values ($1, (random() * 9e18)::bigint)
         on conflict (epoch) do update set number = excluded.number",
    )
    .bind(epoch.0)
    .execute(&mut *conn)
    .await?;
    sqlx::query("delete from switches where epoch <= $1 - $2 or epoch > $1")
        .bind(epoch.0)
        .bind(KEPT_SWITCHES)
        .execute(&mut *conn)
        .await?;
    sqlx::query("select pg_notify($1, $2)")
        .bind(EPOCHS)
        .bind(epoch.0.to_string())
        .execute(conn)
        .await?;
    Ok(())
}

/// Keeps the rows of files that were read again and are unchanged, with the new fingerprint.
async fn renew(conn: &mut PgConnection) -> Result<()> {
    conn.execute(
        "with same as (
             delete from loaded l using current_files f
             where f.repo = l.repo and f.path = l.path and f.shard = l.shard and f.blob = l.blob
               and f.language is not distinct from l.language
             returning l.shard, l.blob, l.repo, l.path, l.fingerprint, f.fingerprint as before),
         noted as (insert into unchanged select repo, path from same)
         insert into renewed
         select shard, blob, repo, path, fingerprint from same where fingerprint <> before;
         analyze unchanged",
    )
    .await?;
    for shard in shards_in(conn, "renewed").await? {
        let (blobs, repos, paths, fingerprints): (Vec<i32>, Vec<i32>, Vec<String>, Vec<i64>) =
            sqlx::query_as(
                "select array_agg(blob), array_agg(repo), array_agg(path), array_agg(fingerprint)
                 from renewed where shard = $1",
            )
            .bind(shard.0)
            .fetch_one(&mut *conn)
            .await?;
        let sql = format!(
            "update {} f set fingerprint = r.fingerprint
             from unnest($1::int[], $2::int[], $3::text[], $4::bigint[]) r (blob, repo, path, fingerprint)
             where f.shard = {} and f.blob = r.blob and f.repo = r.repo and f.path = r.path
               and f.valid_to = {FOREVER} and f.trees >= 0",
            shard.files(),
            shard.0
        );
        let update = sqlx::query(AssertSqlSafe(sql)).bind(blobs).bind(repos).bind(paths);
        update.bind(fingerprints).execute(&mut *conn).await?;
    }
    Ok(())
}

/// Ends the files of some repositories that are not known to be unchanged: they have new contents, are left out, or are
/// gone. Returns their number.
async fn end(
    conn: &mut PgConnection,
    next: i32,
    repos: &[i32],
    changed: &mut BTreeSet<ShardId>,
) -> Result<u64> {
    sqlx::query(
        "insert into ended select shard, blob, repo, path from current_files c
         where repo = any($1)
           and not exists (select from unchanged u where u.repo = c.repo and u.path = c.path)",
    )
    .bind(repos)
    .execute(&mut *conn)
    .await?;
    let mut count = 0;
    for shard in shards_in(conn, "ended").await? {
        let (blobs, repos, paths): (Vec<i32>, Vec<i32>, Vec<String>) = sqlx::query_as(
            "select array_agg(blob), array_agg(repo), array_agg(path) from ended where shard = $1",
        )
        .bind(shard.0)
        .fetch_one(&mut *conn)
        .await?;
        let sql = format!(
            "update {} f set valid_to = $1 from unnest($2::int[], $3::int[], $4::text[]) e (blob, repo, path)
             where f.shard = {} and f.blob = e.blob and f.repo = e.repo and f.path = e.path
               and f.valid_to = {FOREVER} and f.trees >= 0",
            shard.files(),
            shard.0
        );
        let update = sqlx::query(AssertSqlSafe(sql)).bind(next).bind(blobs).bind(repos).bind(paths);
        count += update.execute(&mut *conn).await?.rows_affected();
        changed.insert(shard);
    }
    Ok(count)
}

/// Inserts the files that are new or have new contents. Returns their number.
async fn insert(
    conn: &mut PgConnection,
    next: i32,
    changed: &mut BTreeSet<ShardId>,
) -> Result<u64> {
    let mut count = 0;
    for shard in shards_in(conn, "loaded").await? {
        let sql = format!(
            "insert into {} (shard, blob, repo, valid_from, bytes, fingerprint, language, path, trees)
             select shard, blob, repo, $1, bytes, fingerprint, language, path, trees
             from loaded where shard = {} order by blob",
            shard.files(),
            shard.0
        );
        let done = sqlx::query(AssertSqlSafe(sql)).bind(next).execute(&mut *conn).await?;
        symbols::retake_symbols(conn, shard).await?;
        count += done.rows_affected();
        changed.insert(shard);
    }
    Ok(count)
}

/// Ends and inserts rows of files that are left out, of some repositories as far as they are compared, and of those that
/// are gone. Files left out for their contents were not read again if their
/// fingerprint was the same. Returns the number of changed rows.
async fn skip(
    conn: &mut PgConnection,
    next: i32,
    (repos, gone): (&[i32], &[i32]),
    compares: &str,
    plans: &[Plan],
) -> Result<u64> {
    // The trees of all that is left out may be others.
    let whole: Vec<i32> = plans.iter().map(Plan::repo).collect();
    let sql = format!(
        "insert into left_out (repo, path, bytes, fingerprint, reason, rule) {}",
        main_left_out(&whole, compares)
    );
    sqlx::query(AssertSqlSafe(sql)).bind(repos).execute(&mut *conn).await?;
    trees::apply_to_left_out(conn, plans).await?;
    let ended = sqlx::query(AssertSqlSafe(format!(
        "update skipped k set valid_to = $3
         where k.valid_to = {FOREVER} and (k.repo = any($1) and ({compares} or k.repo = any($4)) or k.repo = any($2))
           and not exists (select from left_out o
               where o.repo = k.repo and o.path = k.path and o.reason = k.reason
                 and o.bytes = k.bytes and o.fingerprint = k.fingerprint
                 and o.rule is not distinct from k.rule and o.trees = k.trees)"
    )))
    .bind(repos)
    .bind(gone)
    .bind(next)
    .bind(whole)
    .execute(&mut *conn)
    .await?;
    let begun = sqlx::query(AssertSqlSafe(format!(
        "insert into skipped (repo, valid_from, bytes, fingerprint, reason, rule, path, trees)
         select o.repo, $1, o.bytes, o.fingerprint, o.reason, o.rule, o.path, o.trees from left_out o
         where not exists (select from skipped k
             where k.repo = o.repo and k.path = o.path and k.valid_to = {FOREVER} and k.reason = o.reason
               and k.bytes = o.bytes and k.fingerprint = o.fingerprint
               and k.rule is not distinct from o.rule and k.trees = o.trees)"
    )))
    .bind(next)
    .execute(&mut *conn)
    .await?;
    Ok(ended.rows_affected() + begun.rows_affected())
}

/// Returns the shards that occur in a temporary table.
async fn shards_in(conn: &mut PgConnection, table: &str) -> Result<Vec<ShardId>> {
    let sql = format!("select distinct shard from {table} order by shard");
    let shards: Vec<i16> = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(&mut *conn).await?;
    Ok(shards.into_iter().map(ShardId).collect())
}

#[cfg(test)]
mod tests;
