//! The state of mirrors: hosts, the pages that they listed, and the clones of their repositories.

mod left;

use std::time::Duration;

pub use left::LeftHost;

use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::error::{Error, Result};
use crate::locks::MIRROR_LOCK;
use crate::queue::{IS_FOR_MIRRORS, PENDING, Reason};
use crate::store::Store;

/// A host whose repositories are mirrored.
#[derive(Clone, Debug, Default, PartialEq, sqlx::FromRow)]
pub struct MirrorHost {
    /// Its name in the configuration file.
    pub name: String,
    /// Which API it has: `github`, `gitlab`, `gitea`, `forgejo`, or `git` for a list of addresses.
    pub kind: String,
    /// Where its API begins; empty for a list of addresses.
    pub url: String,
    /// Number of repositories in its last complete listing.
    pub listed: i32,
    /// What that was of, in words of whoever recorded it.
    pub scope: String,
    /// When that began, in seconds since 1970.
    pub listed_at: Option<f64>,
    /// Whether it is to be listed as soon as possible.
    pub wanted: bool,
    /// Seconds from now before which it is not to be asked; it said so.
    pub paused: Option<f64>,
    /// Why a listing last failed since; `None` if it did not.
    pub failure: Option<String>,
}

/// A page of a listing, and the name of its contents.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct MirrorPage {
    /// Its address.
    pub url: String,
    /// The name of its contents.
    pub etag: String,
    /// The address of the page after it.
    pub next: Option<String>,
    /// The repositories on it, in JSON.
    pub found: String,
}

/// A clone of a host's repository.
#[derive(Clone, Debug, Default, PartialEq, sqlx::FromRow)]
pub struct Mirror {
    /// The name of its host.
    pub host: String,
    /// Its id there.
    pub host_id: String,
    /// Its path there, such as `golang/go`.
    pub path: String,
    /// What git clones.
    pub address: String,
    /// The folder of the clone; absolute.
    pub folder: String,
    /// What the host said of it when the clone was last brought in step, in JSON.
    pub found: String,
    /// How it is indexed.
    #[sqlx(flatten)]
    pub indexing: MirrorIndexing,
    /// A hash of its branches and tags, when it was last put into the queue.
    pub refs: Option<String>,
    /// When it was cloned, in seconds since 1970, as all times here.
    pub cloned_at: Option<f64>,
    /// When the last fetch began that succeeded.
    pub fetched_at: Option<f64>,
    /// Whether the host would have told of a push by the time of that fetch.
    pub settled: bool,
    /// Number of the latest complete listings without it, in a row.
    pub missing: i32,
    /// Since when it is hidden.
    pub hidden_at: Option<f64>,
    /// Why it is, in one sentence.
    pub hidden: Option<String>,
    /// When cloning or fetching last failed since.
    pub failed_at: Option<f64>,
    /// Why, in one sentence.
    pub failure: Option<String>,
    /// How often in a row.
    pub failures: i32,
    /// When it may be tried again, after a failure.
    pub due: Option<f64>,
}

/// How the clone of a mirror is indexed; `None` for what an earlier ingest chose.
#[derive(Clone, Debug, Default, PartialEq, Eq, sqlx::FromRow)]
pub struct MirrorIndexing {
    /// Globs of the branches and tags to index.
    pub branches: Option<Vec<String>>,
    /// Whether to index the history of lines.
    pub history: Option<bool>,
    /// Whether to index files that ignore files name.
    pub no_ignore: Option<bool>,
    /// Whether to leave out files that look like secrets.
    pub skip_secrets: Option<bool>,
}

/// A row of the queue that a mirror takes.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct MirrorHook {
    /// Its number.
    pub id: i64,
    /// The folder of the clone.
    pub source: String,
}

/// The lock on mirroring, of one program at a time. It is free again when this is dropped.
#[derive(Debug)]
pub struct MirrorLock {
    conn: PgConnection,
}

impl MirrorLock {
    /// Checks that the lock is still held.
    ///
    /// # Errors
    /// The connection was lost, and with it the lock.
    pub async fn check(&mut self) -> Result<()> {
        Ok(self.conn.ping().await?)
    }

    /// Gives it up at once.
    pub async fn close(self) {
        let _ = self.conn.close().await;
    }
}

