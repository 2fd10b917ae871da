//! Verifying: which lines of some texts really match.

use std::ops::Range;
use std::sync::Arc;

use query::{CompiledQuery, Expr, Predicate, Scratch};
use store::{BlobId, Chunk, SharedText};

use crate::cache::texts::{CompressedChunk, DecompressBuffer, TEXT};
use crate::types::Line;

/// A chunk of a blob: a run of whole lines of it.
#[derive(Debug)]
pub(crate) struct TextChunk {
    /// Its number in the shard.
    pub(crate) n: i32,
    pub(crate) blob: BlobId,
    /// The number of its first line in the blob, from 1.
    pub(crate) line: u64,
    /// Where it begins in the blob, in bytes.
    pub(crate) start: u64,
    pub(crate) text: Text,
}

/// A chunk or a whole blob, and what to look for in it.
#[derive(Debug)]
pub(crate) struct MatchInput {
    pub(crate) chunk: TextChunk,
    pub(crate) job: MatchJob,
}

/// What to look for in a text. The texts of a search have few different terms and conditions.
#[derive(Clone, Debug)]
pub(crate) struct MatchJob {
    pub(crate) terms: Terms,
    /// What must hold for a file with the blob, as far as its text can tell: once it cannot, nothing more is looked for.
    /// Of a term in it, all texts of the blob in which it may match are there, or none.
    pub(crate) condition: Arc<Expr>,
}

/// Terms by their numbers.
pub(crate) type Terms = Arc<[usize]>;

/// A text as it came.
#[derive(Debug)]
pub(crate) enum Text {
    /// As it is, by itself.
    Owned(String),
    /// As it is, beside others.
    Shared(SharedText),
    /// Compressed.
    Compressed(CompressedChunk),
}

impl From<Chunk> for TextChunk {
    fn from(chunk: Chunk) -> Self {
        let Chunk { n, blob, line, start, contents } = chunk;
        Self { n, blob, line: line as u64, start: start as u64, text: Text::Shared(contents) }
    }
}

impl From<CompressedChunk> for TextChunk {
    fn from(chunk: CompressedChunk) -> Self {
        let (n, blob) = (chunk.number(), chunk.blob());
        let (line, start) = (chunk.line() as u64, chunk.start() as u64);
        Self { n, blob, line, start, text: Text::Compressed(chunk) }
    }
}

impl Text {
    /// Bytes of it.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Text::Owned(text) => text.len(),
            Text::Shared(text) => text.len(),
            Text::Compressed(chunk) => chunk.bytes(),
        }
    }

    /// The text itself, perhaps in `buffer`.
    pub(crate) fn read<'t>(&'t self, buffer: &'t mut DecompressBuffer) -> &'t [u8] {
        match self {
            Text::Owned(text) => text.as_bytes(),
            Text::Shared(text) => text.as_bytes(),
            Text::Compressed(chunk) => chunk.unpack(buffer),
        }
    }
}

/// Space to match in, for each term of a search.
pub(crate) type Scratches = Vec<Option<Scratch>>;

/// Puts chunks of the same blob, which are in order and complete, together to one text each.
pub(crate) fn join(chunks: Vec<TextChunk>) -> Vec<TextChunk> {
    let mut joined: Vec<TextChunk> = Vec::new();
    DecompressBuffer::with(|buffer| {
        for chunk in chunks {
            let text = str::from_utf8(chunk.text.read(buffer)).expect(TEXT);
            match joined.last_mut() {
                Some(TextChunk { blob, text: Text::Owned(whole), .. }) if *blob == chunk.blob => {
                    whole.push_str(text);
                }
                _ => {
                    let text = Text::Owned(text.to_owned());
                    joined.push(TextChunk { text, ..chunk });
                }
            }
        }
    });
    joined
}

/// What was found of one term in one blob.
#[derive(Debug)]
pub(crate) struct Hit {
    pub(crate) blob: BlobId,
    pub(crate) term: usize,
    /// The lines that match, in order; the first one only, if no more was asked for.
    pub(crate) lines: Vec<Line>,
}

