//! Nodes on this machine: a server reads their tables from them, and not by the way of the coordinator.
//!
//! Each node knows where all tables lie, and has what was committed there. An epoch is not current before all nodes have ended
//! the transactions that wrote it, so what is read at an epoch is the same here as through the coordinator. A node that was given
//! up knows nothing of that: so nodes are looked for again in each epoch, and until they are, the coordinator is asked.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use sqlx::PgConnection;
use sqlx::postgres::{PgConnectOptions, PgRow};

use super::{names, places, replies};
use crate::error::{Error, Result};
use crate::lease::BoundStatement;
use crate::pool::ConnectionPool;
use crate::replica::NewestRead;
use crate::store::Store;
use crate::target::{ANSWER, answered, is_here};

/// Longest pause between two looks. Meanwhile, tables that were moved away are read by the way of this node.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// SQL: what tells a running server from all others.
const IDENTITY: &str = "select format('%s %s', system_identifier, pg_postmaster_start_time()) from pg_control_system()";

/// The nodes on this machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalNodes(Arc<RwLock<Arc<Known>>>);

#[derive(Debug, Default)]
struct Known {
    /// The state of the index for which they were looked for.
    newest: NewestRead,
    seen: Seen,
    found: Arc<Found>,
}

/// What the coordinator knows of nodes.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    /// Number, host and port of each that has tables.
    nodes: Vec<(i32, String, i32)>,
    /// The newest number of a place of a table, and how many there are.
    placements: (i64, i64),
}

#[derive(Debug, Default)]
struct Found {
    nodes: Vec<Arc<LocalNode>>,
    /// The node of each of their tables.
    tables: HashMap<String, Arc<LocalNode>>,
    /// The tables that the coordinator has for itself.
    of_coordinator: HashSet<String>,
}

#[derive(Debug)]
struct LocalNode {
    /// Its number in `pg_dist_node`.
    id: i32,
    /// Its host and port.
    place: (String, i32),
    pool: ConnectionPool,
    /// Whether it failed since the last look. Then it is not read.
    has_failed: AtomicBool,
}

impl LocalNodes {
    fn known(&self) -> Arc<Known> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the pools of connections to them.
    pub(crate) fn pools(&self) -> Vec<ConnectionPool> {
        self.known().found.nodes.iter().map(|node| node.pool.clone()).collect()
    }
}

impl Found {
    /// Returns the node whose tables a statement reads, if it reads none that the coordinator has for itself.
    fn node_of(&self, sql: &str) -> Option<&Arc<LocalNode>> {
        let (mut node, mut before) = (None, "");
        for name in names(sql) {
            if matches!(before, "from" | "join") && self.of_coordinator.contains(name) {
                return None;
            }
            node = self.tables.get(name).or(node);
            before = name;
        }
        node.filter(|node| !node.has_failed.load(Ordering::Relaxed))
    }
}

impl Store {
    /// Looks for nodes on this machine, and for their tables, for ever.
    pub async fn follow_local_nodes(&self) {
        let (mut wanted, mut is_new) = (self.wanted.subscribe(), false);
        loop {
            let newest = *wanted.borrow_and_update();
            if self.is_distributed() {
                let looking = self.look_for_local_nodes(newest, is_new);
                if let Err(error) = answered(ANSWER, looking).await {
                    tracing::debug!("no nodes on this machine are looked for: {error}");
                }
            }
            // The sender lives as long as this store.
            is_new = tokio::time::timeout(LOOK_EVERY, wanted.changed()).await.is_ok();
        }
    }

    /// Runs a read-only statement on the node of its tables. Returns `None` if that is not on this machine, or fails: the
    /// coordinator is to be asked.
    pub(crate) async fn rows_of_local_node(&self, bound: &BoundStatement) -> Option<Vec<PgRow>> {
        if !self.is_distributed() {
            return None;
        }
        let known = self.local_nodes.known();
        if known.newest != *self.wanted.borrow() {
            return None;
        }
        let node = Arc::clone(known.found.node_of(&bound.sql)?);
        let running = async { self.lease_of(&node.pool).await?.rows_here(bound.clone()).await };
        match running.await {
            Ok(rows) => Some(rows),
            Err(error) => {
                tracing::debug!("{}:{} is not read directly: {error}", node.place.0, node.place.1);
                node.has_failed.store(true, Ordering::Relaxed);
                None
            }
        }
    }

    /// Looks for them in a state of the index. If only that is new, they are the same while the coordinator knows the same.
    async fn look_for_local_nodes(&self, newest: NewestRead, is_new: bool) -> Result<()> {
        let mut conn = self.control().acquire().await?;
        let sql = "select nodeid, nodename, nodeport from pg_dist_node
                   where noderole = 'primary' and isactive and metadatasynced and groupid > 0";
        let nodes: Vec<(i32, String, i32)> = sqlx::query_as(sql).fetch_all(&mut *conn).await?;
        let sql = "select coalesce(max(placementid), 0), count(*) from pg_dist_placement";
        let placements: (i64, i64) = sqlx::query_as(sql).fetch_one(&mut *conn).await?;
        let seen = Seen { nodes, placements };
        let before = self.local_nodes.known();
        let found = if is_new && before.seen == seen {
            Arc::clone(&before.found)
        } else {
            Arc::new(self.find_local_nodes(&mut conn, &seen.nodes).await?)
        };
        let known = Arc::new(Known { newest, seen, found });
        *self.local_nodes.0.write().unwrap_or_else(PoisonError::into_inner) = known;
        Ok(())
    }

