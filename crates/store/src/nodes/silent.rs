//! Nodes that are known not to respond.
//!
//! A node that refuses connections says so at once. From one that is paused, or behind a network that swallows packets, Citus
//! waits for the rows of a statement for ever. So a statement that fails or takes long has the nodes asked, each on a new
//! connection; while one does not respond, statements on its tables fail, those that run and new ones.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::{names, places, replies};
use crate::error::{Error, Result};
use crate::store::Store;
use crate::target::{CONNECT, answered, connect};

/// Time after which a statement has the nodes asked, and the pause before it has them asked again.
const PATIENCE: Duration = Duration::from_secs(2);
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// Pause between two looks.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// The nodes that do not respond, by the tables on them.
#[derive(Clone, Debug, Default)]
pub(crate) struct SilentNodes {
    /// Host and port of the node of each table.
    tables: Arc<watch::Sender<HashMap<String, String>>>,
    /// Whether somebody looks.
    looking: Arc<AtomicBool>,
}

impl SilentNodes {
    /// Returns the error of a statement on a table of such a node.
    pub(crate) fn refuse(&self, sql: &str) -> Result<()> {
        let tables = self.tables.borrow();
        if tables.is_empty() {
            return Ok(());
        }
        let node = names(sql).find_map(|name| tables.get(name));
        node.map_or(Ok(()), |node| {
            Err(Error::Node { node: node.clone(), why: "it does not respond".to_owned() })
        })
    }
}

impl Store {
    /// Waits beside a statement until its node is known not to respond, and returns that. Ends only then.
    pub(crate) async fn silence_of_node(&self, sql: &str) -> Error {
        let mut changes = self.silent_nodes.tables.subscribe();
        let mut pause = PATIENCE;
        loop {
            if let Err(error) = self.silent_nodes.refuse(sql) {
                return error;
            }
            tokio::select! {
                // The sender lives as long as this store.
                _ = changes.changed() => {}
                () = tokio::time::sleep(pause) => {
                    self.look_for_silent_nodes();
                    pause = ASK_AGAIN;
                }
            }
        }
    }

    /// Begins to ask nodes whether they respond, and goes on while one does not.
    pub(crate) fn look_for_silent_nodes(&self) {
        if self.silent_nodes.looking.swap(true, Ordering::Relaxed) {
            return;
        }
        let store = self.clone();
        tokio::spawn(async move {
            loop {
                // A node may fall silent after it accepted the connection. The next look finds out on a new one.
                let looked = answered(CONNECT, store.tables_of_silent_nodes()).await;
                let tables = looked.unwrap_or_else(|error| {
                    tracing::debug!("nodes cannot be asked: {error}");
                    HashMap::new()
                });
                let is_over = tables.is_empty();
                store.silent_nodes.tables.send_if_modified(|known| {
                    let is_new = *known != tables;
                    *known = tables;
                    is_new
                });
                tokio::time::sleep(BETWEEN_LOOKS).await;
                if is_over {
                    break;
                }
            }
            store.silent_nodes.looking.store(false, Ordering::Relaxed);
        });
    }

    /// Returns the names of the tables on nodes that do not respond, each with its node.
    async fn tables_of_silent_nodes(&self) -> Result<HashMap<String, String>> {
        // Of its own: one that is given up may never be free again.
        let mut conn = connect(&self.options).await?;
        let silent = replies(&mut conn, "select 1").await?;
        let silent = silent.iter().filter(|reply| !reply.success).map(|reply| reply.id);
        let silent: Vec<i32> = silent.collect();
        if silent.is_empty() {
            return Ok(HashMap::new());
        }
        let places = places(&mut conn, "").await?.into_iter();
        let places = places.filter(|place| silent.contains(&place.id));
        Ok(places.map(|place| (place.table, place.node)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_on_tables_of_a_silent_node_are_refused() {
        let nodes = SilentNodes::default();
        assert!(nodes.refuse("select from documents_001").is_ok());
        let tables = [("documents_001", "ten:5432"), ("chunk_filters_00", "ten:5432")];
        let tables = tables.map(|(table, node)| (table.to_owned(), node.to_owned()));
        nodes.tables.send_replace(tables.into());
        for sql in ["select from documents_001 where x", "from a join chunk_filters_00"] {
            let Err(Error::Node { node, .. }) = nodes.refuse(sql) else { panic!("{sql}") };
            assert_eq!(node, "ten:5432");
        }
        for sql in ["select from documents_002", "select from documents_0010", "select 1"] {
            assert!(nodes.refuse(sql).is_ok(), "{sql}");
        }
    }
}
