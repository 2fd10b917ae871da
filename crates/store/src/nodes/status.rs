//! What lies on which node of Citus, and moving it.

use std::collections::BTreeMap;

use sqlx::AssertSqlSafe;

use super::QUIETLY;
use crate::error::{Error, Result};
use crate::locks::WRITE_LOCK;
use crate::store::Store;
use crate::tables::FILTERS;

/// A node of Citus with groups of shards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its host and port.
    pub name: String,
    /// Whether it answers.
    pub answers: bool,
    /// Numbers of the groups on it, ascending.
    pub groups: Vec<i16>,
    /// Number of their shards that have texts.
    pub shards: usize,
    /// Bytes of text in them.
    pub bytes: i64,
    /// Bytes on its disk of their tables; 0 if it does not answer.
    pub disk_bytes: i64,
}

/// The error of a command for nodes without any.
pub(super) fn no_nodes() -> Error {
    Error::Unsuitable(
        "the index lies on one Postgres; an index on nodes of Citus is made by: codesearch init, on a coordinator with nodes"
            .to_owned(),
    )
}

impl Store {
    /// Returns the nodes of the index, by name.
    ///
    /// # Errors
    /// [`Error::Unsuitable`] if the index is on plain Postgres; the server cannot be reached or refuses a statement.
    pub async fn nodes(&self) -> Result<Vec<Node>> {
        if !self.is_distributed() {
            return Err(no_nodes());
        }
        let groups = self.groups();
        let states: Vec<(String, bool, Option<i64>)> = sqlx::query_as(AssertSqlSafe(format!(
            "select format('%s:%s', n.nodename, n.nodeport), r.success, case when r.success then r.result::bigint end
             from {QUIETLY}
             cross join lateral run_command_on_all_nodes(
                 $$select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint from pg_class c
                   where c.relnamespace = to_regnamespace('codesearch') and c.relkind = 'r' and c.relname ~ '_[0-9]+_[0-9]+$'$$
                     || left(quiet, 0), parallel => true, give_warning_for_connection_errors => true) r
             join pg_dist_node n on n.nodeid = r.nodeid where n.shouldhaveshards or n.groupid > 0",
        )))
        .fetch_all(self.control())
        .await?;
        let mut nodes: BTreeMap<String, Node> = BTreeMap::new();
        for (name, answers, disk) in states {
            let disk_bytes = disk.unwrap_or_default();
            let node = Node { name: name.clone(), answers, disk_bytes, ..Node::default() };
            nodes.insert(name, node);
        }
        let places: Vec<(String, String)> = sqlx::query_as(AssertSqlSafe(format!(
            "select c.relname::text, format('%s:%s', n.nodename, n.nodeport)
             from pg_dist_shard s join pg_class c on c.oid = s.logicalrelid
             join pg_dist_placement p on p.shardid = s.shardid
             join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
             where c.relname ~ '^{}_[0-9]+$' and c.relnamespace = 'codesearch'::regnamespace order by 1",
            FILTERS.name
        )))
        .fetch_all(self.control())
        .await?;
        let texts: Vec<(i16, i64)> =
            sqlx::query_as("select shard, bytes from shards where chunks > 0")
                .fetch_all(self.control())
                .await?;
        for (table, name) in places {
            let Some(group) = table.rsplit_once('_').and_then(|(_, n)| n.parse::<i16>().ok())
            else {
                continue;
            };
            let node =
                nodes.entry(name.clone()).or_insert_with(|| Node { name, ..Node::default() });
            node.groups.push(group);
            for (_, bytes) in texts.iter().filter(|(n, _)| groups.of(crate::ShardId(*n)) == group) {
                node.shards += 1;
                node.bytes += bytes;
            }
        }
        Ok(nodes.into_values().collect())
    }

    /// Moves groups of shards so that nodes have about as much each, or all of a node to the others. Searches go on meanwhile;
    /// an ingest waits.
    ///
    /// # Errors
    /// [`Error::Unsuitable`] if the index is on plain Postgres, an ingest runs, or there is no such node; a node does not
    /// answer, or refuses to move a group.
    pub async fn rebalance(&self, away_from: Option<(&str, u16)>) -> Result<()> {
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
                "an ingest is running; move groups of shards after it".to_owned(),
            ));
        }
        super::settle(&mut conn, self.groups()).await?;
        match away_from {
            None => {
                sqlx::query("select rebalance_table_shards(shard_transfer_mode => 'block_writes')")
                    .execute(&mut conn)
                    .await?;
            }
            Some((host, port)) => {
                sqlx::query(
                    "select citus_drain_node($1, $2, shard_transfer_mode => 'block_writes')",
                )
                .bind(host)
                .bind(i32::from(port))
                .execute(&mut conn)
                .await?;
            }
        }
        // Until then, a moved table is on both nodes.
        sqlx::raw_sql("call citus_cleanup_orphaned_resources()").execute(&mut conn).await?;
        sqlx::query("select pg_advisory_unlock($1)").bind(WRITE_LOCK).execute(&mut conn).await?;
        Ok(())
    }
}
