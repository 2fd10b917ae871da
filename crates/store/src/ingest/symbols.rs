//! Stores symbols: finds the blobs that lack theirs, and writes the rows of extracted ones.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use super::session::{FOREVER, Session};
use crate::error::Result;
use crate::locks::WAITING_LOCK;
use crate::store::Store;
use crate::symbols::{self, SymbolRow};
use crate::tables::Groups;
use crate::word_index::definitions::{self, Starts};
use crate::word_index::tidy::tidy_field;
use crate::word_index::{WordField, write};
use crate::{BlobId, ShardId};

/// A shard with blobs whose symbols were not extracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolsTodo {
    /// The shard.
    pub shard: ShardId,
    /// Bytes of text in it.
    pub bytes: i64,
    /// Number of its chunks.
    pub chunks: i32,
    /// Blobs whose chunks have smaller numbers are processed.
    pub upto: i32,
}

/// A blob whose symbols are to be extracted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobTodo {
    /// The blob.
    pub blob: BlobId,
    /// Bytes of its text.
    pub bytes: i32,
    /// The language of most of its files, in lower case.
    pub language: String,
}

/// Stores the symbols of one shard, on a connection of its own.
#[derive(Debug)]
pub struct SymbolsWriter {
    conn: PgConnection,
    shard: ShardId,
    /// Rows that make no full group yet.
    rest: Vec<SymbolRow>,
    /// Where the chunks of texts begin whose rows are not stored yet.
    starts: Starts,
    groups: Groups,
}

impl Store {
    /// Returns whether all symbols were extracted that a program extracts: in this format, and of these languages.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn has_symbols(&self, format: i32, languages: &[&str]) -> Result<bool> {
        Ok(sqlx::query_scalar(
            "select symbols_format >= $1 and symbols_languages @> $2 and not exists (
                 select from shards where live_from is not null and symbols_upto < chunks)
             from state",
        )
        .bind(format)
        .bind(languages)
        .fetch_one(self.control())
        .await?)
    }

    /// Opens a connection for storing the symbols of a shard.
    ///
    /// # Errors
    /// The server cannot be reached or has no connection left.
    pub async fn symbols_writer(&self, shard: ShardId) -> Result<SymbolsWriter> {
        let conn = self.helper().await?;
        let (rest, starts) = (Vec::new(), Starts::new());
        Ok(SymbolsWriter { conn, shard, rest, starts, groups: self.groups() })
    }

    /// Returns whether another program waits for the lock on writing.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn is_awaited(&self) -> Result<bool> {
        Ok(sqlx::query_scalar(
            "select exists (
                 select from pg_locks where locktype = 'advisory' and objsubid = 1 and granted
                   and (classid::bigint << 32) + objid::bigint = $1
                   and database = (select oid from pg_database where datname = current_database()))",
        )
        .bind(WAITING_LOCK)
        .fetch_one(self.control())
        .await?)
    }

    /// Tells the program that holds the lock on writing that another one waits for it, as long as the connection lives.
    ///
    /// # Errors
    /// The server cannot be reached or has no connection left.
    pub async fn announce_waiting(&self) -> Result<Waiting> {
        let mut conn = crate::target::connect(&self.options).await?;
        sqlx::query("select pg_advisory_lock_shared($1)")
            .bind(WAITING_LOCK)
            .execute(&mut conn)
            .await?;
        Ok(Waiting { _conn: conn })
    }
}

/// Signals that a program waits for the lock on writing.
#[derive(Debug)]
pub struct Waiting {
    _conn: PgConnection,
}

