//! The list of the tables that are partitioned by shard.
//!
//! Whoever makes, empties, counts or moves all that a shard has goes through this list: a new table needs an entry here and a
//! migration that makes its parent. No other statement names a parent.

use crate::ShardId;
use crate::filters::GROUP_SHARDS;

/// What has a partition of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Each shard.
    Shard,
    /// Each group of [`GROUP_SHARDS`] shards: one statement reads the rows of all of them.
    Group,
}

/// A table with a partition for each shard, or for each group of shards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    /// The name of the parent, with which the names of its partitions begin.
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    /// `toast_tuple_target` in bytes: above it Postgres compresses the columns of a row, or moves them out of it. `None` for
    /// its default.
    toast: Option<u16>,
    /// The columns that identify a row. All begin with, or have, the shard: Postgres demands it of partitions, Citus of
    /// tables that are distributed by shard.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests compare it with the schema"))]
    pub(crate) key: &'static [&'static str],
    /// The columns that name a text of `blobs`, beside the shard; none for rows of several texts.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests compare it with the schema"))]
    pub(crate) blob: Option<&'static str>,
}

/// The low targets have Postgres compress the texts of chunks, which stay in their rows (storage main), and move lexemes to
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

/// All of them.
pub(crate) const ALL: [Table; 8] =
    [CHUNKS, DOCUMENTS, FILES, DOCS, SYMBOLS, FILTERS, CHUNK_FILTERS, SCIP];

impl Table {
    /// Returns the name of the partition that has the rows of a shard.
    pub(crate) fn of(&self, shard: ShardId) -> String {
        match self.unit {
            Unit::Shard => format!("{}_{:03}", self.name, shard.0),
            Unit::Group => format!("{}_{:02}", self.name, shard.0 / GROUP_SHARDS),
        }
    }

    /// Returns the names of the partitions of an index of so many shards, in order.
    pub(crate) fn partitions(&self, shards: i16) -> Vec<String> {
        self.firsts(shards).map(|first| self.of(first)).collect()
    }

    /// Returns the statement that makes the partitions of an index of so many shards.
    pub(crate) fn make(&self, shards: i16) -> String {
        let one = |first: ShardId| {
            let (partition, parent) = (self.of(first), self.name);
            let values = match self.unit {
                Unit::Shard => format!("in ({})", first.0),
                Unit::Group => format!("from ({}) to ({})", first.0, first.0 + GROUP_SHARDS),
            };
            let toast = self
                .toast
                .map_or_else(String::new, |toast| format!(" with (toast_tuple_target = {toast})"));
            format!("create table {partition} partition of {parent} for values {values}{toast}")
        };
        self.firsts(shards).map(one).collect::<Vec<_>>().join("; ")
    }

    /// Returns the statement that deletes all rows of a shard.
    pub(crate) fn empty(&self, shard: ShardId) -> String {
        match self.unit {
            Unit::Shard => format!("truncate {}", self.of(shard)),
            Unit::Group => format!("delete from {} where shard = {}", self.of(shard), shard.0),
        }
    }

    /// Returns a subquery with the rows of all shards of an index of so many.
    pub(crate) fn all(&self, shards: i16) -> String {
        let partitions = self.partitions(shards);
        let tables: Vec<String> = partitions.iter().map(|name| format!("table {name}")).collect();
        format!("({})", tables.join(" union all "))
    }

    /// Returns the first shard of each partition.
    fn firsts(&self, shards: i16) -> impl Iterator<Item = ShardId> {
        let step = match self.unit {
            Unit::Shard => 1,
            Unit::Group => GROUP_SHARDS as usize,
        };
        (0..shards).step_by(step).map(ShardId)
    }
}

/// Replaces `{files}` and the like by a subquery with the rows of all shards.
pub(crate) fn over_all(sql: &str, shards: i16) -> String {
    ALL.iter().fold(sql.to_owned(), |sql, table| {
        let name = format!("{{{}}}", table.name);
        if sql.contains(&name) { sql.replace(&name, &table.all(shards)) } else { sql }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{on_index, value};

    #[test]
    fn the_list_is_that_of_the_schema() {
        on_index(40, async |store| {
            let parents = "select string_agg(relname, ' ' order by relname) from pg_class
                 where relkind = 'p' and relnamespace = 'codesearch'::regnamespace";
            let mut listed: Vec<&str> = ALL.iter().map(|table| table.name).collect();
            listed.sort_unstable();
            assert_eq!(value::<String>(store, parents).await, listed.join(" "));
            for table in ALL {
                let partitions = format!(
                    "select string_agg(inhrelid::regclass::text, ' ' order by inhrelid::regclass::text)
                     from pg_inherits where inhparent = 'codesearch.{}'::regclass",
                    table.name
                );
                let found: String = value(store, &partitions).await;
                assert_eq!(found, table.partitions(40).join(" "), "{}", table.name);
                let key = format!(
                    "select string_agg(attname, ' ' order by array_position(indkey::int2[], attnum)) from pg_index
                     join pg_attribute on attrelid = indrelid and attnum = any(indkey::int2[])
                     where indisprimary and indrelid = 'codesearch.{}'::regclass",
                    table.name
                );
                let found: Option<String> = value(store, &key).await;
                if let Some(found) = found {
                    assert_eq!(found, table.key.join(" "), "{}", table.name);
                }
                if let Some(blob) = table.blob {
                    let column = format!(
                        "select count({blob}) + count(shard) from {}",
                        table.of(ShardId(0))
                    );
                    assert_eq!(value::<i64>(store, &column).await, 0);
                }
            }
        });
    }

    #[test]
    fn tables_of_all_shards_have_their_partitions() {
        let sql = over_all("select count(*) from {scip} s join {chunks} c using (shard)", 33);
        assert!(sql.starts_with("select count(*) from (table scip_00 union all table scip_01) s"));
        assert!(sql.contains("table chunks_000 union all table chunks_001"));
        assert!(sql.ends_with("table chunks_032) c using (shard)"));
    }
}
