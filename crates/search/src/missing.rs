//! The part of an index that could not be read since nodes of it do not answer.

use std::collections::{BTreeMap, BTreeSet};

use store::{Error, Shard, ShardId, Store};

/// The part of an index that was not searched since nodes of it did not answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "an answer says what is missing"]
pub struct Missing {
    /// The shards, with their bytes of text.
    pub shards: BTreeMap<ShardId, u64>,
    /// Their groups.
    pub groups: BTreeSet<i16>,
    /// The nodes, as `host:port`.
    pub nodes: BTreeSet<String>,
    /// Whether something is missing, of which whoever sees not all repositories is told no more.
    is_hidden: bool,
}

impl Missing {
    /// Returns whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.shards.is_empty() && !self.is_hidden
    }

    /// Returns the bytes of text in the shards.
    pub fn bytes(&self) -> u64 {
        self.shards.values().sum()
    }

    /// Adds what another answer lacks.
    pub fn join(&mut self, other: Self) {
        self.shards.extend(other.shards);
        self.groups.extend(other.groups);
        self.nodes.extend(other.nodes);
        self.is_hidden |= other.is_hidden;
    }

    /// Returns what whoever sees not all repositories is told: that something is missing.
    pub(crate) fn hidden(&self) -> Self {
        Self { is_hidden: !self.is_empty(), ..Self::default() }
    }

    /// Adds a shard that a read could not reach.
    ///
    /// # Errors
    /// The error of the read, if it says anything but that a node does not answer.
    pub(crate) fn note(&mut self, store: &Store, shard: &Shard, error: Error) -> Result<(), Error> {
        let Error::Node { node, .. } = error else { return Err(error) };
        self.add((shard.id, store.group_of(shard.id)), shard.bytes, &node);
        Ok(())
    }

    /// Adds some shards of a node.
    pub(crate) fn add_all<'s>(
        &mut self,
        store: &Store,
        shards: impl Iterator<Item = &'s Shard>,
        node: &str,
    ) {
        for shard in shards {
            self.add((shard.id, store.group_of(shard.id)), shard.bytes, node);
        }
    }

    /// Adds a shard of a group, with its bytes of text, on a node.
    pub(crate) fn add(&mut self, (shard, group): (ShardId, i16), bytes: i64, node: &str) {
        self.shards.insert(shard, bytes.max(0).cast_unsigned());
        self.groups.insert(group);
        self.nodes.insert(node.to_owned());
    }

    /// Refuses what needs one of some shards, if that is missing.
    ///
    /// # Errors
    /// It is missing.
    pub fn refuse(&self, mut shards: impl Iterator<Item = ShardId>) -> Result<(), Error> {
        if shards.any(|shard| self.shards.contains_key(&shard)) {
            let nodes: Vec<&str> = self.nodes.iter().map(String::as_str).collect();
            let why = "what was asked for may lie there".to_owned();
            return Err(Error::Node { node: nodes.join(", "), why });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_on_a_lost_node_is_refused() {
        let mut missing = Missing::default();
        assert!(missing.is_empty() && missing.hidden().is_empty());
        missing.add((ShardId(3), 1), 70, "ten:5432");
        missing.add((ShardId(5), 1), -1, "ten:5432");
        assert_eq!((missing.bytes(), missing.shards.len(), missing.groups.len()), (70, 2, 1));
        assert!(missing.refuse([ShardId(1), ShardId(4)].into_iter()).is_ok());
        let refused = missing.refuse([ShardId(1), ShardId(5)].into_iter()).unwrap_err();
        assert!(refused.to_string().starts_with("the node ten:5432 of the index does not answer"));
        let mut hidden = missing.hidden();
        assert!(!hidden.is_empty() && hidden.shards.is_empty() && hidden.nodes.is_empty());
        hidden.join(missing.clone());
        assert_eq!((hidden.shards, hidden.nodes), (missing.shards, missing.nodes));
    }
}
