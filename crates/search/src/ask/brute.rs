//! Cuts all texts of a shard into words, as an ingest does: for `--brute`, to check the index of words.

use std::collections::HashMap;

use query::SymbolKind;
use rustc_hash::FxHashMap;
use store::{BlobId, Chunk, Shard, SymbolRow};
use words::{Counter, QuestionWord, Word};

use super::first::{Occurrences, Place};
use super::lengths::Lengths;
use super::visible::VisibleChunks;
use crate::view::View;

/// The words of the texts of a shard.
#[derive(Debug)]
pub(super) struct Texts {
    chunks: Vec<Chunk>,
    symbols: Vec<SymbolRow>,
}

impl Texts {
    /// Reads all texts and symbols of a shard.
    ///
    /// # Errors
    /// The database query fails.
    pub(super) async fn read(view: &View, shard: &Shard) -> Result<Self, store::Error> {
        let mut lease = view.store().lease().await?;
        let chunks = lease.chunk_range(shard.id, 0..shard.chunks).await?;
        let groups = lease.symbol_groups(shard.id).await?;
        lease.done();
        Ok(Self { chunks, symbols: groups.iter().flat_map(|group| group.rows(None)).collect() })
    }

    /// Returns the lengths of the chunks.
    pub(super) fn lengths(&self) -> Lengths {
        let (mut codes, mut counter) = (Vec::new(), Counter::default());
        for chunk in &self.chunks {
            let count = counter.count([&*chunk.contents], |_, _| {});
            let begins = if chunk.start == 0 { words::BLOB_START } else { 0 };
            codes.push((chunk.n, vec![words::length_code(count) | begins]));
        }
        Lengths::default().with(&codes)
    }

    /// Returns where the words of a question occur in the visible chunks.
    pub(super) fn occurrences<'a>(
        &self,
        question: &[QuestionWord],
        visible: &'a VisibleChunks,
    ) -> Occurrences<'a> {
        let of: FxHashMap<Word, usize> =
            question.iter().enumerate().map(|(at, word)| (word.word, at)).collect();
        let mut found = Occurrences::of(question.len(), visible);
        let mut counter = Counter::default();
        let mut add = |place: Place, chunk: i32, texts: &[&str]| {
            counter.count(texts.iter().copied(), |word, code| {
                if let Some(word) = of.get(&word) {
                    found.add(*word, place, chunk.unsigned_abs(), code);
                }
            });
        };
        let mut of_blob: HashMap<BlobId, Vec<&Chunk>> = HashMap::new();
        for chunk in &self.chunks {
            add(Place::Text, chunk.n, &[&*chunk.contents]);
            of_blob.entry(chunk.blob).or_default().push(chunk);
        }
        for row in &self.symbols {
            let chunks = of_blob.get(&row.blob).map_or(&[][..], Vec::as_slice);
            let mut defined: Vec<(i32, Vec<&str>)> = Vec::new();
            let places = row.names().zip(&row.kinds).zip(&row.starts);
            for ((name, _), start) in
                places.filter(|((_, kind), _)| **kind != SymbolKind::Implementation.byte())
            {
                let Some(at) = chunks.partition_point(|chunk| chunk.start <= *start).checked_sub(1)
                else {
                    continue;
                };
                match defined.last_mut() {
                    Some((chunk, names)) if *chunk == chunks[at].n => names.push(name),
                    _ => defined.push((chunks[at].n, vec![name])),
                }
            }
            for (chunk, names) in defined {
                add(Place::Definition, chunk, &names);
            }
        }
        found
    }
}
