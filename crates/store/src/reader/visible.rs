//! The role that runs statements of those who see only some repositories: it may read the views of `codesearch_visible`.
//!
//! These views show the rows of the repositories in a row of `sql_sessions`, which the owner of the index writes for the
//! process of each statement. Postgres shows every role how large tables are, and what others do. A private server shows
//! this role none of it: it revokes from all but its owner and [`READER`] the tables of `pg_catalog`, and the functions
//! whose names begin with `pg_`.

use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection};

use super::role::{HAS_EFFECTS, IS_POWERLESS, Role};
use super::{READER, making, settings};
use crate::RepoId;
use crate::error::{Error, Result};
use crate::store::Store;
use crate::target::{Target, connect, options};

/// The role that may read the views of the visible repositories and do nothing else.
pub const VISIBLE: &str = "codesearch_visible";

/// The search path for unqualified names in a statement.
pub(super) const SEARCH_PATH: &str = "codesearch_visible,public";

/// The role for those who see only some repositories.
const VISITORS: Role = Role { name: VISIBLE, schema: "codesearch_visible" };

/// SQL: whether the function `p` may tell of the server, its tables, or others, besides what its arguments say. Functions of
/// the catalog's views are among them.
const TELLS: &str = "
    p.proname ~ '^pg_' and p.proname <> all ('{pg_backend_pid, pg_typeof, pg_size_pretty, pg_size_bytes, pg_column_size,
        pg_column_compression, pg_client_encoding, pg_char_to_encoding, pg_encoding_to_char, pg_encoding_max_length,
        pg_input_is_valid, pg_input_error_info, pg_collation_for}'::name[])";

/// SQL: whether the relation `c` may tell of tables of others. Clients look up types and columns.
const TELLS_ROWS: &str = "
    c.relnamespace in (select oid from pg_namespace where nspname in ('pg_catalog', 'information_schema', 'public'))
    and c.relkind in ('r', 'v', 'm', 'f', 'p') and c.relname <> all ('{pg_type, pg_range, pg_enum, pg_attribute}'::name[])";

/// SQL: whether the operator that asks a trigram index behind a barrier exists.
const HAS_OPERATOR: &str = "exists (
    select from pg_amop a
    join pg_opfamily f on f.oid = a.amopfamily
    join pg_operator o on o.oid = a.amopopr
    join pg_proc p on p.oid = o.oprcode
    where f.opfname = 'gin_trgm_ops' and a.amoprighttype = 'bytea'::regtype and p.proleakproof
      and o.oprnamespace = 'public'::regnamespace)";

