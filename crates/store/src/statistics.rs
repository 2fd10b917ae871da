//! Statistics of searches: added by the hour, read by spans of hours, thinned with age.

use crate::error::Result;
use crate::store::Store;

/// Maximum number of slow searches to keep.
const MAX_SLOW: i64 = 1000;

/// Histogram of the durations of searches of one hour, kind and outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HourOfSearches {
    /// Beginning of the hour, in seconds since 1970.
    pub hour: i64,
    /// The kind of plan.
    pub kind: String,
    /// The outcome.
    pub outcome: String,
    /// Searches in each bucket of the histogram.
    pub counts: Vec<i64>,
    /// Sum of the durations, in microseconds.
    pub micros: i64,
}

/// A slow search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowSearch {
    /// Its end, in milliseconds since 1970.
    pub at: i64,
    /// The kind of plan.
    pub kind: String,
    /// Its outcome.
    pub outcome: String,
    /// Its duration, in microseconds.
    pub micros: i64,
    /// The query.
    pub query: String,
    /// Its plan, and the work done.
    pub plan: String,
}

/// Statistics that a server adds in one transaction.
#[derive(Clone, Debug, Default)]
pub struct StatisticsBatch {
    /// Histograms.
    pub searches: Vec<HourOfSearches>,
    /// Refused requests: hour, reason, number.
    pub refusals: Vec<(i64, String, i64)>,
    /// Slow searches.
    pub slow: Vec<SlowSearch>,
}

/// The counters that Postgres itself keeps for one kind of statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The statement, with `NNN` for the shard's number.
    pub query: String,
    /// Number of calls.
    pub calls: i64,
    /// Total time, in milliseconds.
    pub total_ms: f64,
    /// Total number of rows returned.
    pub rows: i64,
    /// Share of the needed blocks that were in the server's memory, from 0 to 1; `None` if none were needed.
    pub hit_share: Option<f64>,
}

