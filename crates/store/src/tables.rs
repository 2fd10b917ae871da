//! The list of the tables that are partitioned by shard.
//!
//! Init, the emptying of freed shards and the rules of check use this list: a new table needs an entry here and a
//! migration that makes its parent. Deletion with a blob (`ingest::gc`) and the rules themselves name tables one by one.
//! No other statement names a parent.

use std::ops::Range;

use crate::ShardId;

/// The unit that has a partition of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Each shard.
    Shard,
    /// Each group of shards, see [`Groups`]: one statement reads the rows of all of them.
    Group,
}

/// Number of shards of an index that share the partitions of a group: at least 1. It is fixed when the index is made.
/// If an index lies on several machines, a group lies on one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Groups(pub(crate) i16);

impl Groups {
    /// The size of the groups of a new index.
    pub(crate) const OF_NEW: Self = Self(32);

    /// Returns the number of the group of a shard.
    pub(crate) fn of(self, shard: ShardId) -> i16 {
        shard.0 / self.0
    }

    /// Returns the numbers of the shards in a group.
    pub(crate) fn shards(self, group: i16) -> Range<i16> {
        group * self.0..(group + 1) * self.0
    }
}

/// A table with a partition for each shard, or for each group of shards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    /// The name of the parent, with which the names of its partitions begin.
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    /// `toast_tuple_target` in bytes: above it Postgres compresses the columns of a row, or moves them out of it.
    /// `None` for its default.
    toast: Option<u16>,
    /// The columns that identify a row. All include the shard: Postgres requires it of partitions, Citus of tables that
    /// are distributed by shard.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests compare it with the schema"))]
    pub(crate) key: &'static [&'static str],
    /// The columns that refer to a text of `blobs`, besides the shard; none for rows of several texts.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests compare it with the schema"))]
    pub(crate) blob: Option<&'static str>,
}

/// A low target has Postgres compress the texts of chunks, which stay in their rows (storage main), and move lexemes to
/// TOAST, so that lookups read only short rows.
const SHORT_ROWS: Option<u16> = Some(128);

/// Slices of filters stay in their rows.
const WHOLE_ROWS: Option<u16> = Some(8160);

pub(crate) const CHUNKS: Table = Table {
    name: "chunks",
    unit: Unit::Shard,
    toast: SHORT_ROWS,
    key: &["shard", "n"],
    blob: Some("blob"),
};

pub(crate) const DOCUMENTS: Table = Table {
    name: "documents",
    unit: Unit::Shard,
    toast: SHORT_ROWS,
    key: &["shard", "first"],
    blob: None,
};

pub(crate) const FILES: Table = Table {
    name: "files",
    unit: Unit::Shard,
    toast: None,
    key: &["shard", "repo", "path", "valid_from"],
    blob: Some("blob"),
};

pub(crate) const DOCS: Table = Table {
    name: "docs",
    unit: Unit::Shard,
    toast: SHORT_ROWS,
    key: &["shard", "blob"],
    blob: Some("blob"),
};

pub(crate) const SYMBOLS: Table = Table {
    name: "symbols",
    unit: Unit::Shard,
    toast: SHORT_ROWS,
    key: &["shard", "first"],
    blob: None,
};

pub(crate) const FILTERS: Table = Table {
    name: "filters",
    unit: Unit::Group,
    toast: WHOLE_ROWS,
    key: &["kind", "number", "shard"],
    blob: None,
};

pub(crate) const CHUNK_FILTERS: Table = Table {
    name: "chunk_filters",
    unit: Unit::Group,
    toast: WHOLE_ROWS,
    key: &["bit", "shard", "piece"],
    blob: None,
};

pub(crate) const SCIP: Table = Table {
    name: "scip",
    unit: Unit::Group,
    toast: SHORT_ROWS,
    key: &["shard", "import", "path"],
    blob: Some("blob"),
};

pub(crate) const WORD_SEGMENTS: Table = Table {
    name: "word_segments",
    unit: Unit::Group,
    toast: WHOLE_ROWS,
    key: &["shard", "segment"],
    blob: None,
};

pub(crate) const WORDS: Table = Table {
    name: "words",
    unit: Unit::Group,
    toast: WHOLE_ROWS,
    key: &["shard", "segment", "bucket"],
    blob: None,
};

/// All tables partitioned by shard or group.
pub(crate) const ALL: [Table; 10] =
    [CHUNKS, DOCUMENTS, FILES, DOCS, SYMBOLS, FILTERS, CHUNK_FILTERS, SCIP, WORD_SEGMENTS, WORDS];

impl Table {
    /// Returns the name of the partition with the rows of a shard.
    pub(crate) fn of(&self, shard: ShardId, groups: Groups) -> String {
        match self.unit {
            Unit::Shard => self.own(shard),
            Unit::Group => format!("{}_{:02}", self.name, groups.of(shard)),
        }
    }

    /// Returns the name of the partition of a shard alone.
    pub(crate) fn own(&self, shard: ShardId) -> String {
        format!("{}_{:03}", self.name, shard.0)
    }

    /// Returns the names of the partitions of an index of so many shards, in order.
    pub(crate) fn partitions(&self, shards: i16, groups: Groups) -> Vec<String> {
        self.firsts(shards, groups).map(|first| self.of(first, groups)).collect()
    }

    /// Returns the statement that makes the partitions of an index of so many shards.
    pub(crate) fn make(&self, shards: i16, groups: Groups) -> String {
        let one = |first: ShardId| {
            let (partition, parent) = (self.of(first, groups), self.name);
            let values = match self.unit {
                Unit::Shard => format!("in ({})", first.0),
                Unit::Group => format!("from ({}) to ({})", first.0, first.0 + groups.0),
            };
            let toast = self
                .toast
                .map_or_else(String::new, |toast| format!(" with (toast_tuple_target = {toast})"));
            format!("create table {partition} partition of {parent} for values {values}{toast}")
        };
        self.firsts(shards, groups).map(one).collect::<Vec<_>>().join("; ")
    }

    /// Returns the statement that deletes all rows of a shard.
    pub(crate) fn empty(&self, shard: ShardId, groups: Groups) -> String {
        let partition = self.of(shard, groups);
        match self.unit {
            Unit::Shard => format!("truncate {partition}"),
            Unit::Group => format!("delete from {partition} where shard = {}", shard.0),
        }
    }

    /// Returns a subquery with the rows of all shards of an index of so many.
    pub(crate) fn all(&self, shards: i16, groups: Groups) -> String {
        let partitions = self.partitions(shards, groups);
        let tables: Vec<String> = partitions.iter().map(|name| format!("table {name}")).collect();
        format!("({})", tables.join(" union all "))
    }

    /// Returns the first shard of each partition.
    fn firsts(&self, shards: i16, groups: Groups) -> impl Iterator<Item = ShardId> {
        let step = match self.unit {
            Unit::Shard => 1,
            Unit::Group => groups.0 as usize,
        };
        (0..shards).step_by(step).map(ShardId)
    }
}

/// Replaces `{files}` and the like by a subquery with the rows of all shards.
pub(crate) fn over_all(sql: &str, shards: i16, groups: Groups) -> String {
    ALL.iter().fold(sql.to_owned(), |sql, table| {
        let name = format!("{{{}}}", table.name);
        if sql.contains(&name) { sql.replace(&name, &table.all(shards, groups)) } else { sql }
    })
}

#[cfg(test)]
mod tests;
