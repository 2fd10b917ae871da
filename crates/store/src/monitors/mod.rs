//! Monitors: standing queries, what they found, and the deliveries of it.
//!
//! All monitors look at an epoch together ([`changes`]). What they found is written in the transaction that notes that
//! the epoch was looked at ([`news`]), so each epoch is looked at exactly once, however programs end. Until then, garbage
//! collection keeps the rows that ended in it ([`begin_purge`]). [`deliveries`] has what is sent elsewhere.

mod changes;
mod deliveries;
mod kept_rows;
mod news;

use sqlx::{Connection, FromRow, PgConnection};

use crate::error::Result;
use crate::ingest::EPOCHS;
use crate::locks::{MONITOR_LOCK, MONITOR_START_LOCK};
use crate::notified::Changes;
use crate::store::Store;
use crate::{Epoch, target};

pub use changes::{ChangedRows, FileVersion};
pub use deliveries::{Delivery, Waiting};
pub use news::{Hit, NewNews, News};

/// The channel on which those that look at epochs are notified of changed monitors.
pub(crate) const MONITORS: &str = "codesearch_monitors";

/// A standing query.
#[derive(Clone, Debug, PartialEq, Eq, FromRow)]
pub struct Monitor {
    /// Its key.
    pub id: i32,
    /// Its name.
    pub name: String,
    /// The name of the token of whoever made it; `None` for the operator.
    pub owner: Option<String>,
    /// The query.
    pub query: String,
    /// The patterns of the repositories that its owner may see; none for all.
    pub repos: Vec<String>,
    /// The groups of its owner, in its last request.
    pub owner_groups: Vec<String>,
    /// Globs to which the token that made it was narrowed; none for no narrowing.
    pub owner_repos: Vec<String>,
    /// Where its news are delivered; `None` if they are only in its feed.
    pub address: Option<String>,
    /// Whether epochs pass it by.
    pub paused: bool,
    /// Why the program paused it; `None` if a person did.
    pub why: Option<String>,
    /// The epoch in which it was made or resumed.
    pub since_epoch: i32,
    /// When it was made, as `2026-01-31T12:00:00Z`.
    pub created_at: String,
}

/// The columns of a [`Monitor`].
const COLUMNS: &str =
    "id, name, owner, query, repos, owner_groups, owner_repos, address, paused, why, since_epoch,
    to_char(created_at at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') as created_at";

/// A monitor to make.
#[derive(Clone, Debug, Default)]
pub struct NewMonitor {
    /// As [`Monitor::name`].
    pub name: String,
    /// As [`Monitor::owner`].
    pub owner: Option<String>,
    /// As [`Monitor::query`].
    pub query: String,
    /// As [`Monitor::repos`].
    pub repos: Vec<String>,
    /// As [`Monitor::owner_groups`].
    pub owner_groups: Vec<String>,
    /// As [`Monitor::owner_repos`].
    pub owner_repos: Vec<String>,
    /// As [`Monitor::address`], with the key of the signatures.
    pub delivery: Option<(String, String)>,
}

/// How far monitors have looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonitorEpoch {
    /// The last epoch that they have looked at.
    pub looked: Epoch,
    /// The newest epoch.
    pub newest: Epoch,
    /// Whether there is a monitor that is not paused.
    pub is_needed: bool,
}

/// The lock that the program holds which looks at epochs and delivers news. It ends with its connection.
#[derive(Debug)]
pub struct MonitorLock(PgConnection);

impl MonitorLock {
    /// Takes the lock; returns false if another program has it.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn try_take(&mut self) -> Result<bool> {
        let taking = sqlx::query_scalar("select pg_try_advisory_lock($1)")
            .bind(MONITOR_LOCK)
            .fetch_one(&mut self.0);
        Ok(target::answered(target::ANSWER, taking).await?)
    }

    /// Returns whether the lock is still held.
    pub async fn is_held(&mut self) -> bool {
        let asking = sqlx::query_scalar::<_, i32>("select 1").fetch_one(&mut self.0);
        target::answered(target::ANSWER, asking).await.is_ok()
    }
}

