//! Mirrors whose hosts the configuration file no longer names: nothing updates them, which their repositories tell.

use crate::error::Result;
use crate::store::Store;

/// A host that the configuration file no longer names, while there are clones of it.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct LeftHost {
    /// Its name.
    pub name: String,
    /// Number of its clones that are in searches.
    pub clones: i64,
    /// Number of those whose repositories did not tell of it before.
    pub new: i64,
}

/// What a repository of such a host tells: an expression over `m`, a row of `mirrors`.
const WHY: &str = "format('the configuration file no longer names its host %s; write that again, or drop its clones: codesearch mirror --forget %s', m.host, m.host)";

impl Store {
    /// Returns the hosts with clones that are not among the `named` ones, by name. Changes nothing.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn left_hosts(&self, named: &[String]) -> Result<Vec<LeftHost>> {
        let sql = format!(
            "select m.host as name, count(*) as clones,
                    count(*) filter (where r.id is not null and r.failure is distinct from {WHY}) as new
             from mirrors m left join repos r on r.source = m.folder
             where m.host <> all($1) and m.cloned_at is not null and m.hidden_at is null
             group by m.host order by m.host"
        );
        let asked = sqlx::query_as(sqlx::AssertSqlSafe(sql)).bind(named);
        Ok(asked.fetch_all(self.control()).await?)
    }

    /// Records on the repositories of hosts that are not among the `named` ones that nothing updates them, and takes that
    /// back on those of the others.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn note_left_hosts(&self, named: &[String]) -> Result<()> {
        let fail = format!(
            "update repos r set failed_at = clock_timestamp(), failure = {WHY}, failures = 1 from mirrors m
             where r.source = m.folder and m.host <> all($1) and m.hidden_at is null and r.failure is distinct from {WHY}"
        );
        let forgive = format!(
            "update repos r set failed_at = null, failure = null, failures = 0 from mirrors m
             where r.source = m.folder and m.host = any($1) and r.failure = {WHY}"
        );
        for sql in [fail, forgive] {
            sqlx::query(sqlx::AssertSqlSafe(sql)).bind(named).execute(self.control()).await?;
        }
        Ok(())
    }

    /// Forgets a host, with all that it listed. Its mirrors must be forgotten before.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn forget_host(&self, name: &str) -> Result<()> {
        sqlx::query("delete from mirror_hosts where name = $1 and not exists (select from mirrors where host = $1)")
            .bind(name)
            .execute(self.control())
            .await?;
        Ok(())
    }
}