impl Session {
    /// Returns the shards whose symbols are not complete, smallest first. A program with a newer format starts over,
    /// and one that knows more languages looks at all blobs again.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn symbols_todo(
        &mut self,
        format: i32,
        languages: &[&str],
    ) -> Result<Vec<SymbolsTodo>> {
        let mut tx = self.conn.begin().await?;
        let (before, known): (i32, bool) =
            sqlx::query_as("select symbols_format, symbols_languages @> $1 from state")
                .bind(languages)
                .fetch_one(&mut *tx)
                .await?;
        if before < format {
            for state in &self.shards {
                let sql = format!("truncate {}", state.shard.symbols());
                tx.execute(AssertSqlSafe(sql)).await?;
                let (shard, field) = (state.shard, WordField::Definitions);
                write::delete(&mut tx, self.groups, shard, field, None).await?;
            }
            tx.execute("truncate symbols_skipped; update shards set defined = true").await?;
        }
        if before < format || !known {
            tx.execute("update shards set symbols_upto = 0").await?;
            sqlx::query(
                "update state set symbols_format = greatest(symbols_format, $1), symbols_languages =
                     array(select unnest(symbols_languages) union select unnest($2::text[]) order by 1)",
            )
            .bind(format)
            .bind(languages)
            .execute(&mut *tx)
            .await?;
        }
        let rows: Vec<(i16, i64, i32, i32)> = sqlx::query_as(
            "select shard, bytes, chunks, symbols_upto from shards
             where live_from is not null and symbols_upto < chunks order by chunks - symbols_upto, shard",
        )
        .fetch_all(&mut *tx)
        .await?;
        tx.commit().await?;
        let todo = |(shard, bytes, chunks, upto)| SymbolsTodo {
            shard: ShardId(shard),
            bytes,
            chunks,
            upto,
        };
        Ok(rows.into_iter().map(todo).collect())
    }
}

impl SymbolsWriter {
    /// Returns the next blobs, from a number on, that lack their symbols and have a file in one of these languages; at
    /// most `most`, ascending.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn next(
        &mut self,
        from: i32,
        languages: &[&str],
        most: i64,
    ) -> Result<Vec<BlobTodo>> {
        let sql = format!(
            "select f.blob, min(f.bytes), mode() within group (order by lower(f.language))
             from {} f
             where f.shard = {n} and f.blob >= $1 and f.valid_to = {FOREVER} and lower(f.language) = any($2)
               and not {}
             group by f.blob order by f.blob limit $3",
            self.shard.files(),
            symbols::has_symbols(self.shard, "f.blob"),
            n = self.shard.0
        );
        let rows: Vec<(i32, i32, String)> = sqlx::query_as(AssertSqlSafe(sql))
            .bind(from)
            .bind(languages)
            .bind(most)
            .fetch_all(&mut self.conn)
            .await?;
        let todo = |(blob, bytes, language)| BlobTodo { blob: BlobId(blob), bytes, language };
        Ok(rows.into_iter().map(todo).collect())
    }

    /// Returns the texts of some blobs, ascending by blob.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn texts(&mut self, blobs: &[BlobId]) -> Result<Vec<(BlobId, String)>> {
        let texts = texts(&mut self.conn, self.shard, blobs).await?;
        let text = |(blob, text, starts)| {
            self.starts.insert(blob, starts);
            (blob, text)
        };
        Ok(texts.into_iter().map(text).collect())
    }

    /// Stores symbols of the next blobs, and the blobs whose symbols are incomplete, each with a reason in one word;
    /// and records that all blobs before `upto` are processed. All or nothing. Rows that make no full group yet are
    /// kept for the next call, and do not count as processed until then.
    ///
    /// # Errors
    /// The server cannot be reached, its disk is full, or it refuses a statement; then nothing is stored.
    pub async fn store(
        &mut self,
        rows: Vec<SymbolRow>,
        given_up: &[(BlobId, &str)],
        upto: i32,
    ) -> Result<()> {
        let mut rows = [std::mem::take(&mut self.rest), rows].concat();
        self.rest = rows.split_off(symbols::full(&rows));
        let upto = self.rest.first().map_or(upto, |first| first.blob.0.min(upto));
        self.commit(&rows, given_up, upto).await
    }

    /// Stores the remaining rows, and records that all blobs before `upto` are processed.
    ///
    /// # Errors
    /// The server cannot be reached, its disk is full, or it refuses a statement.
    pub async fn finish(mut self, upto: i32) -> Result<()> {
        let rest = std::mem::take(&mut self.rest);
        self.commit(&rest, &[], upto).await?;
        // Skip columns in TOAST: no plan depends on them.
        let sql = format!("analyze {} (shard, first)", self.shard.symbols());
        self.conn.execute(AssertSqlSafe(sql)).await?;
        let mut tx = self.conn.begin().await?;
        tidy_field(&mut tx, self.groups, self.shard, WordField::Definitions, false).await?;
        tx.commit().await?;
        Ok(self.conn.close().await?)
    }

    async fn commit(
        &mut self,
        rows: &[SymbolRow],
        given_up: &[(BlobId, &str)],
        upto: i32,
    ) -> Result<()> {
        let mut tx = self.conn.begin().await?;
        symbols::update_groups(&mut tx, self.shard, rows, &[]).await?;
        if let Some(segment) = definitions::segment(rows, &self.starts) {
            let field = WordField::Definitions;
            write::insert(&mut tx, self.groups, self.shard, field, &segment).await?;
        }
        if !given_up.is_empty() {
            sqlx::query(
                "insert into symbols_skipped (shard, blob, reason)
                 select $1, * from unnest($2::int[], $3::text[])",
            )
            .bind(self.shard.0)
            .bind(given_up.iter().map(|(blob, _)| blob.0).collect::<Vec<_>>())
            .bind(given_up.iter().map(|(_, reason)| *reason).collect::<Vec<_>>())
            .execute(&mut *tx)
            .await?;
        }
        sqlx::query("update shards set symbols_upto = greatest(symbols_upto, $2) where shard = $1")
            .bind(self.shard.0)
            .bind(upto)
            .execute(&mut *tx)
            .await?;
        tx.commit().await?;
        self.starts.retain(|blob, _| self.rest.iter().any(|row| row.blob == *blob));
        Ok(())
    }
}

