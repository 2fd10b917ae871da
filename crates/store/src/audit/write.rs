//! Writing the audit.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use sqlx::{Connection, PgConnection};

use super::partitions::{self, Month};
use super::{AuditEvent, MAX_AUDIT_REPOS};
use crate::error::{Error, Result};
use crate::locks::AUDIT_LOCKS;
use crate::store::Store;
use crate::target::answered;

/// Maximum time for a batch. A server that takes longer does not answer at all; then the batch is sent again.
const ANSWER: Duration = Duration::from_secs(10);

/// Microseconds after which a run that has told nothing may have been killed, even if it has another name: a living one
/// tells more often, though what it has written may end a minute ago, since refusals are counted for so long.
const SILENT: i64 = 90_000_000;

/// Maximum number of repositories whose numbers are kept in memory.
const MAX_KNOWN: usize = 50_000;

/// Events to write, and how far they reach.
#[derive(Clone, Copy, Debug)]
pub struct AuditBatch<'e> {
    /// The events, in the order of their numbers.
    pub events: &'e [AuditEvent],
    /// The number of the first of them: a run of a server counts its events from 1.
    pub first: i64,
    /// All events until this time are written with these, in microseconds since 1970.
    pub until: i64,
    /// Number of requests that are being answered.
    pub running: i32,
}

/// The run of a server that writes the audit. It holds a lock on a connection of its own, by which other runs know that
/// it lives.
#[derive(Debug)]
pub struct AuditWriter {
    store: Store,
    name: String,
    /// Its number; `None` before the first write.
    run: Option<i32>,
    pub(super) conn: Option<PgConnection>,
    /// The numbers of repositories.
    repos: HashMap<String, i32>,
    /// The months whose partitions exist.
    months: BTreeSet<Month>,
}

impl Store {
    /// Returns what writes the audit for a server with this name, which no other living server has.
    pub fn audit_writer(&self, name: &str) -> AuditWriter {
        AuditWriter {
            store: self.clone(),
            name: name.to_owned(),
            run: None,
            conn: None,
            repos: HashMap::new(),
            months: BTreeSet::new(),
        }
    }

    /// Writes one event outside of a server's run.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn audit(&self, event: &AuditEvent) -> Result<()> {
        let mut writer = self.audit_writer("");
        let mut conn = self.connection().await?;
        writer.make_months(&mut conn, std::slice::from_ref(event)).await?;
        let repos = writer.numbers(&mut conn, std::slice::from_ref(event)).await?;
        insert(&mut conn, 0, std::slice::from_ref(event), &repos).await?;
        let _ = conn.close().await;
        Ok(())
    }
}

impl AuditWriter {
    /// Writes a batch, all or nothing; events of it that an earlier call wrote are not written again. The first call
    /// also notes the gaps that killed runs have left.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement. It is unknown whether the events are written, so the caller
    /// sends them again, with the same numbers.
    pub async fn write(&mut self, batch: AuditBatch<'_>) -> Result<()> {
        let mut conn = match self.conn.take() {
            Some(conn) => conn,
            None => answered(ANSWER, self.connected(batch.until)).await?,
        };
        answered(ANSWER, self.write_on(&mut conn, batch)).await?;
        // After a failure, the connection is dropped: its transaction may be open.
        self.conn = Some(conn);
        Ok(())
    }

