//! Verifies candidates: finds the lines that really match.

use std::ops::Range;
use std::sync::Arc;

use query::{CompiledQuery, Expr, LineMatch, Predicate, Scratch};
use store::{BlobId, Chunk, SharedText};

use crate::cache::texts::{CompressedChunk, DecompressBuffer, TEXT};
use answer::Line;

/// A chunk: a run of whole lines of a blob.
#[derive(Debug)]
pub(crate) struct TextChunk {
    /// Number in the shard.
    pub(crate) n: i32,
    pub(crate) blob: BlobId,
    /// Number of its first line in the blob, from 1.
    pub(crate) line: u64,
    /// Offset of its start in the blob, in bytes.
    pub(crate) start: u64,
    pub(crate) text: ChunkText,
}

/// A chunk or a whole blob, and the terms to match in it.
#[derive(Debug)]
pub(crate) struct MatchInput {
    pub(crate) chunk: TextChunk,
    pub(crate) job: MatchJob,
}

/// The terms to match in a text. The texts of a search share a few different jobs.
#[derive(Clone, Debug)]
pub(crate) struct MatchJob {
    pub(crate) terms: Terms,
    /// Condition for files with the blob, reduced to the predicates that its text decides. Once it cannot hold, the
    /// remaining terms are skipped. For each term in the condition, the inputs have either all texts of the blob that
    /// may match it, or none.
    pub(crate) condition: Arc<Expr>,
}

/// Terms, by number.
pub(crate) type Terms = Arc<[usize]>;

/// A text in the form in which it was read.
#[derive(Debug)]
pub(crate) enum ChunkText {
    /// A separate string.
    Owned(String),
    /// A part of a buffer that other texts share.
    Shared(SharedText),
    Compressed(CompressedChunk),
}

impl From<Chunk> for TextChunk {
    fn from(chunk: Chunk) -> Self {
        let Chunk { n, blob, line, start, contents } = chunk;
        Self { n, blob, line: line as u64, start: start as u64, text: ChunkText::Shared(contents) }
    }
}

impl From<CompressedChunk> for TextChunk {
    fn from(chunk: CompressedChunk) -> Self {
        let (n, blob) = (chunk.number(), chunk.blob());
        let (line, start) = (chunk.line() as u64, chunk.start() as u64);
        Self { n, blob, line, start, text: ChunkText::Compressed(chunk) }
    }
}

impl ChunkText {
    /// Returns the size of the text in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            ChunkText::Owned(text) => text.len(),
            ChunkText::Shared(text) => text.len(),
            ChunkText::Compressed(chunk) => chunk.bytes(),
        }
    }

    /// Returns the text, decompressed into `buffer` if necessary.
    pub(crate) fn read<'t>(&'t self, buffer: &'t mut DecompressBuffer) -> &'t [u8] {
        match self {
            ChunkText::Owned(text) => text.as_bytes(),
            ChunkText::Shared(text) => text.as_bytes(),
            ChunkText::Compressed(chunk) => chunk.unpack(buffer),
        }
    }
}

/// Scratch space of the matchers, for each term of a search.
pub(crate) type Scratches = Vec<Option<Scratch>>;

/// Joins the chunks of each blob into one text. The chunks must be in order and complete.
pub(crate) fn join(chunks: Vec<TextChunk>) -> Vec<TextChunk> {
    let mut joined: Vec<TextChunk> = Vec::new();
    DecompressBuffer::with(|buffer| {
        for chunk in chunks {
            let text = str::from_utf8(chunk.text.read(buffer)).expect(TEXT);
            match joined.last_mut() {
                Some(TextChunk { blob, text: ChunkText::Owned(whole), .. })
                    if *blob == chunk.blob =>
                {
                    whole.push_str(text);
                }
                _ => {
                    let text = ChunkText::Owned(text.to_owned());
                    joined.push(TextChunk { text, ..chunk });
                }
            }
        }
    });
    joined
}

