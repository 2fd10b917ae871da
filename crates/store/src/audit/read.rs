//! Reading the audit, in pages: no transaction is open between them.

use sqlx::Row;
use sqlx::postgres::PgRow;

use super::AuditEvent;
use crate::candidates::escape;
use crate::error::Result;
use crate::store::Store;

/// Which events to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only those of this name.
    pub who: Option<String>,
    /// Only those with this repository in their answer; `*` stands for any characters. Events with more repositories
    /// than are named count as well, since it may be among the others.
    pub repo: Option<String>,
    /// Only those since this time, in microseconds since 1970.
    pub since: Option<i64>,
    /// Only those before this time, in microseconds since 1970.
    pub until: Option<i64>,
    /// Only those of this interface.
    pub interface: Option<String>,
    /// Only those that were refused.
    pub refused: bool,
}

/// The order of a page of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    NewestFirst,
    OldestFirst,
}

impl Store {
    /// Returns at most `most` events, the newest first, those before an event (its time and number) if one is given.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn audit_before(
        &self,
        filter: &AuditFilter,
        before: Option<(i64, i64)>,
        most: usize,
    ) -> Result<Vec<AuditEvent>> {
        self.audit_page(filter, Order::NewestFirst, before, most).await
    }

    /// Returns at most `most` events, the oldest first, those after an event (its time and number) if one is given.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn audit_after(
        &self,
        filter: &AuditFilter,
        after: Option<(i64, i64)>,
        most: usize,
    ) -> Result<Vec<AuditEvent>> {
        self.audit_page(filter, Order::OldestFirst, after, most).await
    }

    async fn audit_page(
        &self,
        filter: &AuditFilter,
        order: Order,
        from: Option<(i64, i64)>,
        most: usize,
    ) -> Result<Vec<AuditEvent>> {
        let (cmp, by) = match order {
            Order::NewestFirst => ("<", "desc"),
            Order::OldestFirst => (">", "asc"),
        };
        // The condition on `at` alone leaves out partitions.
        let sql = format!(
            "select (extract(epoch from at) * 1000000)::bigint as at, id, took, files, results, repos_count, more,
                    status, is_owner, outcome, interface, endpoint, sender, who, query, parameters, reason,
                    array(select name from audit_repos r where r.id = any(a.repos) order by name) as repos
             from audit a
             where ($1::text is null or who = $1)
               and ($2::text is null or repos_count > coalesce(cardinality(repos), 0)
                    or repos && array(select id from audit_repos where name like $2))
               and ($3::bigint is null or at >= timestamptz 'epoch' + $3 * interval '1 microsecond')
               and ($4::bigint is null or at < timestamptz 'epoch' + $4 * interval '1 microsecond')
               and ($5::text is null or interface = $5)
               and (not $6 or outcome = 'refused')
               and ($7::bigint is null or at {cmp}= timestamptz 'epoch' + $7 * interval '1 microsecond'
                    and (at, id) {cmp} (timestamptz 'epoch' + $7 * interval '1 microsecond', $8))
             order by a.at {by}, a.id {by} limit $9"
        );
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql))
            // With the values, the planner sees which partitions and indexes serve.
            .persistent(false)
            .bind(&filter.who)
            .bind(filter.repo.as_deref().map(like))
            .bind(filter.since)
            .bind(filter.until)
            .bind(&filter.interface)
            .bind(filter.refused)
            .bind(from.map(|(at, _)| at))
            .bind(from.map(|(_, id)| id))
            .bind(i64::try_from(most).unwrap_or(i64::MAX))
            .fetch_all(self.control())
            .await?;
        rows.iter().map(event).collect()
    }
}

/// Returns the pattern of `like` for a name with `*`.
fn like(name: &str) -> String {
    let mut pattern = String::new();
    for (at, part) in name.split('*').enumerate() {
        if at > 0 {
            pattern.push('%');
        }
        escape(part, &mut pattern);
    }
    pattern
}

fn event(row: &PgRow) -> Result<AuditEvent> {
    let word = |name: &str| Ok::<_, sqlx::Error>(row.try_get::<String, _>(name)?.into());
    Ok(AuditEvent {
        at: row.try_get("at")?,
        id: row.try_get("id")?,
        took: row.try_get("took")?,
        files: row.try_get("files")?,
        results: row.try_get("results")?,
        repos_count: row.try_get("repos_count")?,
        more: row.try_get("more")?,
        status: row.try_get("status")?,
        is_owner: row.try_get("is_owner")?,
        outcome: word("outcome")?,
        interface: word("interface")?,
        endpoint: word("endpoint")?,
        sender: row.try_get("sender")?,
        who: row.try_get("who")?,
        query: row.try_get("query")?,
        parameters: row.try_get("parameters")?,
        reason: row.try_get::<Option<String>, _>("reason")?.map(Into::into),
        repos: row.try_get("repos")?,
    })
}
