//! Which n-grams the texts of a shard hold: the summaries in memory that rule out whole shards, and
//! candidates that have the right trigrams in the wrong order.
//!
//! The trigram index forgets case and punctuation and is asked over a connection; the summaries keep
//! every byte and answer in microseconds. A summary is made of *parts*, each with a Bloom filter with
//! one hash, or two where that lets less through (Bloom, *Space/time trade-offs in hash coding with
//! allowable errors*, 1970), of the n-grams in it: runs of bytes with ASCII letters folded, and those
//! with capitals also as they are. The filters lie side by side, bit by bit, so that one look at a row
//! says of all parts whether they may hold an n-gram (bit-sliced signatures: Faloutsos and
//! Christodoulakis, *Signature files*, 1984).
//!
//! There are several [kinds](FilterKind): of blocks of many chunks, and of the chunks that would fill those, to
//! say where to look at all; of chunks, to spare reading them; and of paths. All but the last are stored, so that
//! how many bits they have and how n-grams become bits can be changed with a migration only.

mod signature;

use std::ops::Range;

pub use signature::{BLOCK_CHUNKS, HitBitmap, ShardFilter, SignatureFile, SurvivingBlocks};

/// Hashes that stand for the characters that fold to ASCII letters: see [`NgramQuery::non_ascii_fold`]. Every pattern with
/// an s or a k in any case asks for them, and hardly any text has them, so they are many: one would be
/// set by chance in half of all parts.
const ODD: [u64; 16] = odd_hashes();

const fn odd_hashes() -> [u64; 16] {
    let mut hashes = [0; 16];
    let mut i = 0;
    while i < hashes.len() {
        hashes[i] = mix(i as u64 + 1, 0x9e6c_63d0_876a_3f35);
        i += 1;
    }
    hashes
}

/// Whether a text holds one of the two characters that fold to ASCII letters without being one.
pub fn has_non_ascii_fold(text: &str) -> bool {
    let holds = |odd: &str| memchr::memmem::find(text.as_bytes(), odd.as_bytes()).is_some();
    !text.is_ascii() && (holds("\u{17f}") || holds("\u{212a}"))
}

/// Odd numbers that mix the bytes of an n-gram up into the high bits of the product: for folded
/// n-grams, for those with capitals, and for short ones.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
const MIX_EXACT: u64 = 0xc2b2_ae3d_27d4_eb4f;
const MIX_SHORT: u64 = 0xd6e8_feb8_6659_fd93;

/// What the parts of a summary are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterKind {
    /// Blocks of chunks. Code sets nearly half of the bits of a block of 512 chunks.
    Block,
    /// Chunks. Code sets a third of the bits of one of 4 KB.
    Chunk,
    /// Chunks whose texts are in memory: there is room for larger sets, in which folded n-grams have two bits each, and
    /// longer n-grams are, too, if they have two signs in them.
    Kept,
    /// Chunks of a few kilobytes that hold so many different n-grams that they would fill the set of
    /// their block: tables of numbers, encoded data.
    Dense,
    /// Paths, some dozens at a time.
    Paths,
}

impl FilterKind {
    /// Bits in the filter of a part.
    const fn bits(self) -> usize {
        match self {
            FilterKind::Block => 1 << 18,
            FilterKind::Chunk => 2048,
            FilterKind::Kept => 4096,
            FilterKind::Dense | FilterKind::Paths => 1 << 13,
        }
    }

    /// Bytes in an n-gram. Longer ones are rarer, there are fewer of them in a literal, and more in a text.
    /// Few bits hold short ones best: of chunks of 4 KB, those of 3 bytes let half as many through as
    /// those of 4 in as many bits.
    const fn long(self) -> usize {
        match self {
            FilterKind::Chunk | FilterKind::Kept => 3,
            FilterKind::Block | FilterKind::Dense | FilterKind::Paths => 5,
        }
    }

    /// Bytes in a short n-gram, for literals that hold no or few longer ones.
    const fn short(self) -> Option<usize> {
        match self {
            FilterKind::Chunk | FilterKind::Kept => None,
            FilterKind::Block | FilterKind::Dense | FilterKind::Paths => Some(3),
        }
    }
}

