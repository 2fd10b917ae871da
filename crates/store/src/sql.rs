//! Users' statements: one at a time, read only, on the views of `codesearch_sql`.

use std::fmt::Write as _;
use std::time::Duration;

use futures_util::TryStreamExt;
use sqlx::postgres::{PgDatabaseError, PgErrorPosition};
use sqlx::{
    AssertSqlSafe, Column, Executor, PgConnection, Row, SqlSafeStr, Statement, TypeInfo, ValueRef,
};

use crate::error::{Error, Result, of_reply};
use crate::reader::{SqlReader, named};
use crate::store::Store;

/// Makes the server accept a statement only if it is a query that changes nothing: a cursor can be declared for no
/// other. It is not run.
const DECLARE: &str = "declare codesearch no scroll cursor for\n";

/// The error for any other statement.
const QUERIES: &str =
    "only queries are allowed: SELECT, WITH, VALUES or TABLE without changes, EXPLAIN, and SHOW";

/// The same for who sees only some repositories.
const ONLY_QUERIES: &str =
    "only queries are allowed: SELECT, WITH, VALUES or TABLE without changes";

/// The representation of a column's values for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlKind {
    /// As a number.
    Number,
    /// As true or false.
    Boolean,
    /// As they are, in JSON.
    Json,
    /// As text.
    Text,
}

/// A column of an answer.
#[derive(Clone, Debug)]
pub struct SqlColumn {
    /// Its name; several columns may have the same one.
    pub name: String,
    /// The kind of its values.
    pub kind: SqlKind,
}

/// A statement that the server has parsed.
#[derive(Debug)]
pub struct SqlQuery {
    conn: PgConnection,
    statement: String,
    /// The columns of its answer.
    pub columns: Vec<SqlColumn>,
}

impl Store {
    /// Has the server parse a statement that reads: a query, or `explain` and `show` of the owner. It runs as the role of
    /// `reader`, and for `timeout` at most, if that is not zero.
    ///
    /// # Errors
    /// [`Error::Refused`] if it is something else; [`Error::Statement`] if it is several, or wrong; [`Error::Unsuitable`]
    /// if `reader` may do more than read the views, or cannot connect; the server cannot be reached.
    pub async fn sql(
        &self,
        reader: &SqlReader,
        statement: &str,
        timeout: Duration,
    ) -> Result<SqlQuery> {
        let (mut conn, effects) = self.connect_sql(reader, timeout).await?;
        if let Some(name) = named(statement, &effects) {
            return Err(Error::Refused(format!(
                "the function {name} may do more than read, and this server lets every role run it; remove its name"
            )));
        }
        // Here the server accepts exactly one statement; below it would accept several.
        let prepared = conn
            .prepare(AssertSqlSafe(statement.to_owned()).into_sql_str())
            .await
            .map_err(|error| match error {
                // Types of the server's own, which only its catalog has.
                sqlx::Error::ColumnDecode { .. } | sqlx::Error::TypeNotFound { .. } => {
                    let why = "the type of a column is not supported; cast it: COLUMN::text";
                    Error::Statement(why.to_owned())
                }
                other => refused(other, statement),
            })?;
        let columns: Vec<SqlColumn> = prepared
            .columns()
            .iter()
            .map(|column| SqlColumn {
                name: column.name().to_owned(),
                kind: kind(column.type_info().name()),
            })
            .collect();
        // Plans tell how many rows of others there are, so only the owner has them.
        if !(reader.is_owner() && only_tells(statement)) {
            let declared = AssertSqlSafe(format!("{DECLARE}{statement}")).into_sql_str();
            conn.prepare(declared).await.map_err(|error| match error {
                sqlx::Error::Database(_) if reader.is_owner() => Error::Refused(QUERIES.to_owned()),
                sqlx::Error::Database(_) => Error::Refused(ONLY_QUERIES.to_owned()),
                other => other.into(),
            })?;
        }
        Ok(SqlQuery { columns, conn, statement: statement.to_owned() })
    }
}

