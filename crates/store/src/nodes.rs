//! Citus: the tables of shards lie on nodes, those of a group of shards on one. Everything else is here.
//!
//! A table that is spread over nodes cannot be a partition of one that is not. So the tables of shards have no parents;
//! the parents are empty, and the patterns of the columns and indexes of new ones. Since no statement of this program names a parent,
//! that is nearly the whole difference: what else differs asks [`Groups::are_distributed`]. The server hands each statement
//! to the node of the tables that it names, which must be of one group, unless the statement joins them with tables of here.

mod local;
mod lost;
mod moves;
mod silent;
mod status;

pub(crate) use local::LocalNodes;
pub use lost::LostNodes;
pub(crate) use lost::refuse_if_lost;
pub use moves::Move;
pub(crate) use silent::SilentNodes;
pub use status::Node;

use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Executor, PgConnection, PgPool};

use crate::ShardId;
use crate::error::{Error, Result};
use crate::schema;
use crate::tables::{ALL, FILES, FILTERS, Groups, Table, Unit};

/// Longest time to wait until nodes have ended the transactions that a killed ingest left to them, and the pause between
/// two looks.
const SETTLE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);

/// Makes the views of people, which name parents, read the tables of shards by functions. It names no view, so that it also
/// finds those of later migrations, after which it runs again.
const VIEWS: &str = include_str!("nodes/views.sql");

/// Citus warns of each view that it is of the coordinator alone, as views are.
pub(crate) const QUIET: &str = "set client_min_messages = error";

/// SQL: a row before the nodes that are asked, so that Citus does not warn of those that do not answer.
pub(crate) const QUIETLY: &str = "set_config('client_min_messages', 'error', true) quiet";

/// Returns the number of nodes of Citus that take tables of shards; 0 if this is plain Postgres, or no node was added.
///
/// # Errors
/// The server cannot be reached or refuses a statement.
pub(crate) async fn count(conn: &mut PgConnection) -> Result<i16> {
    if !is_citus(conn).await? {
        return Ok(0);
    }
    let (nodes, workers): (i64, i64) = sqlx::query_as(
        "select count(*) filter (where shouldhaveshards), count(*) filter (where groupid > 0)
         from pg_dist_node where isactive and noderole = 'primary'",
    )
    .fetch_one(conn)
    .await?;
    Ok(if workers > 0 { nodes as i16 } else { 0 })
}

/// Returns whether the database has the extension Citus.
///
/// # Errors
/// The server cannot be reached or refuses the statement.
pub(crate) async fn is_citus(conn: &mut PgConnection) -> Result<bool> {
    let sql = "select to_regproc('pg_catalog.create_distributed_table') is not null";
    Ok(sqlx::query_scalar(sql).fetch_one(conn).await?)
}

/// Returns the tables of a group of an index of so many shards, each with its first shard and its name.
fn tables_of(group: i16, shards: i16, groups: Groups) -> Vec<(Table, ShardId, String)> {
    let members: Vec<ShardId> = groups.shards(group, shards).map(ShardId).collect();
    let of_table = |table: Table| {
        let of_table = match table.unit {
            Unit::Group => &members[..1],
            Unit::Shard => &members,
        };
        of_table.iter().map(move |shard| (table, *shard, table.of(*shard, groups)))
    };
    ALL.into_iter().flat_map(of_table).collect()
}

/// Makes the tables of some groups of an index of so many shards, those of each on one node. Nodes get groups in turn.
///
/// # Errors
/// A node cannot be reached, or refuses a statement.
pub(crate) async fn make(
    conn: &mut PgConnection,
    shards: i16,
    groups: Groups,
    some: impl IntoIterator<Item = i16>,
) -> Result<()> {
    // Settings of columns that a table does not get from its pattern.
    let columns: Vec<(String, String)> = sqlx::query_as(
        "select relname::text, string_agg(format('alter column %I set statistics 0', attname), ', ')
         from pg_attribute join pg_class c on c.oid = attrelid
         where relnamespace = 'codesearch'::regnamespace and relkind = 'p' and attstattarget = 0 and attnum > 0
           and not attisdropped
         group by 1",
    )
    .fetch_all(&mut *conn)
    .await?;
    for group in some {
        let mut sql = Vec::new();
        let mut first: Option<String> = None;
        for (table, shard, name) in tables_of(group, shards, groups) {
            sql.push(table.make_alone(shard, groups));
            if let Some((_, settings)) = columns.iter().find(|(of, _)| *of == table.name) {
                sql.push(format!("alter table {name} {settings}"));
            }
            let with = first.as_deref().unwrap_or("none");
            sql.push(format!(
                "select create_distributed_table('{name}', null, colocate_with => '{with}')"
            ));
            first.get_or_insert(name);
        }
        conn.execute(AssertSqlSafe(sql.join("; "))).await?;
    }
    Ok(())
}

