//! Rows in the binary format of `COPY`
//! (<https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.4>).

use sqlx::PgConnection;

use crate::error::Result;

/// Bytes to buffer before sending.
pub(crate) const SEND_BYTES: usize = 1 << 20;

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
        // No flags, and no header extension.
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

    /// Adds a bit string: the number of its bits, and the bits in bytes.
    pub(crate) fn bits(&mut self, value: &[u8]) -> &mut Self {
        self.buffer.extend((value.len() as i32 + 4).to_be_bytes());
        self.buffer.extend((value.len() as i32 * 8).to_be_bytes());
        self.buffer.extend(value);
        self
    }

    pub(crate) fn text(&mut self, value: Option<&str>) -> &mut Self {
        self.maybe(value.map(str::as_bytes))
    }

    /// Adds bytes, or a null.
    pub(crate) fn maybe(&mut self, value: Option<&[u8]>) -> &mut Self {
        match value {
            Some(bytes) => self.bytes(bytes),
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

    /// Adds an array of `integer`.
    pub(crate) fn i32s(&mut self, values: &[i32]) -> &mut Self {
        const INT4: i32 = 23;
        self.array(values.len(), INT4, 4);
        for value in values {
            self.i32(*value);
        }
        self
    }

    /// Adds an array of `bigint`.
    pub(crate) fn i64s(&mut self, values: &[i64]) -> &mut Self {
        const INT8: i32 = 20;
        self.array(values.len(), INT8, 8);
        for value in values {
            self.i64(*value);
        }
        self
    }

    /// Adds an array of `smallint`.
    pub(crate) fn i16s(&mut self, values: &[i16]) -> &mut Self {
        const INT2: i32 = 21;
        self.array(values.len(), INT2, 2);
        for value in values {
            self.i16(*value);
        }
        self
    }

    /// Begins an array: the number of its dimensions, whether it holds nulls, the type of its
    /// elements, their number, and the index of the first one.
    fn array(&mut self, len: usize, of: i32, bytes: usize) {
        let (header, dimension) = (12, if len == 0 { 0 } else { 8 });
        let all = header + dimension + len * (4 + bytes);
        self.buffer.extend((all as i32).to_be_bytes());
        for number in [i32::from(len > 0), 0, of] {
            self.buffer.extend(number.to_be_bytes());
        }
        if len > 0 {
            self.buffer.extend((len as i32).to_be_bytes());
            self.buffer.extend(1_i32.to_be_bytes());
        }
    }

    /// Returns the bytes not sent yet.
    pub(crate) fn len(&self) -> usize {
        self.buffer.len()
    }

    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::replace(&mut self.buffer, Vec::with_capacity(SEND_BYTES + SEND_BYTES / 4))
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.buffer.extend((-1_i16).to_be_bytes());
        self.buffer
    }
}
