//! The partitions of the audit: one for each month (UTC).

use jiff::Timestamp;
use jiff::tz::TimeZone;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::error::Result;
use crate::locks::AUDIT_LOCK;

/// A month: years since year 0 times twelve, and months since January.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Month(i64);

impl Month {
    /// Returns the month of a time in microseconds since 1970. A time that no calendar has counts as 1970.
    pub(super) fn of(at: i64) -> Self {
        let time = Timestamp::from_microsecond(at).unwrap_or_default().to_zoned(TimeZone::UTC);
        Self(i64::from(time.year()) * 12 + i64::from(time.month()) - 1)
    }

    /// Returns the month after it.
    pub(super) fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Returns its first day, `2026-11-01`.
    fn first_day(self) -> String {
        format!("{:04}-{:02}-01", self.0.div_euclid(12), self.0.rem_euclid(12) + 1)
    }

    /// Returns the name of its partition, `audit_2026_11`.
    pub(super) fn table(self) -> String {
        format!("audit_{:04}_{:02}", self.0.div_euclid(12), self.0.rem_euclid(12) + 1)
    }

    /// Returns the month of a partition.
    fn of_table(name: &str) -> Option<Self> {
        let (year, month) = name.strip_prefix("audit_")?.split_once('_')?;
        let (year, month) = (year.parse::<i64>().ok()?, month.parse::<i64>().ok()?);
        (1..=12).contains(&month).then_some(Self(year * 12 + month - 1))
    }
}

/// Makes the partition of a month, unless it exists. Readers and writers go on meanwhile.
///
/// # Errors
/// The server cannot be reached or refuses a statement.
pub(super) async fn make(conn: &mut PgConnection, month: Month) -> Result<()> {
    let mut tx = conn.begin().await?;
    sqlx::query("select pg_advisory_xact_lock($1)").bind(AUDIT_LOCK).execute(&mut *tx).await?;
    let table = month.table();
    let exists: bool = sqlx::query_scalar("select to_regclass($1) is not null")
        .bind(format!("codesearch.{table}"))
        .fetch_one(&mut *tx)
        .await?;
    if !exists {
        // `create table .. partition of` would wait for all readers, and all others for it.
        tx.execute(AssertSqlSafe(format!(
            "create table {table} (like audit including defaults);
             alter table audit attach partition {table}
                 for values from ('{} 00:00:00+00') to ('{} 00:00:00+00')",
            month.first_day(),
            month.next().first_day(),
        )))
        .await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Drops the partitions of months that ended before a time in microseconds since 1970. One that somebody reads is left
/// to the next call. Returns the number of those dropped.
///
/// # Errors
/// The server cannot be reached or refuses a statement.
pub(super) async fn drop_before(conn: &mut PgConnection, time: i64) -> Result<usize> {
    let names: Vec<String> = sqlx::query_scalar(
        "select relname::text from pg_inherits join pg_class on oid = inhrelid
         where inhparent = 'audit'::regclass order by relname",
    )
    .fetch_all(&mut *conn)
    .await?;
    let oldest = Month::of(time);
    let old = names.iter().filter(|name| Month::of_table(name).is_some_and(|of| of < oldest));
    let mut dropped = 0;
    for name in old {
        let mut tx = conn.begin().await?;
        // While it waits, nobody can write.
        tx.execute("set local lock_timeout = '500ms'").await?;
        let sql = format!("drop table if exists {name}");
        match tx.execute(AssertSqlSafe(sql)).await {
            Ok(_) => dropped += 1,
            Err(error) if is_lock_timeout(&error) => continue,
            Err(error) => return Err(error.into()),
        }
        tx.commit().await?;
    }
    Ok(dropped)
}

/// Returns whether a lock was not free in time (55P03, `lock_not_available`).
fn is_lock_timeout(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("55P03"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_those_of_the_calendar() {
        for (seconds, table) in [
            (0, "audit_1970_01"),
            (-1, "audit_1969_12"),
            (951_782_399, "audit_2000_02"),
            (951_868_800, "audit_2000_03"),
            (1_796_083_199, "audit_2026_11"),
            (1_796_083_200, "audit_2026_12"),
            (1_798_761_600, "audit_2027_01"),
        ] {
            let month = Month::of(seconds * 1_000_000);
            assert_eq!(month.table(), table, "{seconds}");
            assert_eq!(Month::of_table(table), Some(month));
        }
        assert_eq!(Month::of(1_796_083_200_000_000).next().first_day(), "2027-01-01");
        assert_eq!(Month::of_table("audit_repos"), None);
    }
}
