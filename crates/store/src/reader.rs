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

pub use self::visible::VISIBLE;
use self::visible::make_visible;
use crate::RepoId;
use crate::error::{Error, Result};
use crate::locks::SETUP_LOCK;
use crate::store::Store;
use crate::target::{Target, connect, options};

/// The role that may read the views and do nothing else.
pub const READER: &str = "codesearch_reader";

/// The search path for unqualified names in a statement.
const SEARCH_PATH: &str = "codesearch_sql,public";

/// Maximum number of connections of the role at once.
const CONNECTIONS: u8 = 16;

/// SQL: whether the role `r` has the settings that [`make`] gives it. Like every role, it may change its own; but not
/// the limit on a statement's temporary files, lest a sort fill the disk.
const HAS_SETTINGS: &str = "coalesce(cardinality(r.rolconfig) = 4 and r.rolconfig @> array[
    'default_transaction_read_only=on', 'search_path=codesearch_sql, public', 'temp_file_limit=1GB',
    'idle_in_transaction_session_timeout=10min'], false)";

/// Maximum number of attempts to make the role while another index changes its rights.
const TRIES: u32 = 5;

/// SQL: whether the function `p` may have effects. In Postgres, such functions are volatile or take a transaction's
/// number. Functions that only the server itself can call are harmless; the names below only return information.
const HAS_EFFECTS: &str = "
    p.pronamespace <> all (array(
        select oid from pg_namespace where nspname in ('codesearch', 'codesearch_sql', 'codesearch_visible', 'information_schema')))
    and (p.provolatile = 'v' or p.proname in ('txid_current', 'pg_current_xact_id'))
    and p.prorettype <> all ('{trigger, event_trigger, internal, language_handler, index_am_handler,
                               table_am_handler, tsm_handler, fdw_handler}'::regtype[])
    and p.proname <> all ('{clock_timestamp, timeofday, random, random_normal, gen_random_uuid, uuidv4, uuidv7,
                            current_query, pg_is_in_recovery, pg_partition_tree, pg_partition_ancestors,
                            pg_relation_size, pg_table_size, pg_indexes_size, pg_total_relation_size}'::name[])";

/// SQL: whether the role `r` may do nothing but connect.
const IS_POWERLESS: &str = "(
    r.rolcanlogin and not (r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication
                           or r.rolbypassrls)
    and not exists (select from pg_auth_members m where m.member = r.oid))";

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
        let is_ready = format!(
            "select exists (
                 select from pg_roles r
                 where r.rolname = '{READER}' and {IS_POWERLESS} and {HAS_SETTINGS}
                   and has_schema_privilege(r.oid, 'codesearch_sql', 'usage')
                   and has_database_privilege(r.oid, current_database(), 'connect')
                   and not has_database_privilege(r.oid, current_database(), 'temp, create')
                   and not exists (
                       select from pg_class c where c.relnamespace = 'codesearch_sql'::regnamespace and c.relkind = 'v'
                           and not has_table_privilege(r.oid, c.oid, 'select'))
                   and not exists (
                       select from pg_language l where l.laninline <> 0 and has_language_privilege(r.oid, l.oid, 'usage'))
                   and not exists (
                       select from pg_proc p where {HAS_EFFECTS} and has_function_privilege(r.oid, p.oid, 'execute')))"
        );
        let mut tries = 0;
        loop {
            let mut conn = self.connection().await?;
            if sqlx::query_scalar(AssertSqlSafe(is_ready.clone())).fetch_one(&mut conn).await? {
                *self.spare() = Some(conn);
                return Ok(());
            }
            tries += 1;
            match make(&mut conn).await {
                // Another index made the role, or changed its rights, at the same moment.
                Err(error) if tries < TRIES => {
                    tracing::debug!("the role {READER} was not created: {error}");
                }
                made => made?,
            }
            if tries > TRIES {
                return Err(Error::Unsuitable(format!(
                    "the role {READER} has privileges that cannot be revoked; drop it (drop role {READER}), and \
                     codesearch sql creates it again"
                )));
            }
        }
    }
}

/// Makes the roles in a private server when an index is made or upgraded, so that other programs can connect as the
/// reader, and so that a role of an earlier version loses its extra rights.
pub(crate) async fn prepare_reader(target: &Target, conn: &mut PgConnection) {
    if matches!(target, Target::Socket { .. })
        && let Err(error) = make_both(conn).await
    {
        // Another index may be doing the same now.
        tracing::debug!("the roles {READER} and {VISIBLE} were not created: {error}");
    }
}

/// Makes both roles.
async fn make_both(conn: &mut PgConnection) -> Result<()> {
    make(conn).await?;
    make_visible(conn).await
}

/// Makes the role, and grants and revokes rights, all or nothing.
async fn make(conn: &mut PgConnection) -> Result<()> {
    let mut tx = conn.begin().await?;
    sqlx::query("select pg_advisory_xact_lock($1)").bind(SETUP_LOCK).execute(&mut *tx).await?;
    let sql = format!(
        "do $$
         declare
             name text;
         begin
             if not exists (select from pg_roles where rolname = '{READER}') then
                 create role {READER};
                 comment on role {READER} is 'May read the views of codesearch_sql, and do nothing else.';
             end if;
             if not exists (
                 select from pg_roles r where r.rolname = '{READER}' and {IS_POWERLESS} and {HAS_SETTINGS}) then
                 alter role {READER} login nosuperuser noinherit nocreatedb nocreaterole noreplication nobypassrls
                     connection limit {CONNECTIONS};
                 for name in select roleid::regrole::text from pg_auth_members where member = '{READER}'::regrole loop
                     execute format('revoke %s from {READER}', name);
                 end loop;
                 alter role {READER} reset all;
                 alter role {READER} set default_transaction_read_only = on;
                 alter role {READER} set search_path = codesearch_sql, public;
                 alter role {READER} set temp_file_limit = '1GB';
                 alter role {READER} set idle_in_transaction_session_timeout = '10min';
                 -- Elsewhere than in an index it has nothing to do.
                 for name in select datname from pg_database where datname in ('postgres', 'template1') loop
                     execute format('revoke all on database %I from public', name);
                 end loop;
             end if;
             execute format('revoke all on database %I from public, {READER}', current_database());
             execute format('grant connect on database %I to {READER}', current_database());
             revoke create on schema public from public;
             grant usage on schema codesearch_sql to {READER};
             revoke all on all tables in schema codesearch_sql from {READER};
             grant select on all tables in schema codesearch_sql to {READER};
             for name in select quote_ident(l.lanname) from pg_language l where l.laninline <> 0 loop
                 execute format('revoke usage on language %s from public, {READER}', name);
             end loop;
             for name in
                 select p.oid::regprocedure::text from pg_proc p
                 where {HAS_EFFECTS} and has_function_privilege('{READER}', p.oid, 'execute')
             loop
                 execute format('revoke execute on routine %s from public, {READER}', name);
             end loop;
         end $$"
    );
    tx.execute(AssertSqlSafe(sql)).await?;
    Ok(tx.commit().await?)
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

mod visible;

#[cfg(test)]
mod tests;