/// Bytes in an n-gram that is in a set for its signs, and how many of those it has at least. What is special about
/// `f()?;` are not its 3-grams, which are everywhere. Of 2,500 pieces of 4 KB of the fetched corpus, one has 133 and 49
/// of these beside 932 3-grams on average. Each of the longer ones begins with one of the shorter ones.
const SIGNED: [(usize, u8); 2] = [(4, 2), (5, 3)];

/// Bits for each byte of a text that has a set of its own.
const BITS_PER_BYTE: usize = 2;

/// A chunk is dense if it sets more bits of a set of its own. It is so for 6 of 100 chunks of the
/// fetched corpus.
const DENSE: u32 = 3200;

/// With fewer n-grams, a literal is asked for by its short ones, too.
const FEW: usize = 12;

/// The n-grams of one part, and a few more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BloomFilter {
    kind: FilterKind,
    bits: Vec<u64>,
}

/// The n-grams of many parts.
#[derive(Debug)]
pub struct BitSlices {
    kind: FilterKind,
    /// For each bit of a set, whether it is set in each part.
    rows: Vec<u8>,
    /// Which bits of a row are of a part.
    all: Columns,
}

/// Some of the parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(Vec<u8>);

/// What parts are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NgramQuery {
    /// Nothing.
    Anything,
    /// All of these.
    Hashes(Hashes),
    /// All of these.
    All(Vec<NgramQuery>),
    /// One of these.
    Any(Vec<NgramQuery>),
}

/// The hashes of the n-grams of a literal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hashes {
    block: Vec<u64>,
    chunk: Vec<u64>,
    /// Those that rule out the most first.
    kept: Vec<u64>,
}

impl BloomFilter {
    /// An empty set.
    pub fn new(kind: FilterKind) -> Self {
        Self { kind, bits: vec![0; kind.bits() / 64] }
    }

    /// An empty set for a text of its own, of so many bytes.
    pub fn for_text(bytes: usize) -> Self {
        Self { kind: FilterKind::Block, bits: vec![0; bytes / (64 / BITS_PER_BYTE) + 1] }
    }

    /// The set of a chunk.
    pub fn of_chunk(text: &str) -> Self {
        let mut hashes = Vec::new();
        hashes_of(FilterKind::Chunk, text, &mut hashes);
        Self { kind: FilterKind::Chunk, bits: bits_of::<{ FilterKind::Chunk.bits() }>(&hashes) }
    }

    /// The set of a chunk whose text is in memory.
    pub fn of_kept(text: &str) -> Self {
        let mut hashes = Vec::new();
        hashes_of(FilterKind::Kept, text, &mut hashes);
        Self { kind: FilterKind::Kept, bits: bits_of::<{ FilterKind::Kept.bits() }>(&hashes) }
    }

