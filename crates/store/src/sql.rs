//! Statements that people write: one at a time, read only, on the views of `codesearch_sql`.

use std::fmt::Write as _;

use futures_util::TryStreamExt;
use sqlx::postgres::{PgConnectOptions, PgDatabaseError, PgErrorPosition};
use sqlx::{
    AssertSqlSafe, Column, Executor, PgConnection, Row, SqlSafeStr, Statement, TypeInfo, ValueRef,
};

use crate::error::{Error, Result};
use crate::store::Store;
use crate::target::{Target, connect};

/// The role that may read everything and write nothing.
pub const READER: &str = "codesearch_reader";

/// Where names are looked for that a statement does not qualify.
const SEARCH_PATH: &str = "codesearch_sql,public";

/// How the values of a column are told to programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlKind {
    /// As a number.
    Number,
    /// As true or false.
    Boolean,
    /// As the JSON that they are.
    Json,
    /// As text.
    Text,
}

/// A column of an answer.
#[derive(Clone, Debug)]
pub struct SqlColumn {
    /// Its name; several columns may have the same one.
    pub name: String,
    /// What its values are.
    pub kind: SqlKind,
}

/// A statement that the server has understood.
#[derive(Debug)]
pub struct SqlQuery {
    conn: PgConnection,
    statement: String,
    /// The columns of its answer.
    pub columns: Vec<SqlColumn>,
}

impl Store {
    /// Settings of a session for `codesearch sql`: read only, and as the role [`READER`] if it exists and we may use
    /// it.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn sql_settings(&self) -> Result<Vec<(&'static str, &'static str)>> {
        let has_reader: bool = sqlx::query_scalar(
            "select exists (select from pg_roles where rolname = $1 and pg_has_role(oid, 'member'))",
        )
        .bind(READER)
        .fetch_one(self.control())
        .await?;
        let mut settings =
            vec![("search_path", SEARCH_PATH), ("default_transaction_read_only", "on")];
        settings.extend(has_reader.then_some(("role", READER)));
        Ok(settings)
    }

    /// Has a statement understood.
    ///
    /// # Errors
    /// [`Error::Statement`] if it is none, or several; the server cannot be reached.
    pub async fn sql(&self, statement: &str) -> Result<SqlQuery> {
        let options: PgConnectOptions = (*self.options).clone().options(self.sql_settings().await?);
        let mut conn = connect(&options).await?;
        // The server takes exactly one statement here; below it would take several.
        let prepared = conn
            .prepare(AssertSqlSafe(statement.to_owned()).into_sql_str())
            .await
            .map_err(|error| refused(error, statement))?;
        let columns = prepared.columns().iter().map(|column| SqlColumn {
            name: column.name().to_owned(),
            kind: kind(column.type_info().name()),
        });
        Ok(SqlQuery { columns: columns.collect(), conn, statement: statement.to_owned() })
    }
}

impl SqlQuery {
    /// Runs it, and hands over each row as the server writes it: none for null.
    ///
    /// # Errors
    /// [`Error::Statement`] if the server refuses it; it cannot be reached; or what `each` says.
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

/// What the values of a type are.
fn kind(name: &str) -> SqlKind {
    match name {
        "INT2" | "INT4" | "INT8" | "FLOAT4" | "FLOAT8" | "NUMERIC" | "OID" => SqlKind::Number,
        "BOOL" => SqlKind::Boolean,
        "JSON" | "JSONB" => SqlKind::Json,
        _ => SqlKind::Text,
    }
}

/// The code of an error about a table that is not there: `undefined_table`.
const UNDEFINED_TABLE: &str = "42P01";

/// What the server says of a statement, with the place in it.
fn refused(error: sqlx::Error, statement: &str) -> Error {
    let sqlx::Error::Database(reply) = &error else { return error.into() };
    let Some(reply) = reply.try_downcast_ref::<PgDatabaseError>() else { return error.into() };
    let mut said = reply.message().to_owned();
    if let Some(PgErrorPosition::Original(at)) = reply.position() {
        let before: String = statement.chars().take(at.saturating_sub(1)).collect();
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        let _ = write!(said, " (line {line}, column {column})");
    }
    if let Some(hint) = reply.hint() {
        let _ = write!(said, "; {hint}");
    } else if reply.code() == UNDEFINED_TABLE {
        said.push_str("; codesearch sql --help names the views");
    }
    Error::Statement(said)
}

/// Makes [`READER`], the role that may read and do nothing else, in a private server: it is for whoever may connect to
/// that, and for all of its indexes.
pub(crate) async fn ensure_reader(target: &Target, conn: &mut PgConnection) {
    if matches!(target, Target::Url(_)) {
        return;
    }
    let made = conn
        .execute(AssertSqlSafe(format!(
            "do $$
             begin
                 if not exists (select from pg_roles where rolname = '{READER}') then
                     create role {READER} login;
                     grant pg_read_all_data to {READER};
                     alter role {READER} set default_transaction_read_only = on;
                     alter role {READER} set search_path = {SEARCH_PATH};
                     comment on role {READER} is 'May read every index, and change nothing.';
                 end if;
             end $$"
        )))
        .await;
    if let Err(error) = made {
        // Another index may just have been prepared, which made it, too.
        tracing::debug!("the role {READER} was not made: {error}");
    }
}