    /// Makes the partitions of the month of a time and of the next one, and drops those that ended before `keep_from`.
    /// Times are in microseconds since 1970.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn tidy(&mut self, now: i64, keep_from: i64) -> Result<()> {
        let mut conn = match self.conn.take() {
            Some(conn) => conn,
            None => answered(ANSWER, self.connected(now)).await?,
        };
        answered(ANSWER, self.tidy_on(&mut conn, now, keep_from)).await?;
        self.conn = Some(conn);
        Ok(())
    }

    /// Notes the gaps that other runs have left which were killed.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn look(&mut self, now: i64) -> Result<()> {
        let mut conn = match self.conn.take() {
            Some(conn) => conn,
            None => answered(ANSWER, self.connected(now)).await?,
        };
        answered(ANSWER, self.note_gaps(&mut conn, now)).await?;
        self.conn = Some(conn);
        Ok(())
    }

    /// Ends the run in order: everything until `now` is written.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn end(&mut self, now: i64) -> Result<()> {
        let (Some(run), Some(mut conn)) = (self.run.take(), self.conn.take()) else {
            return Ok(());
        };
        let ended = sqlx::query(
            "update audit_writers set ended = true, running = 0,
                 until = timestamptz 'epoch' + $2 * interval '1 microsecond' where id = $1",
        )
        .bind(run)
        .bind(now);
        answered(ANSWER, async { Ok::<_, Error>(ended.execute(&mut conn).await?) }).await?;
        let _ = conn.close().await;
        Ok(())
    }

    /// Connects, and registers the run or takes its lock again.
    async fn connected(&mut self, now: i64) -> Result<PgConnection> {
        let mut conn = self.store.connection().await?;
        let has = match self.run {
            // The server may not have noticed yet that the connection of before is gone.
            Some(run) => {
                take_lock(&mut conn, run).await?;
                let sql = "select exists (select from audit_writers where id = $1 and not ended)";
                sqlx::query_scalar::<_, bool>(sql).bind(run).fetch_one(&mut conn).await?
            }
            None => false,
        };
        if !has {
            self.register(&mut conn, now).await?;
        }
        Ok(conn)
    }

    async fn register(&mut self, conn: &mut PgConnection, now: i64) -> Result<()> {
        // Another run may have taken this one for dead. What it has written is not written again.
        let run: i32 = sqlx::query_scalar(
            "insert into audit_writers (name, started_at, until, written)
             select $1, timestamptz 'epoch' + $2 * interval '1 microsecond',
                 timestamptz 'epoch' + $2 * interval '1 microsecond',
                 coalesce((select written from audit_writers where id = $3), 0)
             returning id",
        )
        .bind(&self.name)
        .bind(now)
        .bind(self.run)
        .fetch_one(&mut *conn)
        .await?;
        take_lock(conn, run).await?;
        self.run = Some(run);
        self.note_gaps(conn, now).await
    }

    /// Notes what runs may have lost that did not end in order: those of this server's name, and others that have been
    /// silent for long.
    async fn note_gaps(&mut self, conn: &mut PgConnection, now: i64) -> Result<()> {
        let found: Vec<(i32, String, i64, i32)> = sqlx::query_as(
            "select id, name, (extract(epoch from until) * 1000000)::bigint, running from audit_writers
             where not ended and id <> $1
               and (name = $2 or until < timestamptz 'epoch' + $3 * interval '1 microsecond')
             order by id",
        )
        .bind(self.run)
        .bind(&self.name)
        .bind(now - SILENT)
        .fetch_all(&mut *conn)
        .await?;
        for (run, name, until, running) in found {
            let is_free: bool = sqlx::query_scalar("select pg_try_advisory_lock($1, $2)")
                .bind(AUDIT_LOCKS)
                .bind(run)
                .fetch_one(&mut *conn)
                .await?;
            if !is_free {
                continue;
            }
            let gap = AuditEvent {
                at: until,
                took: i32::try_from((now - until).max(0) / 1000).unwrap_or(i32::MAX),
                more: running,
                outcome: "gap".into(),
                interface: "server".into(),
                query: Some(format!("{name} ended before all was written")),
                ..AuditEvent::default()
            };
            let events = std::slice::from_ref(&gap);
            self.make_months(conn, events).await?;
            let mut tx = conn.begin().await?;
            let marked =
                sqlx::query("update audit_writers set ended = true where id = $1 and not ended");
            if marked.bind(run).execute(&mut *tx).await?.rows_affected() > 0 {
                insert(&mut tx, run, events, &self.repos).await?;
            }
            tx.commit().await?;
            sqlx::query("select pg_advisory_unlock($1, $2)")
                .bind(AUDIT_LOCKS)
                .bind(run)
                .execute(&mut *conn)
                .await?;
        }
        Ok(())
    }

    async fn write_on(&mut self, conn: &mut PgConnection, batch: AuditBatch<'_>) -> Result<()> {
        self.make_months(conn, batch.events).await?;
        let repos = self.numbers(conn, batch.events).await?;
        let run = self.run.unwrap_or_default();
        let mut tx = conn.begin().await?;
        let sql = "select written from audit_writers where id = $1 and not ended for update";
        let written: Option<i64> =
            sqlx::query_scalar(sql).bind(run).fetch_optional(&mut *tx).await?;
        let Some(written) = written else {
            // The lock was lost for long, and another run has taken this one for dead.
            return Err(Error::Unreachable("the run of the audit has ended".to_owned()));
        };
        let known = usize::try_from(written - batch.first + 1).unwrap_or(0);
        let new = batch.events.get(known..).unwrap_or_default();
        if !new.is_empty() {
            insert(&mut tx, run, new, &repos).await?;
        }
        sqlx::query(
            "update audit_writers set written = greatest(written, $2), running = $4,
                 until = timestamptz 'epoch' + $3 * interval '1 microsecond' where id = $1",
        )
        .bind(run)
        .bind(batch.first + batch.events.len() as i64 - 1)
        .bind(batch.until)
        .bind(batch.running)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }

    async fn tidy_on(&mut self, conn: &mut PgConnection, now: i64, keep_from: i64) -> Result<()> {
        let month = Month::of(now);
        for month in [month, month.next()] {
            partitions::make(conn, month).await?;
            self.months.insert(month);
        }
        if partitions::drop_before(conn, keep_from).await? > 0 {
            self.months = BTreeSet::from([month, month.next()]);
        }
        sqlx::query(
            "delete from audit_writers where ended
             and until < timestamptz 'epoch' + $1 * interval '1 microsecond'",
        )
        .bind(keep_from)
        .execute(&mut *conn)
        .await?;
        Ok(())
    }

    /// Makes the partitions of events.
    async fn make_months(&mut self, conn: &mut PgConnection, events: &[AuditEvent]) -> Result<()> {
        let months: BTreeSet<Month> = events.iter().map(|event| Month::of(event.at)).collect();
        for month in months {
            if !self.months.contains(&month) {
                partitions::make(conn, month).await?;
                self.months.insert(month);
            }
        }
        Ok(())
    }

    /// Returns the numbers of the repositories of events; gives new ones to those that have none.
    async fn numbers(
        &mut self,
        conn: &mut PgConnection,
        events: &[AuditEvent],
    ) -> Result<HashMap<String, i32>> {
        let names: BTreeSet<&String> =
            events.iter().flat_map(|event| event.repos.iter().take(MAX_AUDIT_REPOS)).collect();
        let missing: Vec<&String> =
            names.iter().copied().filter(|name| !self.repos.contains_key(*name)).collect();
        if !missing.is_empty() {
            if self.repos.len() + missing.len() > MAX_KNOWN {
                self.repos.clear();
            }
            let all: Vec<String> = names.iter().map(|name| (*name).clone()).collect();
            sqlx::query(
                "insert into audit_repos (name) select n from unnest($1::text[]) n
                 where not exists (select from audit_repos where name = n)
                 order by n on conflict do nothing",
            )
            .bind(&all)
            .execute(&mut *conn)
            .await?;
            let found: Vec<(String, i32)> =
                sqlx::query_as("select name, id from audit_repos where name = any($1)")
                    .bind(&all)
                    .fetch_all(&mut *conn)
                    .await?;
            self.repos.extend(found);
        }
        let number = |name: &String| Some((name.clone(), *self.repos.get(name)?));
        Ok(names.into_iter().filter_map(number).collect())
    }
}

