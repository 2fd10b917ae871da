//! Symbols: what each blob defines, as one row of arrays.

use std::collections::HashMap;
use std::ops::Range;

use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, FromRow, PgConnection, Row};

use crate::error::Result;
use crate::lease::{Ask, Lease};
use crate::store::Store;
use crate::{BlobId, FileFilter, ShardId};

/// What a blob defines. All lists have an element for each symbol, in the order of `starts`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymbolRow {
    /// The blob.
    pub blob: BlobId,
    /// The names, with a line feed between two.
    pub names: String,
    /// The bytes of their kinds.
    pub kinds: Vec<u8>,
    /// Where each name begins in the blob's text, in bytes.
    pub starts: Vec<i32>,
    /// Where each definition ends, in bytes.
    pub ends: Vec<i32>,
    /// The line of each name, from 1.
    pub lines: Vec<i32>,
    /// The index of the symbol that contains each one; -1 for none.
    pub parents: Vec<i16>,
}

impl FromRow<'_, PgRow> for SymbolRow {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            blob: BlobId(row.try_get("blob")?),
            names: row.try_get("names")?,
            kinds: row.try_get("kinds")?,
            starts: row.try_get("starts")?,
            ends: row.try_get("ends")?,
            lines: row.try_get("lines")?,
            parents: row.try_get("parents")?,
        })
    }
}

impl SymbolRow {
    /// Returns whether these may be symbols of a text: they have names that stand where they are
    /// said to, and lists that fit together.
    pub(crate) fn fits(&self, text: &str) -> bool {
        let count = self.starts.len();
        let lists = [self.kinds.len(), self.ends.len(), self.lines.len(), self.parents.len()];
        let names = if self.names.is_empty() { 0 } else { self.names.split('\n').count() };
        if lists.iter().any(|len| *len != count) || names != count {
            return false;
        }
        let (mut line, mut counted) = (1, 0);
        self.names().enumerate().all(|(at, name)| {
            let (start, end) = (self.starts[at] as usize, self.ends[at] as usize);
            let stands = text.get(start..).is_some_and(|rest| rest.starts_with(name));
            if !stands
                || (at > 0 && start <= counted)
                || end < start + name.len()
                || end > text.len()
            {
                return false;
            }
            line += text[counted..start].matches('\n').count();
            counted = start;
            let parent = self.parents[at];
            self.lines[at] as usize == line && parent >= -1 && i64::from(parent) < count as i64
        })
    }

    /// Returns the names, one for each symbol.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        // An empty text would split into one empty name.
        self.names.split('\n').take(self.starts.len())
    }
}

/// How far the taking of symbols is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SymbolsProgress {
    /// Bytes of text in the shards.
    pub bytes: i64,
    /// About how many of them have had their turn.
    pub done: i64,
}

impl SymbolsProgress {
    /// Returns whether every text has had its turn.
    pub fn is_complete(self) -> bool {
        self.done >= self.bytes
    }

    /// Returns the whole percents that are done: 100 only when all is.
    pub fn percent(self) -> u8 {
        if self.is_complete() { 100 } else { (self.done * 100 / self.bytes).clamp(0, 99) as u8 }
    }
}

/// Returns the statements that build the trigram index of a shard's symbols, unless it exists, merge
/// its pending list into it, and update the planner's statistics.
pub(crate) fn index_sql(shard: ShardId) -> String {
    let symbols = shard.symbols();
    format!(
        "create index if not exists {symbols}_trgm on {symbols} using gin (names gin_trgm_ops);
         select gin_clean_pending_list('{symbols}_trgm'); analyze {symbols} (shard, blob)"
    )
}

/// Deletes the symbols of some blobs of a shard.
pub(crate) async fn delete(conn: &mut PgConnection, shard: ShardId, blobs: &[i32]) -> Result<()> {
    for table in [&*shard.symbols(), "symbols_skipped"] {
        let sql = format!("delete from {table} where shard = {} and blob = any($1)", shard.0);
        sqlx::query(AssertSqlSafe(sql)).bind(blobs).execute(&mut *conn).await?;
    }
    Ok(())
}

/// Returns the statement that reads the rows for which a condition holds.
fn rows_of(shard: ShardId, condition: &str) -> String {
    format!(
        "select blob, names, kinds, starts, ends, lines, parents from {}
         where shard = {} and {condition} order by blob",
        shard.symbols(),
        shard.0
    )
}

/// Forgets the symbols of a shard, which are taken anew then.
pub(crate) async fn forget(conn: &mut PgConnection, shard: ShardId) -> Result<()> {
    for sql in [
        &*format!("delete from {}", shard.symbols()),
        "delete from symbols_skipped where shard = $1",
        "update shards set symbols_upto = 0 where shard = $1",
    ] {
        let bound = sql.contains("$1");
        let query = sqlx::query(AssertSqlSafe(sql.to_owned()));
        let query = if bound { query.bind(shard.0) } else { query };
        query.execute(&mut *conn).await?;
    }
    Ok(())
}