    /// A set as [`to_bytes`](Self::to_bytes) gave it: of a dense chunk, or of a block or a text, not of another chunk.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let (words, _) = bytes.as_chunks();
        let bits: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        // A text with a set of its own is larger than a dense chunk.
        let kind = if bits.len() * 64 == FilterKind::Dense.bits() {
            FilterKind::Dense
        } else {
            FilterKind::Block
        };
        Self { kind, bits }
    }

    /// What the set is of.
    pub fn kind(&self) -> FilterKind {
        self.kind
    }

    /// The set as bytes, to be kept.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.bits.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Adds all n-grams of a text.
    pub fn add(&mut self, text: &str) {
        let mut hashes = Vec::new();
        hashes_of(self.kind, text, &mut hashes);
        for hash in hashes {
            self.set(hash);
        }
    }

    /// Adds all n-grams of a chunk to the set of its block, unless it is dense: then gives a set of its
    /// own instead. `hashes` is space that is used again.
    pub fn add_chunk(&mut self, text: &str, hashes: &mut Vec<u64>) -> Option<BloomFilter> {
        // The n-grams of both are the same.
        hashes_of(FilterKind::Dense, text, hashes);
        let bits = bits_of::<{ FilterKind::Dense.bits() }>(hashes);
        if bits.iter().map(|word| word.count_ones()).sum::<u32>() > DENSE {
            return Some(Self { kind: FilterKind::Dense, bits });
        }
        let block: &mut [u64; FilterKind::Block.bits() / 64] =
            self.bits.as_mut_slice().try_into().expect("it is the set of a block");
        for hash in hashes {
            let bit = place(*hash, block.len() * 64);
            block[bit / 64] |= 1 << (bit % 64);
        }
        None
    }

    /// Whether a text with these n-grams may hold what is asked for.
    pub fn may_hold(&self, ngrams: &NgramQuery) -> bool {
        match ngrams {
            NgramQuery::Anything => true,
            NgramQuery::Hashes(hashes) => hashes.of(self.kind).iter().all(|hash| {
                let bit = place(*hash, self.bits.len() * 64);
                self.bits[bit / 64] >> (bit % 64) & 1 == 1
            }),
            NgramQuery::All(all) => all.iter().all(|one| self.may_hold(one)),
            NgramQuery::Any(any) => any.iter().any(|one| self.may_hold(one)),
        }
    }

    /// Whether sets of this kind have less than four times its bits: as one of them it lets much more through.
    pub fn is_coarse_as(&self, kind: FilterKind) -> bool {
        self.bits.len() * 64 * 4 > kind.bits()
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        self.bits.len() * 8
    }

    fn set(&mut self, hash: u64) {
        let bit = place(hash, self.bits.len() * 64);
        self.bits[bit / 64] |= 1 << (bit % 64);
    }

    /// Calls `set` with each bit that a set of so many bits has at least, in which the same is.
    fn each_bit_of(&self, bits: usize, mut set: impl FnMut(usize)) {
        let own = self.bits.len() * 64;
        // The least hash, but for its lower half, that is at a bit of this set.
        let least = |bit: usize| ((bit << 32).div_ceil(own) as u64) << 32;
        for (i, mut rest) in self.bits.iter().copied().enumerate() {
            while rest != 0 {
                let bit = i * 64 + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                if own == bits {
                    set(bit);
                } else {
                    let upto = least(bit + 1).wrapping_sub(1 << 32);
                    (place(least(bit), bits)..=place(upto, bits)).for_each(&mut set);
                }
            }
        }
    }
}

impl BitSlices {
    /// The sets of all parts, in order. Sets with another number of bits are stretched or folded, so that at least the
    /// same is in them.
    pub fn new(kind: FilterKind, sets: &[BloomFilter]) -> Self {
        let mut slices = Self { kind, rows: Vec::new(), all: Columns(Vec::new()) };
        slices.add(0, sets);
        slices
    }

    /// So many parts, given the rows of all bits one after another, of the same number of bytes each. Rows may be wider
    /// than the parts need. None if they are narrower.
    pub fn from_rows(kind: FilterKind, parts: usize, rows: Vec<u8>) -> Option<Self> {
        let (stored, width) = (rows.len() / kind.bits(), parts.div_ceil(8));
        if rows.len() % kind.bits() != 0 || stored < width {
            return None;
        }
        let mut slices = Self { kind, rows, all: first_columns(parts) };
        if stored > width {
            slices.rows = slices.rewoven(stored, width);
        }
        Some(slices)
    }

    /// The rows of all bits one after another, [`width`](Self::width) bytes each.
    pub fn rows(&self) -> &[u8] {
        &self.rows
    }

    /// Adds sets to the parts from one part on: to those that are there, what is in the sets; after the last, new parts.
    pub fn add(&mut self, first: usize, sets: &[BloomFilter]) {
        let (before, all) = (self.width(), first_columns(first + sets.len()));
        if all.0.len() > before {
            self.rows = self.rewoven(before, all.0.len());
            self.all.0.resize(all.0.len(), 0);
        }
        self.all.or(&all);
        let width = self.width();
        for (part, set) in (first..).zip(sets) {
            let (byte, bit) = (part / 8, 1 << (part % 8));
            set.each_bit_of(self.kind.bits(), |at| self.rows[at * width + byte] |= bit);
        }
    }

