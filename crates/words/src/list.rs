//! The bytes of a row: sorted words, each with its list of postings.
//!
//! ```text
//! 6 bits   order of the Rice code of differences of words
//! 6 bits   bits of a chunk's number
//! gamma    number of words
//! words, ascending, each:
//!     40 bits for the first one; else Rice: the difference to the one before, - 1
//!     gamma    number of postings
//!     gamma    from 16 postings on: bits of their list, so that it can be skipped
//!     postings, ascending by chunk:
//!         the chunk's number, from the first one of the segment; of the first posting in the bits above, and if there are
//!         more, 4 bits: the order of the exponential Golomb code of the others' differences to the one before, - 1
//!         the frequency code in unary, of 7 without the 1
//! ```

use crate::bits::{BitReader, BitWriter, golomb_bits};
use crate::code::FREQUENCIES;
use crate::damaged::Damaged;
use crate::{WORD_BITS, Word};

/// Number of postings from which on a list can be skipped.
const SKIPPED: usize = 16;

/// Number of orders for the differences of chunks.
const ORDERS: u32 = 16;

/// A chunk that has a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Posting {
    /// The number of the chunk, minus that of the first chunk of the segment.
    pub chunk: u32,
    /// How often it has the word: see [`frequency`](crate::frequency).
    pub code: u8,
}

/// Writes a row.
pub(crate) struct RowWriter {
    bits: BitWriter,
    chunk_bits: u32,
    order: u32,
    last: Option<Word>,
}

impl RowWriter {
    /// Begins a row with the number of its words, the first and the last of them, and the greatest chunk number.
    pub(crate) fn new(count: u32, first: Word, last: Word, most: u32) -> Self {
        let mean = (last.0 - first.0) / u64::from(count.max(1));
        // The median of a geometric distribution is about 0.7 of its mean.
        let order = (mean * 7 / 10).max(1).ilog2();
        let chunk_bits = u32::BITS - most.leading_zeros();
        let mut bits = BitWriter::default();
        bits.bits(u64::from(order), 6);
        bits.bits(u64::from(chunk_bits), 6);
        bits.gamma(count);
        Self { bits, chunk_bits, order, last: None }
    }

    /// Appends the postings of the next word: at least one, ascending.
    pub(crate) fn add(&mut self, word: Word, postings: &[Posting]) {
        let Self { bits, chunk_bits, .. } = self;
        match self.last.replace(word) {
            None => bits.bits(word.0, u32::from(WORD_BITS)),
            Some(last) => bits.rice(word.0 - last.0 - 1, self.order),
        }
        bits.gamma(postings.len() as u32);
        let order = if postings.len() > 1 { best_order(postings) } else { (0, 0) };
        if postings.len() >= SKIPPED {
            let codes: u32 = postings.iter().map(|posting| frequency_bits(posting.code)).sum();
            bits.gamma(*chunk_bits + 4 + order.1 + codes);
        }
        let mut before = postings[0].chunk;
        bits.bits(u64::from(before), *chunk_bits);
        frequency(bits, postings[0].code);
        if postings.len() > 1 {
            bits.bits(u64::from(order.0), 4);
        }
        for posting in &postings[1..] {
            bits.golomb(posting.chunk - before - 1, order.0);
            frequency(bits, posting.code);
            before = posting.chunk;
        }
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.bits.finish()
    }
}

fn frequency(bits: &mut BitWriter, code: u8) {
    if code + 1 >= FREQUENCIES {
        bits.bits(0, frequency_bits(code));
    } else {
        bits.unary(u64::from(code));
    }
}

/// Returns the number of bits that [`frequency`] appends.
fn frequency_bits(code: u8) -> u32 {
    u32::from(code.min(FREQUENCIES - 2)) + 1
}

/// Returns the order by which the differences take the least room, and the bits that they take.
fn best_order(postings: &[Posting]) -> (u32, u32) {
    let cost = |order: u32| -> u32 {
        let gaps = postings.windows(2).map(|pair| pair[1].chunk - pair[0].chunk - 1);
        gaps.map(|gap| golomb_bits(gap, order)).sum()
    };
    let mut best = (0, cost(0));
    // The cost falls to the best order, and rises after it.
    for order in 1..ORDERS {
        let cost = cost(order);
        if cost >= best.1 {
            break;
        }
        best = (order, cost);
    }
    best
}

