//! Makes one segment of several.

use crate::damaged::Damaged;
use crate::list::{Lists, Posting};
use crate::segment::{Segment, SegmentWriter, bits_for};
use crate::{BLOB_START, Word};

/// A stored segment.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// The number of its first chunk.
    pub first: i32,
    /// As [`Segment::lengths`].
    pub lengths: &'a [u8],
    /// The entries of its rows, ascending by bucket.
    pub rows: Vec<&'a [u8]>,
}

impl<'a> From<&'a Segment> for Part<'a> {
    fn from(segment: &'a Segment) -> Self {
        let rows = segment.rows.iter().map(|row| &*row.entries).collect();
        Self { first: segment.first, lengths: &segment.lengths, rows }
    }
}

/// The lists of a part that are not merged yet.
struct Cursor<'a> {
    /// What to add to the numbers of its chunks.
    shift: u32,
    rows: std::vec::IntoIter<&'a [u8]>,
    lists: Option<Lists<'a>>,
    word: Option<Word>,
    postings: Vec<Posting>,
}

impl Cursor<'_> {
    fn advance(&mut self) -> Result<(), Damaged> {
        loop {
            if let Some(lists) = &mut self.lists
                && let Some(word) = lists.next_list(&mut self.postings)?
            {
                if self.word.is_some_and(|before| before >= word) {
                    return Err(Damaged);
                }
                self.word = Some(word);
                return Ok(());
            }
            match self.rows.next() {
                Some(row) => self.lists = Some(Lists::new(row)?),
                None => {
                    self.word = None;
                    return Ok(());
                }
            }
        }
    }
}

/// Merges segments, without the postings and lengths of chunks that are not `alive` (by their numbers). Which chunks begin a
/// blob is kept of all. If two parts have a posting of one word and chunk, the larger code counts.
///
/// # Errors
/// A row is damaged.
pub fn merge(parts: Vec<Part<'_>>, alive: &dyn Fn(i32) -> bool) -> Result<Segment, Damaged> {
    let first = parts.iter().map(|part| part.first).min().unwrap_or_default();
    let bytes = parts.iter().flat_map(|part| &part.rows).map(|row| row.len()).sum();
    let mut lengths = Vec::new();
    for part in &parts {
        let begin = (part.first - first) as usize;
        lengths.resize(lengths.len().max(begin + part.lengths.len()), 0);
        for (n, (to, from)) in (part.first..).zip(lengths[begin..].iter_mut().zip(part.lengths)) {
            *to |= if alive(n) { *from } else { from & BLOB_START };
        }
    }
    let mut cursors = Vec::with_capacity(parts.len());
    for part in parts {
        let mut cursor = Cursor {
            shift: (part.first - first) as u32,
            rows: part.rows.into_iter(),
            lists: None,
            word: None,
            postings: Vec::new(),
        };
        cursor.advance()?;
        cursors.push(cursor);
    }
    let mut writer = SegmentWriter::new(first, lengths, bits_for(bytes));
    let mut merged: Vec<Posting> = Vec::new();
    while let Some(word) = cursors.iter().filter_map(|cursor| cursor.word).min() {
        merged.clear();
        let mut sources = 0;
        for cursor in cursors.iter_mut().filter(|cursor| cursor.word == Some(word)) {
            sources += 1;
            for posting in &cursor.postings {
                let chunk = posting.chunk.checked_add(cursor.shift).ok_or(Damaged)?;
                let n = i32::try_from(i64::from(first) + i64::from(chunk)).map_err(|_| Damaged)?;
                if alive(n) {
                    merged.push(Posting { chunk, code: posting.code });
                }
            }
            cursor.advance()?;
        }
        if sources > 1 && !merged.is_sorted_by(|one, next| one.chunk < next.chunk) {
            merged.sort_unstable_by_key(|posting| (posting.chunk, u8::MAX - posting.code));
            merged.dedup_by_key(|posting| posting.chunk);
        }
        writer.add(word, &merged);
    }
    Ok(writer.finish())
}
