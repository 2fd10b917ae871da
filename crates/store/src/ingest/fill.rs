//! Filling: chooses the shard for the next contents, and stores them there.

use sqlx::{Connection, Executor, PgConnection};

use super::copy::{self, Rows, SEND_BYTES};
use super::index;
use super::session::Session;
use crate::error::Result;
use crate::store::Store;
use crate::{BlobId, DocRow, Oid, ShardId, docs};

/// A blob to store, with its chunks.
#[derive(Clone, Debug)]
pub struct Contents {
    /// Git's hash of the file on disk.
    pub oid: Oid,
    /// The number of its first chunk; the others follow without gaps.
    pub id: BlobId,
    /// The text, as UTF-8 without NUL.
    pub text: String,
    /// The encoding of the file, for `blobs.encoding`; `None` for UTF-8.
    pub encoding: Option<String>,
    /// Number of its lines.
    pub lines: i32,
    /// Its chunks.
    pub chunks: Vec<ChunkRow>,
    /// Its doc, if it has one.
    pub doc: Option<DocRow>,
}

/// One chunk of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRow {
    /// The number of its first line, from 1.
    pub line: i32,
    /// Its offset in the text, in bytes.
    pub start: usize,
    /// Its end in the text, in bytes.
    pub end: usize,
}

/// Stores contents in one shard at a time, on a connection of its own.
#[derive(Debug)]
pub struct Loader {
    conn: PgConnection,
    store: Store,
}

impl Store {
    /// Opens a connection to store contents with.
    ///
    /// # Errors
    /// The server cannot be reached or has no connection left.
    pub async fn loader(&self) -> Result<Loader> {
        let mut conn = self.helper().await?;
        use_lz4(&mut conn).await?;
        Ok(Loader { conn, store: self.clone() })
    }
}

/// Has a connection use lz4 if the server was built with it: it is faster than pglz, in writing and reading.
pub(crate) async fn use_lz4(conn: &mut PgConnection) -> Result<()> {
    conn.execute(
        "select set_config('default_toast_compression', 'lz4', false) from pg_settings
         where name = 'default_toast_compression' and 'lz4' = any(enumvals)",
    )
    .await?;
    Ok(())
}

impl Loader {
    /// Ends storing.
    ///
    /// # Errors
    /// The connection was lost.
    pub async fn finish(self) -> Result<()> {
        self.store.give_back(self.conn).await
    }

    /// Stores contents in a shard, all or nothing.
    ///
    /// # Errors
    /// The server cannot be reached, its disk is full, or it refuses a statement; then nothing is
    /// stored.
    pub async fn store(&mut self, shard: ShardId, contents: &[Contents]) -> Result<()> {
        let Some(last) = contents.last() else { return Ok(()) };
        let next = last.id.0 + last.chunks.len() as i32;
        let bytes: usize = contents.iter().map(|c| c.text.len()).sum();
        let mut tx = self.conn.begin().await?;
        copy_chunks(&mut tx, shard, contents).await?;
        retire_misread(&mut tx, contents).await?;
        copy_blobs(&mut tx, shard, contents).await?;
        let written = contents.iter().filter_map(|c| Some((c.id, c.doc.as_ref()?)));
        docs::insert(&mut tx, shard, &written.collect::<Vec<_>>()).await?;
        sqlx::query(
            "update shards set chunks = greatest(chunks, $2), bytes = bytes + $3 where shard = $1",
        )
        .bind(shard.0)
        .bind(next)
        .bind(bytes as i64)
        .execute(&mut *tx)
        .await?;
        tx.commit().await?;
        Ok(())
    }
}

async fn copy_chunks(conn: &mut PgConnection, shard: ShardId, all: &[Contents]) -> Result<()> {
    let statement = format!(
        "copy {} (shard, n, blob, line, start, contents) from stdin (format binary)",
        shard.chunks()
    );
    let mut copy = conn.copy_in_raw(&statement).await?;
    let mut rows = Rows::new();
    for contents in all {
        for (n, chunk) in (contents.id.0..).zip(&contents.chunks) {
            let text = &contents.text[chunk.start..chunk.end];
            rows.row(6).i16(shard.0).i32(n).i32(contents.id.0).i32(chunk.line);
            rows.i32(chunk.start as i32).bytes(text.as_bytes());
            if rows.len() >= SEND_BYTES {
                copy.send(rows.take()).await?;
            }
        }
    }
    copy.send(rows.finish()).await?;
    copy.finish().await?;
    Ok(())
}

