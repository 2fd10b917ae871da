//! Checks the indexes with the server's own extension, and the collation that sorts them.

use sqlx::{Connection, Executor};

use super::{Check, Problem};
use crate::error::Result;

impl Check {
    /// Returns the problems of the indexes that `amcheck`
    /// (<https://www.postgresql.org/docs/current/amcheck.html>) finds, if the server has it and
    /// this role may use it. It checks B-trees, and from Postgres 18 on also GIN indexes.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn indexes(&mut self) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        let sorts_otherwise: bool = sqlx::query_scalar(
            "select datcollversion is distinct from pg_database_collation_actual_version(oid)
             from pg_database where datname = current_database()",
        )
        .fetch_one(&mut self.conn)
        .await?;
        if sorts_otherwise {
            problems.push(problem(
                "the system's sort order has changed since the database was created: run reindex database, then alter \
                 database ... refresh collation version"
                    .to_owned(),
            ));
        }
        // The extension is added within a transaction that is rolled back.
        let mut tx = self.conn.begin().await?;
        if let Err(error) = tx.execute("create extension if not exists amcheck").await {
            tracing::debug!("amcheck is not available: {error}");
            tx.rollback().await?;
            return Ok(problems);
        }
        let checks: Vec<(String, String)> = sqlx::query_as(
            "select c.relname, format('select %s(%s::regclass%s)', p.oid::regproc, c.oid,
                                      case a.amname when 'btree' then ', true' else '' end)
             from pg_class c join pg_index i on i.indexrelid = c.oid join pg_am a on a.oid = c.relam
                  join pg_proc p on p.proname = case a.amname when 'btree' then 'bt_index_check' else 'gin_index_check' end
                                and p.pronargs = case a.amname when 'btree' then 2 else 1 end
             where c.relnamespace = 'codesearch'::regnamespace and c.relkind = 'i' and i.indisvalid
               and a.amname in ('btree', 'gin')
             order by 1",
        )
        .fetch_all(&mut *tx)
        .await?;
        for (index, sql) in checks {
            let mut one = tx.begin().await?;
            let checked = one.execute(sqlx::AssertSqlSafe(sql)).await;
            one.rollback().await?;
            match checked {
                Ok(_) => {}
                Err(sqlx::Error::Database(error)) => {
                    problems.push(problem(format!("the index {index}: {error}")));
                }
                Err(error) => return Err(error.into()),
            }
        }
        tx.rollback().await?;
        Ok(problems)
    }
}

fn problem(what: String) -> Problem {
    Problem { shard: None, what, is_derived: false }
}
