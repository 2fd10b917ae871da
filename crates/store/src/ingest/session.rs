//! The session of the one ingest that may run: its locks, its connection and temporary tables, and the recovery after a
//! killed one.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use super::trees::types::Plan;
use crate::error::{Error, Result};
use crate::kept::Kept;
use crate::locks::{HELPER_LOCK, SETUP_LOCK, WRITE_LOCK};
use crate::other_work::OtherWork;
use crate::store::Store;
use crate::tables::Groups;
use crate::target::{ANSWER, answered};
use crate::{RepoId, RepoMetadata, ShardId, nodes};

/// `valid_to` of a row that no epoch has ended.
pub(crate) const FOREVER: i32 = i32::MAX;

/// The state of a shard during an ingest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShardState {
    pub(crate) shard: ShardId,
    /// The next free chunk number.
    pub(crate) chunks: i32,
    /// Bytes of text.
    pub(crate) bytes: i64,
    /// Whether it has files and a complete index.
    pub(crate) live: bool,
}

/// The temporary tables of a session.
const TABLES: &str = "set work_mem = '64MB';
     create temp table seen (repo int, path text, bytes bigint, fingerprint bigint, reason text, rule text,
                             oid bytea, may_differ boolean, language text);
     create temp table current_files (shard smallint, blob int, repo int, path text,
                                      fingerprint bigint, language text);
     create temp table unchanged (repo int, path text);
     create temp table todo (number bigint primary key, repo int, path text, bytes bigint, oid bytea,
                             language text);
     create temp table known (repo int, path text, shard smallint, blob int, bytes int,
                              fingerprint bigint, language text);
     create temp table known_odd (repo int, path text, bytes bigint, fingerprint bigint, reason text);
     create temp table loaded (repo int, path text, shard smallint, blob int, bytes int,
                               fingerprint bigint, language text, trees int not null default 0);
     create temp table left_out (repo int, path text, bytes bigint, fingerprint bigint,
                                 reason text, rule text, trees int not null default 0);
     create temp table renewed (shard smallint, blob int, repo int, path text, fingerprint bigint);
     create temp table ended (shard smallint, blob int, repo int, path text);
     create index loaded_path on loaded (repo, path);
     create index left_out_path on left_out (repo, path);
     create temp table scope (repo int, path text, below boolean)";

/// Empties those tables.
const EMPTY: &str = "truncate seen, current_files, unchanged, todo, known, known_odd, loaded, left_out, renewed, ended, scope";

/// The session of the one ingest that may run.
#[derive(Debug)]
pub struct Session {
    pub(crate) conn: PgConnection,
    /// The shards, and their fill.
    pub(crate) shards: Vec<ShardState>,
    /// Whether an earlier ingest was killed, so that there may be contents without files.
    pub(crate) sweep: bool,
    /// The shards whose files this session has changed.
    pub(crate) changed: BTreeSet<ShardId>,
    /// When each repository began to be listed, in seconds since 1970.
    pub(crate) listed: HashMap<RepoId, f64>,
    /// The repositories of which only a part is compared.
    pub(crate) narrowed: BTreeSet<RepoId>,
    /// When each repository began to be looked at so that all changes of before are indexed.
    pub(crate) looked: HashMap<RepoId, f64>,
    /// The rows of the queue that the last publishing takes.
    pub(crate) taken: Vec<i64>,
    /// Whether the connection is kept for the next session.
    pub(crate) stays: bool,
    /// Whether it is one of many small ingests, which delete only now and then.
    pub(crate) is_quick: bool,
    /// What decides the languages of each repository's files, and what does in repositories without rules.
    pub(crate) languages: HashMap<RepoId, i64>,
    pub(crate) plain: Option<i64>,
    /// What the next publishing makes of the trees of repositories.
    pub(crate) trees: Vec<Plan>,
    /// The globs of branches that it remembers.
    pub(crate) branches: HashMap<RepoId, Vec<String>>,
    /// What the configurations of clones say of repositories.
    pub(crate) metadata: HashMap<RepoId, RepoMetadata>,
    pub(crate) groups: Groups,
    pub(crate) other_work: OtherWork,
    kept: Kept,
}

