//! The costs of an alignment. Their unit is an eighth of a wrong letter.

use crate::fuzzy::query::QueryPart;

/// A letter that is substituted, or one too many.
pub(super) const ERROR: i16 = 8;
/// Two letters in the wrong order.
pub(super) const SWAPPED: i16 = 5;
/// A letter twice instead of once.
pub(super) const DOUBLED: i16 = 4;
/// A separator instead of another: `a-b` for `a_b`.
pub(super) const SEPARATOR: i16 = 3;

/// A gap that ends at the beginning of a word.
pub(super) const GAP_TO_WORD: i16 = 1;
/// A gap that ends within a word.
pub(super) const GAP_INSIDE: i16 = 5;
/// A gap of one letter.
pub(super) const LEFT_OUT: i16 = 3;
/// A gap up to the extension: who types that has mostly typed all of the name.
pub(super) const GAP_TO_EXTENSION: i16 = 4;
/// A gap costs one more for each word that begins in it, but for no more than this.
pub(super) const MAX_GAP_WORDS: i16 = 3;

/// To begin at a folder, not at the file's name.
pub(super) const START_FOLDER: i16 = 2;
/// To begin at another word or at a separator.
pub(super) const START: i16 = 3;
/// To begin within a word.
pub(super) const START_INSIDE: i16 = 6;
/// The query is the first letters of all words of the name, and nothing else.
pub(super) const INITIALS: i16 = 1;
/// All of it matches in folders.
pub(super) const IN_FOLDERS: i16 = 8;
/// Besides errors, what else a near path may cost.
const AROUND: i16 = 8;

/// No alignment. A cost of one is far below this: at most eight for each of 256 letters and little more. Twice this
/// and all words of the longest path fit into an `i16`, so that nothing overflows.
pub(super) const NEVER: i16 = i16::MAX / 4;
/// Less than any cost.
pub(super) const NOTHING: i16 = -1;

impl QueryPart {
    /// A path that costs more than this is near only if it holds all letters in order.
    pub(crate) fn near(&self) -> u16 {
        self.errors() as u16 * ERROR.unsigned_abs() + AROUND.unsigned_abs()
    }
}