impl Store {
    /// Connects as the role of `target`, and lets the connection see some repositories, or all. Also returns the names of
    /// functions with effects that this role may run.
    pub(super) async fn connect_visible(
        &self,
        target: &Target,
        repos: Option<&[RepoId]>,
        timeout: Duration,
    ) -> Result<(PgConnection, Vec<String>)> {
        if matches!(target, Target::Socket { .. }) {
            self.ensure_visible().await?;
        }
        let timeout = timeout.as_millis().to_string();
        let options = options(target)?.options(settings(SEARCH_PATH, &timeout));
        let mut conn = connect(&options).await.map_err(|error| match Error::from(error) {
            Error::Unreachable(why) => {
                Error::Unsuitable(unusable(&format!("it cannot connect: {why}")))
            }
            other => other,
        })?;
        let (backend, role): (i32, String) =
            sqlx::query_as("select pg_backend_pid(), session_user::text")
                .fetch_one(&mut conn)
                .await?;
        let effects = self.check_visible(&role).await?;
        let ids = repos.map(|repos| repos.iter().map(|repo| repo.0).collect::<Vec<i32>>());
        // The rows of processes that have ended go with the next one.
        let written = sqlx::query(
            "with gone as (
                 delete from sql_sessions s
                 where s.backend <> $1 and not exists (select from pg_stat_activity a where a.pid = s.backend))
             insert into sql_sessions (backend, started, repos)
                 select a.pid, a.backend_start, $2 from pg_stat_activity a
                 where a.pid = $1 and a.usename = $3 and a.datname = current_database() and a.backend_start is not null
             on conflict (backend) do update set started = excluded.started, repos = excluded.repos",
        )
        .bind(backend)
        .bind(&ids)
        .bind(&role)
        .execute(self.control())
        .await?;
        let sees: bool =
            sqlx::query_scalar("select exists (select from codesearch_visible.names())")
                .fetch_one(&mut conn)
                .await?;
        if written.rows_affected() != 1 || !sees && ids.is_some_and(|ids| !ids.is_empty()) {
            return Err(Error::Unsuitable(unusable(
                "it is not a role of the database of the index, or the owner of the index is not a member of it",
            )));
        }
        Ok((conn, effects))
    }

    /// Returns the names of functions with effects that a role may run.
    ///
    /// # Errors
    /// The role may do more than read the views of the visible repositories, or the operator is missing.
    async fn check_visible(&self, role: &str) -> Result<Vec<String>> {
        let sql = format!(
            "select case
                 when {IS_POWERLESS} is not true then 'it has more rights than to connect'
                 when has_database_privilege(r.oid, current_database(), 'create') or exists (
                     select from pg_namespace n where has_schema_privilege(r.oid, n.oid, 'create'))
                     then 'it may create tables'
                 when has_schema_privilege(r.oid, 'codesearch', 'usage')
                     or has_schema_privilege(r.oid, 'codesearch_sql', 'usage')
                     then 'it may use what shows all repositories'
                 when not has_schema_privilege(r.oid, 'codesearch_visible', 'usage')
                     or exists (
                         select from pg_class c where c.relnamespace = 'codesearch_visible'::regnamespace
                             and c.relkind = 'v' and not has_table_privilege(r.oid, c.oid, 'select'))
                     then 'it may not read the views'
                 when exists (
                     select from pg_class c where c.relnamespace = 'codesearch_visible'::regnamespace
                         and has_table_privilege(r.oid, c.oid, 'insert, update, delete, truncate, references, trigger'))
                     then 'it may write'
                 when not {HAS_OPERATOR} then 'the operator @~~ is missing'
             end,
             array(select distinct p.proname::text from pg_proc p
                   where {HAS_EFFECTS} and has_function_privilege(r.oid, p.oid, 'execute'))
             from pg_roles r where r.rolname = $1"
        );
        let found: Option<(Option<String>, Vec<String>)> =
            sqlx::query_as(AssertSqlSafe(sql)).bind(role).fetch_optional(self.control()).await?;
        match found {
            None => Err(Error::Unsuitable(unusable("it is no role of the database of the index"))),
            Some((Some(why), _)) => Err(Error::Unsuitable(unusable(&why))),
            Some((None, effects)) => Ok(effects),
        }
    }

    /// Makes the role in a private server, for all of its indexes, and lets it read the views of this one.
    async fn ensure_visible(&self) -> Result<()> {
        let is_ready = VISITORS.is_ready(&format!(
            "not has_schema_privilege(r.oid, 'codesearch', 'usage')
             and not has_schema_privilege(r.oid, 'codesearch_sql', 'usage')
             and not exists (
                 select from pg_class c where {TELLS_ROWS} and has_any_column_privilege(r.oid, c.oid, 'select'))
             and not exists (
                 select from pg_proc p
                 where (({HAS_EFFECTS}) or {TELLS}) and has_function_privilege(r.oid, p.oid, 'execute'))"
        ));
        self.ensure_role(VISITORS, is_ready, &[making(), making_visible()]).await
    }
}

/// Returns the block that makes the role [`VISIBLE`], after that of [`READER`], which keeps its rights.
pub(super) fn making_visible() -> String {
    let more = format!(
        "revoke all on schema codesearch, codesearch_sql, public from {VISIBLE};
         for name, for_reader in
             select c.oid::regclass::text, has_table_privilege('{READER}', c.oid, 'select') from pg_class c
             where {TELLS_ROWS} and has_any_column_privilege('{VISIBLE}', c.oid, 'select')
         loop
             if for_reader then
                 execute format('grant select on %s to {READER}', name);
             end if;
             execute format('revoke select on %s from public, {VISIBLE}', name);
         end loop;
         for name in
             select format('revoke select (%I) on %s from public, {VISIBLE}', a.attname, c.oid::regclass) from pg_class c
             join pg_attribute a on a.attrelid = c.oid and a.attacl is not null
             where {TELLS_ROWS} and has_any_column_privilege('{VISIBLE}', c.oid, 'select')
         loop
             execute name;
         end loop;
         for name, for_reader in
             select p.oid::regprocedure::text, has_function_privilege('{READER}', p.oid, 'execute') from pg_proc p
             where (({HAS_EFFECTS}) or {TELLS}) and has_function_privilege('{VISIBLE}', p.oid, 'execute')
         loop
             if for_reader then
                 execute format('grant execute on routine %s to {READER}', name);
             end if;
             execute format('revoke execute on routine %s from public, {VISIBLE}', name);
         end loop;"
    );
    VISITORS.making("", &more)
}

/// Tells an administrator how to make the role and the operator.
fn unusable(why: &str) -> String {
    format!(
        "a statement of somebody who sees only some repositories runs as a role of its own, and it cannot be used: {why}; as \
         an administrator, run: create role {VISIBLE} login noinherit connection limit 16 password '...'; grant usage on \
         schema codesearch_visible to {VISIBLE}; grant select on all tables in schema codesearch_visible to {VISIBLE}; \
         grant {VISIBLE} to OWNER_OF_THE_INDEX; create function public.no_recheck(text, bytea) returns boolean language \
         internal immutable strict parallel safe leakproof as 'booland_statefunc'; create operator public.@~~ (leftarg = \
         text, rightarg = bytea, function = public.no_recheck, restrict = contsel); alter operator family gin_trgm_ops \
         using gin add operator 3 public.@~~ (text, bytea); then set its URL in CODESEARCH_VISIBLE_URL (docs/sql.md says \
         more)"
    )
}
