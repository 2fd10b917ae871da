//! The first stage: which texts have the words of a question, and the best of them over all shards, by BM25 of their
//! chunks.
//!
//! The number of chunks, their mean length and in how many each word occurs are counted over the visible chunks alone. So a
//! view of some repositories answers as an index of these would.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;

use store::BlobId;
use words::{QuestionWord, Role};

use super::lengths::Lengths;
use super::visible::VisibleChunks;

/// BM25: how soon a further occurrence of a word in a chunk counts little, and how much the length of the chunk counts.
const SATURATION: f32 = 1.7;
const LENGTH: f32 = 0.5;

/// A word in the name of a definition counts as so many more occurrences. (All these are fitted, with the second stage, on
/// half of a set of judged questions.)
const DEFINITION: f32 = 2.0;

/// What the second best chunk of a text adds to the best one, and a further one beside the one before it.
const OTHERS: f32 = 0.12;
const FURTHER: f32 = 0.6;

/// Chunks of a text that add something.
const ADDING: usize = 8;

/// A word tells files apart if it weighs at least this part of the one that weighs most.
const TELLING: f32 = 0.2;

/// Number of texts that the first stage returns, and most of those that rank as the last of them.
pub(super) const CANDIDATES: usize = 200;
const MAX_EQUAL: usize = 2000;

/// Chunks of a text that are read.
const CHUNKS: usize = 8;

/// Where a word occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the text.
    Text,
    /// In the name of a definition.
    Definition,
}

/// Chunks with a word, ascending, each with the code of how often it has the word in the lowest [`CODE_BITS`] bits.
type Found = Vec<u32>;

/// Bits of a code.
const CODE_BITS: u32 = 3;
const CODE: u32 = (1 << CODE_BITS) - 1;

/// Where the words of a question occur in the visible chunks of a shard.
#[derive(Clone, Debug)]
pub(super) struct Occurrences<'a> {
    visible: &'a VisibleChunks,
    /// For each word, the chunks with it.
    texts: Vec<Found>,
    definitions: Vec<Found>,
}

/// For each word of a question, the chunks of a shard that have it, in their texts and in the names that they define.
#[derive(Debug, Default)]
pub(super) struct Counted(Vec<WordChunks>);

#[derive(Debug, Default)]
struct WordChunks {
    texts: Found,
    definitions: Found,
    /// Number of different chunks.
    chunks: usize,
}

impl<'a> Occurrences<'a> {
    /// Makes room for so many words.
    pub(super) fn of(words: usize, visible: &'a VisibleChunks) -> Self {
        Self { visible, texts: vec![Vec::new(); words], definitions: vec![Vec::new(); words] }
    }

    /// Adds an occurrence of a word, if the chunk is visible.
    pub(super) fn add(&mut self, word: usize, place: Place, chunk: u32, code: u8) {
        if !self.visible.has(chunk) {
            return;
        }
        let packed = chunk << CODE_BITS | u32::from(code) & CODE;
        match place {
            Place::Text => self.texts[word].push(packed),
            Place::Definition => self.definitions[word].push(packed),
        }
    }

    /// Puts the occurrences of each word together. Of several in a chunk, the most frequent counts.
    pub(super) fn counted(self) -> Counted {
        let both = self.texts.into_iter().zip(self.definitions);
        let of_word = |(texts, definitions): (Found, Found)| {
            let mut of = WordChunks {
                texts: each_once(texts),
                definitions: each_once(definitions),
                chunks: 0,
            };
            let mut texts = of.texts.iter().map(|packed| packed >> CODE_BITS).peekable();
            let mut both = 0;
            for packed in &of.definitions {
                let chunk = packed >> CODE_BITS;
                while texts.next_if(|text| *text < chunk).is_some() {}
                both += usize::from(texts.peek() == Some(&chunk));
            }
            of.chunks = of.texts.len() + of.definitions.len() - both;
            of
        };
        Counted(both.map(of_word).collect())
    }
}

/// Sorts by chunk, and keeps the largest code of each.
fn each_once(mut all: Found) -> Found {
    if !all.is_sorted_by(|one, next| one >> CODE_BITS < next >> CODE_BITS) {
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.dedup_by_key(|packed| *packed >> CODE_BITS);
        all.reverse();
    }
    all
}

impl Counted {
    /// Returns the number of chunks that have each word.
    pub(super) fn chunks(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|word| word.chunks)
    }
}