/// The matches of one term in one blob.
#[derive(Debug)]
pub(crate) struct Hit {
    pub(crate) blob: BlobId,
    pub(crate) term: usize,
    /// Matching lines, in order; or only the first one, if no more are needed.
    pub(crate) lines: Vec<Line>,
}

/// The matches found in some texts.
#[derive(Debug, Default)]
pub(crate) struct Verified {
    pub(crate) hits: Vec<Hit>,
    /// Number of texts that were examined, and their bytes.
    pub(crate) texts: usize,
    pub(crate) bytes: usize,
}

impl Verified {
    pub(crate) fn add(&mut self, more: Self) {
        self.hits.extend(more.hits);
        self.texts += more.texts;
        self.bytes += more.bytes;
    }
}

/// Matches terms in texts as long as `go_on` returns true. The inputs are in the order of blobs. With `first_only`, one
/// line for each term and blob is enough.
pub(crate) fn verify(
    query: &CompiledQuery,
    inputs: &[MatchInput],
    first_only: bool,
    scratches: &mut Scratches,
    go_on: &dyn Fn() -> bool,
) -> Verified {
    scratches.resize_with(query.terms.len(), || None);
    let mut verified = Verified::default();
    DecompressBuffer::with(|buffer| {
        let mut by_blob = Verifier { buffer, opened: Opened::default(), terms: Vec::new() };
        for inputs in inputs.chunk_by(|input, next| input.chunk.blob == next.chunk.blob) {
            by_blob.verify_blob(query, inputs, first_only, scratches, go_on, &mut verified);
        }
    });
    verified
}

/// Buffers for verifying blobs one after another.
struct Verifier<'s> {
    buffer: &'s mut DecompressBuffer,
    opened: Opened,
    /// Terms, each after the number of its inputs.
    terms: Vec<(usize, usize)>,
}

impl Verifier<'_> {
    /// Matches the terms of all inputs of a blob. Begins with the term with the fewest inputs: if it does not match,
    /// the others may be skipped.
    fn verify_blob(
        &mut self,
        query: &CompiledQuery,
        inputs: &[MatchInput],
        first_only: bool,
        scratches: &mut Scratches,
        go_on: &dyn Fn() -> bool,
        verified: &mut Verified,
    ) {
        self.terms.clear();
        for term in inputs.iter().flat_map(|input| &*input.job.terms) {
            match self.terms.iter_mut().find(|(_, known)| known == term) {
                Some((count, _)) => *count += 1,
                None => self.terms.push((1, *term)),
            }
        }
        self.terms.sort_unstable();
        self.opened.clear(inputs.len());
        let Verified { hits, texts, bytes } = verified;
        let first = hits.len();
        for (i, (_, term)) in self.terms.iter().enumerate() {
            let mut lines = Vec::new();
            let matcher = &query.terms[*term].matcher;
            let scratch = scratches[*term].get_or_insert_with(|| matcher.scratch());
            let later = &self.terms[i + 1..];
            for (at, input) in inputs.iter().enumerate() {
                if first_only && !lines.is_empty() || !go_on() {
                    break;
                }
                if !input.job.terms.contains(term) {
                    continue;
                }
                if !self.opened.holds(at) {
                    *texts += 1;
                    *bytes += input.chunk.text.bytes();
                }
                let again = later.iter().any(|(_, later)| input.job.terms.contains(later));
                let text = if again || self.opened.holds(at) {
                    self.opened.read(at, input, self.buffer)
                } else {
                    input.chunk.text.read(self.buffer)
                };
                let mut add = |found: LineMatch| {
                    lines.push(Line {
                        number: input.chunk.line + found.line as u64,
                        offset: input.chunk.start + found.span.start as u64,
                        ended: found.span.end < text.len(),
                        text: str::from_utf8(&text[found.span]).expect(TEXT).to_owned(),
                        ranges: found.ranges,
                        continues: found.continues,
                        takes_feed: found.takes_feed,
                        ..Line::default()
                    });
                };
                if first_only {
                    matcher.first_line(scratch, text, go_on).into_iter().for_each(add);
                } else {
                    matcher.lines(scratch, text, go_on, &mut |found| {
                        add(found);
                        true
                    });
                }
            }
            if !lines.is_empty() {
                hits.push(Hit { blob: inputs[0].chunk.blob, term: *term, lines });
            }
            let looked = &self.terms[..=i];
            if looked.len() < self.terms.len() {
                let known = |atom| match atom {
                    Predicate::Content(term)
                        if looked.iter().any(|(_, looked)| *looked == term) =>
                    {
                        Some(hits[first..].iter().any(|hit| hit.term == term))
                    }
                    _ => None,
                };
                // Keep the hits so far: they show why the condition cannot hold.
                if inputs[0].job.condition.eval(&known) == Some(false) {
                    return;
                }
            }
        }
    }
}

