//! What the roles that run statements have in common: each may connect, and read the views of one schema.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use crate::error::{Error, Result};
use crate::locks::SETUP_LOCK;
use crate::store::Store;

/// Maximum number of connections of a role at once.
const CONNECTIONS: u8 = 16;

/// Maximum number of attempts to make a role while another index changes its rights.
const TRIES: u32 = 5;

/// SQL: whether the function `p` may have effects. In Postgres, such functions are volatile or take a transaction's
/// number. Functions that only the server itself can call are harmless; the names below only return information. (The last
/// is what Citus adds to each query of `pg_class`.)
pub(super) const HAS_EFFECTS: &str = "
    p.pronamespace <> all (array(
        select oid from pg_namespace where nspname in ('codesearch', 'codesearch_sql', 'codesearch_visible', 'information_schema')))
    and (p.provolatile = 'v' or p.proname in ('txid_current', 'pg_current_xact_id'))
    and p.prorettype <> all ('{trigger, event_trigger, internal, language_handler, index_am_handler,
                               table_am_handler, tsm_handler, fdw_handler}'::regtype[])
    and p.proname <> all ('{clock_timestamp, timeofday, random, random_normal, gen_random_uuid, uuidv4, uuidv7,
                            current_query, pg_is_in_recovery, pg_partition_tree, pg_partition_ancestors,
                            pg_relation_size, pg_table_size, pg_indexes_size, pg_total_relation_size,
                            relation_is_a_known_shard}'::name[])";

/// SQL: whether the role `r` may do nothing but connect.
pub(super) const IS_POWERLESS: &str = "(
    r.rolcanlogin and not (r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication
                           or r.rolbypassrls)
    and not exists (select from pg_auth_members m where m.member = r.oid))";

/// A role that may read the views of a schema, and do nothing else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Role {
    pub(super) name: &'static str,
    /// The schema of its views.
    pub(super) schema: &'static str,
}

impl Role {
    /// SQL: whether the role `r` has the settings that [`Role::making`] gives it. Like every role, it may change its own;
    /// but not the limit on a statement's temporary files, lest a sort fill the disk.
    fn has_settings(self) -> String {
        let schema = self.schema;
        format!(
            "coalesce(cardinality(r.rolconfig) = 4 and r.rolconfig @> array[
                 'default_transaction_read_only=on', 'search_path={schema}, public', 'temp_file_limit=1GB',
                 'idle_in_transaction_session_timeout=10min'], false)"
        )
    }

    /// Returns the query whether the role `r` exists as [`Role::making`] makes it, with `and` as a further condition.
    pub(super) fn is_ready(self, and: &str) -> String {
        let (Self { name, schema }, has_settings) = (self, self.has_settings());
        format!(
            "select exists (
                 select from pg_roles r
                 where r.rolname = '{name}' and {IS_POWERLESS} and {has_settings}
                   and has_schema_privilege(r.oid, '{schema}', 'usage')
                   and has_database_privilege(r.oid, current_database(), 'connect')
                   and not has_database_privilege(r.oid, current_database(), 'temp, create')
                   and not exists (
                       select from pg_class c where c.relnamespace = '{schema}'::regnamespace and c.relkind = 'v'
                           and not has_table_privilege(r.oid, c.oid, 'select'))
                   and not exists (
                       select from pg_language l where l.laninline <> 0 and has_language_privilege(r.oid, l.oid, 'usage'))
                   and {and})"
        )
    }

    /// Returns the block that makes the role, and grants and revokes rights: `once` if its settings are not those of the
    /// role, then `more`. Both may use the variables `name text` and `for_reader boolean`.
    pub(super) fn making(self, once: &str, more: &str) -> String {
        let (Self { name: role, schema }, has_settings) = (self, self.has_settings());
        format!(
            "do $$
             declare
                 name text;
                 for_reader boolean;
             begin
                 if not exists (select from pg_roles where rolname = '{role}') then
                     create role {role};
                     comment on role {role} is 'May read the views of {schema}, and do nothing else.';
                 end if;
                 if not exists (
                     select from pg_roles r where r.rolname = '{role}' and {IS_POWERLESS} and {has_settings}) then
                     alter role {role} login nosuperuser noinherit nocreatedb nocreaterole noreplication nobypassrls
                         connection limit {CONNECTIONS};
                     for name in select roleid::regrole::text from pg_auth_members where member = '{role}'::regrole loop
                         execute format('revoke %s from {role}', name);
                     end loop;
                     alter role {role} reset all;
                     alter role {role} set default_transaction_read_only = on;
                     alter role {role} set search_path = {schema}, public;
                     alter role {role} set temp_file_limit = '1GB';
                     alter role {role} set idle_in_transaction_session_timeout = '10min';
                     {once}
                 end if;
                 execute format('revoke all on database %I from public, {role}', current_database());
                 execute format('grant connect on database %I to {role}', current_database());
                 grant usage on schema {schema} to {role};
                 revoke all on all tables in schema {schema} from {role};
                 grant select on all tables in schema {schema} to {role};
                 {more}
             end $$"
        )
    }
}

impl Store {
    /// Makes a role in a private server, for all of its indexes, by some blocks, unless it is ready.
    ///
    /// # Errors
    /// The role has rights that cannot be revoked.
    pub(super) async fn ensure_role(
        &self,
        Role { name, .. }: Role,
        is_ready: String,
        blocks: &[String],
    ) -> Result<()> {
        let mut tries = 0;
        loop {
            let mut conn = self.connection().await?;
            if sqlx::query_scalar(AssertSqlSafe(is_ready.clone())).fetch_one(&mut conn).await? {
                *self.spare() = Some(conn);
                return Ok(());
            }
            tries += 1;
            match make(&mut conn, blocks).await {
                // Another index made the role, or changed its rights, at the same moment.
                Err(error) if tries < TRIES => {
                    tracing::debug!("the role {name} was not created: {error}");
                }
                made => made?,
            }
            if tries > TRIES {
                return Err(Error::Unsuitable(format!(
                    "the role {name} has privileges that cannot be revoked; drop it (drop role {name}), and the next \
                     statement creates it again"
                )));
            }
        }
    }
}

/// Runs blocks that make roles, each all or nothing.
pub(super) async fn make(conn: &mut PgConnection, blocks: &[String]) -> Result<()> {
    for block in blocks {
        let mut tx = conn.begin().await?;
        sqlx::query("select pg_advisory_xact_lock($1)").bind(SETUP_LOCK).execute(&mut *tx).await?;
        tx.execute(AssertSqlSafe(block.clone())).await?;
        tx.commit().await?;
    }
    Ok(())
}
