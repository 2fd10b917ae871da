//! Detects that Postgres has gone silent during an ingest, which would otherwise wait forever.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::locks::{HELPER_LOCK, WRITE_LOCK};
use crate::store::Store;
use crate::target::{CONNECT, answered, connect};

/// Half of the time after which an ingest gives up. A long statement is not silence: `pg_stat_activity` shows it.
const SILENT: Duration = Duration::from_secs(30);

impl Store {
    /// Runs an ingest, and gives up when it waits for Postgres and Postgres has done nothing for its connections for a
    /// minute.
    ///
    /// # Errors
    /// Those of the work; or Postgres is silent.
    pub async fn watched<T, E: From<Error>>(
        &self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        self.watched_for(SILENT, work).await
    }

    /// Runs a few short statements with a timeout of two minutes.
    ///
    /// # Errors
    /// Those of the work; or Postgres does not answer in time.
    pub async fn in_time<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        answered(4 * SILENT, work).await
    }

    async fn watched_for<T, E: From<Error>>(
        &self,
        silent: Duration,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        tokio::select! {
            biased;
            done = work => done,
            () = self.silence(silent) => {
                self.give_up_lock().await;
                Err(Error::Unreachable(
                    "it has not responded to this ingest for a minute; run it again when the database responds; \
                     stored data is kept"
                        .to_owned(),
                )
                .into())
            }
        }
    }

    /// Terminates the backend that holds the lock on writing. A dead connection would hold it until Postgres notices.
    async fn give_up_lock(&self) {
        let ending = async {
            let mut conn = connect(&self.options).await?;
            sqlx::query(
                "select pg_terminate_backend(pid) from pg_locks
                 where locktype = 'advisory' and objsubid = 1 and granted and pid = $1
                   and classid::bigint = $2 >> 32 and objid::bigint = $2 & 4294967295
                   and database = (select oid from pg_database where datname = current_database())",
            )
            .bind(self.writer.load(Ordering::Relaxed))
            .bind(WRITE_LOCK)
            .execute(&mut conn)
            .await
        };
        if let Err(error) = answered(CONNECT, ending).await {
            tracing::debug!("the write lock could not be released: {error}");
        }
    }

    /// Completes when Postgres has been silent for twice the given time.
    async fn silence(&self, silent: Duration) {
        let mut since = None;
        loop {
            tokio::time::sleep(silent / 2).await;
            let has_lock = self.writer.load(Ordering::Relaxed) != 0;
            let waits = has_lock && self.other_work.count() == 0;
            if !waits || self.is_at_work(silent).await {
                since = None;
            } else if since.get_or_insert_with(Instant::now).elapsed() >= silent {
                return;
            }
        }
    }

    /// Returns whether a backend of the ingest is working, or was given a statement within the given time.
    async fn is_at_work(&self, within: Duration) -> bool {
        let look = async {
            let mut conn = connect(&self.options).await?;
            // Without track_activities the state is unknown, and counts as working.
            sqlx::query_scalar(
                "select coalesce(bool_or(
                     not (a.state like 'idle%' or coalesce(a.wait_event_type, '') = 'Client')
                     or a.state_change > clock_timestamp() - $3 * interval '1 second'), false)
                 from pg_stat_activity a
                 where a.pid = $1 or exists (
                     select from pg_locks l where l.pid = a.pid and l.locktype = 'advisory' and l.objsubid = 1
                       and l.classid::bigint = $2 >> 32 and l.objid::bigint = $2 & 4294967295
                       and l.database = (select oid from pg_database where datname = current_database()))",
            )
            .bind(self.writer.load(Ordering::Relaxed))
            .bind(HELPER_LOCK)
            .bind(within.as_secs_f64())
            .fetch_one(&mut conn)
            .await
        };
        match answered(CONNECT, look).await {
            Ok(at_work) => at_work,
            // An error is an answer, too: "too many connections".
            Err(error) => matches!(error, sqlx::Error::Database(_)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{on_index, session};

    const SOON: Duration = Duration::from_millis(500);

    #[test]
    fn an_ingest_that_nothing_is_done_for_is_given_up() {
        on_index(1, async |store| {
            let waits: Result<()> = store
                .watched_for(SOON, async {
                    // Simulates a dead connection, which stays open, and a statement on it.
                    std::mem::forget(session(store).await);
                    std::future::pending().await
                })
                .await;
            let error = waits.unwrap_err().to_string();
            assert!(error.contains("has not responded to this ingest"), "{error}");
            // The next one need not wait for its lock.
            session(store).await.close().await.unwrap();
        });
    }

    #[test]
    fn an_ingest_that_something_is_done_for_is_waited_for() {
        on_index(1, async |store| {
            let done: Result<i32> = store
                .watched_for(SOON, async {
                    let mut session = session(store).await;
                    sqlx::query("select pg_sleep(3)").execute(&mut session.conn).await?;
                    // Simulates slow files.
                    session.await_other(tokio::time::sleep(6 * SOON)).await;
                    session.close().await?;
                    Ok(7)
                })
                .await;
            assert_eq!(done.unwrap(), 7);
        });
    }
}