/// Gives other keys to texts that an earlier version read in a wrong encoding, and that are now stored again. The files
/// refer to them until the next epoch.
async fn retire_misread(conn: &mut PgConnection, all: &[Contents]) -> Result<()> {
    let anew = all.iter().filter(|contents| contents.encoding.is_some());
    let oids: Vec<&[u8]> = anew.map(|contents| contents.oid.as_slice()).collect();
    if !oids.is_empty() {
        sqlx::query(
            "update blobs set oid = substr(sha256(oid), 1, 20)
             where oid = any($1) and encoding = 'unknown'",
        )
        .bind(oids)
        .execute(conn)
        .await?;
    }
    Ok(())
}

async fn copy_blobs(conn: &mut PgConnection, shard: ShardId, all: &[Contents]) -> Result<()> {
    let mut rows = Rows::new();
    for contents in all {
        rows.row(7).bytes(&contents.oid).i16(shard.0).i32(contents.id.0);
        rows.i32(contents.text.len() as i32).i32(contents.lines).i32(contents.chunks.len() as i32);
        rows.text(contents.encoding.as_deref());
    }
    let statement =
        "copy blobs (oid, shard, id, bytes, lines, chunks, encoding) from stdin (format binary)";
    copy::send(conn, statement, rows).await
}

impl Session {
    /// Returns the shard to fill next, other than those in `busy`, its next free chunk number, and its bytes of text.
    ///
    /// Fresh shards are filled one after another, up to `full` bytes: they are loaded without an index, and a
    /// repository in few shards is searched faster. A `small` amount goes to the emptiest live shard instead; so does
    /// everything if no fresh shard is left.
    ///
    /// # Errors
    /// The server cannot be reached or refuses to drop the indexes of a fresh shard.
    pub async fn next_shard(
        &mut self,
        busy: &[ShardId],
        full: i64,
        small: bool,
    ) -> Result<(ShardId, i32, i64)> {
        let free = || self.shards.iter().filter(|state| !busy.contains(&state.shard));
        let fresh = free().find(|state| !state.live && state.bytes < full);
        let live = free().filter(|state| state.live).min_by_key(|state| state.bytes);
        let emptiest = free().min_by_key(|state| state.bytes);
        let chosen = match (fresh, live) {
            (_, Some(live)) if small && live.bytes < full => *live,
            (Some(fresh), _) => *fresh,
            (None, Some(live)) => *live,
            (None, None) => *emptiest.expect("there are more shards than are filled at once"),
        };
        if !chosen.live {
            index::drop(&mut self.conn, chosen.shard).await?;
        }
        Ok((chosen.shard, chosen.chunks, chosen.bytes))
    }

    /// Records that a shard was filled up to this chunk number and size in bytes.
    pub fn filled(&mut self, shard: ShardId, chunks: i32, bytes: i64) {
        if let Some(state) = self.shards.iter_mut().find(|state| state.shard == shard) {
            (state.chunks, state.bytes) = (chunks, bytes);
        }
    }

    /// Returns the shards that hold chunks but have no index yet, largest first, with their bytes of text.
    pub fn unindexed(&self) -> Vec<(ShardId, i64)> {
        let fresh = self.shards.iter().filter(|state| !state.live && state.chunks > 0);
        let mut all: Vec<_> = fresh.map(|state| (state.shard, state.bytes)).collect();
        all.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        all
    }

    /// Stores the docs of contents that were stored without one: before docs were indexed, or for a file without a doc.
    /// A search that sees the contents sees their docs at once.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn add_docs(&mut self, rows: &[(ShardId, BlobId, DocRow)]) -> Result<()> {
        docs::insert_missing(&mut self.conn, rows).await
    }
}