    /// Its rows, with another number of bytes in each.
    fn rewoven(&self, before: usize, width: usize) -> Vec<u8> {
        let mut rows = vec![0; self.kind.bits() * width];
        let both = before.min(width);
        if both > 0 {
            let old = self.rows.chunks_exact(before);
            for (row, old) in rows.chunks_exact_mut(width).zip(old) {
                row[..both].copy_from_slice(&old[..both]);
            }
        }
        rows
    }

    /// The parts of several of one kind, side by side: in each row the bytes of the first one's, then those of the next
    /// one's.
    pub fn beside(kind: FilterKind, several: &[(&BitSlices, Range<usize>)]) -> Self {
        let mut all = Columns(Vec::new());
        for (grams, bytes) in several {
            all.0.extend_from_slice(&grams.all.0[bytes.clone()]);
        }
        let width = all.0.len();
        let mut rows = vec![0; kind.bits() * width];
        let mut from = 0;
        for (grams, bytes) in several {
            let theirs = grams.rows.chunks_exact(grams.width().max(1));
            for (row, their) in rows.chunks_exact_mut(width.max(1)).zip(theirs) {
                row[from..from + bytes.len()].copy_from_slice(&their[bytes.clone()]);
            }
            from += bytes.len();
        }
        Self { kind, rows, all }
    }

    /// Bytes in a row: one for every eight parts.
    pub fn width(&self) -> usize {
        self.all.0.len()
    }

    /// The parts that may hold what is asked for, all of it in one.
    pub fn parts(&self, ngrams: &NgramQuery) -> Columns {
        self.parts_within(&(0..self.width()), ngrams)
    }

    /// Those that may hold what is asked for of the parts in some bytes of a row.
    pub fn parts_within(&self, bytes: &Range<usize>, ngrams: &NgramQuery) -> Columns {
        self.narrow(ngrams, bytes.start, self.all.within(bytes))
    }

    /// Those of some parts, which begin with a byte of a row, that may hold what is asked for.
    fn narrow(&self, ngrams: &NgramQuery, from: usize, mut parts: Columns) -> Columns {
        match ngrams {
            NgramQuery::Anything => parts,
            NgramQuery::Hashes(hashes) => {
                for hash in hashes.of(self.kind) {
                    let at = place(*hash, self.kind.bits()) * self.width() + from;
                    let row = &self.rows[at..at + parts.0.len()];
                    if !parts.and_row(row) {
                        break;
                    }
                }
                parts
            }
            NgramQuery::All(all) => {
                all.iter().fold(parts, |parts, one| self.narrow(one, from, parts))
            }
            NgramQuery::Any(any) => {
                let mut found = Columns(vec![0; parts.0.len()]);
                for one in any {
                    found.or(&self.narrow(one, from, parts.clone()));
                }
                found
            }
        }
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        self.rows.len()
    }
}

