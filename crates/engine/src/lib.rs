//! The verbs of codesearch: [`ingest`], [`search`], [`docs`] for what was written to be read, and [`browse`] for what is
//! beside a search.
//!
//! All are orchestration: reading files and cutting texts is here, SQL is in `store`, the meaning
//! of a query is in `query`, and what is printed is in the binary.

pub mod browse;
mod cache;
pub mod docs;
pub mod ingest;
pub mod search;
mod searcher;
mod snapshot;
pub mod threads;
mod types;

pub use searcher::Searcher;
pub use types::{
    DEFAULT_LIMIT, DEFAULT_TIMEOUT, Error, FileMatch, LastFile, Line, Request, Resume, ShardSet,
};
