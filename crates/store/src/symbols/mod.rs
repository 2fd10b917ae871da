//! Symbols: the names that each blob defines. Neighbouring blobs share a row.

mod group;
mod names;
mod regroup;
mod row;

use std::collections::HashMap;

use sqlx::{AssertSqlSafe, FromRow, PgConnection, Row};

use crate::contents::{bind_filter, visible};
use crate::error::Result;
use crate::lease::{BoundStatement, Lease};
use crate::store::Store;
use crate::tables::Groups;
use crate::word_index::{WordField, write};
use crate::{BlobId, FileFilter, ShardId};

pub use group::SymbolGroup;
pub(crate) use group::full;
pub use names::SymbolNames;
pub(crate) use regroup::update_groups;
pub use row::SymbolRow;

/// Progress of symbol extraction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SymbolsProgress {
    /// Bytes of text in the shards.
    pub bytes: i64,
    /// Approximate bytes of processed text.
    pub done: i64,
}

impl SymbolsProgress {
    /// Returns whether every text is processed.
    pub fn is_complete(self) -> bool {
        self.done >= self.bytes
    }

    /// Returns the progress in whole percent: 100 only when complete.
    pub fn percent(self) -> u8 {
        if self.is_complete() { 100 } else { (self.done * 100 / self.bytes).clamp(0, 99) as u8 }
    }
}

/// A blob whose symbols are incomplete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenUp {
    /// The blob.
    pub blob: BlobId,
    /// The reason, in one word.
    pub reason: String,
}

/// Deletes the symbols of some blobs of a shard.
pub(crate) async fn delete(conn: &mut PgConnection, shard: ShardId, blobs: &[i32]) -> Result<()> {
    update_groups(conn, shard, &[], blobs).await?;
    sqlx::query("delete from symbols_skipped where shard = $1 and blob = any($2)")
        .bind(shard.0)
        .bind(blobs)
        .execute(&mut *conn)
        .await?;
    Ok(())
}

/// Returns the condition that a blob, given as a column, has its symbols or an entry in the ledger of incomplete ones. Citus
/// evaluates no condition on rows of here that names a column of a row of a node.
pub(crate) fn has_symbols(shard: ShardId, blob: &str) -> String {
    format!(
        "({blob} in (select unnest(blobs) from {} where shard = {n})
          or {blob} in (select k.blob from symbols_skipped k where k.shard = {n}))",
        shard.symbols(),
        n = shard.0
    )
}

/// Deletes the symbols of a shard and the words of their names, so that they are extracted again.
pub(crate) async fn forget(conn: &mut PgConnection, groups: Groups, shard: ShardId) -> Result<()> {
    write::delete(conn, groups, shard, WordField::Definitions, None).await?;
    for sql in [
        &*format!("delete from {}", shard.symbols()),
        "delete from symbols_skipped where shard = $1",
        "update shards set symbols_upto = 0, defined = true where shard = $1",
    ] {
        let bound = sql.contains("$1");
        let query = sqlx::query(AssertSqlSafe(sql.to_owned()));
        let query = if bound { query.bind(shard.0) } else { query };
        query.execute(&mut *conn).await?;
    }
    Ok(())
}

/// A group with its filter, for checking.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct CheckedGroup {
    #[sqlx(flatten)]
    pub(crate) group: SymbolGroup,
    first: i32,
    filter: Vec<u8>,
}

impl CheckedGroup {
    /// Returns whether the group is readable, and all its names find it.
    pub(crate) fn is_sound(&self) -> bool {
        let filter = self.group.filter();
        let holds = filter.iter().zip(&self.filter).all(|(own, stored)| own & !stored == 0);
        holds
            && filter.len() == self.filter.len()
            && self.group.blobs.first() == Some(&BlobId(self.first))
            && self.group.blobs.is_sorted_by(|one, next| one < next)
            && self.group.rows(None).len() == self.group.blobs.len()
    }
}