impl Columns {
    /// Whether it is none of them.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|byte| *byte == 0)
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        self.0.iter().map(|byte| byte.count_ones() as usize).sum()
    }

    /// Whether a part is one of them.
    pub fn contains(&self, part: usize) -> bool {
        self.0.get(part / 8).is_some_and(|byte| byte >> (part % 8) & 1 == 1)
    }

    /// Each of them, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.iter_from(0)
    }

    /// Each of them from a part on, ascending.
    pub fn iter_from(&self, first: usize) -> impl Iterator<Item = usize> {
        // Eight bytes at a time, as far as there are so many.
        let word = |at: usize| {
            let bytes = self.0.get(at..self.0.len().min(at + 8))?;
            let mut eight = [0; 8];
            eight[..bytes.len()].copy_from_slice(bytes);
            Some(u64::from_le_bytes(eight))
        };
        let mut at = first / 8;
        let mut rest = word(at).map_or(0, |word| word & u64::MAX << (first % 8));
        std::iter::from_fn(move || {
            while rest == 0 {
                at += 8;
                rest = word(at)?;
            }
            let bit = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            Some(at * 8 + bit)
        })
    }

    /// With others.
    pub fn or(&mut self, other: &Columns) {
        self.0.iter_mut().zip(&other.0).for_each(|(byte, other)| *byte |= other);
    }

    /// Only those that are among others, too.
    pub fn and(&mut self, other: &Columns) {
        self.and_row(&other.0);
    }

    /// Only those of which it is true.
    pub fn retain(&mut self, is_true: impl Fn(usize) -> bool) {
        for part in self.clone().iter().filter(|part| !is_true(*part)) {
            self.remove(part);
        }
    }

    /// Without a part.
    pub fn remove(&mut self, part: usize) {
        if let Some(byte) = self.0.get_mut(part / 8) {
            *byte &= !(1 << (part % 8));
        }
    }

    /// With one more part.
    pub fn add(&mut self, part: usize) {
        if let Some(byte) = self.0.get_mut(part / 8) {
            *byte |= 1 << (part % 8);
        }
    }

    /// Only those in some ranges.
    pub fn keep(&mut self, ranges: impl IntoIterator<Item = Range<usize>>) {
        let mut kept = vec![0_u8; self.0.len()];
        for range in ranges {
            let end = range.end.min(kept.len() * 8);
            if range.start >= end {
                continue;
            }
            let (first, last) = (range.start / 8, (end - 1) / 8);
            let (head, tail) = (u8::MAX << (range.start % 8), u8::MAX >> (7 - (end - 1) % 8));
            if first == last {
                kept[first] |= head & tail;
            } else {
                kept[first] |= head;
                kept[first + 1..last].fill(u8::MAX);
                kept[last] |= tail;
            }
        }
        self.and_row(&kept);
    }

    /// Those in some bytes.
    #[must_use]
    pub fn within(&self, bytes: &Range<usize>) -> Self {
        Self(self.0[bytes.clone()].to_vec())
    }

    /// The same; says whether there are any.
    fn and_row(&mut self, other: &[u8]) -> bool {
        let mut left = 0;
        for (byte, other) in self.0.iter_mut().zip(other) {
            *byte &= other;
            left |= *byte;
        }
        left != 0
    }
}

impl NgramQuery {
    /// A text in which one of the characters stands that fold to ASCII letters without being one.
    pub fn non_ascii_fold() -> Self {
        let odd = || ODD.to_vec();
        Hashes { block: odd(), chunk: odd(), kept: odd() }.into()
    }

    /// All of some queries.
    #[must_use]
    pub fn all(mut probes: Vec<NgramQuery>) -> Self {
        probes.retain(|ngrams| *ngrams != NgramQuery::Anything);
        match probes.len() {
            0 => NgramQuery::Anything,
            1 => probes.remove(0),
            _ => NgramQuery::All(probes),
        }
    }

    /// One of some probes.
    #[must_use]
    pub fn any(mut probes: Vec<NgramQuery>) -> Self {
        if probes.len() == 1 { probes.remove(0) } else { NgramQuery::Any(probes) }
    }

    /// How many literals it is of, those with capitals twice.
    pub fn literals(&self) -> usize {
        match self {
            NgramQuery::Anything => 0,
            NgramQuery::Hashes(_) => 1,
            NgramQuery::All(parts) | NgramQuery::Any(parts) => {
                parts.iter().map(NgramQuery::literals).sum()
            }
        }
    }

    /// How many n-grams a chunk is asked for at least.
    pub fn grams(&self) -> usize {
        match self {
            NgramQuery::Anything => 0,
            NgramQuery::Hashes(hashes) => hashes.chunk.len(),
            NgramQuery::All(all) => all.iter().map(NgramQuery::grams).sum(),
            NgramQuery::Any(any) => any.iter().map(NgramQuery::grams).min().unwrap_or(0),
        }
    }

    /// All n-grams of a piece of a line, in small letters.
    pub fn folded(text: &str) -> Self {
        let small = text.to_ascii_lowercase();
        let hashes = |length, odd| {
            let mut hashes = Vec::new();
            each_run(&small, length, |gram, _| hashes.push(mix(gram, odd)));
            hashes
        };
        let mut block = hashes(FilterKind::Block.long(), MIX);
        if block.len() < FEW
            && let Some(short) = FilterKind::Block.short()
        {
            block.extend(hashes(short, MIX_SHORT));
        }
        let chunk = hashes(FilterKind::Chunk.long(), MIX);
        let mut kept = Vec::new();
        each_signed(&small, |gram, _| kept.push(mix(gram, MIX)));
        kept.extend(chunk.iter().flat_map(|hash| [*hash, again(*hash)]));
        Hashes { block, chunk, kept }.into()
    }

