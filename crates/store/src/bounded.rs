//! Statements of programs that are not trusted to ask for little: bounded in cost, time, rows and bytes.
//!
//! What they may do is a matter of the role and of the transaction ([`Store::sql`]). The bounds here keep a query from
//! taking more than its share: it becomes a subquery, of which Postgres plans and sends only the first rows, each value cut.

use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use sqlx::{AssertSqlSafe, Executor, PgConnection, Row, ValueRef};

use crate::error::{Error, Result};
use crate::reader::SqlReader;
use crate::sql::{SqlColumn, only_tells, refused};
use crate::store::Store;

/// Most rows that are counted beyond those of an answer.
const COUNTED: u64 = 1000;

/// Longest time to count them.
const COUNTING: Duration = Duration::from_secs(1);

/// Bounds of a statement.
#[derive(Clone, Copy, Debug)]
pub struct SqlBounds {
    /// Longest time.
    pub timeout: Duration,
    /// Highest cost that Postgres's planner may expect, in its own unit: about the time to read a page of a table.
    pub cost: f64,
    /// Most rows.
    pub rows: usize,
    /// Most bytes of all values together.
    pub bytes: usize,
    /// Most letters of a value.
    pub letters: usize,
}

/// The first rows of an answer.
#[derive(Clone, Debug, Default)]
pub struct SqlRows {
    /// The columns; several may have the same name.
    pub columns: Vec<SqlColumn>,
    /// The values as Postgres writes them, by row; none for null.
    pub rows: Vec<Vec<Option<String>>>,
    /// Why there may be more rows.
    pub more: Option<More>,
    /// Number of further rows that were counted: at least one if there are more.
    pub cut_rows: u64,
    /// Whether these are all. Counting ends at 1,000 rows and after a second.
    pub is_counted: bool,
    /// Number of values in `rows` that are shortened.
    pub cut_values: u64,
}

impl SqlRows {
    /// Says how many rows there are besides: `1 more row`, `at least 1000 more rows`.
    pub fn cut(&self) -> String {
        let least = if self.is_counted { "" } else { "at least " };
        let rows = if self.cut_rows == 1 { "row" } else { "rows" };
        format!("{least}{} more {rows}", self.cut_rows)
    }

    /// Returns the values of columns named `repository`, ascending: the repositories that the answer names as such.
    pub fn repositories(&self) -> Vec<&str> {
        let at: Vec<usize> =
            (0..self.columns.len()).filter(|at| self.columns[*at].name == "repository").collect();
        let values =
            self.rows.iter().flat_map(|row| at.iter().filter_map(|at| row[*at].as_deref()));
        values.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    }
}

/// Why rows are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum More {
    /// There are more than [`SqlBounds::rows`].
    Rows,
    /// They have more than [`SqlBounds::bytes`].
    Bytes,
}

impl Store {
    /// Runs a statement as [`Store::sql`] does, within bounds. Its connection is closed.
    ///
    /// # Errors
    /// Those of [`Store::sql`]; [`Error::Refused`] if the statement costs too much or takes too long.
    pub async fn sql_within(
        &self,
        reader: &SqlReader,
        statement: &str,
        bounds: &SqlBounds,
    ) -> Result<SqlRows> {
        let mut query = self.sql(reader, statement, bounds.timeout).await?;
        let columns = query.columns.clone();
        let mut answer = SqlRows { columns, is_counted: true, ..SqlRows::default() };
        let tells_cost = reader.is_owner();
        let tells = only_tells(statement);
        let bounded = if tells {
            statement.to_owned()
        } else {
            first(statement, answer.columns.len(), bounds)
        };
        // Nothing that the statement does outlives it, even where a role may do more than it should.
        let conn = query.connection();
        conn.execute("begin transaction read only").await?;
        conn.execute("set local max_parallel_workers_per_gather = 0").await?;
        if !tells {
            check_cost(conn, &bounded, statement, (bounds, tells_cost)).await?;
        }
        rows(conn, &bounded, statement, (bounds, &mut answer)).await?;
        query.close();
        Ok(answer)
    }
}

