//! Storing symbols: which contents lack theirs, and the rows of those that were taken.

use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};

use super::copy::{self, Rows};
use super::session::{FOREVER, Session};
use crate::error::Result;
use crate::locks::WAITING_LOCK;
use crate::store::Store;
use crate::symbols::{self, SymbolRow};
use crate::{BlobId, ShardId};

/// A shard with contents whose symbols were not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolsTodo {
    /// The shard.
    pub shard: ShardId,
    /// Bytes of text in it.
    pub bytes: i64,
    /// Number of its chunks.
    pub chunks: i32,
    /// Contents whose chunks have smaller numbers have had their turn.
    pub upto: i32,
}

/// Contents whose symbols are to be taken.
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
}

impl Store {
    /// Returns whether all symbols were taken that a program takes: in this form, and of these
    /// languages.
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

    /// Opens a connection to store the symbols of a shard with.
    ///
    /// # Errors
    /// The server cannot be reached or has no connection left.
    pub async fn symbols_writer(&self, shard: ShardId) -> Result<SymbolsWriter> {
        Ok(SymbolsWriter { conn: self.helper().await?, shard })
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

    /// Tells the program that holds the lock on writing that another one waits for it, as long as
    /// the connection lives.
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

/// Says that a program waits for the lock on writing.
#[derive(Debug)]
pub struct Waiting {
    _conn: PgConnection,
}

impl Session {
    /// Returns the shards whose symbols are not complete, smallest first. A program that takes
    /// symbols in a newer form begins anew, and one that knows more languages looks at all contents
    /// again.
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
            }
            tx.execute("truncate symbols_skipped").await?;
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
    /// Returns the next contents, from a number on, that lack their symbols and have a file in one
    /// of these languages; at most `most`, ascending.
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
               and not exists (select from {} s where s.shard = {n} and s.blob = f.blob)
               and not exists (select from symbols_skipped k where k.shard = {n} and k.blob = f.blob)
             group by f.blob order by f.blob limit $3",
            self.shard.files(),
            self.shard.symbols(),
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
        texts(&mut self.conn, self.shard, blobs).await
    }

    /// Stores symbols, and of which contents not all were taken and why, in one word; and notes that
    /// all contents before `upto` have had their turn. All or nothing.
    ///
    /// # Errors
    /// The server cannot be reached, its disk is full, or it refuses a statement; then nothing is
    /// stored.
    pub async fn store(
        &mut self,
        rows: &[SymbolRow],
        given_up: &[(BlobId, &str)],
        upto: i32,
    ) -> Result<()> {
        let mut tx = self.conn.begin().await?;
        if !rows.is_empty() {
            copy_rows(&mut tx, self.shard, rows).await?;
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
        Ok(tx.commit().await?)
    }

    /// Brings the index of the symbols up to date when all of the shard are stored, and notes that
    /// all contents before `upto` have had their turn.
    ///
    /// # Errors
    /// The server cannot be reached, its disk is full, or it refuses a statement.
    pub async fn finish(mut self, upto: i32) -> Result<()> {
        self.conn.execute(AssertSqlSafe(symbols::index_sql(self.shard))).await?;
        self.store(&[], &[], upto).await?;
        Ok(self.conn.close().await?)
    }
}

/// Returns the texts of some blobs of a shard, ascending by blob.
pub(crate) async fn texts(
    conn: &mut PgConnection,
    shard: ShardId,
    blobs: &[BlobId],
) -> Result<Vec<(BlobId, String)>> {
    let sql = format!(
        "select b.id, t.text from blobs b cross join lateral (
             select string_agg(c.contents, '' order by c.n) as text from {} c
             where c.shard = {n} and c.n >= b.id and c.n < b.id + b.chunks offset 0) t
         where b.shard = {n} and b.id = any($1) and t.text is not null order by b.id",
        shard.chunks(),
        n = shard.0
    );
    let ids: Vec<i32> = blobs.iter().map(|blob| blob.0).collect();
    let rows: Vec<(i32, String)> =
        sqlx::query_as(AssertSqlSafe(sql)).bind(ids).fetch_all(conn).await?;
    Ok(rows.into_iter().map(|(id, text)| (BlobId(id), text)).collect())
}

async fn copy_rows(conn: &mut PgConnection, shard: ShardId, all: &[SymbolRow]) -> Result<()> {
    let mut rows = Rows::new();
    for row in all {
        rows.row(8).i16(shard.0).i32(row.blob.0).bytes(row.names.as_bytes()).bytes(&row.kinds);
        rows.i32s(&row.starts).i32s(&row.ends).i32s(&row.lines).i16s(&row.parents);
    }
    let statement = format!(
        "copy {} (shard, blob, names, kinds, starts, ends, lines, parents) from stdin (format binary)",
        shard.symbols()
    );
    copy::send(conn, &statement, rows).await
}

/// Has the symbols of those contents looked at again that lack theirs and got a file in a language
/// that has symbols: their earlier files were in none. `loaded` are the new files.
pub(crate) async fn look_again(conn: &mut PgConnection, shard: ShardId) -> Result<()> {
    let sql = format!(
        "update shards set symbols_upto = least(symbols_upto, (
             select min(l.blob) from loaded l, state
             where l.shard = {n} and lower(l.language) = any(symbols_languages)
               and not exists (select from {} s where s.shard = {n} and s.blob = l.blob)
               and not exists (select from symbols_skipped k where k.shard = {n} and k.blob = l.blob)))
         where shard = {n} and symbols_upto > 0",
        shard.symbols(),
        n = shard.0
    );
    conn.execute(AssertSqlSafe(sql)).await?;
    Ok(())
}