impl WordChunks {
    /// Calls `each` for the chunks, ascending, with how often the word counts there.
    fn each(&self, mut each: impl FnMut(usize, f32)) {
        let frequencies: [f32; 1 << CODE_BITS] =
            std::array::from_fn(|code| words::frequency(code as u8));
        let frequency = |packed: u32| frequencies[(packed & CODE) as usize];
        let mut definitions = self.definitions.iter().copied().peekable();
        for packed in &self.texts {
            let chunk = packed >> CODE_BITS;
            while let Some(other) = definitions.next_if(|other| other >> CODE_BITS < chunk) {
                each((other >> CODE_BITS) as usize, DEFINITION * frequency(other));
            }
            let here = definitions.next_if(|other| other >> CODE_BITS == chunk);
            let more = here.map_or(0.0, |other| DEFINITION * frequency(other));
            each(chunk as usize, frequency(*packed) + more);
        }
        for other in definitions {
            each((other >> CODE_BITS) as usize, DEFINITION * frequency(other));
        }
    }
}

/// What the words of a question weigh, given all visible chunks.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Weights {
    /// The mean number of words in a chunk.
    mean: f32,
    /// The number of chunks with each word.
    pub(super) chunks: Vec<usize>,
    /// The inverse document frequency of each word; 0 if no chunk has it.
    pub(super) idf: Vec<f32>,
    /// That of a word that a single chunk has.
    pub(super) rarest: f32,
    /// The weight of each word in the score.
    pub(super) of: Vec<f32>,
    /// The words that tell files apart: bit n is that of word n.
    pub(super) telling: u64,
    /// Words that a file must all have to have the whole question: not stop words, parts of others, nor several as one.
    pub(super) typed: u64,
    /// Whether only texts with all of these words are wanted.
    pub(super) all: bool,
}

impl Weights {
    /// Weighs the words of a question. `chunks` says how many of `count` chunks, with `length` words altogether, have each.
    pub(super) fn of(count: u64, length: u64, chunks: Vec<usize>, words: &[QuestionWord]) -> Self {
        let all = count as f32;
        let idf_of = |chunks: usize| {
            let chunks = chunks as f32;
            (1.0 + (all - chunks + 0.5).max(0.0) / (chunks + 0.5)).ln()
        };
        let idf: Vec<f32> = chunks.iter().map(|n| if *n > 0 { idf_of(*n) } else { 0.0 }).collect();
        let of: Vec<f32> = idf.iter().zip(words).map(|(idf, word)| idf * word.weight).collect();
        let most = of.iter().copied().fold(0.0, f32::max);
        let bits = |holds: &dyn Fn(usize) -> bool| {
            (0..of.len()).filter(|word| holds(*word)).fold(0, |all, word| all | 1 << word)
        };
        let telling = bits(&|word| chunks[word] > 0 && of[word] >= TELLING * most);
        let is_part = |word: usize| matches!(words[word].role, Role::Part | Role::Joined);
        let typed = bits(&|word| words[word].weight >= 1.0 && !is_part(word));
        Self {
            mean: length as f32 / all.max(1.0),
            chunks,
            idf,
            rarest: idf_of(1),
            of,
            telling,
            typed,
            all: false,
        }
    }
}

/// A text that may be among the best.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate {
    /// The number of its shard among those of the question.
    pub(super) shard: usize,
    pub(super) blob: BlobId,
    /// Its score.
    pub(super) points: f32,
    /// Its best chunks, ascending.
    pub(super) chunks: Vec<i32>,
    /// Whether the path of one of its files has all words.
    pub(super) is_named: bool,
}

/// The texts of a shard that have words of a question.
#[derive(Debug, Default)]
pub(super) struct ShardTexts {
    /// The best ones, in no order, and all that rank as the last of them.
    pub(super) best: Vec<Candidate>,
    /// Number of files with at least one word that tells files apart, and with all of these words.
    pub(super) files: usize,
    pub(super) files_all: usize,
}