    async fn find_local_nodes(
        &self,
        conn: &mut PgConnection,
        all: &[(i32, String, i32)],
    ) -> Result<Found> {
        let mut found = Found { nodes: self.local_nodes(conn, all).await?, ..Found::default() };
        if found.nodes.is_empty() {
            return Ok(found);
        }
        for place in places(conn, "").await? {
            if let Some(node) = found.nodes.iter().find(|node| node.id == place.id) {
                found.tables.insert(place.table, Arc::clone(node));
            }
        }
        let names: Vec<String> = sqlx::query_scalar(
            "select relname::text from pg_class
             where relnamespace = 'codesearch'::regnamespace and relkind in ('r', 'p', 'v')
               and not exists (select from pg_dist_partition where logicalrelid = pg_class.oid)",
        )
        .fetch_all(conn)
        .await?;
        found.of_coordinator.extend(names);
        Ok(found)
    }

    /// Returns those of all nodes that are on this machine and answer.
    async fn local_nodes(
        &self,
        conn: &mut PgConnection,
        all: &[(i32, String, i32)],
    ) -> Result<Vec<Arc<LocalNode>>> {
        let before = self.local_nodes.known();
        let (mut nodes, mut identities) = (Vec::new(), None);
        for (id, host, port) in all.iter().cloned() {
            let place = (host, port);
            if !is_here(&at(&self.options, &place)).await {
                continue;
            }
            let is_same = |node: &&Arc<LocalNode>| {
                node.id == id && node.place == place && !node.has_failed.load(Ordering::Relaxed)
            };
            if let Some(node) = before.found.nodes.iter().find(is_same) {
                nodes.push(Arc::clone(node));
                continue;
            }
            // The name of a node may be that of another server here: it is the coordinator's name for it.
            if identities.is_none() {
                identities = Some(replies(conn, IDENTITY).await?);
            }
            let all = identities.iter().flatten();
            let mut known = all.filter(|reply| reply.id == id && reply.success);
            let pool = self.pool.at(|options| at(&options, &place));
            let same = async {
                let mut backend = pool.connect().await?;
                let identity: String =
                    sqlx::query_scalar(IDENTITY).fetch_one(&mut backend.conn).await?;
                pool.idle().push(backend);
                Ok::<_, Error>(known.any(|reply| reply.result == identity))
            };
            match same.await {
                Ok(true) => {
                    tracing::info!("tables of {}:{port} are read directly", place.0);
                    let has_failed = AtomicBool::new(false);
                    nodes.push(Arc::new(LocalNode { id, place, pool, has_failed }));
                }
                Ok(false) => tracing::debug!("{}:{port} is another server here", place.0),
                Err(error) => tracing::debug!("{}:{port} cannot be read: {error}", place.0),
            }
        }
        Ok(nodes)
    }
}

/// Returns the options of connections to a node.
fn at(options: &PgConnectOptions, (host, port): &(String, i32)) -> PgConnectOptions {
    let options = options.clone().port(*port as u16);
    // An index that is reached by a socket has its nodes reached so, too.
    if host.starts_with('/') {
        options.socket(host)
    } else if options.get_socket().is_some() {
        options
    } else {
        options.host(host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_index;

    #[test]
    fn a_statement_is_for_the_node_of_its_tables() {
        on_index(1, async |store| {
            let node = |id| {
                let (pool, has_failed) = (store.pool.clone(), AtomicBool::new(false));
                Arc::new(LocalNode { id, place: ("ten".to_owned(), 5432), pool, has_failed })
            };
            let nodes = vec![node(1), node(2)];
            let tables = [("files_001", 0), ("chunks_001", 0), ("files_002", 1)];
            let tables = tables.map(|(table, at)| (table.to_owned(), Arc::clone(&nodes[at])));
            let of_coordinator = HashSet::from(["blobs".to_owned(), "trees".to_owned()]);
            let found = Found { nodes, tables: tables.into(), of_coordinator };
            let of = |sql: &str| found.node_of(sql).map(|node| node.id);
            assert_eq!(of("select path, trees from files_001 where blob = $1"), Some(1));
            assert_eq!(of("select 1 from files_001 f join chunks_001 c on c.blob=f.blob"), Some(1));
            assert_eq!(of("select from files_002"), Some(2));
            assert_eq!(of("select from files_003"), None);
            assert_eq!(of("select from files_001 f join blobs b on b.id = f.blob"), None);
            assert_eq!(of("with t as (select from trees) select from files_001"), None);
            found.nodes[1].has_failed.store(true, Ordering::Relaxed);
            assert_eq!((of("select from files_002"), of("select from files_001")), (None, Some(1)));
        });
    }
}
