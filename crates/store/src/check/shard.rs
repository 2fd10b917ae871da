//! Checks a shard: each text against its blob, and derived data against the texts.

use std::collections::{HashMap, HashSet};

use futures_util::TryStreamExt;
use ngram::{BitSlices, BloomFilter};
use query::Lexemes;
use sqlx::{AssertSqlSafe, Connection};

use super::words::StoredWords;
use super::{Check, Problem};
use crate::error::Result;
use crate::filters::{self, PIECE_CHUNKS, StoredFilters, Tail};
use crate::scip::ScipDocument;
use crate::scip::keep as scip;
use crate::symbols::{self, SymbolRow};
use crate::{BlobId, ShardId};

/// Maximum number of problems reported for one shard; more would not help.
const MAX_REPORTED: usize = 20;

/// Whether a text, the last argument, can come from a file with this hash, in the encoding with the stored name.
type IsTextOf = dyn Fn(&[u8], Option<&str>, &str) -> bool + Sync;

/// The row of a blob.
#[derive(sqlx::FromRow)]
struct BlobRow {
    oid: Vec<u8>,
    id: i32,
    bytes: i32,
    lines: i32,
    chunks: i32,
    encoding: Option<String>,
}

/// A stored document.
#[derive(sqlx::FromRow)]
struct DocumentRow {
    first: i32,
    upto: i32,
    lexemes: String,
}

/// A shard's data besides its texts.
struct Stored {
    blobs: HashMap<i32, BlobRow>,
    /// Ascending by first chunk.
    documents: Vec<DocumentRow>,
    filters: Option<StoredFilters>,
    /// The filters of the last chunks, if they stand apart; or else what is wrong with them.
    tail: Option<Tail>,
    damaged_tail: Option<&'static str>,
    symbols: HashMap<i32, SymbolRow>,
    /// Number of groups of symbols that cannot be read, or cannot be found by all their names.
    unsound: usize,
    /// By blob: path and document, if it can be decoded.
    scip: HashMap<i32, Vec<(String, Option<ScipDocument>)>>,
    /// The words of its chunks, as far as they are in the word index.
    words: StoredWords,
    /// Number of chunks that are in documents and filters.
    filtered: i32,
    /// Blobs that an unfinished ingest stored, and that no file has: the next ingest deletes them.
    garbage: HashSet<i32>,
}

/// The problems of a shard.
#[derive(Default)]
struct Problems {
    /// Each with its blob, a description, and whether it affects derived data.
    problems: Vec<(Option<BlobId>, String, bool)>,
}

impl Problems {
    fn text(&mut self, blob: i32, what: impl Into<String>) {
        self.problems.push((Some(BlobId(blob)), what.into(), false));
    }

    fn derived(&mut self, what: impl Into<String>) {
        self.problems.push((None, what.into(), true));
    }
}

/// A text that is being assembled from its chunks.
#[derive(Default)]
struct JoinedText {
    blob: i32,
    chunks: i32,
    /// Number of its line ends.
    ends: usize,
    /// Where its chunks begin, in bytes.
    starts: Vec<i32>,
    text: String,
}

/// The lexemes of the chunks of a document.
#[derive(Default)]
struct Document {
    /// Its index among the documents.
    at: usize,
    chunks: usize,
    lexemes: Lexemes,
}