/// Waits for the lock of a run.
async fn take_lock(conn: &mut PgConnection, run: i32) -> Result<()> {
    sqlx::query("select pg_advisory_lock($1, $2)")
        .bind(AUDIT_LOCKS)
        .bind(run)
        .execute(conn)
        .await?;
    Ok(())
}

/// Returns a value of each event.
fn each<T>(events: &[AuditEvent], of: impl Fn(&AuditEvent) -> T) -> Vec<T> {
    events.iter().map(of).collect()
}

/// Inserts events.
async fn insert(
    conn: &mut PgConnection,
    run: i32,
    events: &[AuditEvent],
    numbers: &HashMap<String, i32>,
) -> Result<()> {
    // `unnest` would flatten arrays of arrays, so they are sent as texts.
    let repos = events.iter().map(|event| {
        let repos = event.repos.iter().take(MAX_AUDIT_REPOS);
        let mut ids: Vec<i32> = repos.filter_map(|name| numbers.get(name)).copied().collect();
        ids.sort_unstable();
        let ids: Vec<String> = ids.iter().map(i32::to_string).collect();
        (!ids.is_empty()).then(|| format!("{{{}}}", ids.join(",")))
    });
    // Postgres stores no NUL.
    let clean = |text: &Option<String>| text.as_ref().map(|text| text.replace('\0', "\u{fffd}"));
    sqlx::query(
        "insert into audit (at, writer, took, files, results, repos_count, more, status, is_owner, outcome,
             interface, endpoint, sender, who, query, parameters, reason, repos)
         select timestamptz 'epoch' + at * interval '1 microsecond', $1, took, files, results, repos_count, more,
             status, is_owner, outcome, interface, endpoint, sender, who, query, parameters, reason, repos::int[]
         from unnest($2::bigint[], $3::int[], $4::int[], $5::int[], $6::int[], $7::int[], $8::smallint[], $9::bool[],
                     $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[],
                     $17::text[], $18::text[])
             with ordinality as given(at, took, files, results, repos_count, more, status, is_owner, outcome,
                 interface, endpoint, sender, who, query, parameters, reason, repos, n)
         order by n",
    )
    .bind(run)
    .bind(each(events, |event| event.at))
    .bind(each(events, |event| event.took))
    .bind(each(events, |event| event.files))
    .bind(each(events, |event| event.results))
    .bind(each(events, |event| event.repos_count))
    .bind(each(events, |event| event.more))
    .bind(each(events, |event| event.status))
    .bind(each(events, |event| event.is_owner))
    .bind(each(events, |event| event.outcome.to_string()))
    .bind(each(events, |event| event.interface.to_string()))
    .bind(each(events, |event| event.endpoint.replace('\0', "\u{fffd}")))
    .bind(each(events, |event| clean(&event.sender)))
    .bind(each(events, |event| clean(&event.who)))
    .bind(each(events, |event| clean(&event.query)))
    .bind(each(events, |event| clean(&event.parameters)))
    .bind(each(events, |event| event.reason.as_ref().map(ToString::to_string)))
    .bind(repos.collect::<Vec<_>>())
    .execute(conn)
    .await?;
    Ok(())
}