impl Store {
    /// Takes the lock on writing; `None` if another program has it.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn try_session(&self) -> Result<Option<Session>> {
        let kept = self.kept.session();
        let is_kept = kept.is_some();
        let (mut conn, locked, backend) = match kept {
            Some(mut conn) => match try_lock(&mut conn).await {
                Ok((locked, backend)) => (conn, locked, backend),
                Err(error) => {
                    tracing::debug!("the kept connection of ingests broke: {error}");
                    return Box::pin(self.try_session()).await;
                }
            },
            None => {
                let mut conn = self.connection().await?;
                let (locked, backend) = try_lock(&mut conn).await?;
                (conn, locked, backend)
            }
        };
        if !locked {
            if is_kept {
                self.kept.keep_session(conn);
            }
            return Ok(None);
        }
        self.writer.store(backend, Ordering::Relaxed);
        end_orphans(&mut conn).await?;
        nodes::refuse_if_lost(&mut conn).await?;
        nodes::settle(&mut conn, self.groups()).await?;
        undo_unpublished(&mut conn, self.groups()).await?;
        if !is_kept {
            conn.execute(TABLES).await?;
        }
        let (sweep,): (bool,) =
            sqlx::query_as("select unfinished from state").fetch_one(&mut conn).await?;
        let rows: Vec<(i16, i32, i64, bool)> = sqlx::query_as(
            "select shard, chunks, bytes, live_from is not null
                 and to_regclass(format('documents_%s_trgm', lpad(shard::text, 3, '0'))) is not null
             from shards order by shard",
        )
        .fetch_all(&mut conn)
        .await?;
        let state = |(shard, chunks, bytes, live)| ShardState {
            shard: ShardId(shard),
            chunks,
            bytes,
            live,
        };
        let shards = rows.into_iter().map(state).collect();
        let (changed, other_work) = (BTreeSet::new(), self.other_work.clone());
        let groups = self.groups();
        Ok(Some(Session {
            conn,
            shards,
            sweep,
            changed,
            listed: HashMap::new(),
            narrowed: BTreeSet::new(),
            looked: HashMap::new(),
            taken: Vec::new(),
            stays: self.kept.keeps(),
            is_quick: false,
            languages: HashMap::new(),
            plain: None,
            trees: Vec::new(),
            branches: HashMap::new(),
            metadata: HashMap::new(),
            groups,
            other_work,
            kept: self.kept.clone(),
        }))
    }

    /// Opens a connection that writes for the running ingest or upgrade. It is fenced: the next program to take the
    /// lock on writing terminates all connections that share the helpers' lock, and a program that lost its lock gets
    /// no new one here.
    ///
    /// # Errors
    /// The connection that holds this program's lock on writing was lost; or those of any connection.
    pub(crate) async fn helper(&self) -> Result<PgConnection> {
        let lock = "select pg_advisory_lock_shared($1)";
        let mut conn = None;
        while let Some(mut kept) = self.kept.helper() {
            if sqlx::query(lock).bind(HELPER_LOCK).execute(&mut kept).await.is_ok() {
                conn = Some(kept);
                break;
            }
        }
        let mut conn = match conn {
            Some(conn) => conn,
            None => {
                let mut conn = self.connection().await?;
                sqlx::query(lock).bind(HELPER_LOCK).execute(&mut conn).await?;
                conn
            }
        };
        let writes: bool = sqlx::query_scalar(
            "select exists (
                 select from pg_locks where locktype = 'advisory' and objsubid = 1 and granted and pid = $2
                   and (classid::bigint << 32) + objid::bigint = any($1)
                   and database = (select oid from pg_database where datname = current_database()))",
        )
        .bind([WRITE_LOCK, SETUP_LOCK])
        .bind(self.writer.load(Ordering::Relaxed))
        .fetch_one(&mut conn)
        .await?;
        if !writes {
            return Err(Error::Unsuitable(
                "the ingest's connection to the database failed; run it again; stored data is kept"
                    .to_owned(),
            ));
        }
        Ok(conn)
    }

    /// Gives a helping connection back, on which no setting was changed: it is kept for the next ingest if this program
    /// [keeps](Self::keep_sessions) connections, and closed otherwise.
    pub(crate) async fn give_back(&self, mut conn: PgConnection) -> Result<()> {
        if self.kept.keeps() {
            conn.execute("select pg_advisory_unlock_all()").await?;
            self.kept.keep_helper(conn);
            return Ok(());
        }
        Ok(conn.close().await?)
    }

    /// Keeps the connections of this program's ingests for its next one, which need not prepare them again.
    pub fn keep_sessions(&self) {
        self.kept.keep();
    }
}

async fn try_lock(conn: &mut PgConnection) -> Result<(bool, i32)> {
    let asked = sqlx::query_as("select pg_try_advisory_lock($1), pg_backend_pid()")
        .bind(WRITE_LOCK)
        .fetch_one(conn);
    Ok(answered(ANSWER, asked).await?)
}

impl Session {
    /// Awaits work outside of Postgres, during which silence is normal.
    pub async fn await_other<T>(&self, work: impl Future<Output = T>) -> T {
        self.other_work.during(work).await
    }

    /// Records that a repository is going to be listed now.
    pub fn note_listing(&mut self, repo: RepoId) {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap_or_default().as_secs_f64();
        self.listed.insert(repo, now);
        self.looked.insert(repo, now);
    }