/// Returns whether a statement begins with `explain` or `show`. If `explain analyze` runs a write, the read-only
/// transaction refuses it.
pub(crate) fn only_tells(statement: &str) -> bool {
    let mut rest = statement.trim_start();
    loop {
        // Nested comments are not parsed: a statement after one counts as another kind, and is refused.
        let comment = match rest.get(..2) {
            Some("--") => rest.find(['\n', '\r']).map(|end| end + 1),
            Some("/*") => {
                rest.find("*/").map(|end| end + 2).filter(|end| !rest[2..*end].contains("/*"))
            }
            _ => break,
        };
        let Some(end) = comment else { return false };
        rest = rest[end..].trim_start();
    }
    let word = rest.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    ["explain", "show"].iter().any(|first| word.eq_ignore_ascii_case(first))
}

impl SqlQuery {
    /// Returns its connection, on which nothing has run yet.
    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        &mut self.conn
    }

    /// Closes its connection without waiting for the server.
    pub(crate) fn close(self) {
        drop(self.conn);
    }

    /// Runs it, and passes each row to `each` as the server's text; none for null.
    ///
    /// # Errors
    /// [`Error::Statement`] or [`Error::Refused`] if the server refuses it; the server cannot be reached; or an error of `each`.
    pub async fn run<E: From<Error>>(
        &mut self,
        mut each: impl FnMut(&[Option<&str>]) -> Result<(), E>,
    ) -> Result<(), E> {
        // In the simple protocol, every value comes as text.
        let statement = sqlx::raw_sql(AssertSqlSafe(self.statement.clone()));
        let mut rows = statement.fetch(&mut self.conn);
        while let Some(row) =
            rows.try_next().await.map_err(|error| refused(error, &self.statement))?
        {
            let values = (0..row.len()).map(|at| {
                let value = row.try_get_raw(at)?;
                let text = (!value.is_null()).then(|| value.as_str());
                text.transpose().map_err(sqlx::Error::Decode)
            });
            let values: Vec<Option<&str>> =
                values.collect::<Result<_, sqlx::Error>>().map_err(Error::from)?;
            each(&values)?;
        }
        Ok(())
    }
}

/// Returns the kind of a type's values.
fn kind(name: &str) -> SqlKind {
    match name {
        "INT2" | "INT4" | "INT8" | "FLOAT4" | "FLOAT8" | "NUMERIC" | "OID" => SqlKind::Number,
        "BOOL" => SqlKind::Boolean,
        "JSON" | "JSONB" => SqlKind::Json,
        _ => SqlKind::Text,
    }
}

/// The codes of errors about what a role, a transaction or a view does not allow, or what is too large:
/// `insufficient_privilege`, `read_only_sql_transaction`, `object_not_in_prerequisite_state` (a write to a view),
/// `program_limit_exceeded`.
const FORBIDDEN: [&str; 4] = ["42501", "25006", WRITES_VIEW, "54000"];

const WRITES_VIEW: &str = "55000";

/// The code of an error about a missing table: `undefined_table`.
const UNDEFINED_TABLE: &str = "42P01";

/// Returns the server's message about a statement, with the position in it.
pub(crate) fn refused(error: sqlx::Error, statement: &str) -> Error {
    let sqlx::Error::Database(reply) = &error else { return error.into() };
    let Some(reply) = reply.try_downcast_ref::<PgDatabaseError>() else { return error.into() };
    if let Some(lost @ Error::Node { .. }) = of_reply(reply) {
        return lost;
    }
    let mut said = reply.message().to_owned();
    if let Some(PgErrorPosition::Original(at)) = reply.position() {
        let before: String = statement.chars().take(at.saturating_sub(1)).collect();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        let _ = write!(said, " (line {line}, column {column})");
    }
    // The server would have the view made one that can be written.
    if let Some(hint) = reply.hint().filter(|_| reply.code() != WRITES_VIEW) {
        let _ = write!(said, "; {hint}");
    } else if reply.code() == UNDEFINED_TABLE {
        said.push_str("; codesearch sql --help lists the views");
    }
    if FORBIDDEN.contains(&reply.code()) { Error::Refused(said) } else { Error::Statement(said) }
}

#[cfg(test)]
mod tests {
    use super::only_tells;

    #[test]
    fn what_begins_with_explain_or_show_only_tells() {
        for statement in
            ["explain select 1", " \n-- c\n/* c */ SHOW\tx", "explain(analyze) select 1"]
        {
            assert!(only_tells(statement), "{statement}");
        }
        for statement in
            ["", "-- explain", "select 1 -- \nexplain", "/* /* */ */ show x", "shows", "/* explain"]
        {
            assert!(!only_tells(statement), "{statement}");
        }
    }
}
