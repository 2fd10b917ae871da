//! The role that runs users' statements: it may read the views of `codesearch_sql`, and do nothing else.
//!
//! Postgres's default privileges are not enough. Anyone may run functions that wait, take locks, wake servers or write
//! large objects, run blocks of PL/pgSQL, and make temporary tables. A private server revokes these rights from all but
//! its owner, a superuser who needs none. On another server that would affect other users, so a statement that names
//! such a function is refused there.
//!
//! [`VISIBLE`] is another such role, for those who see only some repositories.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Row};

use self::role::{HAS_EFFECTS, IS_POWERLESS, Role, make};
pub use self::visible::VISIBLE;
use self::visible::making_visible;
use crate::RepoId;
use crate::error::{Error, Result};
use crate::store::Store;
use crate::target::{Target, connect, options};

/// The role that may read the views and do nothing else.
pub const READER: &str = "codesearch_reader";

/// The search path for unqualified names in a statement.
const SEARCH_PATH: &str = "codesearch_sql,public";

/// The role for those who see everything.
const OWNERS: Role = Role { name: READER, schema: "codesearch_sql" };

/// The role that runs a statement, and what it sees.
#[derive(Clone, Debug)]
pub struct SqlReader {
    target: Target,
    sees: Sees,
}

/// What a statement sees.
#[derive(Clone, Debug)]
enum Sees {
    /// All, and the statistics of searches.
    Everything,
    /// Some repositories, or all.
    Repos(Option<Vec<RepoId>>),
}

impl SqlReader {
    /// Returns the owner of the index, who sees everything: `target` is [`READER`] or a role like it.
    pub fn owner(target: Target) -> Self {
        Self { target, sees: Sees::Everything }
    }

    /// Returns somebody who sees some repositories, or all for `None`: `target` is [`VISIBLE`] or a role like it.
    pub fn of(target: Target, repos: Option<Vec<RepoId>>) -> Self {
        Self { target, sees: Sees::Repos(repos) }
    }

    /// Returns whether it sees everything.
    pub fn is_owner(&self) -> bool {
        matches!(self.sees, Sees::Everything)
    }
}

impl Store {
    /// Connects as a reader. Also returns the names of functions with effects that this role may run.
    pub(crate) async fn connect_sql(
        &self,
        reader: &SqlReader,
        timeout: Duration,
    ) -> Result<(PgConnection, Vec<String>)> {
        match &reader.sees {
            Sees::Everything => self.connect_reader(&reader.target, timeout).await,
            Sees::Repos(repos) => {
                self.connect_visible(&reader.target, repos.as_deref(), timeout).await
            }
        }
    }

    /// Checks that statements can run as [`READER`]; makes the role in a private server.
    ///
    /// # Errors
    /// Those of [`Store::sql`].
    pub async fn check_reader(&self, reader: &Target) -> Result<()> {
        Ok(self.connect_reader(reader, Duration::ZERO).await?.0.close().await?)
    }

    /// Connects as the reader. Also returns the names of functions with effects that this role may run.
    async fn connect_reader(
        &self,
        reader: &Target,
        timeout: Duration,
    ) -> Result<(PgConnection, Vec<String>)> {
        if matches!(reader, Target::Socket { .. }) {
            self.ensure_reader().await?;
        }
        let timeout = timeout.as_millis().to_string();
        let options = options(reader)?.options(reader_settings(&timeout));
        let mut conn = connect(&options).await.map_err(|error| match Error::from(error) {
            Error::Unreachable(why) => {
                Error::Unsuitable(unusable(&format!("it cannot connect: {why}")))
            }
            other => other,
        })?;
        let sql = format!(
            "select case
                 when {IS_POWERLESS} is not true then 'it has more rights than to connect'
                 when has_database_privilege(current_database(), 'create') or exists (
                     select from pg_namespace n where has_schema_privilege(n.oid, 'create'))
                     then 'it may create tables'
                 when has_schema_privilege(to_regnamespace('codesearch'), 'usage')
                     then 'it may use the tables behind the views'
                 when has_schema_privilege(to_regnamespace('codesearch_sql'), 'usage') is not true
                     then 'it may not read the views'
                 when exists (
                     select from pg_class c where c.relnamespace = to_regnamespace('codesearch_sql')
                         and has_table_privilege(c.oid, 'insert, update, delete, truncate, references, trigger'))
                     then 'it may write'
             end,
             array(select distinct p.proname::text from pg_proc p
                   where {HAS_EFFECTS} and has_function_privilege(p.oid, 'execute'))
             from pg_roles r where r.rolname = session_user"
        );
        let row = conn.fetch_one(AssertSqlSafe(sql)).await?;
        match row.try_get::<Option<String>, _>(0)? {
            Some(why) => Err(Error::Unsuitable(unusable(&why))),
            None => Ok((conn, row.try_get(1)?)),
        }
    }