impl Store {
    /// Opens the connection that is to hold the lock on looking at epochs.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn monitor_lock(&self) -> Result<MonitorLock> {
        Ok(MonitorLock(self.connection().await?))
    }

    /// Opens a connection that is notified of every new epoch and of every change of monitors from now on.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn monitor_changes(&self) -> Result<Changes> {
        self.changes_on(&[EPOCHS, MONITORS]).await
    }

    /// Returns all monitors, by name.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn monitors(&self) -> Result<Vec<Monitor>> {
        let sql = format!("select {COLUMNS} from monitors order by name");
        Ok(sqlx::query_as(sqlx::AssertSqlSafe(sql)).fetch_all(self.control()).await?)
    }

    /// Returns the monitor with a name.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn monitor(&self, name: &str) -> Result<Option<Monitor>> {
        let sql = format!("select {COLUMNS} from monitors where name = $1");
        let asked = sqlx::query_as(sqlx::AssertSqlSafe(sql)).bind(name);
        Ok(asked.fetch_optional(self.control()).await?)
    }

    /// Returns the key of the signatures of a monitor's deliveries.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn monitor_secret(&self, id: i32) -> Result<Option<String>> {
        let asked = sqlx::query_scalar("select secret from monitors where id = $1").bind(id);
        Ok(asked.fetch_optional(self.control()).await?.flatten())
    }

    /// Makes a monitor, whose news begin after the newest epoch. Returns whether its name was free.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn add_monitor(&self, new: &NewMonitor) -> Result<bool> {
        let (address, secret) = new.delivery.clone().unzip();
        let mut tx = self.control().begin().await?;
        begin_looking(&mut tx).await?;
        let added = sqlx::query(
            "insert into monitors (name, owner, query, repos, address, secret, owner_groups, owner_repos, since_epoch)
             select $1, $2, $3, $4, $5, $6, $7, $8, epoch from state
             on conflict (name) do nothing",
        )
        .bind(&new.name)
        .bind(&new.owner)
        .bind(&new.query)
        .bind(&new.repos)
        .bind(address)
        .bind(secret)
        .bind(&new.owner_groups)
        .bind(&new.owner_repos)
        .execute(&mut *tx)
        .await?;
        notify(&mut tx).await?;
        tx.commit().await?;
        Ok(added.rows_affected() > 0)
    }

    /// Notes the groups of the owner of monitors, as they are now. Its monitors stay narrowed as the tokens were that made them.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn note_groups(&self, owner: &str, groups: &[String]) -> Result<()> {
        sqlx::query(
            "update monitors set owner_groups = $2 where owner = $1 and owner_groups is distinct from $2",
        )
        .bind(owner)
        .bind(groups)
        .execute(self.control())
        .await?;
        Ok(())
    }

    /// Pauses a monitor, for a reason if the program does it; or resumes it: its news begin after the newest epoch.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn pause_monitor(&self, id: i32, paused: bool, why: Option<&str>) -> Result<()> {
        let mut tx = self.control().begin().await?;
        if !paused {
            begin_looking(&mut tx).await?;
        }
        sqlx::query(
            "update monitors set paused = $2, why = $3,
                 since_epoch = case when $2 then since_epoch else (select epoch from state) end
             where id = $1 and paused <> $2",
        )
        .bind(id)
        .bind(paused)
        .bind(why)
        .execute(&mut *tx)
        .await?;
        notify(&mut tx).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Deletes a monitor with all that it found.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn remove_monitor(&self, id: i32) -> Result<()> {
        sqlx::query("delete from monitors where id = $1").bind(id).execute(self.control()).await?;
        Ok(())
    }

    /// Returns how far monitors have looked.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn monitor_epoch(&self) -> Result<MonitorEpoch> {
        let (looked, newest, is_needed): (i32, i32, bool) = sqlx::query_as(
            "select m.epoch, s.epoch, exists (select from monitors where not paused)
             from monitor_epoch m cross join state s",
        )
        .fetch_one(self.control())
        .await?;
        Ok(MonitorEpoch { looked: Epoch(looked), newest: Epoch(newest), is_needed })
    }
}

