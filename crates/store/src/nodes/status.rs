//! What lies on which node of Citus.

use std::collections::BTreeMap;

use super::{Place, members, places_of_groups, replies};
use crate::error::{Error, Result};
use crate::store::Store;

/// A node of Citus with groups of shards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its host and port.
    pub name: String,
    /// Whether it answers.
    pub answers: bool,
    /// Whether it may get groups. If not, [`Store::rebalance`] moves its groups away.
    pub takes_groups: bool,
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
        let mut conn = self.control().acquire().await?;
        let members = members(&mut conn).await?;
        let mut replies = replies(
            &mut conn,
            "select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint from pg_class c
             where c.relnamespace = to_regnamespace('codesearch') and c.relkind = 'r' and c.relname ~ '_[0-9]+_[0-9]+$'",
        )
        .await?;
        replies.retain(|reply| reply.success);
        let mut nodes: BTreeMap<String, Node> = BTreeMap::new();
        for member in members.into_iter().filter(|member| !member.is_coordinator()) {
            let disk = replies.iter().find(|reply| reply.id == member.id);
            let node = Node {
                name: member.name.clone(),
                answers: disk.is_some(),
                takes_groups: member.takes_groups,
                disk_bytes: disk.and_then(|reply| reply.result.parse().ok()).unwrap_or_default(),
                ..Node::default()
            };
            nodes.insert(member.name, node);
        }
        let places = places_of_groups(&mut conn).await?;
        drop(conn);
        let texts: Vec<(i16, i64)> =
            sqlx::query_as("select shard, bytes from shards where chunks > 0")
                .fetch_all(self.control())
                .await?;
        for (group, Place { node: name, .. }) in places {
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
}