/// What was found in some texts.
#[derive(Debug, Default)]
pub(crate) struct Verified {
    pub(crate) hits: Vec<Hit>,
    /// How many texts were looked at, and bytes of them.
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

/// Looks for terms in texts, as long as it is to go on. The inputs are in order. With `first_only`, one
/// line of each term and blob will do.
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
            by_blob.look(query, inputs, first_only, scratches, go_on, &mut verified);
        }
    });
    verified
}

/// Space to look at one blob after another.
struct Verifier<'s> {
    buffer: &'s mut DecompressBuffer,
    opened: Opened,
    /// The terms, each with the number of inputs in which to look for it.
    terms: Vec<(usize, usize)>,
}

impl Verifier<'_> {
    /// Looks for the terms of all inputs of a blob: first for those that are to be looked for in few of them, since the
    /// others need not be looked for if those are not found.
    fn look(
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
                matcher.lines(scratch, text, go_on, &mut |found| {
                    lines.push(Line {
                        number: input.chunk.line + found.line as u64,
                        offset: input.chunk.start + found.span.start as u64,
                        ended: found.span.end < text.len(),
                        text: str::from_utf8(&text[found.span]).expect(TEXT).to_owned(),
                        ranges: found.ranges,
                    });
                    !first_only && go_on()
                });
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
                // What was found stays: it tells why it cannot hold.
                if inputs[0].job.condition.eval(&known) == Some(false) {
                    return;
                }
            }
        }
    }
}

/// Texts of a blob that are looked at for one term after the other.
#[derive(Default)]
struct Opened {
    texts: Vec<u8>,
    /// Where each input stands in them.
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

/// The lines of several terms as those of one file: each line once, its ranges in order and apart.
pub(crate) fn merge(mut parts: Vec<Vec<Line>>) -> Vec<Line> {
    if parts.len() == 1 {
        return parts.remove(0);
    }
    let mut lines: Vec<Line> = parts.into_iter().flatten().collect();
    lines.sort_by_key(|line| line.number);
    let mut merged: Vec<Line> = Vec::with_capacity(lines.len());
    for line in lines {
        match merged.last_mut() {
            Some(last) if last.number == line.number => last.ranges.extend(line.ranges),
            _ => merged.push(line),
        }
    }
    for line in &mut merged {
        line.ranges = apart(std::mem::take(&mut line.ranges));
    }
    merged
}

/// Ranges in order; those that overlap are one.
pub(crate) fn apart(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    if ranges.len() < 2 {
        return ranges;
    }
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut apart: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match apart.last_mut() {
            Some(last) if range.start < last.end || range == *last => {
                last.end = last.end.max(range.end);
            }
            _ => apart.push(range),
        }
    }
    apart
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use query::{Case, Query};

    use super::*;

    #[test]
    fn once_a_condition_cannot_hold_nothing_more_is_looked_for() {
        let alpha_and_beta: &[usize] = &[0, 1];
        // By their n-grams, the first chunk of the second blob may hold the first term.
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
                    text: Text::Owned(text.to_owned()),
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
        // What is not there may be what is asked for.
        assert_eq!(found("-c:alpha c:beta", false), ([((1, 0), 1), ((2, 1), 3)].into(), 4, 30));
        let first = [((1, 0), 1), ((1, 1), 1)];
        assert_eq!(found("c:alpha c:beta", true).0, first.into());
    }

    #[test]
    fn lines_of_several_terms_become_one() {
        let line = |number: u64, ranges: &[(usize, usize)]| Line {
            number,
            offset: 0,
            text: String::new(),
            ended: true,
            ranges: ranges.iter().map(|(start, end)| *start..*end).collect(),
        };
        let merged = merge(vec![
            vec![line(1, &[(0, 3), (5, 6)]), line(4, &[(1, 1)])],
            vec![line(1, &[(2, 4), (8, 9)]), line(2, &[(0, 1)]), line(4, &[(1, 1)])],
        ]);
        let expected =
            vec![line(1, &[(0, 4), (5, 6), (8, 9)]), line(2, &[(0, 1)]), line(4, &[(1, 1)])];
        assert_eq!(merged, expected);
    }
}