/// Reads the lists of a row, in order.
#[derive(Debug)]
pub struct Lists<'a> {
    bits: BitReader<'a>,
    chunk_bits: u32,
    order: u32,
    /// Number of words that are not read yet.
    left: u32,
    last: Option<Word>,
}

impl<'a> Lists<'a> {
    /// Begins to read a row.
    ///
    /// # Errors
    /// The row is damaged.
    pub fn new(row: &'a [u8]) -> Result<Self, Damaged> {
        let mut bits = BitReader::new(row);
        let (order, chunk_bits) = (bits.bits(6)? as u32, bits.bits(6)? as u32);
        let left = bits.gamma()?;
        // Each word takes two bits at least.
        if order > u32::from(WORD_BITS) || chunk_bits > u32::BITS || left as usize > row.len() * 8 {
            return Err(Damaged);
        }
        Ok(Self { bits, chunk_bits, order, left, last: None })
    }

    /// Reads the next word and its postings; `None` at the end.
    ///
    /// # Errors
    /// The row is damaged.
    pub fn next_list(&mut self, postings: &mut Vec<Posting>) -> Result<Option<Word>, Damaged> {
        postings.clear();
        let Some(word) = self.word()? else { return Ok(None) };
        self.list(&mut |posting| postings.push(posting))?;
        Ok(Some(word))
    }

    fn word(&mut self) -> Result<Option<Word>, Damaged> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        let word = match self.last {
            None => self.bits.bits(u32::from(WORD_BITS))?,
            Some(last) => last.0.checked_add(self.bits.rice(self.order)? + 1).ok_or(Damaged)?,
        };
        if word >> WORD_BITS > 0 {
            return Err(Damaged);
        }
        self.last = Some(Word(word));
        Ok(self.last)
    }

    /// Reads the number of postings, and if there is one, the place at which the list ends.
    fn head(&mut self) -> Result<(u32, Option<usize>), Damaged> {
        let count = self.bits.gamma()?;
        if (count as usize) < SKIPPED {
            return Ok((count, None));
        }
        let bits = self.bits.gamma()? as usize;
        Ok((count, Some(self.bits.place() + bits)))
    }

    fn list(&mut self, each: &mut dyn FnMut(Posting)) -> Result<(), Damaged> {
        let (count, end) = self.head()?;
        let mut chunk = self.bits.bits(self.chunk_bits)? as u32;
        each(Posting { chunk, code: self.frequency()? });
        if count > 1 {
            let order = self.bits.bits(4)? as u32;
            for _ in 1..count {
                let gap = self.bits.golomb(order)?;
                chunk = chunk.checked_add(gap).and_then(|c| c.checked_add(1)).ok_or(Damaged)?;
                each(Posting { chunk, code: self.frequency()? });
            }
        }
        if end.is_some_and(|end| end != self.bits.place()) { Err(Damaged) } else { Ok(()) }
    }

    fn skip(&mut self) -> Result<(), Damaged> {
        let begin = self.bits.clone();
        match self.head()? {
            (_, Some(end)) => self.bits.skip_to(end),
            (_, None) => {
                self.bits = begin;
                self.list(&mut |_| ())
            }
        }
    }

    fn frequency(&mut self) -> Result<u8, Damaged> {
        let last = u32::from(FREQUENCIES) - 1;
        let ahead = self.bits.clone().bits(last.min(self.bits.left() as u32))?;
        let zeros = ahead.trailing_zeros().min(last);
        self.bits.bits((zeros + 1).min(last))?;
        Ok(zeros as u8)
    }
}

/// Calls `each` for the postings of the `wanted` words (ascending) that a row has: with the index of the word, the number of
/// the chunk minus that of the first chunk of the segment, and the frequency code. The chunks of a word are ascending.
///
/// # Errors
/// The row is damaged. What was told before may be wrong.
pub fn decode(
    row: &[u8],
    wanted: &[Word],
    each: &mut dyn FnMut(usize, u32, u8),
) -> Result<(), Damaged> {
    let mut lists = Lists::new(row)?;
    let mut at = 0;
    while let Some(word) = lists.word()? {
        while wanted.get(at).is_some_and(|wanted| *wanted < word) {
            at += 1;
        }
        match wanted.get(at) {
            None => break,
            Some(wanted) if *wanted == word => {
                lists.list(&mut |posting| each(at, posting.chunk, posting.code))?;
            }
            Some(_) => lists.skip()?,
        }
    }
    Ok(())
}
