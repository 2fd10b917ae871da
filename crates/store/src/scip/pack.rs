//! Packs a document of a SCIP index into bytes: places as differences, in numbers of variable length (LEB128).
//!
//! ```text
//! 1, the form
//! number of symbols, and a byte for the kind of each
//! number of relations, and for each: from, to (by index), flags
//! for each occurrence, by start: start - start before, length, symbol (by index), roles;
//!     if roles has the bit 0x80: start - start of what encloses it, end of that - end of the occurrence
//! ```

use std::ops::Range;

/// Version of the format.
const FORM: u8 = 1;

/// A flag in `roles`: a range encloses the occurrence.
const ENCLOSED: u8 = 0x80;

/// A place of a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// Where it begins in the text, in bytes.
    pub start: u32,
    /// Its length in bytes; 0 for a symbol that stands for a whole file.
    pub len: u32,
    /// The index of its symbol.
    pub symbol: u32,
    /// SCIP's roles, as bits below 0x80.
    pub roles: u8,
    /// The definition that encloses its name, in bytes of the text.
    pub enclosing: Option<Range<u32>>,
}

impl Occurrence {
    /// SCIP's role of a definition.
    pub const DEFINITION: u8 = 1;
    /// SCIP's role of an import.
    pub const IMPORT: u8 = 2;

    /// Returns whether the symbol is defined here.
    pub fn defines(&self) -> bool {
        self.roles & Self::DEFINITION != 0
    }

    /// Returns its end in the text, in bytes.
    pub fn end(&self) -> u32 {
        self.start + self.len
    }
}

/// A relationship between two symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Index of the symbol with the relation.
    pub from: u32,
    /// Index of the related symbol.
    pub to: u32,
    /// The flags below.
    pub flags: u8,
}

impl Relation {
    /// References to one are references to the other.
    pub const REFERENCE: u8 = 1;
    /// The first implements the other.
    pub const IMPLEMENTATION: u8 = 2;
    /// The first is defined where the other is.
    pub const DEFINITION: u8 = 4;
}

/// The packed part of a document.
pub(super) type Unpacked = (Vec<u8>, Vec<Relation>, Vec<Occurrence>);

pub(super) fn pack(kinds: &[u8], relations: &[Relation], occurrences: &[Occurrence]) -> Vec<u8> {
    let mut bytes = vec![FORM];
    number(&mut bytes, kinds.len() as u32);
    bytes.extend_from_slice(kinds);
    number(&mut bytes, relations.len() as u32);
    for relation in relations {
        number(&mut bytes, relation.from);
        number(&mut bytes, relation.to);
        bytes.push(relation.flags);
    }
    let mut before = 0;
    for one in occurrences {
        number(&mut bytes, one.start - before);
        number(&mut bytes, one.len);
        number(&mut bytes, one.symbol);
        before = one.start;
        match &one.enclosing {
            None => bytes.push(one.roles & !ENCLOSED),
            Some(range) => {
                bytes.push(one.roles | ENCLOSED);
                number(&mut bytes, one.start - range.start);
                number(&mut bytes, range.end - one.end());
            }
        }
    }
    bytes
}

/// Reads packed bytes; none if they are invalid.
pub(super) fn unpack(bytes: &[u8]) -> Option<Unpacked> {
    let mut rest = bytes;
    if byte(&mut rest)? != FORM {
        return None;
    }
    let count = take(&mut rest)? as usize;
    let (kinds, after) = rest.split_at_checked(count)?;
    rest = after;
    let mut relations = Vec::new();
    for _ in 0..take(&mut rest)? {
        let (from, to) = (take(&mut rest)?, take(&mut rest)?);
        relations.push(Relation { from, to, flags: byte(&mut rest)? });
    }
    let (mut occurrences, mut before) = (Vec::new(), 0_u32);
    while !rest.is_empty() {
        let start = before.checked_add(take(&mut rest)?)?;
        let (len, symbol, roles) = (take(&mut rest)?, take(&mut rest)?, byte(&mut rest)?);
        let end = start.checked_add(len)?;
        let enclosing = if roles & ENCLOSED == 0 {
            None
        } else {
            Some(start.checked_sub(take(&mut rest)?)?..end.checked_add(take(&mut rest)?)?)
        };
        occurrences.push(Occurrence { start, len, symbol, roles: roles & !ENCLOSED, enclosing });
        before = start;
    }
    Some((kinds.to_vec(), relations, occurrences))
}

fn number(bytes: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn byte(rest: &mut &[u8]) -> Option<u8> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    Some(*first)
}

fn take(rest: &mut &[u8]) -> Option<u32> {
    let mut value = 0_u64;
    for shift in (0..35).step_by(7) {
        let next = byte(rest)?;
        value |= u64::from(next & 0x7f) << shift;
        if next < 0x80 {
            return u32::try_from(value).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed() -> (Vec<u8>, Unpacked) {
        let occurrence = |start, len, symbol, roles, enclosing| Occurrence {
            start,
            len,
            symbol,
            roles,
            enclosing,
        };
        let occurrences = vec![
            occurrence(0, 0, 0, 1, None),
            occurrence(7, 130, 300, 1, Some(0..70_000)),
            occurrence(7, 130, 1, 0x7f, Some(7..137)),
            occurrence(2_000_000, 3, 2, 2, None),
        ];
        let relations = vec![Relation { from: 1, to: 200, flags: 3 }];
        let kinds = vec![255, 0, 8];
        (pack(&kinds, &relations, &occurrences), (kinds, relations, occurrences))
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let (bytes, all) = packed();
        assert_eq!(unpack(&bytes), Some(all));
        assert_eq!(unpack(&pack(&[], &[], &[])), Some((vec![], vec![], vec![])));
    }

    #[test]
    fn damaged_bytes_are_no_document() {
        let (bytes, all) = packed();
        assert_eq!(unpack(&[]), None);
        assert_eq!(unpack(&[9, 0, 0]), None);
        assert_eq!(unpack(&[1, 0xff, 0xff, 0xff, 0xff, 0x7f]), None);
        for cut in 1..bytes.len() {
            // A cut between two occurrences loses some, and no byte panics.
            let found = unpack(&bytes[..cut]);
            assert!(found.is_none_or(|found| found.2.len() < all.2.len()), "{cut}");
        }
        for at in 0..bytes.len() {
            for value in [0, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                let _ = unpack(&damaged);
            }
        }
    }
}
