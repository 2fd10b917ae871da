//! Cuts a text into chunks.
//!
//! A chunk is a run of whole lines. No line is ever cut, so a match within a line lies within one chunk. A line that is
//! longer than a chunk is a chunk of its own, however long.

use memchr::{memchr, memchr_iter, memrchr};
use store::ChunkRow;

/// Maximum bytes in a chunk of several lines. Smaller chunks have fewer n-grams, so searches read fewer in vain; larger
/// chunks take less room for their filters.
const CHUNK_BYTES: usize = 4096;

/// Cuts a text into chunks. Returns at least one chunk, and the number of lines.
pub(crate) fn cut(text: &str) -> (Vec<ChunkRow>, i32) {
    let bytes = text.as_bytes();
    let mut chunks = Vec::with_capacity(bytes.len() / (CHUNK_BYTES / 2) + 1);
    let (mut start, mut line) = (0, 1);
    while start < bytes.len() {
        let end = chunk_end(bytes, start);
        chunks.push(ChunkRow { line, start, end });
        line += memchr_iter(b'\n', &bytes[start..end]).count() as i32;
        start = end;
    }
    if chunks.is_empty() {
        chunks.push(ChunkRow { line: 1, start: 0, end: 0 });
    }
    let unfinished = bytes.last().is_some_and(|last| *last != b'\n');
    (chunks, line - 1 + i32::from(unfinished))
}

fn chunk_end(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start..];
    if rest.len() <= CHUNK_BYTES {
        return bytes.len();
    }
    let line_end = memrchr(b'\n', &rest[..CHUNK_BYTES])
        .or_else(|| memchr(b'\n', &rest[CHUNK_BYTES..]).map(|i| CHUNK_BYTES + i));
    line_end.map_or(bytes.len(), |i| start + i + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the sizes of the chunks, the numbers of their first lines, and the number of lines.
    fn check(text: &str, sizes: &[usize], firsts: &[i32], lines: i32) {
        let (chunks, counted) = cut(text);
        assert_eq!(chunks.iter().map(|c| c.end - c.start).collect::<Vec<_>>(), sizes);
        assert_eq!(chunks.iter().map(|c| c.line).collect::<Vec<_>>(), firsts);
        assert_eq!(counted, lines);
        let whole: String = chunks.iter().map(|c| &text[c.start..c.end]).collect();
        assert_eq!(whole, text);
        for chunk in &chunks[..chunks.len() - 1] {
            assert!(text[..chunk.end].ends_with('\n'));
        }
    }

    #[test]
    fn short_texts_are_one_chunk() {
        check("", &[0], &[1], 0);
        check("a", &[1], &[1], 1);
        check("a\n", &[2], &[1], 1);
        check("a\n\nb", &[4], &[1], 3);
    }

    #[test]
    fn chunks_end_at_line_ends() {
        let line = "x".repeat(99) + "\n";
        check(&line.repeat(100), &[4000, 4000, 2000], &[1, 41, 81], 100);
        let exact = "y".repeat(4095) + "\n";
        check(&exact.repeat(2), &[4096, 4096], &[1, 2], 2);
    }

    #[test]
    fn a_long_line_is_never_cut() {
        let long = "z".repeat(900_000);
        check(&long, &[900_000], &[1], 1);
        check(&format!("a\n{long}\nb\n"), &[2, 900_001, 2], &[1, 2, 3], 3);
        check(&format!("{long}\n{long}"), &[900_001, 900_000], &[1, 2], 2);
    }
}
