//! Symbols made up by a test, which replace those extracted from the texts.

use std::collections::{BTreeMap, HashMap};

use sqlx::{AssertSqlSafe, Executor};
use store::{BlobId, SymbolGroup, SymbolRow};

use super::Fixture;

/// A symbol of a text.
#[derive(Clone, Debug)]
pub(crate) struct Defined {
    pub(crate) name: String,
    /// The byte of its kind.
    pub(crate) kind: u8,
    /// Where its name begins, and where its definition ends, in bytes.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The line, from 1.
    pub(crate) line: usize,
    pub(crate) parent: Option<usize>,
}

impl Fixture {
    /// Makes these the symbols of the files, by `repository/path`; other files have none.
    pub(crate) fn define(&self, files: &HashMap<String, Vec<Defined>>) {
        self.exec_each("symbols", "delete from {}");
        let languages = "select coalesce(array_agg(distinct lower(language)), '{}') from files where language is not null";
        let languages = self.sql::<Vec<String>>(languages);
        let rows = "select array_agg(concat_ws(' ', f.shard, f.blob, r.name || '/' || f.path))
                    from files f join repos r on r.id = f.repo where f.valid_to = 2147483647";
        let rows = self.sql::<Vec<String>>(rows);
        self.with_connection(async |mut conn| {
            conn.execute("delete from symbols_skipped").await.unwrap();
            let mut shards: BTreeMap<i16, BTreeMap<i32, SymbolRow>> = BTreeMap::new();
            for row in &rows {
                let mut columns = row.splitn(3, ' ');
                let shard: i16 = columns.next().unwrap().parse().unwrap();
                let blob: i32 = columns.next().unwrap().parse().unwrap();
                let Some(symbols) = files.get(columns.next().unwrap()) else { continue };
                let names: Vec<&str> = symbols.iter().map(|one| one.name.as_str()).collect();
                let numbers = |of: fn(&Defined) -> usize| -> Vec<i32> {
                    symbols.iter().map(|one| of(one) as i32).collect()
                };
                let row = SymbolRow {
                    blob: BlobId(blob),
                    names: names.join("\n"),
                    kinds: symbols.iter().map(|one| one.kind).collect(),
                    starts: numbers(|one| one.start),
                    ends: numbers(|one| one.end),
                    lines: numbers(|one| one.line),
                    parents: symbols
                        .iter()
                        .map(|one| one.parent.map_or(-1, |at| at as i16))
                        .collect(),
                };
                shards.entry(shard).or_default().entry(blob).or_insert(row);
            }
            for (shard, rows) in shards {
                for group in SymbolGroup::all(&rows.into_values().collect::<Vec<_>>()) {
                    let blobs: Vec<i32> = group.blobs.iter().map(|blob| blob.0).collect();
                    let sql = format!(
                        "insert into symbols_{shard:03} values ($1, $2, $3, $4, $5, $6, $7)"
                    );
                    sqlx::query(AssertSqlSafe(sql))
                        .bind(shard)
                        .bind(blobs[0])
                        .bind(&blobs)
                        .bind(&group.counts)
                        .bind(&group.names)
                        .bind(&group.numbers)
                        .bind(group.filter())
                        .execute(&mut conn)
                        .await
                        .unwrap();
                }
            }
            conn.execute("update shards set symbols_upto = chunks").await.unwrap();
            let sql = "update state set symbols_languages = $1";
            sqlx::query(sql).bind(languages).execute(&mut conn).await.unwrap();
        });
    }
}
