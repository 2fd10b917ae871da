//! The costs of an alignment, in eighths of a wrong letter.

use crate::query::QueryPart;

/// A substituted or an extra letter.
pub(super) const ERROR: i16 = 8;
/// Two letters in the wrong order.
pub(super) const SWAPPED: i16 = 5;
/// A letter typed twice instead of once.
pub(super) const DOUBLED: i16 = 4;
/// A separator instead of another: `a-b` for `a_b`.
pub(super) const SEPARATOR: i16 = 3;

/// A gap that ends at the beginning of a word.
pub(super) const GAP_TO_WORD: i16 = 1;
/// A gap that ends inside a word.
pub(super) const GAP_INSIDE: i16 = 5;
/// A gap of one letter.
pub(super) const LEFT_OUT: i16 = 3;
/// A gap up to the extension. Users who type the extension have mostly typed the whole name.
pub(super) const GAP_TO_EXTENSION: i16 = 4;
/// Maximum number of words that add to the cost of a gap: one each, for words that begin in it.
pub(super) const MAX_GAP_WORDS: i16 = 3;

/// An alignment that begins at a folder, not at the file's name.
pub(super) const START_FOLDER: i16 = 2;
/// An alignment that begins at another word or at a separator.
pub(super) const START: i16 = 3;
/// An alignment that begins inside a word.
pub(super) const START_INSIDE: i16 = 6;
/// A query of just the first letters of all words of the name.
pub(super) const INITIALS: i16 = 1;
/// An alignment that lies entirely in folders.
pub(super) const IN_FOLDERS: i16 = 8;
/// Maximum cost of a near path besides its errors.
const AROUND: i16 = 8;

/// The cost without an alignment. A real cost is far below this: at most eight for each of 256 letters, and little
/// more. Twice this and all words of the longest path fit into an `i16`, so that nothing overflows.
pub(super) const NEVER: i16 = i16::MAX / 4;
/// A bound below any cost.
pub(super) const NOTHING: i16 = -1;

impl QueryPart {
    /// Returns the greatest cost of a near path that does not contain all letters in order.
    pub(crate) fn near(&self) -> u16 {
        self.errors() as u16 * ERROR.unsigned_abs() + AROUND.unsigned_abs()
    }
}