/// The decompressed texts of a blob, kept while several terms are matched in them.
#[derive(Default)]
struct Opened {
    texts: Vec<u8>,
    /// Range of each input in `texts`, once it was read.
    places: Vec<Option<Range<usize>>>,
}

impl Opened {
    fn clear(&mut self, inputs: usize) {
        self.texts.clear();
        self.places.clear();
        self.places.resize(inputs, None);
    }

    fn holds(&self, at: usize) -> bool {
        self.places[at].is_some()
    }

    fn read(&mut self, at: usize, input: &MatchInput, buffer: &mut DecompressBuffer) -> &[u8] {
        let place = self.places[at].get_or_insert_with(|| {
            let begin = self.texts.len();
            self.texts.extend_from_slice(input.chunk.text.read(buffer));
            begin..self.texts.len()
        });
        &self.texts[place.clone()]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use query::{Case, Query};

    use super::*;

    #[test]
    fn once_a_condition_cannot_hold_nothing_more_is_looked_for() {
        let alpha_and_beta: &[usize] = &[0, 1];
        // The n-gram filters admit the first chunk of the second blob for the first term.
        let chunks = [
            (1, "beta alpha\n", alpha_and_beta),
            (1, "beta\nbeta\n", &[1]),
            (2, "alp beta\n", alpha_and_beta),
            (2, "beta\n", &[1]),
            (2, "beta\n", &[1]),
        ];
        let found = |query: &str, first_only| {
            let program = CompiledQuery::new(&Query::parse(query, Case::Smart).unwrap()).unwrap();
            let condition = Arc::new(program.expr.clone());
            let input = |(blob, text, terms): (i32, &str, &[usize])| MatchInput {
                chunk: TextChunk {
                    n: 0,
                    blob: BlobId(blob),
                    line: 1,
                    start: 0,
                    text: ChunkText::Owned(text.to_owned()),
                },
                job: MatchJob { terms: terms.into(), condition: Arc::clone(&condition) },
            };
            let inputs = chunks.map(input);
            let mut scratches = Scratches::new();
            let verified = verify(&program, &inputs, first_only, &mut scratches, &|| true);
            let hits = verified.hits.iter().map(|hit| ((hit.blob.0, hit.term), hit.lines.len()));
            (hits.collect::<BTreeMap<_, _>>(), verified.texts, verified.bytes)
        };
        let both = [((1, 0), 1), ((1, 1), 3)];
        assert_eq!(found("c:alpha c:beta", false), (both.into(), 3, 30));
        let all = [((1, 0), 1), ((1, 1), 3), ((2, 1), 3)];
        assert_eq!(found("c:alpha or c:beta", false), (all.into(), 5, 40));
        // A negated term holds if it is not found.
        assert_eq!(found("-c:alpha c:beta", false), ([((1, 0), 1), ((2, 1), 3)].into(), 4, 30));
        let first = [((1, 0), 1), ((1, 1), 1)];
        assert_eq!(found("c:alpha c:beta", true).0, first.into());
    }
}