/// Scores the texts of a shard. Those of files whose paths have all words are `named`, each with the number of these files,
/// and among the best.
pub(super) fn texts_of(
    shard: usize,
    counted: &Counted,
    weights: &Weights,
    (lengths, visible): (&Lengths, &VisibleChunks),
    named: Option<&HashMap<BlobId, usize>>,
) -> ShardTexts {
    let upto = lengths.upto().unsigned_abs() as usize;
    let (mut points, mut masks) = (vec![0.0_f32; upto], vec![0_u64; upto]);
    let long: [f32; 128] = std::array::from_fn(|code| {
        let relative = words::length(code as u8) as f32 / weights.mean.max(1.0);
        SATURATION * (1.0 - LENGTH + LENGTH * relative)
    });
    for (word, (chunks, weight)) in counted.0.iter().zip(&weights.of).enumerate() {
        let most = weight * (SATURATION + 1.0);
        chunks.each(|at, count| {
            if let Some(points) = points.get_mut(at) {
                *points += most * count / (count + long[usize::from(lengths.code(at))]);
                masks[at] |= 1 << word;
            }
        });
    }
    let mut texts = ShardTexts::default();
    let mut ranked: Vec<(f32, i32, Range<usize>)> = Vec::new();
    let mut at = 0;
    while at < upto {
        if masks[at] == 0 {
            at += 1;
            continue;
        }
        let blob = lengths.blob_of(at as u32);
        let extent = lengths.extent(blob);
        let (mut best, mut has) = (BestChunks::default(), 0);
        // The chunks before this one have no word.
        for chunk in at..extent.end {
            if masks[chunk] != 0 {
                best.add(points[chunk]);
                has |= masks[chunk];
            }
        }
        at = extent.end.max(at + 1);
        if has & weights.telling == 0 {
            continue;
        }
        let files = visible.files(blob);
        let has_all = has & weights.typed == weights.typed;
        texts.files += files;
        texts.files_all += if has_all { files } else { 0 };
        if has_all || !weights.all {
            ranked.push((best.together(), blob, extent));
        }
    }
    let least = nth(ranked.iter().map(|(points, ..)| *points), CANDIDATES);
    let is_named = |blob: i32| named.is_some_and(|named| named.contains_key(&BlobId(blob)));
    let mut named_only: HashMap<BlobId, usize> = named.cloned().unwrap_or_default();
    for (_, blob, _) in &ranked {
        named_only.remove(&BlobId(*blob));
    }
    ranked.retain(|(points, blob, _)| *points >= least || is_named(*blob));
    texts.best = ranked
        .into_iter()
        .map(|(score, blob, extent)| {
            let mut chunks: Vec<i32> =
                extent.filter(|chunk| masks[*chunk] != 0).map(|chunk| chunk as i32).collect();
            if chunks.len() > CHUNKS {
                // The sort is stable: of equal chunks, the first one wins.
                chunks.sort_by(|a, b| points[*b as usize].total_cmp(&points[*a as usize]));
                chunks.truncate(CHUNKS);
                chunks.sort_unstable();
            }
            let is_named = is_named(blob);
            Candidate { shard, blob: BlobId(blob), points: score, chunks, is_named }
        })
        .collect();
    for (blob, files) in named_only {
        texts.files += files;
        texts.files_all += files;
        let chunks = Vec::new();
        texts.best.push(Candidate { shard, blob, points: 0.0, chunks, is_named: true });
    }
    texts
}

/// The points of the best chunks of a text, the most first.
#[derive(Debug, Default)]
struct BestChunks {
    points: [f32; 1 + ADDING],
    count: usize,
}

impl BestChunks {
    fn add(&mut self, points: f32) {
        let mut at = self.count.min(ADDING);
        if self.count > ADDING && self.points[ADDING] >= points {
            return;
        }
        while at > 0 && self.points[at - 1] < points {
            self.points[at] = self.points[at - 1];
            at -= 1;
        }
        self.points[at] = points;
        self.count = (self.count + 1).min(ADDING + 1);
    }

    /// Returns the points of the text.
    fn together(&self) -> f32 {
        let mut share = OTHERS / FURTHER;
        let add = |sum: f32, points: &f32| {
            share *= FURTHER;
            sum + share * points
        };
        self.points[0] + self.points[1..].iter().fold(0.0, add)
    }
}

/// Returns the best of all candidates, best first, and those that rank as the last of them, as far as there is room; and all
/// that are named.
pub(super) fn best(mut all: Vec<Candidate>) -> Vec<Candidate> {
    let least = nth(all.iter().map(|one| one.points), CANDIDATES);
    all.retain(|one| one.points >= least || one.is_named);
    all.sort_by(|a, b| {
        let place = |one: &Candidate| (one.shard, one.blob);
        by_points(a.points, b.points).then_with(|| place(a).cmp(&place(b)))
    });
    leave(&mut all, CANDIDATES + MAX_EQUAL);
    all
}

/// Leaves the first candidates, and all that are named.
pub(super) fn leave(candidates: &mut Vec<Candidate>, most: usize) {
    let mut seen = 0;
    candidates.retain(|one| {
        seen += 1;
        seen <= most || one.is_named
    });
}