/// Returns the query of the first rows of a statement, and of some more to count, with values as text, cut if they are
/// long.
fn first(statement: &str, columns: usize, bounds: &SqlBounds) -> String {
    let letters = bounds.letters;
    let values = (1..=columns).map(|n| {
        format!(
            "case when length(c{n}::text) > {letters} then left(c{n}::text, {letters}) || '[... ' || \
             length(c{n}::text) - {letters} || ' letters ...]' else c{n}::text end"
        )
    });
    let values: Vec<String> = values.collect();
    let names: Vec<String> = (1..=columns).map(|n| format!("c{n}")).collect();
    let names = if names.is_empty() { String::new() } else { format!("({})", names.join(", ")) };
    let statement = statement.trim_end_matches(|c: char| c.is_whitespace() || c == ';');
    let rows = bounds.rows as u64 + COUNTED + 1;
    format!("select {} from (\n{statement}\n) q{names} limit {rows}", values.join(", "))
}

/// Refuses a query that Postgres expects to cost too much.
async fn check_cost(
    conn: &mut PgConnection,
    bounded: &str,
    statement: &str,
    (bounds, tells_cost): (&SqlBounds, bool),
) -> Result<()> {
    let plan = sqlx::query(AssertSqlSafe(format!("explain {bounded}")));
    // The statement was accepted by itself. One that cannot be a part of another has a comment after a semicolon.
    let plan: String = match plan.fetch_one(conn).await {
        Ok(row) => row.try_get(0)?,
        Err(error) => match refused(error, statement) {
            Error::Statement(why) => {
                let why = format!("{why}; end the statement without a semicolon or a comment");
                return Err(Error::Statement(why));
            }
            other => return Err(other),
        },
    };
    let cost = total_cost(&plan).unwrap_or(f64::INFINITY);
    if cost > bounds.cost && !tells_cost {
        // The figure would tell of what the statement does not see.
        return Err(Error::Refused(
            "this statement is too expensive; add conditions on repository or path".to_owned(),
        ));
    }
    if cost > bounds.cost {
        return Err(Error::Refused(format!(
            "this statement is too expensive: Postgres expects a cost of {cost:.0}, and {:.0} is the most; add conditions on \
             repository or path",
            bounds.cost
        )));
    }
    Ok(())
}

/// Reads the cost in the first line of a plan: `Limit  (cost=0.00..1.23 rows=10 width=4)`.
fn total_cost(plan: &str) -> Option<f64> {
    let (_, costs) = plan.split_once("cost=")?;
    let (costs, _) = costs.split_once(' ')?;
    costs.split_once("..")?.1.parse().ok()
}

/// Reads rows until one is over a bound, and counts some more.
async fn rows(
    conn: &mut PgConnection,
    bounded: &str,
    statement: &str,
    (bounds, answer): (&SqlBounds, &mut SqlRows),
) -> Result<()> {
    let mut rows = sqlx::query(AssertSqlSafe(bounded.to_owned())).fetch(conn);
    let mut bytes = 0;
    let mut counting = None;
    loop {
        let row = match rows.try_next().await {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(()),
            // What was read before is the answer.
            Err(_) if counting.is_some() => {
                answer.is_counted = false;
                return Ok(());
            }
            Err(error) => return Err(too_long(error, statement, bounds)),
        };
        if let Some(since) = counting {
            if answer.cut_rows == COUNTED || Instant::now().duration_since(since) > COUNTING {
                answer.is_counted = false;
                return Ok(());
            }
            answer.cut_rows += 1;
            continue;
        }
        if answer.rows.len() == bounds.rows {
            answer.more = Some(More::Rows);
        }
        let mut values = Vec::with_capacity(row.len());
        for at in 0..row.len() {
            let value = row.try_get_raw(at)?;
            let text = if value.is_null() { None } else { Some(value.as_str()) };
            values.push(text.transpose().map_err(sqlx::Error::Decode)?.map(str::to_owned));
        }
        bytes += values.iter().flatten().map(String::len).sum::<usize>();
        if answer.more.is_none() && bytes > bounds.bytes {
            answer.more = Some(More::Bytes);
        }
        if answer.more.is_some() {
            counting = Some(Instant::now());
            answer.cut_rows = 1;
            continue;
        }
        let is_cut = |text: &&String| {
            text.len() > bounds.letters && text.chars().nth(bounds.letters).is_some()
        };
        answer.cut_values += values.iter().flatten().filter(is_cut).count() as u64;
        answer.rows.push(values);
    }
}

