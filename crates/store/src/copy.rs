//! Rows in the binary format of `COPY`
//! (<https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.4>).

use ngram::BloomFilter;
use sqlx::PgConnection;

use crate::error::Result;
use crate::{BlobId, DocRow, Oid, ShardId};

/// A text to be stored: a blob with its chunks.
#[derive(Clone, Debug)]
pub struct Contents {
    /// Git's hash of the file as it lay on disk.
    pub oid: Oid,
    /// The number of its first chunk; the others follow without a gap.
    pub id: BlobId,
    /// The text, as UTF-8 without NUL.
    pub text: String,
    /// How many lines it has.
    pub lines: i32,
    /// Where it is cut.
    pub chunks: Vec<ChunkRow>,
    /// Its doc, if it has one.
    pub doc: Option<DocRow>,
}

/// One piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkRow {
    /// The number of its first line, from 1.
    pub line: i32,
    /// Where it begins in the text, in bytes.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
}

/// How much is buffered before it is sent, in bytes.
pub(crate) const SEND_BYTES: usize = 1 << 20;

/// The chunks of some contents, for `copy chunks`.
pub(crate) async fn chunks(
    conn: &mut PgConnection,
    shard: ShardId,
    all: &[Contents],
) -> Result<()> {
    let statement =
        "copy chunks (shard, n, blob, line, start, grams, contents) from stdin (format binary)";
    let mut copy = conn.copy_in_raw(statement).await?;
    let mut rows = Rows::new();
    for contents in all {
        for (n, chunk) in (contents.id.0..).zip(&contents.chunks) {
            let text = &contents.text[chunk.start..chunk.end];
            rows.row(7).i16(shard.0).i32(n).i32(contents.id.0).i32(chunk.line);
            rows.i32(chunk.start as i32).bytes(&BloomFilter::of_chunk(text).to_bytes());
            rows.bytes(text.as_bytes());
            if rows.buffer.len() >= SEND_BYTES {
                copy.send(rows.take()).await?;
            }
        }
    }
    copy.send(rows.finish()).await?;
    copy.finish().await?;
    Ok(())
}

/// The rows of some contents, for `copy blobs`.
pub(crate) async fn blobs(conn: &mut PgConnection, shard: ShardId, all: &[Contents]) -> Result<()> {
    let mut rows = Rows::new();
    for contents in all {
        rows.row(6).bytes(&contents.oid).i16(shard.0).i32(contents.id.0);
        rows.i32(contents.text.len() as i32).i32(contents.lines).i32(contents.chunks.len() as i32);
    }
    send(conn, "copy blobs (oid, shard, id, bytes, lines, chunks) from stdin (format binary)", rows)
        .await
}

/// Sends finished rows to one `copy` statement.
pub(crate) async fn send(conn: &mut PgConnection, statement: &str, rows: Rows) -> Result<()> {
    let mut copy = conn.copy_in_raw(statement).await?;
    copy.send(rows.finish()).await?;
    copy.finish().await?;
    Ok(())
}

/// Rows being encoded.
#[derive(Debug)]
pub(crate) struct Rows {
    buffer: Vec<u8>,
}

impl Default for Rows {
    fn default() -> Self {
        Self::new()
    }
}

impl Rows {
    pub(crate) fn new() -> Self {
        let mut buffer = b"PGCOPY\n\xff\r\n\0".to_vec();
        // No flags, no extension of the header.
        buffer.extend([0; 8]);
        Self { buffer }
    }

    pub(crate) fn row(&mut self, columns: i16) -> &mut Self {
        self.buffer.extend(columns.to_be_bytes());
        self
    }

    pub(crate) fn bytes(&mut self, value: &[u8]) -> &mut Self {
        self.buffer.extend((value.len() as i32).to_be_bytes());
        self.buffer.extend(value);
        self
    }

    pub(crate) fn text(&mut self, value: Option<&str>) -> &mut Self {
        match value {
            Some(text) => self.bytes(text.as_bytes()),
            None => {
                self.buffer.extend((-1_i32).to_be_bytes());
                self
            }
        }
    }

    pub(crate) fn bool(&mut self, value: bool) -> &mut Self {
        self.bytes(&[u8::from(value)])
    }

    pub(crate) fn i16(&mut self, value: i16) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    pub(crate) fn i32(&mut self, value: i32) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    pub(crate) fn i64(&mut self, value: i64) -> &mut Self {
        self.bytes(&value.to_be_bytes())
    }

    /// Bytes of what is not sent yet.
    pub(crate) fn len(&self) -> usize {
        self.buffer.len()
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::replace(&mut self.buffer, Vec::with_capacity(SEND_BYTES + SEND_BYTES / 4))
    }

    fn finish(mut self) -> Vec<u8> {
        self.buffer.extend((-1_i16).to_be_bytes());
        self.buffer
    }
}