/// Orders the larger number of points first.
pub(super) fn by_points(a: f32, b: f32) -> Ordering {
    b.total_cmp(&a)
}

/// Returns the n-th largest of some points; the least possible if there are fewer.
fn nth(points: impl Iterator<Item = f32>, n: usize) -> f32 {
    let mut points: Vec<f32> = points.collect();
    if points.len() <= n {
        return f32::NEG_INFINITY;
    }
    *points.select_nth_unstable_by(n - 1, |a, b| by_points(*a, *b)).1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five chunks of three texts, of which the last is not visible.
    fn shard() -> (Lengths, VisibleChunks) {
        let lengths = Lengths::default().with(&[(0, vec![0x85, 5, 0x85, 0x85, 5])]);
        let visible = VisibleChunks::of([0, 2].map(BlobId).into_iter(), &lengths);
        (lengths, visible)
    }

    #[test]
    fn forms_and_definitions_of_a_word_count_together() {
        let visible = VisibleChunks::of(
            [BlobId(0)].into_iter(),
            &Lengths::default().with(&[(0, vec![0x81, 1, 1, 1, 1])]),
        );
        let mut found = Occurrences::of(1, &visible);
        let (one, two) = (words::frequency_code(1), words::frequency_code(2));
        for (place, chunk, code) in [
            (Place::Text, 3, one),
            (Place::Text, 1, one),
            (Place::Text, 3, two),
            (Place::Definition, 0, one),
            (Place::Definition, 3, one),
            (Place::Definition, 4, one),
        ] {
            found.add(0, place, chunk, code);
        }
        let of = |code| words::frequency(code);
        let expected = [
            (0, DEFINITION * of(one)),
            (1, of(one)),
            (3, of(two) + DEFINITION * of(one)),
            (4, DEFINITION * of(one)),
        ];
        let counted = found.counted();
        assert_eq!(counted.chunks().collect::<Vec<_>>(), [4]);
        let mut told = Vec::new();
        counted.0[0].each(|chunk, count| told.push((chunk, count)));
        assert_eq!(told, expected);
    }

    #[test]
    fn the_best_chunk_decides_and_others_add_a_little() {
        let (lengths, visible) = shard();
        let mut found = Occurrences::of(2, &visible);
        let one = words::frequency_code(1);
        for (word, chunk) in [(0, 0), (0, 1), (0, 2), (1, 2), (1, 3), (1, 4)] {
            found.add(word, Place::Text, chunk, one);
        }
        let counted = found.counted();
        let chunks: Vec<usize> = counted.chunks().collect();
        let mut weights =
            Weights::of(visible.count, visible.words, chunks, &words::question("alpha beta"));
        assert_eq!(weights.chunks, [3, 1]);
        // Of so few chunks, a word in most of them tells little.
        weights.telling = 0b11;
        let texts = texts_of(7, &counted, &weights, (&lengths, &visible), None);
        assert_eq!((texts.files, texts.files_all), (2, 1));
        let best = best(texts.best);
        let told: Vec<_> =
            best.iter().map(|one| (one.shard, one.blob.0, one.chunks.as_slice())).collect();
        assert_eq!(told, [(7, 2, &[2][..]), (7, 0, &[0, 1])]);
        assert!((best[1].points - (1.0 + OTHERS) * weights.of[0]).abs() < 1e-4, "{best:?}");
    }

    #[test]
    fn a_word_that_is_everywhere_or_nowhere_does_not_tell_files_apart() {
        let weights = Weights::of(1000, 1000, vec![990, 3, 0], &words::question("one two three"));
        assert_eq!(weights.telling, 0b10);
        let common = Weights::of(1000, 1000, vec![990, 0], &words::question("alpha beta"));
        assert_eq!(common.telling, 0b1);
    }

    #[test]
    fn all_that_rank_as_the_last_are_kept() {
        let of = |blob: i32, points| Candidate {
            shard: 0,
            blob: BlobId(blob),
            points,
            chunks: Vec::new(),
            is_named: false,
        };
        let all = (0..1000).map(|n| of(n, if n < 990 { 1.0 } else { 2.0 })).collect();
        let kept = best(all);
        assert_eq!(kept.len(), 1000);
        assert!(kept[..10].iter().all(|one| one.blob.0 >= 990));
        let all = (0..1000).map(|n| of(n, n as f32)).collect();
        assert_eq!(best(all).len(), CANDIDATES);
    }
}
