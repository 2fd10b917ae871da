//! Ingest: how what was read becomes the next state of the index.
//!
//! A [`Session`] holds the lock on writing. It compares what is on disk with the index ([`diff`]), has contents stored
//! and indexed ([`fill`], [`derive`], [`index`]), makes the new state the current one ([`publish`]) and clears up
//! ([`gc`]).
//!
//! What a session learns lies in temporary tables, so that the memory of the program does not grow with the tree, and
//! nothing is left over when it is killed. Contents are stored as they are read, by [`Loader`]s on connections of their
//! own; without files that refer to them they are part of no epoch, and the next ingest finds them by their hash.

pub(crate) mod copy;
mod derive;
mod diff;
mod fill;
mod gc;
pub(crate) mod index;
mod publish;
pub(crate) mod session;

pub use derive::MAX_DERIVERS;
pub use diff::{FileRow, RepoRow, SeenRow, SkippedRow, Todo, Totals};
pub use fill::{ChunkRow, Contents, Loader};
pub(crate) use publish::EPOCHS;
pub use publish::Published;
pub use session::Session;