    /// Makes the role in a private server, for all of its indexes, and lets it read the views of this one. Revokes
    /// functions with effects from all but the server's owner.
    async fn ensure_reader(&self) -> Result<()> {
        let is_ready = OWNERS.is_ready(&format!(
            "not exists (
                 select from pg_proc p where {HAS_EFFECTS} and has_function_privilege(r.oid, p.oid, 'execute'))"
        ));
        self.ensure_role(OWNERS, is_ready, &[making()]).await
    }
}

/// Makes the roles in a private server when an index is made or upgraded, so that other programs can connect as the
/// reader, and so that a role of an earlier version loses its extra rights.
pub(crate) async fn prepare_reader(target: &Target, conn: &mut PgConnection) {
    if matches!(target, Target::Socket { .. })
        && let Err(error) = make(conn, &[making(), making_visible()]).await
    {
        // Another index may be doing the same now.
        tracing::debug!("the roles {READER} and {VISIBLE} were not created: {error}");
    }
}

/// Returns the block that makes the role [`READER`].
fn making() -> String {
    // Elsewhere than in an index it has nothing to do.
    let once = "for name in select datname from pg_database where datname in ('postgres', 'template1') loop
                    execute format('revoke all on database %I from public', name);
                end loop;";
    let more = format!(
        "revoke create on schema public from public;
         for name in select quote_ident(l.lanname) from pg_language l where l.laninline <> 0 loop
             execute format('revoke usage on language %s from public, {READER}', name);
         end loop;
         for name in
             select p.oid::regprocedure::text from pg_proc p
             where {HAS_EFFECTS} and has_function_privilege('{READER}', p.oid, 'execute')
         loop
             execute format('revoke execute on routine %s from public, {READER}', name);
         end loop;"
    );
    OWNERS.making(once, &more)
}

/// Settings of a session of the reader.
pub fn reader_settings(timeout_ms: &str) -> Vec<(&str, &str)> {
    settings(SEARCH_PATH, timeout_ms)
}

/// Returns the settings of a session that reads and looks names up in a search path.
fn settings<'t>(search_path: &'t str, timeout_ms: &'t str) -> Vec<(&'t str, &'t str)> {
    let mut settings = vec![("search_path", search_path), ("default_transaction_read_only", "on")];
    settings.extend((timeout_ms != "0").then_some(("statement_timeout", timeout_ms)));
    settings
}

/// Tells an administrator how to make the role.
fn unusable(why: &str) -> String {
    format!(
        "a statement runs as a role that may read the views and do nothing else, and there is none: {why}; as an \
         administrator, run: create role {READER} login noinherit password '...'; grant usage on schema codesearch_sql to \
         {READER}; grant select on all tables in schema codesearch_sql to {READER}; then give its URL with --reader-url \
         (docs/sql.md says more)"
    )
}

/// Returns the first of `names` that occurs anywhere in a statement. A name written with Unicode escapes could be any.
pub(crate) fn named<'n>(statement: &str, names: &'n [String]) -> Option<&'n str> {
    let statement = statement.to_ascii_lowercase();
    let first = names.first()?;
    if statement.contains("u&\"") {
        return Some(first);
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let words: std::collections::HashSet<&str> =
        statement.split(|c: char| !is_part(c)).filter(|word| !word.is_empty()).collect();
    names.iter().map(String::as_str).find(|name| words.contains(name))
}

mod role;
mod visible;

#[cfg(test)]
mod tests;