/// Returns whether an index on nodes has what it needs besides its tables: since the newest migration of this program, if not
/// of a newer one.
///
/// # Errors
/// The server cannot be reached or refuses the statement.
pub(crate) async fn is_set_up(conn: &mut PgConnection) -> Result<bool> {
    let newest: i64 = sqlx::query_scalar("select set_up from state").fetch_one(conn).await?;
    Ok(newest >= schema::newest())
}

/// Prepares what an index on nodes needs besides its tables. It may run again.
///
/// # Errors
/// A node cannot be reached, or refuses a statement.
pub(crate) async fn set_up(conn: &mut PgConnection) -> Result<()> {
    conn.execute(QUIET).await?;
    conn.execute(VIEWS).await?;
    // The settings of a connection to the coordinator are not those of its connections to nodes. These are the settings of
    // connections for searching; no statement of an ingest takes longer with them.
    for setting in ["enable_seqscan = off", "jit = off", "max_parallel_workers_per_gather = 0"] {
        let failed: Vec<String> = sqlx::query_scalar(
            "select result from run_command_on_workers(format(
                 'do $$begin
                      perform set_config(''citus.enable_ddl_propagation'', ''off'', true);
                      execute format(''alter database %%I set %s'', current_database());
                  end$$', $1::text))
             where not success",
        )
        .bind(setting)
        .fetch_all(&mut *conn)
        .await?;
        for why in failed {
            tracing::warn!(
                "searches may take longer; a node refuses alter database ... set {setting}: {why}"
            );
        }
    }
    conn.execute("reset client_min_messages").await?;
    let done = sqlx::query("update state set set_up = $1").bind(schema::newest());
    done.execute(conn).await?;
    Ok(())
}

/// The size on disk of a table of a shard or of a group.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct TableSize {
    /// Its name here, such as `chunks_005`.
    pub(crate) name: String,
    /// Bytes of it, with its indexes.
    pub(crate) bytes: i64,
    /// Bytes of its trigram indexes.
    pub(crate) trigrams: i64,
}

/// Returns the sizes of all tables of shards. The tables of the same names here are empty.
///
/// # Errors
/// The server cannot be reached or refuses a statement. Tables of a node that does not answer are left out.
pub(crate) async fn sizes(pool: &PgPool) -> Result<Vec<TableSize>> {
    let sql = on_nodes(
        "select regexp_replace(c.relname, '_[0-9]+$', '') as name, pg_total_relation_size(c.oid) as bytes,
                coalesce((select sum(pg_relation_size(i.indexrelid)) from pg_index i
                    join pg_class x on x.oid = i.indexrelid
                    where i.indrelid = c.oid and x.relname ~ '_trgm_[0-9]+$'), 0)::bigint as trigrams
         from pg_class c where c.relnamespace = 'codesearch'::regnamespace and c.relkind = 'r'
           and c.relname ~ '_[0-9]+_[0-9]+$'",
        "name text, bytes bigint, trigrams bigint",
    );
    Ok(sqlx::query_as(AssertSqlSafe(sql)).fetch_all(pool).await?)
}

/// Returns how much of the indexes of documents that nodes build is done, from 0 to 1, by the names of tables.
///
/// # Errors
/// The server cannot be reached or refuses a statement.
pub(crate) async fn builds(pool: &PgPool) -> Result<Vec<(String, f64)>> {
    let sql = on_nodes(
        "select regexp_replace(c.relname, '_[0-9]+$', '') as name, p.blocks_done::float8 / greatest(p.blocks_total, 1) as done
         from pg_stat_progress_create_index p join pg_class c on c.oid = p.relid
         where c.relname ~ '^documents_[0-9]+_' and p.datname = current_database()",
        "name text, done float8",
    );
    Ok(sqlx::query_as(AssertSqlSafe(sql)).fetch_all(pool).await?)
}