impl Store {
    /// Adds to the statistics, all or nothing.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn note(&self, batch: &StatisticsBatch) -> Result<()> {
        // Several servers add to the same rows. A common order avoids deadlocks.
        let mut searches: Vec<&HourOfSearches> = batch.searches.iter().collect();
        searches.sort_by_key(|row| (row.hour, &row.kind, &row.outcome));
        let mut refusals: Vec<&(i64, String, i64)> = batch.refusals.iter().collect();
        refusals.sort();
        let mut tx = self.control().begin().await?;
        if !searches.is_empty() {
            // `unnest` would flatten arrays of arrays, so they are sent as texts.
            let counts = searches.iter().map(|row| {
                let numbers: Vec<String> = row.counts.iter().map(i64::to_string).collect();
                format!("{{{}}}", numbers.join(","))
            });
            sqlx::query(
                "insert into searches (hour, kind, outcome, counts, micros)
                 select to_timestamp(hour), kind, outcome, counts::bigint[], micros
                 from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[])
                     with ordinality as given(hour, kind, outcome, counts, micros, n)
                 order by n
                 on conflict (hour, kind, outcome) do update
                 set counts = add_counts(searches.counts, excluded.counts),
                     micros = searches.micros + excluded.micros",
            )
            .bind(searches.iter().map(|row| row.hour).collect::<Vec<_>>())
            .bind(searches.iter().map(|row| row.kind.clone()).collect::<Vec<_>>())
            .bind(searches.iter().map(|row| row.outcome.clone()).collect::<Vec<_>>())
            .bind(counts.collect::<Vec<_>>())
            .bind(searches.iter().map(|row| row.micros).collect::<Vec<_>>())
            .execute(&mut *tx)
            .await?;
        }
        if !refusals.is_empty() {
            sqlx::query(
                "insert into refusals (hour, reason, count)
                 select to_timestamp(hour), reason, count
                 from unnest($1::bigint[], $2::text[], $3::bigint[])
                     with ordinality as given(hour, reason, count, n)
                 order by n
                 on conflict (hour, reason) do update set count = refusals.count + excluded.count",
            )
            .bind(refusals.iter().map(|row| row.0).collect::<Vec<_>>())
            .bind(refusals.iter().map(|row| row.1.clone()).collect::<Vec<_>>())
            .bind(refusals.iter().map(|row| row.2).collect::<Vec<_>>())
            .execute(&mut *tx)
            .await?;
        }
        if !batch.slow.is_empty() {
            let slow = &batch.slow;
            // Texts in Postgres cannot hold a NUL; queries can.
            let clean = |text: &String| text.replace('\0', "\u{fffd}");
            sqlx::query(
                "insert into slow_searches (at, kind, outcome, micros, query, plan)
                 select to_timestamp(at / 1000.0), kind, outcome, micros, query, plan
                 from unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[])
                     as given(at, kind, outcome, micros, query, plan)",
            )
            .bind(slow.iter().map(|row| row.at).collect::<Vec<_>>())
            .bind(slow.iter().map(|row| row.kind.clone()).collect::<Vec<_>>())
            .bind(slow.iter().map(|row| row.outcome.clone()).collect::<Vec<_>>())
            .bind(slow.iter().map(|row| row.micros).collect::<Vec<_>>())
            .bind(slow.iter().map(|row| clean(&row.query)).collect::<Vec<_>>())
            .bind(slow.iter().map(|row| clean(&row.plan)).collect::<Vec<_>>())
            .execute(&mut *tx)
            .await?;
            sqlx::query(
                "delete from slow_searches where id <=
                     (select id from slow_searches order by id desc offset $1 limit 1)",
            )
            .bind(MAX_SLOW)
            .execute(&mut *tx)
            .await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Returns the histograms of the hours that begin in `from..to`, in seconds since 1970: one for each kind and
    /// outcome.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn searches(&self, from: i64, to: i64) -> Result<Vec<HourOfSearches>> {
        let rows: Vec<(String, String, Vec<i64>, i64)> = sqlx::query_as(
            "select kind, outcome, sum_counts(counts), sum(micros)::bigint from searches
             where hour >= to_timestamp($1) and hour < to_timestamp($2)
             group by kind, outcome order by kind, outcome",
        )
        .bind(from)
        .bind(to)
        .fetch_all(self.control())
        .await?;
        Ok(rows
            .into_iter()
            .map(|(kind, outcome, counts, micros)| HourOfSearches {
                hour: from,
                kind,
                outcome,
                counts,
                micros,
            })
            .collect())
    }

    /// Returns the number of refused requests in the hours that begin in `from..to`, by reason.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn refusals(&self, from: i64, to: i64) -> Result<Vec<(String, i64)>> {
        Ok(sqlx::query_as(
            "select reason, sum(count)::bigint from refusals
             where hour >= to_timestamp($1) and hour < to_timestamp($2)
             group by reason order by reason",
        )
        .bind(from)
        .bind(to)
        .fetch_all(self.control())
        .await?)
    }

    /// Returns the slowest of the kept slow searches that ended in `from..to`, in seconds since 1970.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn slow_searches(&self, from: i64, to: i64, most: i64) -> Result<Vec<SlowSearch>> {
        let rows: Vec<(i64, String, String, i64, String, String)> = sqlx::query_as(
            "select (extract(epoch from at) * 1000)::bigint, kind, outcome, micros, query, plan
             from slow_searches where at >= to_timestamp($1) and at < to_timestamp($2)
             order by micros desc, id limit $3",
        )
        .bind(from)
        .bind(to)
        .bind(most)
        .fetch_all(self.control())
        .await?;
        Ok(rows
            .into_iter()
            .map(|(at, kind, outcome, micros, query, plan)| SlowSearch {
                at,
                kind,
                outcome,
                micros,
                query,
                plan,
            })
            .collect())
    }

    /// Merges the hours of each day more than `days_by_hour` days ago into one row, and deletes everything older than
    /// `days` days.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn thin_statistics(&self, days_by_hour: i32, days: i32) -> Result<()> {
        let mut tx = self.control().begin().await?;
        sqlx::query(
            "with old as (
                 delete from searches
                 where hour < date_trunc('day', now(), 'UTC') - make_interval(days => $1)
                   and hour <> date_trunc('day', hour, 'UTC')
                 returning *)
             insert into searches (hour, kind, outcome, counts, micros)
             select date_trunc('day', hour, 'UTC'), kind, outcome, sum_counts(counts), sum(micros)
             from old group by 1, 2, 3 order by 1, 2, 3
             on conflict (hour, kind, outcome) do update
             set counts = add_counts(searches.counts, excluded.counts),
                 micros = searches.micros + excluded.micros",
        )
        .bind(days_by_hour)
        .execute(&mut *tx)
        .await?;
        for sql in [
            "delete from searches where hour < now() - make_interval(days => $1)",
            "delete from refusals where hour < now() - make_interval(days => $1)",
            "delete from slow_searches where at < now() - make_interval(days => $1)",
        ] {
            sqlx::query(sql).bind(days).execute(&mut *tx).await?;
        }
        tx.commit().await?;
        Ok(())
    }

    /// Returns the counters of `pg_stat_statements` for this database, the most expensive statements first; `None` if
    /// the server does not count. `add` allows adding the extension to the database.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn counted_statements(&self, add: bool, most: i64) -> Result<Option<Vec<Statement>>> {
        let schema = async || -> Result<Option<String>> {
            Ok(sqlx::query_scalar(
                "select quote_ident(nspname) from pg_extension e
                 join pg_namespace n on n.oid = e.extnamespace where extname = 'pg_stat_statements'",
            )
            .fetch_optional(self.control())
            .await?)
        };
        // Without its library the extension can be added, but shows nothing.
        let loaded: bool = sqlx::query_scalar(
            "select current_setting('pg_stat_statements.max', true) is not null",
        )
        .fetch_one(self.control())
        .await?;
        if !loaded {
            return Ok(None);
        }
        let mut found = schema().await?;
        if found.is_none() && add {
            sqlx::query("create extension if not exists pg_stat_statements schema public")
                .execute(self.control())
                .await?;
            found = schema().await?;
        }
        let Some(schema) = found else { return Ok(None) };
        // Statements that differ only in the shard they name are added up.
        let rows: Vec<(String, i64, f64, i64, Option<f64>)> =
            sqlx::query_as(sqlx::AssertSqlSafe(format!(
                "select regexp_replace(query, '_\\d{{2,4}}\\M', '_NNN', 'g') shape,
                        sum(calls)::bigint, sum(total_exec_time), sum(rows)::bigint,
                        (sum(shared_blks_hit) / nullif(sum(shared_blks_hit + shared_blks_read), 0))::float8
                 from {schema}.pg_stat_statements
                 where dbid = (select oid from pg_database where datname = current_database())
                 group by 1 order by 3 desc limit $1"
            )))
            .bind(most)
            .fetch_all(self.control())
            .await?;
        Ok(Some(
            rows.into_iter()
                .map(|(query, calls, total_ms, rows, hit_share)| Statement {
                    query: query.split_whitespace().collect::<Vec<_>>().join(" "),
                    calls,
                    total_ms,
                    rows,
                    hit_share,
                })
                .collect(),
        ))
    }
}
