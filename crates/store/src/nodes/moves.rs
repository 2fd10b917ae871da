//! Moves groups of shards between nodes of Citus, which plans the moves.

use sqlx::{Executor, PgConnection};

use super::status::no_nodes;
use super::{Member, members, settle};
use crate::error::{Error, Result};
use crate::locks::WRITE_LOCK;
use crate::store::Store;
use crate::tables::FILTERS;

/// The plan of Citus: for each group that moves, its number, and the nodes. The tables of a group move together.
///
/// Each group costs Citus as much as 100 MB unless it is told otherwise, so the groups with texts would lie anywhere while an
/// index is small.
const PLAN: &str = "
    select replace(c.relname, $1, '')::smallint, p.shardid, p.sourcename, p.sourceport, p.targetname, p.targetport
    from (select set_config('citus.rebalancer_by_disk_size_base_cost', '0', false) cost) s
    cross join lateral get_rebalance_table_shards_plan(drain_only => $2 and cost is not null) p
    join pg_class c on c.oid = p.table_name
    where c.relnamespace = 'codesearch'::regnamespace and c.relname ~ ('^' || $1 || '[0-9]+$')";

/// A group of shards that is to be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// Its number.
    pub group: i16,
    /// Host and port of the node that has it, and of the one that gets it.
    pub from: String,
    /// See `from`.
    pub to: String,
    /// Number of groups that are moved before it, and of all.
    pub done: usize,
    /// See `done`.
    pub of: usize,
}

/// The error of a command that names a node which Citus does not know.
pub(super) fn unknown(node: &str) -> Error {
    Error::Unsuitable(format!("unknown node {node}; codesearch db nodes lists them"))
}

/// The error of a command that leaves no node for the groups of these.
pub(super) fn no_other(nodes: &str) -> Error {
    Error::Unsuitable(format!(
        "no other node can take the groups of {nodes}; add one on the coordinator: select citus_add_node('HOST', PORT)"
    ))
}

impl Store {
    /// Moves groups of shards, one after the other, so that nodes have about as much each, or all of a node, by host and port, to
    /// the others. Searches go on meanwhile; an ingest waits. If it is interrupted, groups are moved or are where they were.
    ///
    /// # Errors
    /// [`Error::Unsuitable`] if the index is on plain Postgres, an ingest or a check runs, there is no such node, or no other
    /// can take its groups; a node does not answer, or refuses to move a group.
    pub async fn rebalance(
        &self,
        away_from: Option<(&str, u16)>,
        told: &(dyn Fn(&Move) + Sync),
    ) -> Result<()> {
        if !self.is_distributed() {
            return Err(no_nodes());
        }
        let mut conn = self.connection().await?;
        let locked: bool = sqlx::query_scalar("select pg_try_advisory_lock($1)")
            .bind(WRITE_LOCK)
            .fetch_one(&mut conn)
            .await?;
        if !locked {
            return Err(Error::Unsuitable(
                "an ingest or a check is running; move groups of shards after it".to_owned(),
            ));
        }
        settle(&mut conn, self.groups()).await?;
        if let Some(node) = away_from {
            close(&mut conn, node).await?;
        }
        let plan: Vec<(i16, i64, String, i32, String, i32)> = sqlx::query_as(PLAN)
            .bind(format!("{}_", FILTERS.name))
            .bind(away_from.is_some())
            .fetch_all(&mut conn)
            .await?;
        let of = plan.len();
        for (done, (group, id, from, from_port, to, to_port)) in plan.into_iter().enumerate() {
            let (from_node, to_node) = (format!("{from}:{from_port}"), format!("{to}:{to_port}"));
            told(&Move { group, from: from_node, to: to_node, done, of });
            sqlx::query(
                "select citus_move_shard_placement($1, $2, $3, $4, $5, shard_transfer_mode => 'block_writes')",
            )
            .bind(id)
            .bind(from)
            .bind(from_port)
            .bind(to)
            .bind(to_port)
            .execute(&mut conn)
            .await?;
        }
        // Until then, a moved table is on both nodes.
        conn.execute("call citus_cleanup_orphaned_resources()").await?;
        sqlx::query("select pg_advisory_unlock($1)").bind(WRITE_LOCK).execute(&mut conn).await?;
        Ok(())
    }
}

/// Has a node get no more groups.
async fn close(conn: &mut PgConnection, (host, port): (&str, u16)) -> Result<()> {
    let name = format!("{host}:{port}");
    let known = members(conn).await?;
    match known.iter().find(|member| member.name == name) {
        None => return Err(unknown(&name)),
        Some(member) if member.is_coordinator() => {
            return Err(Error::Unsuitable(format!(
                "{name} is the coordinator, which has no groups of shards"
            )));
        }
        Some(_) => {}
    }
    let takes = |member: &Member| member.takes_groups && member.name != name;
    if !known.iter().any(takes) {
        return Err(no_other(&name));
    }
    let may: bool = sqlx::query_scalar(
        "select has_function_privilege('citus_set_node_property(text, int, text, boolean)', 'execute')",
    )
    .fetch_one(&mut *conn)
    .await?;
    if !may {
        return Err(Error::Unsuitable(
            "only a superuser of the coordinator can drain a node; use its name in DATABASE_URL"
                .to_owned(),
        ));
    }
    sqlx::query("select citus_set_node_property($1, $2, 'shouldhaveshards', false)")
        .bind(host)
        .bind(i32::from(port))
        .execute(conn)
        .await?;
    Ok(())
}