/// The code of an error about a statement that was cancelled: `query_canceled`.
const CANCELLED: &str = "57014";

/// Returns the error for a statement, which says how long it may take.
fn too_long(error: sqlx::Error, statement: &str, bounds: &SqlBounds) -> Error {
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    if code.as_deref() == Some(CANCELLED) {
        return Error::Refused(format!(
            "this statement takes longer than {:?}; add conditions on repository or path",
            bounds.timeout
        ));
    }
    refused(error, statement)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{on_index, value};
    use crate::{READER, Target};

    const BOUNDS: SqlBounds = SqlBounds {
        timeout: Duration::from_millis(300),
        cost: 1e6,
        rows: 10,
        bytes: 100,
        letters: 5,
    };

    #[test]
    fn a_statement_becomes_a_subquery() {
        let bounds = BOUNDS;
        let one = first("select 1 ; \n", 1, &bounds);
        assert!(one.ends_with("from (\nselect 1\n) q(c1) limit 1011"), "{one}");
        let plan = "Limit  (cost=0.25..1234.50 rows=11 width=32)";
        assert_eq!(total_cost(plan), Some(1234.5));
        assert_eq!(first("select", 0, &bounds), "select  from (\nselect\n) q limit 1011");
    }

    #[test]
    fn each_bound_ends_a_statement() {
        on_index(4, async |store| {
            // Its quotes are part of the setting.
            let setting =
                r#"select trim(both '"' from current_setting('unix_socket_directories'))"#;
            let folder: String = value(store, setting).await;
            let database: String = value(store, "select current_database()::text").await;
            let target =
                Target::Socket { folder: folder.into(), role: READER.to_owned(), database };
            let reader = SqlReader::owner(target);
            let run = async |statement: &str| store.sql_within(&reader, statement, &BOUNDS).await;
            let found = run("select 1 as a, null as a, 'abcdefg' as b order by 1").await.unwrap();
            let names: Vec<&str> = found.columns.iter().map(|column| &*column.name).collect();
            assert_eq!(names, ["a", "a", "b"]);
            assert_eq!((found.cut_values, found.cut_rows, found.is_counted), (1, 0, true));
            let some = |text: &str| Some(text.to_owned());
            assert_eq!(found.rows, [[some("1"), None, some("abcde[... 2 letters ...]")]]);
            assert_eq!(found.more, None);
            let found = run("select n from generate_series(1, 11) n").await.unwrap();
            assert_eq!((found.rows.len(), found.more), (10, Some(More::Rows)));
            assert_eq!((found.cut_rows, found.is_counted), (1, true));
            let found = run("select n from generate_series(1, 5000) n").await.unwrap();
            assert_eq!((found.rows.len(), found.cut_rows, found.is_counted), (10, 1000, false));
            let found = run("select repeat('x', 50) from generate_series(1, 9)").await.unwrap();
            assert_eq!((found.rows.len(), found.more), (4, Some(More::Bytes)));
            assert_eq!((found.cut_rows, found.is_counted, found.cut_values), (5, true, 4));
            assert!(run("select from generate_series(1, 2)").await.unwrap().rows.len() == 2);
            let why = async |statement: &str| match run(statement).await {
                Err(Error::Statement(why) | Error::Refused(why)) => why,
                other => panic!("{statement}: {other:?}"),
            };
            let endless = "with recursive t(n) as (select 1 union all select n from t) select count(*) from t";
            assert_eq!(
                why(endless).await,
                "this statement takes longer than 300ms; add conditions on repository or path"
            );
            let costly = "select count(*) from generate_series(1, 1000000000000)";
            assert!(why(costly).await.starts_with("this statement is too expensive: "));
            assert_eq!(run("select 1 -- x").await.unwrap().rows.len(), 1);
            for statement in ["delete from files", "select 1; select 2", "set role postgres", ""] {
                assert!(!why(statement).await.is_empty(), "{statement}");
            }
        });
    }
}
