//! The list of the tables that are partitioned by shard.
//!
//! Init, the emptying of freed shards and the rules of check use this list: a new table needs an entry here and a
//! migration that makes its parent. Deletion with a blob (`ingest::gc`) and the rules themselves name tables one by one.
//! No other statement names a parent.

use crate::ShardId;

/// The unit that has a partition of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Each shard.
    Shard,
    /// Each group of shards, see [`Groups`]: one statement reads the rows of all of them.
    Group,
}

/// The groups of the shards of an index, fixed when the index is made. A group lies on one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Groups {
    /// So many neighbouring shards are a group; at least 1. On plain Postgres, where one statement that reads all shards
    /// takes less time than several.
    Runs(i16),
    /// There are so many groups, and a shard is in the one of its number modulo theirs. On Citus: shards are filled in
    /// order, and so come to lie on all nodes.
    Rounds(i16),
}

impl Groups {
    /// The groups of a new index on plain Postgres.
    pub(crate) const OF_NEW: Self = Self::Runs(32);

    /// Most groups for each node of Citus. A statement asks one group, so with more a search that asks all shards would
    /// have more round trips; with fewer, nodes would differ more in size, and less could move at once.
    const FOR_EACH_NODE: i16 = 8;

    /// Returns the groups of a new index of so many shards on so many nodes of Citus: 0 of plain Postgres.
    pub(crate) fn of_new(shards: i16, nodes: i16) -> Self {
        match nodes {
            0 => Self::OF_NEW,
            _ => Self::Rounds(nodes.saturating_mul(Self::FOR_EACH_NODE).min(shards).max(1)),
        }
    }

    /// Returns whether the tables of shards lie on the nodes of Citus.
    pub(crate) fn are_distributed(self) -> bool {
        matches!(self, Self::Rounds(_))
    }

    /// Returns the number of the group of a shard.
    pub(crate) fn of(self, shard: ShardId) -> i16 {
        match self {
            Self::Runs(size) => shard.0 / size,
            Self::Rounds(count) => shard.0 % count,
        }
    }

    /// Returns the number of groups of an index of so many shards.
    pub(crate) fn count(self, shards: i16) -> i16 {
        match self {
            Self::Runs(size) => (shards + size - 1) / size,
            Self::Rounds(count) => count.min(shards),
        }
    }

    /// Returns the numbers of the shards in a group of an index of so many shards, ascending.
    pub(crate) fn shards(self, group: i16, shards: i16) -> impl Iterator<Item = i16> {
        let (first, end, step) = match self {
            Self::Runs(size) => (group * size, ((group + 1) * size).min(shards), 1),
            Self::Rounds(count) => (group, shards, count),
        };
        (first..end).step_by(step as usize)
    }

    /// Returns the columns `group_shards` and `groups` of `state`.
    pub(crate) fn columns(self) -> (i16, Option<i16>) {
        match self {
            Self::Runs(size) => (size, None),
            Self::Rounds(count) => (1, Some(count)),
        }
    }

    /// Returns the groups that the columns `group_shards` and `groups` of `state` name.
    pub(crate) fn of_columns((size, count): (i16, Option<i16>)) -> Self {
        count.map_or(Self::Runs(size), Self::Rounds)
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

    /// Returns the statement that makes the partitions of an index of so many shards, in groups of so many.
    pub(crate) fn make(&self, shards: i16, groups: Groups) -> String {
        let Groups::Runs(size) = groups else { unreachable!("on Citus, tables have no parent") };
        let one = |first: ShardId| {
            let (partition, parent) = (self.of(first, groups), self.name);
            let values = match self.unit {
                Unit::Shard => format!("in ({})", first.0),
                Unit::Group => format!("from ({}) to ({})", first.0, first.0 + size),
            };
            let options = self.options();
            format!("create table {partition} partition of {parent} for values {values}{options}")
        };
        self.firsts(shards, groups).map(one).collect::<Vec<_>>().join("; ")
    }

    /// Returns the statement that makes the table of a shard or of its group without a parent, with the columns, indexes
    /// and settings of the parent.
    pub(crate) fn make_alone(&self, shard: ShardId, groups: Groups) -> String {
        let (table, options) = (self.of(shard, groups), self.options());
        format!("create table {table} (like {} including all){options}", self.name)
    }

    /// Returns the options of its partitions, as SQL.
    fn options(&self) -> String {
        let with = |toast| format!(" with (toast_tuple_target = {toast})");
        self.toast.map_or_else(String::new, with)
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
        if let ([only], true) = (&*partitions, groups.are_distributed()) {
            // So Citus reads it before it joins the rows with tables of the coordinator, as it does several.
            return format!("(select * from {only} offset 0)");
        }
        let tables: Vec<String> = partitions.iter().map(|name| format!("table {name}")).collect();
        format!("({})", tables.join(" union all "))
    }

    /// Returns the first shard of each partition.
    fn firsts(&self, shards: i16, groups: Groups) -> impl Iterator<Item = ShardId> + use<> {
        let (end, step) = match (self.unit, groups) {
            (Unit::Shard, _) => (shards, 1),
            (Unit::Group, Groups::Runs(size)) => (shards, size),
            (Unit::Group, Groups::Rounds(count)) => (count.min(shards), 1),
        };
        (0..end).step_by(step as usize).map(ShardId)
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