/// Returns the statement that has all nodes run another one, and returns the rows of those that answer, with these columns.
fn on_nodes(statement: &str, columns: &str) -> String {
    let command =
        format!("select coalesce(json_agg(r), '[]') from ({statement}) r").replace('\'', "''");
    // What this node would say of tables that lie on it comes with the others.
    format!(
        "select t.* from {QUIETLY}
         cross join lateral run_command_on_all_nodes('{command}' || left(quiet, 0), parallel => true,
             give_warning_for_connection_errors => true) n
         cross join lateral json_to_recordset(case when n.success then n.result::json else '[]' end) t ({columns})"
    )
}

/// Returns the names in a statement, with its words, in order.
fn names(sql: &str) -> impl Iterator<Item = &str> {
    sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|name| !name.is_empty())
}

/// A server that Citus knows.
#[derive(Clone, Debug, sqlx::FromRow)]
struct Member {
    /// Its number in `pg_dist_node`.
    id: i32,
    /// Its host and port.
    name: String,
    /// Whether it may get groups of shards.
    takes_groups: bool,
    /// Number that it shares with its standbys (`pg_dist_node.groupid`, no group of shards); 0 for the coordinator.
    group: i32,
}

impl Member {
    /// Returns whether it is the coordinator, and has no groups of shards.
    fn is_coordinator(&self) -> bool {
        self.group == 0 && !self.takes_groups
    }
}

/// Returns the servers that Citus knows, without standbys.
///
/// # Errors
/// The server cannot be reached or refuses the statement.
async fn members(conn: &mut PgConnection) -> Result<Vec<Member>> {
    let sql = "select nodeid as id, format('%s:%s', nodename, nodeport) as name, shouldhaveshards as takes_groups,
                      groupid as \"group\"
               from pg_dist_node where noderole = 'primary' order by name";
    Ok(sqlx::query_as(sql).fetch_all(conn).await?)
}

/// Where a table of a shard or of a group lies.
#[derive(Clone, Debug, sqlx::FromRow)]
struct Place {
    /// Its name here, such as `chunks_005`.
    table: String,
    /// The number of its node in `pg_dist_node`, and its host and port.
    id: i32,
    node: String,
}

/// Returns where the tables of shards lie whose names match a regular expression, all for an empty one, by name.
///
/// # Errors
/// The server cannot be reached or refuses the statement.
async fn places(conn: &mut PgConnection, tables: &str) -> Result<Vec<Place>> {
    let sql = "select c.relname::text as \"table\", n.nodeid as id, format('%s:%s', n.nodename, n.nodeport) as node
               from pg_dist_shard s join pg_class c on c.oid = s.logicalrelid
               join pg_dist_placement p on p.shardid = s.shardid
               join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
               where c.relname ~ $1 and c.relnamespace = 'codesearch'::regnamespace order by 1";
    Ok(sqlx::query_as(sql).bind(tables).fetch_all(conn).await?)
}

/// Returns where the groups lie: their numbers, each with the table that has the filters of its shards.
///
/// # Errors
/// The server cannot be reached or refuses the statement.
async fn places_of_groups(conn: &mut PgConnection) -> Result<Vec<(i16, Place)>> {
    let places = places(conn, &format!("^{}_[0-9]+$", FILTERS.name)).await?.into_iter();
    let numbered = places.filter_map(|place| {
        let number = place.table.rsplit_once('_')?.1.parse().ok()?;
        Some((number, place))
    });
    Ok(numbered.collect())
}

/// What a node says to a command.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct Reply {
    /// Its number in `pg_dist_node`.
    pub(crate) id: i32,
    /// Its host and port.
    pub(crate) node: String,
    /// Whether it ran the command.
    pub(crate) success: bool,
    /// The value of the only row, or why it failed.
    pub(crate) result: String,
}

impl Reply {
    /// Returns why it failed, in a line.
    pub(crate) fn why(&self) -> &str {
        let line = self.result.lines().next().unwrap_or_default();
        line.trim_start_matches("ERROR:").trim()
    }
}