impl Check {
    /// Returns the problems of a shard. `is_of` tells whether a text has a hash.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement, for example because a page is damaged.
    pub async fn shard(&mut self, shard: ShardId, is_of: &IsTextOf) -> Result<Vec<Problem>> {
        let groups = self.store.groups();
        let mut stored = self.stored(shard).await?;
        let mut found = Problems::default();
        let filters = stored.filters.take();
        if filters.is_none() && stored.filtered > 0 {
            found.derived("some filters are missing");
        }
        if stored.words.is_damaged() {
            found.derived("some rows of the word index cannot be read");
        }
        if let Some(what) = stored.damaged_tail {
            found.derived(what);
        }
        if stored.unsound > 0 {
            found.derived(format!("damaged groups of symbols: {}", stored.unsound));
        }
        let lacking = symbols::missing(&mut self.conn, shard).await?;
        if lacking > 0 {
            found.derived(format!("texts without their symbols: {lacking}"));
        }
        let mut reader = self.store.helper().await?;
        let sql = format!(
            "select n, blob, line, start, contents from {} where shard = {} order by n",
            shard.chunks(),
            shard.0
        );
        let mut rows = sqlx::query_as::<_, (i32, i32, i32, i32, String)>(AssertSqlSafe(sql))
            .fetch(&mut reader);
        let (mut text, mut document) = (None::<JoinedText>, Document::default());
        let mut piece: (i32, Option<BitSlices>) = (-1, None);
        while let Some((n, blob, line, start, contents)) = rows.try_next().await? {
            if text.as_ref().is_some_and(|text| text.blob != blob)
                && let Some(text) = text.take()
            {
                stored.end_text(&text, is_of, &mut found);
            }
            let text = text.get_or_insert(JoinedText { blob, ..JoinedText::default() });
            if n != blob + text.chunks
                || start as usize != text.text.len()
                || (line as usize != text.ends + 1 && !contents.is_empty())
            {
                found.text(blob, "its chunks are not consecutive");
            }
            text.chunks += 1;
            text.ends += contents.bytes().filter(|byte| *byte == b'\n').count();
            text.text.push_str(&contents);
            text.starts.push(start);
            if !stored.words.fits(n, &contents, n == blob) {
                found.derived(format!("the words of chunk {n} are not those of its text"));
            }
            if n >= stored.filtered {
                if !stored.garbage.contains(&blob) {
                    found.derived("some texts have no document and no filter");
                }
                continue;
            }
            stored.add_to_document(n, &contents, &mut document, &mut found);
            let (own, of_all) = match &stored.tail {
                Some(tail) if n >= tail.first => tail.holds(n, &contents),
                tail => {
                    if piece.0 != n / PIECE_CHUNKS {
                        let at = n / PIECE_CHUNKS;
                        let upto = tail.as_ref().map_or(stored.filtered, |tail| tail.first);
                        let read = filters::read_piece(&mut self.conn, groups, shard, at, upto);
                        piece = (at, read.await?);
                    }
                    let own = BloomFilter::of_chunk(&contents);
                    let column = (n % PIECE_CHUNKS) as usize;
                    let own = piece.1.as_ref().is_some_and(|piece| piece.holds(column, &own));
                    (own, filters.as_ref().is_none_or(|filters| filters.hold(n, &contents)))
                }
            };
            if !own {
                found.derived(format!("the filter of chunk {n} lacks some of its text"));
            }
            if !of_all {
                found.derived(format!("the block filter of chunk {n} lacks some of its text"));
            }
            if let Some(filters) = &filters
                && n == blob
                && !filters.is_blob_start(n)
            {
                found.derived(format!("chunk {n} is not marked as the start of a text"));
            }
        }
        drop(rows);
        reader.close().await?;
        if let Some(text) = text {
            stored.end_text(&text, is_of, &mut found);
        }
        while document.at < stored.documents.len() {
            stored.end_document(&mut document, &mut found);
        }
        self.report(shard, stored, found).await
    }

    async fn stored(&mut self, shard: ShardId) -> Result<Stored> {
        let filtered: i32 = sqlx::query_scalar("select filtered from shards where shard = $1")
            .bind(shard.0)
            .fetch_one(&mut self.conn)
            .await?;
        let blobs: Vec<BlobRow> = sqlx::query_as(
            "select oid, id, bytes, lines, chunks, encoding from blobs where shard = $1",
        )
        .bind(shard.0)
        .fetch_all(&mut self.conn)
        .await?;
        let sql = format!(
            "select first, upto, lexemes from {} where shard = {} order by first",
            shard.documents(),
            shard.0
        );
        let documents = sqlx::query_as(AssertSqlSafe(sql)).fetch_all(&mut self.conn).await?;
        let size = self.store.groups();
        let tail = filters::read_tail(&mut self.conn, size, shard, filtered).await?;
        let (tail, damaged_tail) = tail.map_or_else(|what| (None, Some(what)), |tail| (tail, None));
        let others = tail.as_ref().map_or(filtered, |tail| tail.first);
        let filters = filters::read(&mut self.conn, size, shard, others).await?;
        let groups = symbols::of_shard(&mut self.conn, shard).await?;
        let unsound = groups.iter().filter(|group| !group.is_sound()).count();
        let rows = groups.iter().flat_map(|group| group.group.rows(None));
        let symbols = rows.map(|row| (row.blob.0, row)).collect();
        let mut scip: HashMap<i32, Vec<_>> = HashMap::new();
        for (_, blob, path, document) in scip::of_shard(&mut self.conn, size, shard).await? {
            scip.entry(blob).or_default().push((path, document));
        }
        let sql = format!(
            "select b.id from blobs b, state where b.shard = {n} and unfinished
                 and b.id not in (select f.blob from {} f where f.shard = {n})",
            shard.files(),
            n = shard.0
        );
        let garbage: Vec<i32> =
            sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(&mut self.conn).await?;
        let garbage = garbage.into_iter().collect();
        let blobs = blobs.into_iter().map(|blob| (blob.id, blob)).collect();
        let words = StoredWords::read(&mut self.conn, size, shard).await?;
        Ok(Stored {
            blobs,
            documents,
            filters,
            tail,
            damaged_tail,
            symbols,
            unsound,
            scip,
            words,
            filtered,
            garbage,
        })
    }