/// Makes monitors begin with the newest epoch if none is waiting for an earlier one. Rows of earlier epochs may be gone.
async fn begin_looking(conn: &mut PgConnection) -> Result<()> {
    lock(conn).await?;
    sqlx::query(
        "update monitor_epoch set epoch = (select epoch from state), looked_at = now()
         where not exists (select from monitors where not paused)",
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Has whoever else decides on epochs to look at wait until the transaction ends. A statement of its own, so that the next
/// one sees what they did. News are written without it, so that an ingest never waits for them.
async fn lock(conn: &mut PgConnection) -> Result<()> {
    let locking = sqlx::query("select pg_advisory_xact_lock($1)").bind(MONITOR_START_LOCK);
    locking.execute(conn).await?;
    Ok(())
}

async fn notify(conn: &mut PgConnection) -> Result<()> {
    sqlx::query("select pg_notify($1, '')").bind(MONITORS).execute(conn).await?;
    Ok(())
}

/// Decides up to which epoch ended rows may be deleted: at most `oldest`, and none for which monitors wait. If monitors have
/// not looked for a day, they miss these epochs, and are told.
pub(crate) async fn begin_purge(conn: &mut PgConnection, oldest: i32) -> Result<i32> {
    let mut tx = conn.begin().await?;
    lock(&mut tx).await?;
    let waiting: Option<(i32, bool)> = sqlx::query_as(
        "select epoch, looked_at > now() - interval '1 day' from monitor_epoch
         where exists (select from monitors where not paused)",
    )
    .fetch_optional(&mut *tx)
    .await?;
    let upto = match waiting {
        Some((looked, true)) if looked < oldest => looked,
        Some((looked, false)) if looked < oldest => {
            if miss(&mut tx, looked, oldest).await? {
                oldest
            } else {
                looked
            }
        }
        _ => oldest,
    };
    tx.commit().await?;
    Ok(upto)
}

/// Has all monitors miss the epochs after `looked`, up to another one. Returns false if they are looking right now.
async fn miss(conn: &mut PgConnection, looked: i32, upto: i32) -> Result<bool> {
    let idle: Option<i32> = sqlx::query_scalar(
        "select epoch from monitor_epoch where epoch = $1 for update skip locked",
    )
    .bind(looked)
    .fetch_optional(&mut *conn)
    .await?;
    if idle.is_none() {
        return Ok(false);
    }
    let first = looked + 1;
    let note = format!(
        "the changes of epochs {first} to {upto} were not looked at, since no server ran for a day; run codesearch serve"
    );
    sqlx::query(
        "insert into monitor_news (monitor, epoch, appeared, disappeared, note)
         select id, $1, 0, 0, $2 from monitors where not paused and since_epoch < $1
         on conflict (monitor, epoch) do nothing",
    )
    .bind(upto)
    .bind(note)
    .execute(&mut *conn)
    .await?;
    sqlx::query("update monitor_epoch set epoch = $1").bind(upto).execute(conn).await?;
    Ok(true)
}

/// Notes the first epoch of repositories.
pub(crate) async fn note_first_epoch(
    conn: &mut PgConnection,
    repos: &[i32],
    epoch: Epoch,
) -> Result<()> {
    sqlx::query("update repos set first_epoch = $2 where id = any($1) and first_epoch is null")
        .bind(repos)
        .bind(epoch.0)
        .execute(conn)
        .await?;
    Ok(())
}

/// Deletes the matches in repositories that are removed from the index.
pub(crate) async fn delete(conn: &mut PgConnection, repos: &[i32]) -> Result<()> {
    if repos.is_empty() {
        return Ok(());
    }
    sqlx::query("delete from monitor_hits where repo = any($1)").bind(repos).execute(conn).await?;
    Ok(())
}

#[cfg(test)]
mod tests;