    /// The n-grams of a piece of a line that have capitals.
    pub fn exact(text: &str) -> Self {
        let capital =
            |at, length| text.as_bytes()[at..at + length].iter().any(u8::is_ascii_uppercase);
        let hashes = |length| {
            let mut hashes = Vec::new();
            each_run(text, length, |gram, at| {
                if capital(at, length) {
                    hashes.push(mix(gram, MIX_EXACT));
                }
            });
            hashes
        };
        let (block, chunk) = (hashes(FilterKind::Block.long()), hashes(FilterKind::Chunk.long()));
        let mut kept = Vec::new();
        each_signed(text, |gram, (at, length)| {
            if capital(at, length) {
                kept.push(mix(gram, MIX_EXACT));
            }
        });
        kept.extend(&chunk);
        Hashes { block, chunk, kept }.into()
    }
}

impl Hashes {
    /// The bits that are set in the set of a chunk that has all of it: bit n is bit n % 8, from the lowest, of byte
    /// n / 8 of the set as bytes.
    pub fn chunk_bits(&self) -> impl ExactSizeIterator<Item = usize> {
        self.chunk.iter().map(|hash| place(*hash, FilterKind::Chunk.bits()))
    }

    fn of(&self, kind: FilterKind) -> &[u64] {
        match kind {
            FilterKind::Block | FilterKind::Dense | FilterKind::Paths => &self.block,
            FilterKind::Chunk => &self.chunk,
            FilterKind::Kept => &self.kept,
        }
    }
}

impl From<Hashes> for NgramQuery {
    fn from(hashes: Hashes) -> Self {
        let none = hashes.block.is_empty() && hashes.chunk.is_empty() && hashes.kept.is_empty();
        if none { NgramQuery::Anything } else { NgramQuery::Hashes(hashes) }
    }
}

/// The hashes of all n-grams of the lines of a text, instead of what was in `hashes`: none that is asked for goes
/// beyond its line. Some are there more than once. They are hashed in loops as short as can be, and set in others.
fn hashes_of(kind: FilterKind, text: &str, hashes: &mut Vec<u64>) {
    hashes.clear();
    if has_non_ascii_fold(text) {
        hashes.extend(ODD);
    }
    // So that eight bytes can be read everywhere.
    let mut bytes = text.as_bytes().to_vec();
    bytes.extend([0; 8]);
    let folded = bytes.to_ascii_lowercase();
    let signs: Vec<u8> = match kind {
        // Most n-grams have none: where they are is found out for many bytes at once.
        FilterKind::Kept => bytes.iter().map(|byte| u8::from(is_sign(*byte))).collect(),
        _ => Vec::new(),
    };
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]) {
        let (raw, folded) = (&bytes[start..end + 8], &folded[start..end + 8]);
        if let Some(short) = kind.short() {
            hashes.extend(grams(folded, short).map(|gram| mix(gram, MIX_SHORT)));
        }
        let long = grams(folded, kind.long()).map(|gram| mix(gram, MIX));
        if kind == FilterKind::Kept {
            hashes.extend(long.flat_map(|hash| [hash, again(hash)]));
        } else {
            hashes.extend(long);
        }
        if raw != folded {
            let mut at = hashes.len();
            hashes.resize(at + raw.len(), 0);
            for (raw, folded) in grams(raw, kind.long()).zip(grams(folded, kind.long())) {
                // Overwritten by the next one if there are no capitals in it: whether there are is hard to foresee.
                hashes[at] = mix(raw, MIX_EXACT);
                at += usize::from(raw != folded);
            }
            hashes.truncate(at);
        }
        if kind == FilterKind::Kept {
            add_signed(raw, folded, &signs[start..end], hashes);
        }
        start = end + 1;
    }
}