/// Returns all groups of a shard, in order.
pub(crate) async fn of_shard(conn: &mut PgConnection, shard: ShardId) -> Result<Vec<CheckedGroup>> {
    let sql = format!(
        "select first, blobs, counts, names, numbers, filter from {} order by first",
        shard.symbols()
    );
    Ok(sqlx::query_as(AssertSqlSafe(sql)).fetch_all(conn).await?)
}

/// Returns the number of processed blobs of a shard that are in a language with symbols, but lack theirs.
pub(crate) async fn missing(conn: &mut PgConnection, shard: ShardId) -> Result<i64> {
    let sql = format!(
        "select count(distinct f.blob) from {} f, state, shards h
         where f.shard = {n} and h.shard = {n} and f.blob < h.symbols_upto and f.valid_to = 2147483647
           and lower(f.language) = any(symbols_languages) and not {}",
        shard.files(),
        has_symbols(shard, "f.blob"),
        n = shard.0
    );
    Ok(sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(conn).await?)
}

impl Lease {
    /// Returns the symbols of these blobs, both ascending. Blobs without symbols may be missing.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn symbols_of(&mut self, shard: ShardId, blobs: &[BlobId]) -> Result<Vec<SymbolRow>> {
        let table = shard.symbols();
        let sql = format!(
            "select blobs, counts, names, numbers from {table} where shard = {n} and first = any(array(
                 select distinct (select max(first) from {table} where shard = {n} and first <= blob)
                 from unnest($1::int[]) asked (blob)))
             order by first",
            n = shard.0
        );
        let ids: Vec<i32> = blobs.iter().map(|blob| blob.0).collect();
        let groups: Vec<SymbolGroup> = self.fetch(BoundStatement::new(sql).bind(ids)).await?;
        Ok(groups.iter().flat_map(|group| group.rows(Some(blobs))).collect())
    }

    /// Returns the symbols of some blobs of some shards, by shard; blobs without symbols may be missing. Shards must be
    /// distinct, and blobs ascending.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn symbols_of_shards(
        &mut self,
        asked: &[(ShardId, Vec<BlobId>)],
    ) -> Result<HashMap<ShardId, Vec<SymbolRow>>> {
        let ids = |(shard, blobs): &(ShardId, Vec<BlobId>)| {
            (*shard, blobs.iter().map(|blob| blob.0).collect::<Vec<i32>>())
        };
        let numbers: Vec<(ShardId, Vec<i32>)> = asked.iter().map(ids).collect();
        let branch = |shard: ShardId, parameter: usize| {
            format!(
                "select {n}::smallint shard, blobs, counts, names, numbers from {table} where shard = {n}
                     and first = any(array(
                         select distinct (select max(first) from {table} where shard = {n} and first <= blob)
                         from unnest(${parameter}::int[]) asked (blob)))",
                table = shard.symbols(),
                n = shard.0
            )
        };
        let mut rows: HashMap<ShardId, Vec<SymbolRow>> = HashMap::new();
        for row in self.of_shards(&numbers, &[], branch).await? {
            let shard = ShardId(row.try_get("shard")?);
            let wanted = asked.iter().find(|(of, _)| *of == shard).map(|(_, blobs)| &**blobs);
            let group = SymbolGroup::from_row(&row)?;
            rows.entry(shard).or_default().extend(group.rows(wanted));
        }
        Ok(rows)
    }

    /// Returns all symbols of a shard, ascending by blob.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn symbol_groups(&mut self, shard: ShardId) -> Result<Vec<SymbolGroup>> {
        let sql = format!(
            "select blobs, counts, names, numbers from {} where shard = {} order by first",
            shard.symbols(),
            shard.0
        );
        self.fetch(BoundStatement::new(sql)).await
    }

    /// Returns, for each shard, the chunk before which symbols were extracted: a search of an older epoch may have
    /// more.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn symbols_upto(&mut self) -> Result<HashMap<ShardId, i32>> {
        let sql = "select shard, symbols_upto from shards where live_from is not null".to_owned();
        let rows: Vec<(i16, i32)> = self.fetch(BoundStatement::new(sql)).await?;
        Ok(rows.into_iter().map(|(shard, upto)| (ShardId(shard), upto)).collect())
    }

    /// Returns the languages with extracted symbols, in lowercase.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn symbols_languages(&mut self) -> Result<Vec<String>> {
        let sql = "select symbols_languages from state".to_owned();
        let rows: Vec<(Vec<String>,)> = self.fetch(BoundStatement::new(sql)).await?;
        Ok(rows.into_iter().flat_map(|(languages,)| languages).collect())
    }

    /// Returns the reason, in one word, why the symbols of a blob are incomplete, if they are.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn symbols_given_up(
        &mut self,
        shard: ShardId,
        blob: BlobId,
    ) -> Result<Option<String>> {
        let sql = "select reason from symbols_skipped where shard = $1 and blob = $2".to_owned();
        let rows: Vec<(String,)> =
            self.fetch(BoundStatement::new(sql).bind(shard.0).bind(blob.0)).await?;
        Ok(rows.into_iter().next().map(|(reason,)| reason))
    }

    /// Returns the blobs of some shards whose symbols are incomplete, ascending.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn symbols_given_up_in(
        &mut self,
        shards: &[ShardId],
    ) -> Result<HashMap<ShardId, Vec<GivenUp>>> {
        let sql = "select shard, blob, reason from symbols_skipped where shard = any($1) order by shard, blob";
        let ids: Vec<i16> = shards.iter().map(|shard| shard.0).collect();
        let rows: Vec<(i16, i32, String)> =
            self.fetch(BoundStatement::new(sql.to_owned()).bind(ids)).await?;
        let mut given_up: HashMap<ShardId, Vec<GivenUp>> = HashMap::new();
        for (shard, blob, reason) in rows {
            given_up
                .entry(ShardId(shard))
                .or_default()
                .push(GivenUp { blob: BlobId(blob), reason });
        }
        Ok(given_up)
    }

    /// Returns the number of files in some languages whose blob has this number or a larger one, for each of some
    /// shards.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn files_after(
        &mut self,
        shards: &[(ShardId, i32)],
        filter: &FileFilter,
        languages: &[String],
    ) -> Result<usize> {
        let Some(((first, _), rest)) = shards.split_first() else { return Ok(0) };
        let of = |shard: ShardId, at: usize| {
            format!(
                "(select count(*) from {} where shard = {} and blob >= ($1::int[])[{at}]
                  and lower(language) = any($2) and {})",
                shard.files(),
                shard.0,
                visible(3)
            )
        };
        let rest = rest.iter().zip(2..).map(|((shard, _), at)| of(*shard, at));
        let counts: Vec<String> = std::iter::once(of(*first, 1)).chain(rest).collect();
        let from: Vec<i32> = shards.iter().map(|(_, from)| *from).collect();
        let bound = BoundStatement::new(format!("select {}", counts.join(" + ")));
        let bound = bind_filter(bound.bind(from).bind(languages.to_vec()), filter);
        let rows: Vec<(i64,)> = self.fetch(bound).await?;
        Ok(rows.first().map_or(0, |(count,)| *count as usize))
    }
}

impl Store {
    /// Returns the bytes on disk of symbols.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn symbols_bytes(&self) -> Result<i64> {
        let here: i64 = sqlx::query_scalar(
            "select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class
             where relnamespace = 'codesearch'::regnamespace and relkind = 'r' and relname like 'symbols\\_%'",
        )
        .fetch_one(self.control())
        .await?;
        Ok(here + self.bytes_on_nodes(&["symbols"]).await?)
    }

    /// Returns the progress of symbol extraction.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn symbols_progress(&self) -> Result<SymbolsProgress> {
        // Numbers of chunks approximate bytes: each shard counts by the share of its chunks.
        let (bytes, done): (i64, i64) = sqlx::query_as(
            "select coalesce(sum(bytes), 0)::bigint,
                    coalesce(sum(bytes * least(symbols_upto, chunks) / greatest(chunks, 1)), 0)::bigint
             from shards where live_from is not null",
        )
        .fetch_one(self.control())
        .await?;
        Ok(SymbolsProgress { bytes, done })
    }
}
