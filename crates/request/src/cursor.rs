//! Cursors: the position where an answer ended, as a short text for a URL or an agent's call.
//!
//! A cursor is a version digit, then bytes in URL-safe base64: numbers, seven bits a byte with the
//! lowest first, and four bytes of checksum. First come the numbers that a client of the engine
//! adds, a fixed count for each client; then those of the engine's own position, in any count. The
//! text is opaque to its readers.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use search::Resume;

/// The version of the format. Cursors of another version are refused.
const VERSION: char = '1';

/// Bytes of the checksum.
const CHECKSUM: usize = 4;

/// Most numbers in a cursor.
const MAX_NUMBERS: usize = 32;

/// Longest cursor, in bytes: one with so many numbers has 433.
pub const MAX_CURSOR: usize = 512;

/// The error for a text that is not a valid cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidCursor;

/// Encodes a position, with further numbers that a client needs to continue.
pub fn encode<const N: usize>(more: [u64; N], resume: &Resume) -> String {
    write(more.into_iter().chain(resume.numbers()))
}

/// Decodes the position of a cursor, and the client's numbers.
///
/// # Errors
/// [`InvalidCursor`] if [`encode`] did not write this text.
pub fn decode<const N: usize>(text: &str) -> Result<([u64; N], Resume), InvalidCursor> {
    let numbers = read(text).ok_or(InvalidCursor)?;
    let (more, rest) = numbers.split_first_chunk().ok_or(InvalidCursor)?;
    Ok((*more, Resume::from_numbers(rest).ok_or(InvalidCursor)?))
}

fn write(numbers: impl IntoIterator<Item = u64>) -> String {
    let mut bytes = Vec::new();
    for mut number in numbers {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }
    bytes.extend(checksum(&bytes));
    let mut text = VERSION.to_string();
    URL_SAFE_NO_PAD.encode_string(&bytes, &mut text);
    text
}

fn read(text: &str) -> Option<Vec<u64>> {
    if text.len() > MAX_CURSOR {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(text.strip_prefix(VERSION)?).ok()?;
    let (bytes, sum) = bytes.split_last_chunk::<CHECKSUM>()?;
    if checksum(bytes) != *sum {
        return None;
    }
    let (mut numbers, mut number, mut shift) = (Vec::new(), 0_u64, 0);
    for byte in bytes {
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit.
        if shift > 63 || (shift == 63 && bits > 1) {
            return None;
        }
        number |= bits << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            numbers.push(number);
            (number, shift) = (0, 0);
        }
    }
    (shift == 0 && numbers.len() <= MAX_NUMBERS).then_some(numbers)
}

/// Returns the FNV-1a hash of 32 bits (<https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>). It catches typing
/// errors. It need not stop attackers, who may request any position anyway.
fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    let step = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    bytes.iter().fold(0x811c_9dc5, step).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resume() -> Resume {
        Resume::from_numbers(&[7, u64::MAX, 1000]).unwrap()
    }

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        for more in [[0, 0], [1, 50], [u64::MAX, 1 << 63]] {
            let text = encode(more, &resume());
            assert_eq!(decode(&text), Ok((more, resume())), "{text}");
            assert!(text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)), "{text}");
        }
        assert_eq!(encode([0, 0], &resume()).len(), 27);
    }

    #[test]
    fn every_number_comes_back() {
        let numbers: Vec<u64> = (0..64).flat_map(|bit| [1 << bit, (1 << bit) - 1]).collect();
        for some in numbers.chunks(MAX_NUMBERS) {
            assert_eq!(read(&write(some.iter().copied())).as_deref(), Some(some));
        }
        assert_eq!(read(&write([])), Some(Vec::new()));
        assert_eq!(read(&write(vec![0; MAX_NUMBERS + 1])), None);
    }

    #[test]
    fn what_was_mangled_is_refused() {
        let text = encode([1, 50], &resume());
        let wrong = |text: &str| assert_eq!(decode::<2>(text), Err(InvalidCursor), "{text}");
        for text in ["", "1", "x", "1-2-3-4", "99-0-0-0", "1AAAA", "1=", "not a cursor", "1éé"] {
            wrong(text);
        }
        for at in 0..text.len() {
            wrong(&text[..at]);
            wrong(&format!("{}{}", &text[..at], &text[at + 1..]));
            for other in ["A", "z", "-", "_", "0", " "] {
                let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
                if changed != text {
                    wrong(&changed);
                }
            }
        }
        wrong(&format!("{text}A"));
        wrong(&format!(" {text}"));
        // Too few numbers, too many, and one that is too large.
        wrong(&write([1, 50, 7, 0]));
        wrong(&write([1, 50, 7, 0, 0, 0]));
        wrong(&write([1, 50, 7, 0, 0, 0, 0]));
        wrong(&write([1, 50, 7, 0, 0, 1 << 20, 5, 6]));
    }
}
