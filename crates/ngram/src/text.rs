//! Hashes the n-grams of a text.
//!
//! N-grams never cross a line break, since literals of queries do not.

use crate::fold::fold_beyond_ascii;
use crate::hash::{
    MIX, MIX_EXACT, MIX_SHORT, PARTLY_ASCII_BYTES, PUNCTUATED, hashes_of_partly_ascii,
    is_partly_ascii, is_punctuation, mix, ngram_at, second_hash,
};
use crate::kind::FilterKind;

/// Replaces `hashes` by the hashes that a text sets in a filter; some occur several times. This function hashes in
/// short loops; callers set the bits in their own loops.
pub(crate) fn hashes_of(kind: FilterKind, text: &str, hashes: &mut Vec<u64>) {
    hashes.clear();
    let text = &*fold_beyond_ascii(text);
    // Pad, so that eight bytes can be read at every position.
    let mut bytes = text.as_bytes().to_vec();
    bytes.extend([0; 8]);
    let folded = bytes.to_ascii_lowercase();
    let punctuation: Vec<u8> = match kind {
        // Most n-grams have no punctuation. This loop finds it for many bytes at once.
        FilterKind::Chunk => bytes.iter().map(|byte| u8::from(is_punctuation(*byte))).collect(),
        _ => Vec::new(),
    };
    let is_ascii = text.is_ascii();
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]) {
        let (raw, folded) = (&bytes[start..end + 8], &folded[start..end + 8]);
        if let Some(short) = kind.short_ngram_bytes() {
            hashes.extend(ngrams(folded, short).map(|ngram| mix(ngram, MIX_SHORT)));
        }
        let long = ngrams(folded, kind.ngram_bytes()).map(|ngram| mix(ngram, MIX));
        if kind == FilterKind::Chunk {
            hashes.extend(long.flat_map(|hash| [hash, second_hash(hash)]));
        } else {
            hashes.extend(long);
        }
        if raw != folded {
            let mut at = hashes.len();
            hashes.resize(at + raw.len(), 0);
            for (raw, folded) in
                ngrams(raw, kind.ngram_bytes()).zip(ngrams(folded, kind.ngram_bytes()))
            {
                // Always written, and overwritten by the next hash if the n-gram has no capitals: a
                // branch here would be mispredicted often.
                hashes[at] = mix(raw, MIX_EXACT);
                at += usize::from(raw != folded);
            }
            hashes.truncate(at);
        }
        if kind == FilterKind::Chunk {
            add_punctuated(raw, folded, &punctuation[start..end], hashes);
        }
        if !is_ascii {
            let runs = folded.windows(8).take((end - start + 1).saturating_sub(PARTLY_ASCII_BYTES));
            let mixed = runs.filter(|eight| is_partly_ascii(&eight[..PARTLY_ASCII_BYTES]));
            let ngrams = mixed.map(|eight| ngram_at(eight, PARTLY_ASCII_BYTES));
            hashes.extend(ngrams.flat_map(hashes_of_partly_ascii));
        }
        start = end + 1;
    }
}

/// Adds the hashes of a line's n-grams with punctuation, folded and (if they have capitals) unfolded. `punctuation`
/// holds 1 for each byte that is punctuation and 0 for others. `raw` and `folded` have eight extra bytes at their ends.
fn add_punctuated(raw: &[u8], folded: &[u8], punctuation: &[u8], hashes: &mut Vec<u64>) {
    const SHORT: usize = PUNCTUATED[0].0;
    let [(_, few), (long, many)] = PUNCTUATED;
    for (at, run) in punctuation.windows(SHORT).enumerate() {
        let run: [u8; SHORT] = run.try_into().expect("windows have one length");
        let count = (u32::from_le_bytes(run).wrapping_mul(0x0101_0101) >> 24) as u8;
        if count < few {
            continue;
        }
        let mut add = |length| {
            let ngram = |line: &[u8]| ngram_at(&line[at..at + 8], length);
            let (raw, folded) = (ngram(raw), ngram(folded));
            hashes.push(mix(folded, MIX));
            if raw != folded {
                hashes.push(mix(raw, MIX_EXACT));
            }
        };
        add(SHORT);
        if punctuation.get(at + SHORT).is_some_and(|next| count + next >= many) {
            add(long);
        }
    }
}

/// Returns the n-grams of a line as numbers; `line` has eight extra bytes at its end.
fn ngrams(line: &[u8], length: usize) -> impl Iterator<Item = u64> {
    let count = (line.len() - 7).saturating_sub(length);
    line.windows(8).take(count).map(move |eight| ngram_at(eight, length))
}
