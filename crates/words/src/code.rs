//! Codes of a few bits for numbers of words.

/// The bit of a length's byte that says that the chunk begins a blob.
pub const BLOB_START: u8 = 0x80;

/// Number of codes of frequencies.
pub(crate) const FREQUENCIES: u8 = 8;

/// The least counts of the codes from the fifth on.
const LEAST: [u32; 4] = [5, 7, 10, 16];

/// Returns the code, below 8, for how often a chunk has a word: at least once.
pub fn frequency_code(count: u32) -> u8 {
    match count {
        0..=4 => count.saturating_sub(1) as u8,
        _ => 3 + LEAST.iter().filter(|least| count >= **least).count() as u8,
    }
}

/// Returns about how often a chunk has a word, from the code.
pub fn frequency(code: u8) -> f32 {
    [1.0, 2.0, 3.0, 4.0, 5.4, 8.0, 12.0, 20.0][usize::from(code.min(FREQUENCIES - 1))]
}

/// Returns the code, below 128, for the number of words of a chunk: itself up to 15, then eight steps for each doubling.
pub fn length_code(count: u32) -> u8 {
    match count {
        0..=15 => count as u8,
        _ => {
            let exponent = count.ilog2();
            let step = (count >> (exponent - 3)) & 7;
            (8 * (exponent - 2) + step).min(127) as u8
        }
    }
}

/// Returns about how many words a chunk has, from the code; [`BLOB_START`] is ignored. 0: it has none, or is not there.
pub fn length(code: u8) -> u32 {
    let code = u32::from(code & !BLOB_START);
    match code {
        0..=15 => code,
        _ => {
            let exponent = code / 8 + 2;
            // The middle of the step.
            ((8 + code % 8) << (exponent - 3)) + (1 << (exponent - 3)) / 2
        }
    }
}