    /// Returns the problems, with the names of files; at most [`MAX_REPORTED`], then a count of the others.
    async fn report(
        &mut self,
        shard: ShardId,
        stored: Stored,
        mut found: Problems,
    ) -> Result<Vec<Problem>> {
        for blob in stored.blobs.into_keys() {
            found.text(blob, "its text is missing");
        }
        found.problems.sort();
        found.problems.dedup();
        let more = found.problems.split_off(found.problems.len().min(MAX_REPORTED));
        let mut problems = Vec::new();
        for (blob, what, is_derived) in found.problems {
            let what = match blob {
                None => what,
                Some(blob) => format!("{}: {what}", self.file_of(shard, blob).await?),
            };
            problems.push(Problem { shard: Some(shard), what, is_derived });
        }
        if !more.is_empty() {
            let what = format!("and {} more", more.len());
            let is_derived = more.iter().any(|(.., is_derived)| *is_derived);
            problems.push(Problem { shard: Some(shard), what, is_derived });
        }
        Ok(problems)
    }
}

impl Stored {
    /// Compares a complete text with its blob.
    fn end_text(&mut self, text: &JoinedText, is_of: &IsTextOf, found: &mut Problems) {
        let Some(blob) = self.blobs.remove(&text.blob) else {
            // A killed ingest leaves chunks without a blob until the next one cleans up; no search finds them.
            return;
        };
        if let Some(row) = self.symbols.remove(&text.blob) {
            let mut damaged = |what: &str| {
                found.problems.push((Some(BlobId(text.blob)), what.to_owned(), true));
            };
            if !row.fits(&text.text) {
                damaged("its symbols belong to another text");
            } else if !self.words.fit_definitions(&row, &text.starts) {
                damaged("the words of its definitions are not those of its symbols");
            }
        }
        if !self.words.fit_doc(text.blob) {
            let what = "the words of its doc are not those of the word index".to_owned();
            found.problems.push((Some(BlobId(text.blob)), what, true));
        }
        for (path, document) in self.scip.remove(&text.blob).unwrap_or_default() {
            if document.is_none_or(|document| !document.fits(&text.text)) {
                let what = format!("the SCIP data of {path} belong to another text");
                found.problems.push((Some(BlobId(text.blob)), what, true));
            }
        }
        let (bytes, chunks) = (text.text.len(), text.chunks);
        if bytes != blob.bytes as usize || chunks != blob.chunks {
            found.text(
                text.blob,
                format!(
                    "it has {bytes} bytes in {chunks} chunks, expected {} in {}",
                    blob.bytes, blob.chunks
                ),
            );
        } else if !is_of(&blob.oid, blob.encoding.as_deref(), &text.text) {
            found.text(text.blob, "its text does not match its hash");
        } else if blob.lines as usize != text.text.lines().count() {
            found.text(text.blob, "its stored number of lines is wrong");
        }
    }

    /// Adds a chunk to the document that covers it.
    fn add_to_document(
        &self,
        n: i32,
        contents: &str,
        document: &mut Document,
        found: &mut Problems,
    ) {
        while self.documents.get(document.at).is_some_and(|stored| stored.upto <= n) {
            self.end_document(document, found);
        }
        match self.documents.get(document.at) {
            Some(stored) if stored.first <= n => {
                document.lexemes.add(contents);
                document.chunks += 1;
            }
            _ => found.derived(format!("chunk {n} has no document")),
        }
    }

    /// Compares a document with its chunks, and advances to the next.
    fn end_document(&self, document: &mut Document, found: &mut Problems) {
        let stored = &self.documents[document.at];
        let overlaps =
            self.documents.get(document.at + 1).is_some_and(|next| next.first < stored.upto);
        if overlaps || stored.first >= stored.upto || document.chunks == 0 {
            found.derived(format!("the document from chunk {} on is not sorted", stored.first));
        } else if stored.lexemes != document.lexemes.text() {
            // An earlier version kept capitals and repeated words.
            let folded = stored.lexemes.to_ascii_lowercase();
            let kept: HashSet<&str> = folded.split(' ').collect();
            let padded = stored.lexemes.starts_with(' ') && stored.lexemes.ends_with(' ');
            if !padded || !document.lexemes.text().split(' ').all(|word| kept.contains(word)) {
                found.derived(format!(
                    "the document from chunk {} on lacks some words",
                    stored.first
                ));
            }
        }
        *document = Document { at: document.at + 1, ..Document::default() };
    }
}
