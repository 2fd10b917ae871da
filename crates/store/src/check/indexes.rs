//! Checks the indexes with the server's own extension, and the collation that sorts them.

use sqlx::Executor;

use super::{Check, Problem};
use crate::error::Result;
use crate::nodes;

/// Checks the indexes of one server.
const INDEXES: &str = include_str!("indexes.sql");

impl Check {
    /// Returns the problems of the indexes that `amcheck`
    /// (<https://www.postgresql.org/docs/current/amcheck.html>) finds, if the server has it and
    /// this role may use it, on all nodes. It checks B-trees, and from Postgres 18 on also GIN indexes.
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
        if self.store.is_distributed() {
            for reply in nodes::replies(&mut self.conn, INDEXES).await? {
                let (node, said) = (&reply.node, &reply.result);
                let found = found(said).unwrap_or_else(|| vec![format!("not checked: {said}")]);
                problems
                    .extend(found.into_iter().map(|what| problem(format!("on {node}, {what}"))));
            }
            return Ok(problems);
        }
        match self.conn.execute(INDEXES).await {
            Err(sqlx::Error::Database(said)) => {
                let Some(found) = found(said.message()) else {
                    return Err(sqlx::Error::Database(said).into());
                };
                problems.extend(found.into_iter().map(problem));
            }
            ended => {
                ended?;
            }
        }
        Ok(problems)
    }
}

/// Returns what a server found that ended [`INDEXES`] with this error, if it was checked or cannot be.
fn found(said: &str) -> Option<Vec<String>> {
    let said = said.trim_start_matches("ERROR:").trim_start();
    if let Some(why) = said.strip_prefix("unavailable: ") {
        tracing::debug!("amcheck is not available: {why}");
        return Some(Vec::new());
    }
    let found = said.strip_prefix("checked: ")?;
    Some(found.split('\u{1f}').filter(|one| !one.is_empty()).map(str::to_owned).collect())
}

fn problem(what: String) -> Problem {
    Problem { shard: None, what, is_derived: false }
}
