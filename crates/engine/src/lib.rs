//! The parts of codesearch between SQL (`store`), the query language (`query`) and what is printed (the binary):
//! [`ingest`] fills the index, [`check`] verifies it, a [`Searcher`] finds files and lines in it, [`docs`] ranks what was written to be read, and
//! [`browse`] answers which files there are.

pub mod browse;
mod cache;
pub mod check;
pub mod docs;
pub mod fuzzy;
pub mod ingest;
pub mod search;
mod searcher;
mod snapshot;
pub mod threads;
mod types;

pub use searcher::Searcher;
pub use types::{
    DEFAULT_LIMIT, DEFAULT_TIMEOUT, Error, FileMatch, LastFile, Line, Progress, Request, Resume,
    ShardSet,
};
