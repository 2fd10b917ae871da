//! The symbols of one blob.

use crate::BlobId;

/// The symbols that a blob defines. All lists have an element for each symbol, in the order of `starts`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SymbolRow {
    /// The blob.
    pub blob: BlobId,
    /// The names, with a line feed between two.
    pub names: String,
    /// The bytes of their kinds.
    pub kinds: Vec<u8>,
    /// Where each name begins in the blob's text, in bytes.
    pub starts: Vec<i32>,
    /// Where each definition ends, in bytes.
    pub ends: Vec<i32>,
    /// The line of each name, from 1.
    pub lines: Vec<i32>,
    /// The index of each symbol's containing symbol; -1 for none.
    pub parents: Vec<i16>,
}

impl SymbolRow {
    /// Returns whether these may be symbols of a text: the names occur at their places, and the lists fit together.
    pub(crate) fn fits(&self, text: &str) -> bool {
        let count = self.starts.len();
        let lists = [self.kinds.len(), self.ends.len(), self.lines.len(), self.parents.len()];
        let names = if self.names.is_empty() { 0 } else { self.names.split('\n').count() };
        if lists.iter().any(|len| *len != count) || names != count {
            return false;
        }
        let (mut line, mut counted) = (1, 0);
        self.names().enumerate().all(|(at, name)| {
            let (start, end) = (self.starts[at] as usize, self.ends[at] as usize);
            let stands = text.get(start..).is_some_and(|rest| rest.starts_with(name));
            if !stands
                || (at > 0 && start <= counted)
                || end < start + name.len()
                || end > text.len()
            {
                return false;
            }
            line += text[counted..start].matches('\n').count();
            counted = start;
            let parent = self.parents[at];
            self.lines[at] as usize == line && parent >= -1 && i64::from(parent) < count as i64
        })
    }

    /// Returns the names, one for each symbol.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        // An empty text would split into one empty name.
        self.names.split('\n').take(self.starts.len())
    }
}