/// The first parts, so many.
fn first_columns(parts: usize) -> Columns {
    let mut all = Columns(vec![u8::MAX; parts.div_ceil(8)]);
    if let (Some(last), 1..) = (all.0.last_mut(), parts % 8) {
        *last = (1 << (parts % 8)) - 1;
    }
    all
}

/// Adds the hashes of the n-grams of a line that have signs in them, as they are and folded. `signs` says of each byte
/// whether it is one, and eight more bytes follow in the line.
fn add_signed(raw: &[u8], folded: &[u8], signs: &[u8], hashes: &mut Vec<u64>) {
    let [(short, few), (long, many)] = SIGNED;
    for (at, run) in signs.windows(short).enumerate() {
        let run: [u8; SIGNED[0].0] = run.try_into().expect("so long are they all");
        let count = (u32::from_le_bytes(run).wrapping_mul(0x0101_0101) >> 24) as u8;
        if count < few {
            continue;
        }
        let mut add = |length| {
            let gram = |line: &[u8]| eight(&line[at..at + 8]) & mask(length);
            let (raw, folded) = (gram(raw), gram(folded));
            hashes.push(mix(folded, MIX));
            if raw != folded {
                hashes.push(mix(raw, MIX_EXACT));
            }
        };
        add(short);
        if signs.get(at + short).is_some_and(|next| count + next >= many) {
            add(long);
        }
    }
}

fn is_sign(byte: u8) -> bool {
    byte.is_ascii_punctuation() && byte != b'_'
}

/// The n-grams of a line that eight more bytes follow, as numbers.
fn grams(line: &[u8], length: usize) -> impl Iterator<Item = u64> {
    let count = (line.len() - 7).saturating_sub(length);
    line.windows(8).take(count).map(move |eight_bytes| eight(eight_bytes) & mask(length))
}

/// Calls `seen` with each run of so many bytes, as a number, and where it is.
fn each_run(text: &str, length: usize, mut seen: impl FnMut(u64, usize)) {
    let mut bytes = text.as_bytes().to_vec();
    bytes.extend([0; 8]);
    for at in 0..(text.len() + 1).saturating_sub(length) {
        seen(eight(&bytes[at..at + 8]) & mask(length), at);
    }
}

/// Calls `seen` with each run that is in a set for its signs, as a number, and where it is: the longest first.
fn each_signed(text: &str, mut seen: impl FnMut(u64, (usize, usize))) {
    for (length, least) in SIGNED.into_iter().rev() {
        each_run(text, length, |gram, at| {
            let signs = text.as_bytes()[at..at + length].iter().filter(|byte| is_sign(**byte));
            if signs.count() >= usize::from(least) {
                seen(gram, (at, length));
            }
        });
    }
}

fn eight(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
}

const fn mask(length: usize) -> u64 {
    (1 << (8 * length)) - 1
}

/// Spreads what there is over the high bits.
const fn mix(bytes: u64, odd: u64) -> u64 {
    let once = bytes.wrapping_mul(odd);
    (once ^ (once >> 32)).wrapping_mul(odd)
}

/// Another hash of the same n-gram, for a second bit.
const fn again(hash: u64) -> u64 {
    hash.rotate_left(32)
}

/// A small set of these hashes. A byte for each bit is marked first: many times as often as a word is then made of 64.
fn bits_of<const BITS: usize>(hashes: &[u64]) -> Vec<u64> {
    let mut marks = [0_u8; BITS];
    for hash in hashes {
        marks[place(*hash, BITS)] = 1;
    }
    // The product has the eight lowest bits of eight bytes in its highest byte.
    let eight =
        |marks: &[u8; 8]| u64::from_le_bytes(*marks).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    let word = |marks: &[u8; 64]| {
        let (eights, _) = marks.as_chunks();
        eights.iter().rev().fold(0, |word, marks| word << 8 | eight(marks))
    };
    marks.as_chunks().0.iter().map(word).collect()
}

/// The bit of a hash in a set of so many bits.
fn place(hash: u64, bits: usize) -> usize {
    ((hash >> 32) as usize * bits) >> 32
}
