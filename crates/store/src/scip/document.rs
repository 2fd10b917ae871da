//! A document of a SCIP index: the symbols that a text mentions, and where.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use super::pack::{self, Occurrence, Relation};

/// The kind of a symbol without a stated kind.
pub const NO_KIND: u8 = 255;

/// The SCIP data of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScipDocument {
    /// The symbols, each once, with a line feed between two.
    pub names: String,
    /// The byte of each symbol's kind; [`NO_KIND`] for none.
    pub kinds: Vec<u8>,
    /// The relations between symbols.
    pub relations: Vec<Relation>,
    /// The places of the symbols, by start.
    pub occurrences: Vec<Occurrence>,
}

impl ScipDocument {
    /// Returns the symbols by index.
    pub fn symbols(&self) -> Vec<&str> {
        // An empty text would split into one empty symbol.
        self.names.split('\n').take(self.kinds.len()).collect()
    }

    /// Returns the index of a symbol.
    pub fn find(&self, symbol: &str) -> Option<u32> {
        let at = self.names.split('\n').take(self.kinds.len()).position(|name| name == symbol)?;
        u32::try_from(at).ok()
    }

    /// Returns whether it may describe a text: its lists fit together, and its places lie in the text.
    pub fn fits(&self, text: &str) -> bool {
        let count = if self.names.is_empty() { 0 } else { self.names.split('\n').count() };
        let known = |symbol: u32| (symbol as usize) < count;
        let stands = |one: &Occurrence| {
            let range = one.start as usize..one.end() as usize;
            let around = one.enclosing.as_ref().map(|all| all.start as usize..all.end as usize);
            known(one.symbol)
                && text.get(range).is_some()
                && around.is_none_or(|around| text.get(around).is_some())
        };
        self.kinds.len() == count
            && self.relations.iter().all(|one| known(one.from) && known(one.to))
            && self.occurrences.is_sorted_by_key(|one| one.start)
            && self.occurrences.iter().all(stands)
    }

    /// Returns the hashes of the symbols that other documents may mention, each once, ascending.
    pub(crate) fn hashes(&self) -> Vec<i64> {
        let shared = self.symbols().into_iter().filter(|symbol| !is_local(symbol));
        let mut hashes: Vec<i64> = shared.map(hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes
    }

    pub(crate) fn pack(&self) -> Vec<u8> {
        pack::pack(&self.kinds, &self.relations, &self.occurrences)
    }

    pub(crate) fn unpack(names: String, bytes: &[u8]) -> Option<Self> {
        let (kinds, relations, occurrences) = pack::unpack(bytes)?;
        Some(Self { names, kinds, relations, occurrences })
    }
}

/// Returns whether a symbol has meaning only in its own document.
pub fn is_local(symbol: &str) -> bool {
    symbol.starts_with("local ")
}

/// Returns the hash that finds the documents that mention a symbol. It is stored, so it must not change.
pub(super) fn hash(symbol: &str) -> i64 {
    let mut hasher = SipHasher13::new();
    hasher.write(symbol.as_bytes());
    hasher.finish() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(start: u32, len: u32, symbol: u32) -> ScipDocument {
        let one = Occurrence { start, len, symbol, roles: 1, enclosing: None };
        ScipDocument {
            names: "a b c d e#\nlocal 1".to_owned(),
            kinds: vec![0, NO_KIND],
            relations: Vec::new(),
            occurrences: vec![one],
        }
    }

    #[test]
    fn a_document_fits_a_text_in_which_its_places_lie() {
        let text = "né x";
        for (start, len, symbol, fits) in
            [(0, 3, 0, true), (0, 2, 0, false), (4, 1, 1, true), (4, 2, 1, false), (4, 1, 2, false)]
        {
            assert_eq!(document(start, len, symbol).fits(text), fits, "{start} {len} {symbol}");
        }
        let mut unlike = document(0, 1, 0);
        unlike.kinds.pop();
        assert!(!unlike.fits(text));
        assert!(ScipDocument::default().fits(""));
    }

    #[test]
    fn a_symbol_is_found_by_a_hash_that_stays() {
        let document = document(0, 1, 0);
        assert_eq!(document.hashes(), [hash("a b c d e#")]);
        assert_eq!(hash(""), -3_315_872_660_926_475_476, "what is stored would be lost");
        assert_eq!((document.find("local 1"), document.find("local")), (Some(1), None));
        assert!(ScipDocument::default().symbols().is_empty());
    }
}