const COLUMNS: &str = "host, host_id, path, address, folder, found::text, branches, history, no_ignore,
     skip_secrets, refs, extract(epoch from cloned_at)::float8 cloned_at, extract(epoch from fetched_at)::float8 fetched_at, settled, missing,
     extract(epoch from hidden_at)::float8 hidden_at, hidden,
     extract(epoch from failed_at)::float8 failed_at, failure, failures,
     extract(epoch from nullif(due, '-infinity'))::float8 due";

impl Store {
    /// Takes the lock on mirroring; `None` if another program has it.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn try_mirror_lock(&self) -> Result<Option<MirrorLock>> {
        let mut conn = self.connection().await?;
        let locked: bool = sqlx::query_scalar("select pg_try_advisory_lock($1)")
            .bind(MIRROR_LOCK)
            .fetch_one(&mut conn)
            .await?;
        Ok(locked.then_some(MirrorLock { conn }))
    }

    /// Returns the hosts that are mirrored, by name.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn mirror_hosts(&self) -> Result<Vec<MirrorHost>> {
        Ok(sqlx::query_as(
            "select name, kind, url, listed, scope, extract(epoch from listed_at)::float8 listed_at, wanted,
                    nullif(greatest(extract(epoch from paused_until - clock_timestamp())::float8, 0), 0) paused, failure
             from mirror_hosts order by name",
        )
        .fetch_all(self.control())
        .await?)
    }

    /// Records a host. If it has another kind or address than before, what it listed is forgotten.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn keep_mirror_host(&self, name: &str, kind: &str, url: &str) -> Result<()> {
        let mut tx = self.control().begin().await?;
        let kept = sqlx::query(
            "insert into mirror_hosts (name, kind, url) values ($1, $2, $3)
             on conflict (name) do update set kind = excluded.kind, url = excluded.url
             where (mirror_hosts.kind, mirror_hosts.url) is distinct from (excluded.kind, excluded.url)",
        )
        .bind(name)
        .bind(kind)
        .bind(url)
        .execute(&mut *tx)
        .await?;
        if kept.rows_affected() > 0 {
            sqlx::query("delete from mirror_pages where host = $1")
                .bind(name)
                .execute(&mut *tx)
                .await?;
        }
        Ok(tx.commit().await?)
    }

    /// Returns the pages of a host's last listings.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn mirror_pages(&self, host: &str) -> Result<Vec<MirrorPage>> {
        Ok(sqlx::query_as("select url, etag, next, found::text from mirror_pages where host = $1")
            .bind(host)
            .fetch_all(self.control())
            .await?)
    }

    /// Records a complete listing: the number of its repositories, what it was of, and when it began in seconds since 1970.
    /// `changed` are pages that are new or changed, `gone` the addresses of pages that there are no more.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn keep_listing(
        &self,
        host: &str,
        (listed, scope, begun): (usize, &str, f64),
        changed: &[MirrorPage],
        gone: &[String],
    ) -> Result<()> {
        let mut tx = self.control().begin().await?;
        for page in changed {
            sqlx::query(
                "insert into mirror_pages (host, url, etag, next, found) values ($1, $2, $3, $4, $5::jsonb)
                 on conflict (host, url) do update set etag = excluded.etag, next = excluded.next, found = excluded.found",
            )
            .bind(host)
            .bind(&page.url)
            .bind(&page.etag)
            .bind(&page.next)
            .bind(&page.found)
            .execute(&mut *tx)
            .await?;
        }
        sqlx::query("delete from mirror_pages where host = $1 and url = any($2)")
            .bind(host)
            .bind(gone)
            .execute(&mut *tx)
            .await?;
        sqlx::query(
            "update mirror_hosts set listed = $2, scope = $3, listed_at = to_timestamp($4), wanted = false, paused_until = null,
                    failed_at = null, failure = null
             where name = $1",
        )
        .bind(host)
        .bind(listed as i32)
        .bind(scope)
        .bind(begun)
        .execute(&mut *tx)
        .await?;
        Ok(tx.commit().await?)
    }

    /// Records that a host could not be listed, and for how long it is not to be asked.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn fail_listing(&self, host: &str, why: &str, pause: Option<Duration>) -> Result<()> {
        sqlx::query(
            "update mirror_hosts set failed_at = clock_timestamp(), failure = $2, wanted = false,
                    paused_until = clock_timestamp() + $3 * interval '1 second'
             where name = $1",
        )
        .bind(host)
        .bind(why)
        .bind(pause.map(|pause| pause.as_secs_f64()))
        .execute(self.control())
        .await?;
        Ok(())
    }

    /// Returns all mirrors, by host and path.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn mirrors(&self) -> Result<Vec<Mirror>> {
        let sql = format!("select {COLUMNS} from mirrors order by host, path, host_id");
        Ok(sqlx::query_as(AssertSqlSafe(sql)).fetch_all(self.control()).await?)
    }

    /// Records the state of mirrors, new or known.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn keep_mirrors(&self, mirrors: &[&Mirror]) -> Result<()> {
        if mirrors.is_empty() {
            return Ok(());
        }
        let mut tx = self.control().begin().await?;
        for mirror in mirrors {
            keep(&mut tx, mirror).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Returns a mirror; `None` if it is not known.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn mirror(&self, host: &str, host_id: &str) -> Result<Option<Mirror>> {
        let sql = format!("select {COLUMNS} from mirrors where host = $1 and host_id = $2");
        Ok(sqlx::query_as(AssertSqlSafe(sql))
            .bind(host)
            .bind(host_id)
            .fetch_optional(self.control())
            .await?)
    }

    /// Records the state of a mirror whose clone was fetched, and puts it into the queue if `changed`. The rows of the queue
    /// that asked for the fetch, also for an earlier one that failed, become rows that an ingest takes, so whoever waits for
    /// them waits on. All at once.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn keep_fetched(&self, mirror: &Mirror, hooks: &[i64], changed: bool) -> Result<()> {
        let mut tx = self.control().begin().await?;
        keep(&mut tx, mirror).await?;
        let turned = sqlx::query(
            "update pending set reason = 'fetched', due = clock_timestamp(), failures = 0, failure = null
             where id = any($1) or source = $2 and reason = 'hook' and failure is not null",
        )
        .bind(hooks)
        .bind(&mirror.folder)
        .execute(&mut *tx)
        .await?
        .rows_affected();
        if changed && turned == 0 {
            sqlx::query("insert into pending (source, reason) values ($1, $2)")
                .bind(&mirror.folder)
                .bind(Reason::Fetched.word())
                .execute(&mut *tx)
                .await?;
        }
        if changed || turned > 0 {
            sqlx::query("select pg_notify($1, '')").bind(PENDING).execute(&mut *tx).await?;
        }
        Ok(tx.commit().await?)
    }

    /// Forgets a mirror.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn forget_mirror(&self, host: &str, host_id: &str) -> Result<()> {
        sqlx::query("delete from mirrors where host = $1 and host_id = $2")
            .bind(host)
            .bind(host_id)
            .execute(self.control())
            .await?;
        Ok(())
    }

    /// Returns the folders of clones of a repository, by its id on hosts with one of these kinds of API
    /// ([`MirrorHost::kind`]). There may be several: ids of different hosts can be equal.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn mirror_folders(&self, kinds: &[&str], host_id: &str) -> Result<Vec<String>> {
        Ok(sqlx::query_scalar(
            "select folder from mirrors m join mirror_hosts h on h.name = m.host
             where h.kind = any($1) and m.host_id = $2 and m.cloned_at is not null and m.hidden_at is null order by 1",
        )
        .bind(kinds)
        .bind(host_id)
        .fetch_all(self.control())
        .await?)
    }

    /// Has hosts with one of these kinds of API listed as soon as possible, since they told of a repository that is not
    /// known. Returns whether there are any.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn want_listing(&self, kinds: &[&str]) -> Result<bool> {
        let mut tx = self.control().begin().await?;
        let wanted = sqlx::query("update mirror_hosts set wanted = true where kind = any($1)")
            .bind(kinds)
            .execute(&mut *tx)
            .await?;
        sqlx::query("select pg_notify($1, '')").bind(PENDING).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(wanted.rows_affected() > 0)
    }

    /// Returns the rows of the queue that mirrors take and that are due, the oldest first.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn mirror_hooks(&self) -> Result<Vec<MirrorHook>> {
        let sql = format!(
            "select id, source from pending where due <= clock_timestamp() and {IS_FOR_MIRRORS} order by id"
        );
        Ok(sqlx::query_as(AssertSqlSafe(sql)).fetch_all(self.control()).await?)
    }

    /// Delays rows of the queue, and notes why, in one sentence: whoever waits for them is told.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn delay_hooks(&self, hooks: &[i64], delay: Duration, why: &str) -> Result<()> {
        sqlx::query(
            "update pending set due = clock_timestamp() + $2 * interval '1 second', failures = failures + 1, failure = $3
             where id = any($1)",
        )
        .bind(hooks)
        .bind(delay.as_secs_f64())
        .bind(why)
        .execute(self.control())
        .await?;
        Ok(())
    }

    /// Records that nothing had changed in repositories, by their folders, at a time in seconds since 1970: what is not in
    /// the queue is as fresh as that.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn note_unchanged(&self, sources: &[String], at: f64) -> Result<()> {
        sqlx::query(
            "update repos set looked_at = to_timestamp($2)
             where source = any($1) and looked_at < to_timestamp($2) and failed_at is null
               and not exists (select from pending where pending.source = repos.source)",
        )
        .bind(sources)
        .bind(at)
        .execute(self.control())
        .await?;
        Ok(())
    }

    /// Records why the clone in a folder could not be fetched, on the repository that is read from it.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn fail_fetch(&self, source: &str, why: &str) -> Result<()> {
        sqlx::query(
            "update repos set failed_at = clock_timestamp(), failure = $2, failures = failures + 1 where source = $1",
        )
        .bind(source)
        .bind(why)
        .execute(self.control())
        .await?;
        Ok(())
    }

    /// Takes back [`Store::fail_fetch`], unless the repository has failed for another reason since.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn forgive_fetch(&self, source: &str, why: &str) -> Result<()> {
        sqlx::query(
            "update repos set failed_at = null, failure = null, failures = 0 where source = $1 and failure = $2",
        )
        .bind(source)
        .bind(why)
        .execute(self.control())
        .await?;
        Ok(())
    }
}