/// Returns the texts of some blobs of a shard, ascending by blob, and where their chunks begin, in bytes.
pub(crate) async fn texts(
    conn: &mut PgConnection,
    shard: ShardId,
    blobs: &[BlobId],
) -> Result<Vec<(BlobId, String, Vec<i32>)>> {
    let sql = format!(
        "select b.id, t.text, t.starts from blobs b cross join lateral (
             select string_agg(c.contents, '' order by c.n) as text, array_agg(c.start order by c.n) as starts
             from {} c
             where c.shard = {n} and c.n >= b.id and c.n < b.id + b.chunks offset 0) t
         where b.shard = {n} and b.id = any($1) and t.text is not null order by b.id",
        shard.chunks(),
        n = shard.0
    );
    let ids: Vec<i32> = blobs.iter().map(|blob| blob.0).collect();
    let rows: Vec<(i32, String, Vec<i32>)> =
        sqlx::query_as(AssertSqlSafe(sql)).bind(ids).fetch_all(conn).await?;
    Ok(rows.into_iter().map(|(id, text, starts)| (BlobId(id), text, starts)).collect())
}

/// Queues blobs for symbol extraction that were passed over because none of their files was in a supported language,
/// and now have a file that is. `loaded` are the new files.
pub(crate) async fn retake_symbols(conn: &mut PgConnection, shard: ShardId) -> Result<()> {
    let sql = format!(
        "update shards set symbols_upto = least(symbols_upto, (
             select min(l.blob) from loaded l, state
             where l.shard = {n} and lower(l.language) = any(symbols_languages)
               and not {}))
         where shard = {n} and symbols_upto > 0",
        symbols::has_symbols(shard, "l.blob"),
        n = shard.0
    );
    conn.execute(AssertSqlSafe(sql)).await?;
    Ok(())
}
