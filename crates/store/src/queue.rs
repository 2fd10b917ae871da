//! The queue of changes: what is known to have changed since the last ingest, until an ingest has published it.
//!
//! A row is deleted in the transaction that publishes what was found, so a killed ingest loses none. Whoever waits for a
//! change waits until its row is gone.

use std::time::{Duration, Instant};

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgListener;

use crate::RepoId;
use crate::error::{Error, Result};
use crate::locks::INGESTER_LOCK;
use crate::store::Store;

/// The condition of a row of the queue that a mirror takes, not an ingest: a host told of a push to a repository that has
/// a clone, which must be fetched first. [`Store::keep_fetched`] then turns it into a row that an ingest takes.
pub(crate) const IS_FOR_MIRRORS: &str = "(pending.reason = 'hook' and exists (
     select from mirrors where mirrors.folder = pending.source and mirrors.cloned_at is not null))";

/// The channel on which ingesters are notified of new rows in the queue.
pub(crate) const PENDING: &str = "codesearch_pending";

/// Time between two looks at rows that somebody waits for: at first, and at most.
const LOOK: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(50));

/// Why something is in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Somebody asked for it: `ingest --now`, `POST /ingest`.
    Asked,
    /// The system told of a change.
    Watched,
    /// A host told of a push.
    Hook,
    /// A clone was fetched.
    Fetched,
    /// Its time had come, since no event tells of its changes.
    Polled,
}

impl Reason {
    /// Returns the word for it: `pending.reason`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Watched => "watched",
            Self::Hook => "hook",
            Self::Fetched => "fetched",
            Self::Polled => "polled",
        }
    }

    fn of(word: &str) -> Self {
        let all = [Self::Asked, Self::Watched, Self::Hook, Self::Fetched];
        all.into_iter().find(|reason| reason.word() == word).unwrap_or(Self::Polled)
    }
}

/// A change to put into the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The folder of a repository, of a worktree, or one in which there may be new repositories; absolute.
    pub source: String,
    /// Files and folders below it that have changed, with slashes; `None` if that is unknown.
    pub paths: Option<Vec<String>>,
    /// How it was noticed.
    pub reason: Reason,
}

/// A row of the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingRow {
    /// Its number. Later rows have higher ones.
    pub id: i64,
    /// What has changed.
    pub change: Change,
    /// When that was noticed, in seconds since 1970.
    pub since: f64,
    /// Seconds until an ingest takes it; none or less if it is due.
    pub due_in: f64,
    /// How often an ingest of it has failed.
    pub failures: i32,
    /// Why it failed last, in one sentence; `None` if it did not.
    pub failure: Option<String>,
}

impl PendingRow {
    /// Returns whether an ingest should take it now.
    pub fn is_due(&self) -> bool {
        self.due_in <= 0.0
    }
}

/// The result of waiting for changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waited {
    /// All of them are published. A [`Searcher`](../search/struct.Searcher.html) that listens may hear of it a little
    /// later: refresh it before a search that must see them.
    Fresh,
    /// So many of them still wait, or are being ingested.
    StillPending(usize),
    /// One of them could not be ingested, for this reason; it is tried again later.
    Failed(String),
}

/// The columns of [`PendingRow`].
pub(crate) type Columns = (i64, String, Option<Vec<String>>, String, f64, f64, i32, Option<String>);

pub(crate) const COLUMNS: &str = "id, source, paths, reason, extract(epoch from since)::float8, \
                       extract(epoch from due - clock_timestamp())::float8, failures, failure";

pub(crate) fn row(
    (id, source, paths, reason, since, due_in, failures, failure): Columns,
) -> PendingRow {
    let change = Change { source, paths, reason: Reason::of(&reason) };
    PendingRow { id, change, since, due_in, failures, failure }
}

/// Returns a statement for the rows that an ingest of a folder, or of one around it or inside it, takes. `folders` is an
/// expression for an array.
fn concerns(folders: &str) -> String {
    format!(
        "exists (select from unnest({folders}) f where f = source
             or starts_with(f, rtrim(source, '/') || '/') or starts_with(source, rtrim(f, '/') || '/'))"
    )
}

