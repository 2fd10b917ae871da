//! Comparisons of two revisions: which files changed, and in which lines a query matches.
//!
//! | step | where |
//! |---|---|
//! | the repositories and commits that are compared | [`revisions`] |
//! | both texts of a changed file, and their differences | [`file`] |
//! | the lines of both texts in the order of a unified diff | [`script`] |
//! | the changed lines that match, and whether a file does | [`matching`] |
//! | one batch of files after the other, until the end, the limit or the deadline | [`batches`] |
//! | searches for changes (`diff:`) | [`find`] |
//! | all changes, for those who read them | [`compare`] |

mod batches;
mod compare;
mod error;
mod file;
mod find;
mod matching;
mod revisions;
mod script;

pub use batches::MAX_BYTES;
pub use compare::{Compared, Comparing};
pub use error::CompareError;
pub use file::{ChangedFile, Contents, Side, Status, Texts};
pub use revisions::Range;
pub use script::{Block, DiffLine, Script};