    /// Has the next publishing delete rows of the queue: what they name was looked at.
    pub fn take(&mut self, rows: Vec<i64>) {
        self.taken = rows;
    }

    /// Records what the configuration of a clone says of its repository. The next publishing of the repository keeps it.
    pub fn note_metadata(&mut self, repo: RepoId, metadata: RepoMetadata) {
        self.metadata.insert(repo, metadata);
    }

    /// Returns the bytes of text stored so far, and the number of shards.
    pub fn stored_bytes(&self) -> (i64, usize) {
        (self.shards.iter().map(|shard| shard.bytes).sum(), self.shards.len())
    }

    /// Gives up the lock on writing. When it returns, the next program gets the lock at once: if a connection is only
    /// closed, the server frees its lock some time later.
    ///
    /// # Errors
    /// The connection was lost.
    pub async fn close(mut self) -> Result<()> {
        self.conn.execute("select pg_advisory_unlock_all()").await?;
        if self.stays {
            self.conn.execute(EMPTY).await?;
            self.kept.keep_session(self.conn);
            return Ok(());
        }
        Ok(self.conn.close().await?)
    }
}

/// Terminates statements that a killed ingest left running, and waits for them to end.
pub(crate) async fn end_orphans(conn: &mut PgConnection) -> Result<()> {
    sqlx::query(
        "select pg_terminate_backend(pid) from pg_locks
         where locktype = 'advisory' and objsubid = 1 and granted
           and classid::bigint = $1 >> 32 and objid::bigint = $1 & 4294967295
           and database = (select oid from pg_database where datname = current_database())",
    )
    .bind(HELPER_LOCK)
    .execute(&mut *conn)
    .await?;
    sqlx::query("select pg_advisory_lock($1)").bind(HELPER_LOCK).execute(&mut *conn).await?;
    sqlx::query("select pg_advisory_unlock($1)").bind(HELPER_LOCK).execute(&mut *conn).await?;
    Ok(())
}

/// Undoes the rows of an epoch that a killed ingest prepared but did not publish.
pub(crate) async fn undo_unpublished(conn: &mut PgConnection, groups: Groups) -> Result<()> {
    undo_except(conn, groups, &[]).await
}

/// Like [`undo_unpublished`], but leaves out shards whose rows are lost.
pub(crate) async fn undo_except(
    conn: &mut PgConnection,
    groups: Groups,
    lost: &[i16],
) -> Result<()> {
    let (epoch, prepared): (i32, Option<i32>) =
        sqlx::query_as("select epoch, prepared from state").fetch_one(&mut *conn).await?;
    if prepared.is_none() {
        return Ok(());
    }
    let sql = "select shard from shards where shard <> all($1) order by shard";
    let shards: Vec<i16> = sqlx::query_scalar(sql).bind(lost).fetch_all(&mut *conn).await?;
    let mut tables: Vec<String> = shards.iter().map(|shard| ShardId(*shard).files()).collect();
    tables.extend(["skipped", "trees", "tree_sets"].map(str::to_owned));
    let mut tx = conn.begin().await?;
    if let Some(shard) = shards.first().filter(|_| groups.are_distributed()) {
        nodes::commit_as_one_with(&mut tx, ShardId(*shard)).await?;
    }
    for table in tables {
        let delete = format!("delete from {table} where valid_from > $1");
        sqlx::query(AssertSqlSafe(delete)).bind(epoch).execute(&mut *tx).await?;
        let reopen = format!(
            "update {table} set valid_to = {FOREVER} where valid_to > $1 and valid_to <> {FOREVER}"
        );
        sqlx::query(AssertSqlSafe(reopen)).bind(epoch).execute(&mut *tx).await?;
    }
    tx.execute("update state set prepared = null").await?;
    Ok(tx.commit().await?)
}

#[cfg(test)]
mod tests {
    use crate::testing::{on_index, value};

    #[test]
    fn whoever_has_lost_the_lock_writes_no_more() {
        on_index(1, async |store| {
            assert!(store.helper().await.is_err(), "it is not the one that writes");
            let first = store.try_session().await.unwrap().unwrap();
            store.helper().await.unwrap();
            // The connection is lost unnoticed.
            let pid = store.writer.load(std::sync::atomic::Ordering::Relaxed);
            value::<bool>(store, &format!("select pg_terminate_backend({pid}, 10000)")).await;
            assert!(store.helper().await.is_err(), "nobody writes");
            let mut other = store.clone();
            other.writer = std::sync::Arc::default();
            let second = other.try_session().await.unwrap().unwrap();
            assert!(store.helper().await.is_err(), "another one writes");
            other.helper().await.unwrap();
            second.close().await.unwrap();
            drop(first);
        });
    }
}