impl Store {
    /// Puts changes into the queue, and notifies ingesters. Returns the largest number of a row, after which nothing of
    /// them is in the queue.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn enqueue(&self, changes: &[Change]) -> Result<i64> {
        let mut last = 0;
        let mut tx = self.control().begin().await?;
        for change in changes {
            last = sqlx::query_scalar(
                "insert into pending (source, paths, reason) values ($1, $2, $3) returning id",
            )
            .bind(&change.source)
            .bind(change.paths.as_deref())
            .bind(change.reason.word())
            .fetch_one(&mut *tx)
            .await?;
        }
        sqlx::query("select pg_notify($1, '')").bind(PENDING).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(last)
    }

    /// Returns the queue, in the order of its rows.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn pending(&self) -> Result<Vec<PendingRow>> {
        let sql = format!("select {COLUMNS} from pending order by id");
        let rows: Vec<Columns> =
            sqlx::query_as(AssertSqlSafe(sql)).fetch_all(self.control()).await?;
        Ok(rows.into_iter().map(row).collect())
    }

    /// Waits until the rows up to a number have left the queue: of all folders, or of `sources`, the folders around them
    /// and those inside them.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn await_taken(
        &self,
        upto: i64,
        sources: Option<&[String]>,
        within: Duration,
    ) -> Result<Waited> {
        let begun = Instant::now();
        let mut pause = LOOK.0;
        let sql = format!(
            "select count(*), min(failure) filter (where due > clock_timestamp())
             from pending where id <= $1 and ($2::text[] is null or {})",
            concerns("$2")
        );
        loop {
            let (count, failure): (i64, Option<String>) = sqlx::query_as(AssertSqlSafe(&*sql))
                .bind(upto)
                .bind(sources)
                .fetch_one(self.control())
                .await?;
            match failure {
                Some(why) => return Ok(Waited::Failed(why)),
                None if count == 0 => return Ok(Waited::Fresh),
                None => {}
            }
            let Some(left) = within.checked_sub(begun.elapsed()).filter(|left| !left.is_zero())
            else {
                return Ok(Waited::StillPending(count as usize));
            };
            tokio::time::sleep(pause.min(left)).await;
            pause = (pause * 3 / 2).min(LOOK.1);
        }
    }

    /// Waits until all that is in the queue now is published, as far as it concerns some repositories, or all.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn await_fresh(&self, repos: Option<&[RepoId]>, within: Duration) -> Result<Waited> {
        let ids: Option<Vec<i32>> = repos.map(|repos| repos.iter().map(|repo| repo.0).collect());
        let (upto, sources): (Option<i64>, Vec<String>) = sqlx::query_as(
            "select (select max(id) from pending),
                    array(select source from repos where id = any($1)
                          union select source from trees where repo = any($1) and source is not null)",
        )
        .bind(&ids)
        .fetch_one(self.control())
        .await?;
        match upto {
            None => Ok(Waited::Fresh),
            Some(upto) => {
                let sources = ids.is_some().then_some(&*sources);
                self.await_taken(upto, sources, within).await
            }
        }
    }

    /// Returns the time until an ingest should take a row from the queue; none if one is due. `None` if it is empty.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn next_due(&self) -> Result<Option<Duration>> {
        let sql = format!(
            "select extract(epoch from min(due) - clock_timestamp())::float8 from pending where not {IS_FOR_MIRRORS}"
        );
        let seconds: Option<f64> =
            sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(self.control()).await?;
        Ok(seconds.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default()))
    }

    /// Makes rows that wait after a failure due now.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn hurry(&self) -> Result<()> {
        sqlx::query("update pending set due = clock_timestamp() where due > clock_timestamp()")
            .execute(self.control())
            .await?;
        Ok(())
    }

    /// Returns whether a program listens for new rows of the queue, to take them at once.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn has_ingester(&self) -> Result<bool> {
        Ok(sqlx::query_scalar(
            "select exists (
                 select from pg_locks where locktype = 'advisory' and objsubid = 1 and granted
                   and classid::bigint = $1 >> 32 and objid::bigint = $1 & 4294967295
                   and database = (select oid from pg_database where datname = current_database()))",
        )
        .bind(INGESTER_LOCK)
        .fetch_one(self.control())
        .await?)
    }

    /// Opens a connection that is notified of new rows in the queue from now on.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn arrivals(&self) -> Result<Arrivals> {
        let mut listener = self.listener().await?;
        listener.listen(PENDING).await?;
        let lock = sqlx::query("select pg_advisory_lock_shared($1)").bind(INGESTER_LOCK);
        lock.execute(&mut listener).await?;
        Ok(Arrivals(listener))
    }
}

/// A connection that is notified of new rows in the queue.
#[derive(Debug)]
pub struct Arrivals(PgListener);

impl Arrivals {
    /// Waits for the next notification.
    ///
    /// # Errors
    /// The connection broke, so some may be missed.
    pub async fn next(&mut self) -> Result<()> {
        match self.0.try_recv().await? {
            Some(_) => Ok(()),
            None => Err(Error::Unreachable("the connection broke".to_owned())),
        }
    }

    /// Waits for the next notification for some time, and takes those that have arrived, too. Returns whether there was
    /// one.
    ///
    /// # Errors
    /// As those of [`next`](Self::next).
    pub async fn next_within(&mut self, time: Duration) -> Result<bool> {
        let Ok(next) = tokio::time::timeout(time, self.next()).await else { return Ok(false) };
        next?;
        while self.0.next_buffered().is_some() {}
        Ok(true)
    }
}