/// Writes the row of a mirror.
async fn keep(conn: &mut PgConnection, mirror: &Mirror) -> Result<(), Error> {
    sqlx::query(
        "insert into mirrors (host, host_id, path, address, folder, found, branches, history, no_ignore, skip_secrets, refs,
                              cloned_at, fetched_at, settled, missing, hidden_at, hidden, failed_at, failure, failures, due)
         values ($1, $2, $3, $4, $5, $6::jsonb, $7, $8, $9, $10, $11, to_timestamp($12), to_timestamp($13), $14, $15,
                 to_timestamp($16), $17, to_timestamp($18), $19, $20, coalesce(to_timestamp($21), '-infinity'))
         on conflict (host, host_id) do update set
             path = excluded.path, address = excluded.address, folder = excluded.folder, found = excluded.found,
             branches = excluded.branches, history = excluded.history, no_ignore = excluded.no_ignore,
             skip_secrets = excluded.skip_secrets, refs = excluded.refs, cloned_at = excluded.cloned_at,
             fetched_at = excluded.fetched_at, settled = excluded.settled, missing = excluded.missing,
             hidden_at = excluded.hidden_at, hidden = excluded.hidden, failed_at = excluded.failed_at, failure = excluded.failure, failures = excluded.failures, due = excluded.due",
    )
    .bind(&mirror.host)
    .bind(&mirror.host_id)
    .bind(&mirror.path)
    .bind(&mirror.address)
    .bind(&mirror.folder)
    .bind(&mirror.found)
    .bind(&mirror.indexing.branches)
    .bind(mirror.indexing.history)
    .bind(mirror.indexing.no_ignore)
    .bind(mirror.indexing.skip_secrets)
    .bind(&mirror.refs)
    .bind(mirror.cloned_at)
    .bind(mirror.fetched_at)
    .bind(mirror.settled)
    .bind(mirror.missing)
    .bind(mirror.hidden_at)
    .bind(&mirror.hidden)
    .bind(mirror.failed_at)
    .bind(&mirror.failure)
    .bind(mirror.failures)
    .bind(mirror.due)
    .execute(conn)
    .await?;
    Ok(())
}