/// Has each node run a command that returns one row, and returns what it said, by host and port.
///
/// # Errors
/// The server cannot be reached or refuses the statement.
pub(crate) async fn replies(conn: &mut PgConnection, command: &str) -> Result<Vec<Reply>> {
    let sql = format!(
        "select n.nodeid as id, format('%s:%s', n.nodename, n.nodeport) as node, r.success, r.result
         from {QUIETLY}
         cross join lateral run_command_on_all_nodes($1 || left(quiet, 0), parallel => true,
             give_warning_for_connection_errors => true) r
         join pg_dist_node n on n.nodeid = r.nodeid order by 2"
    );
    Ok(sqlx::query_as(AssertSqlSafe(sql)).bind(command).fetch_all(conn).await?)
}

/// Merges the pending lists of the trigram indexes of a table of a shard into the indexes, where the table lies.
///
/// # Errors
/// The node cannot be reached, or refuses the statement.
pub(crate) async fn flush(conn: &mut PgConnection, table: &str) -> Result<()> {
    let sql = "select success, result from run_command_on_placements($1::regclass,
        $$select coalesce(sum(gin_clean_pending_list(i.indexrelid)), 0) from pg_index i
          join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
          where i.indrelid = '%s'::regclass and a.amname = 'gin'$$)";
    let done: Vec<(bool, String)> = sqlx::query_as(sql).bind(table).fetch_all(conn).await?;
    for (_, why) in done.iter().filter(|(success, _)| !success) {
        tracing::warn!("the pending list of {table} is not merged: {why}");
    }
    Ok(())
}

/// Has a transaction on the tables of shards commit on all nodes and here, or nowhere. Citus does so by itself if several
/// nodes take part, or if rows are copied to one: a copy of no rows is the sign. Does nothing on plain Postgres, where it is so
/// anyway.
///
/// # Errors
/// The node of the first shard cannot be reached.
pub(crate) async fn commit_as_one(conn: &mut PgConnection, groups: Groups) -> Result<()> {
    if groups.are_distributed() { commit_as_one_with(conn, ShardId(0)).await } else { Ok(()) }
}

/// Like [`commit_as_one`], on Citus, and only the node of this shard must answer.
pub(crate) async fn commit_as_one_with(conn: &mut PgConnection, shard: ShardId) -> Result<()> {
    let sql = format!("copy {} (shard) from stdin", FILES.own(shard));
    conn.copy_in_raw(&sql).await?.finish().await?;
    Ok(())
}

/// Waits until no node has a transaction that is prepared and not ended: then each shows all that was committed here, and
/// nothing else. Has Citus end those that a killed program left. Does nothing on plain Postgres.
///
/// # Errors
/// [`Error::Node`] if one does not answer; one does not end a transaction.
pub(crate) async fn settle(conn: &mut PgConnection, groups: Groups) -> Result<()> {
    if groups.are_distributed() { settle_without(conn, &[]).await } else { Ok(()) }
}

/// Like [`settle`], on Citus, without nodes that are lost, by their numbers.
async fn settle_without(conn: &mut PgConnection, lost: &[i32]) -> Result<()> {
    let begun = Instant::now();
    loop {
        let states = replies(
            conn,
            "select count(*) from pg_prepared_xacts where database = current_database() and gid like 'citus\\_%'",
        )
        .await?;
        let states: Vec<&Reply> = states.iter().filter(|reply| !lost.contains(&reply.id)).collect();
        if let Some(silent) = states.iter().find(|reply| !reply.success) {
            let node = silent.node.clone();
            let why = format!(
                "{}; nothing changes in the index before all nodes answer; start it, or if it is lost for good, run: \
                 codesearch db rebuild {node}",
                silent.why()
            );
            return Err(Error::Node { node, why });
        }
        if states.iter().all(|reply| reply.result == "0") {
            return Ok(());
        }
        if begun.elapsed() > SETTLE {
            return Err(Error::Unreachable(
                "nodes do not end prepared transactions; see pg_prepared_xacts on each".to_owned(),
            ));
        }
        conn.execute("select recover_prepared_transactions()").await?;
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests;