/// Returns all symbols of a shard.
pub(crate) async fn of_shard(conn: &mut PgConnection, shard: ShardId) -> Result<Vec<SymbolRow>> {
    let sql =
        format!("select blob, names, kinds, starts, ends, lines, parents from {}", shard.symbols());
    Ok(sqlx::query_as(AssertSqlSafe(sql)).fetch_all(conn).await?)
}

/// Returns the number of contents of a shard that have had their turn, are in a language with
/// symbols, and lack theirs.
pub(crate) async fn missing(conn: &mut PgConnection, shard: ShardId) -> Result<i64> {
    let sql = format!(
        "select count(distinct f.blob) from {} f, state, shards h
         where f.shard = {n} and h.shard = {n} and f.blob < h.symbols_upto and f.valid_to = 2147483647
           and lower(f.language) = any(symbols_languages)
           and not exists (select from {} s where s.shard = {n} and s.blob = f.blob)
           and not exists (select from symbols_skipped k where k.shard = {n} and k.blob = f.blob)",
        shard.files(),
        shard.symbols(),
        n = shard.0
    );
    Ok(sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(conn).await?)
}

impl Lease {
    /// Returns the symbols of these blobs, ascending by blob. Blobs without a row are missing.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn symbols_of(&mut self, shard: ShardId, blobs: &[BlobId]) -> Result<Vec<SymbolRow>> {
        let ids: Vec<i32> = blobs.iter().map(|blob| blob.0).collect();
        self.symbol_rows(Ask::new(rows_of(shard, "blob = any($1)")).bind(ids)).await
    }

    /// Returns the symbols of the blobs whose numbers lie in a range, ascending by blob.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn symbol_range(
        &mut self,
        shard: ShardId,
        blobs: Range<i32>,
    ) -> Result<Vec<SymbolRow>> {
        let sql = rows_of(shard, "blob >= $1 and blob < $2");
        self.symbol_rows(Ask::new(sql).bind(blobs.start).bind(blobs.end)).await
    }

    /// Returns up to which chunk symbols were taken, for each shard: a search of an older epoch may have more.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn symbols_upto(&mut self) -> Result<HashMap<ShardId, i32>> {
        let sql = "select shard, symbols_upto from shards where live_from is not null".to_owned();
        let rows: Vec<(i16, i32)> = self.fetch(Ask::new(sql)).await?;
        Ok(rows.into_iter().map(|(shard, upto)| (ShardId(shard), upto)).collect())
    }

    /// Returns the languages of which symbols are taken, in small letters.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn symbols_languages(&mut self) -> Result<Vec<String>> {
        let sql = "select symbols_languages from state".to_owned();
        let rows: Vec<(Vec<String>,)> = self.fetch(Ask::new(sql)).await?;
        Ok(rows.into_iter().flat_map(|(languages,)| languages).collect())
    }

    /// Returns why symbols of a blob were given up, in a word, if some were.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn symbols_given_up(
        &mut self,
        shard: ShardId,
        blob: BlobId,
    ) -> Result<Option<String>> {
        let sql = "select reason from symbols_skipped where shard = $1 and blob = $2".to_owned();
        let rows: Vec<(String,)> = self.fetch(Ask::new(sql).bind(shard.0).bind(blob.0)).await?;
        Ok(rows.into_iter().next().map(|(reason,)| reason))
    }

    /// Returns how many files in some languages have a blob with this number or a larger one, in each of some
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
                "(select count(*) from {} where shard = {} and blob >= ($1::int[])[{at}] and valid_from <= $2
                  and valid_to > $2 and ($3::int[] is null or repo = any($3)) and lower(language) = any($4)
                  and ($5::text[] is null or lower(language) = any($5)))",
                shard.files(),
                shard.0
            )
        };
        let rest = rest.iter().zip(2..).map(|((shard, _), at)| of(*shard, at));
        let counts: Vec<String> = std::iter::once(of(*first, 1)).chain(rest).collect();
        let from: Vec<i32> = shards.iter().map(|(_, from)| *from).collect();
        let repos: Option<Vec<i32>> =
            filter.repos.as_ref().map(|ids| ids.iter().map(|repo| repo.0).collect());
        let ask = Ask::new(format!("select {}", counts.join(" + ")));
        let ask = ask.bind(from).bind(filter.epoch.0).bind(repos).bind(languages.to_vec());
        let rows: Vec<(i64,)> = self.fetch(ask.bind(filter.languages.clone())).await?;
        Ok(rows.first().map_or(0, |(count,)| *count as usize))
    }

    async fn symbol_rows(&mut self, ask: Ask) -> Result<Vec<SymbolRow>> {
        self.fetch(ask).await
    }
}

impl Store {
    /// Returns the bytes on disk of symbols and their indexes.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn symbols_bytes(&self) -> Result<i64> {
        Ok(sqlx::query_scalar(
            "select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class
             where relnamespace = 'codesearch'::regnamespace and relkind = 'r' and relname like 'symbols\\_%'",
        )
        .fetch_one(self.control())
        .await?)
    }

    /// Returns how far the taking of symbols is.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn symbols_progress(&self) -> Result<SymbolsProgress> {
        // Numbers of chunks stand for bytes: each shard counts by the part of its chunks.
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
