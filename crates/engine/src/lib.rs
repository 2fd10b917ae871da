//! The parts of codesearch between SQL (`store`), the query language (`query`) and the binary that prints
//! results: [`ingest`] fills the index, [`check`] verifies it, a [`Searcher`] holds what searches share,
//! and a [`View`] of it finds files and lines; [`docs`] searches and ranks documentation, and [`browse`] lists files.

pub mod browse;
mod cache;
pub mod check;
pub mod docs;
mod encoding;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod fuzzy;
pub mod git;
pub mod ingest;
pub mod navigate;
pub mod scip;
pub mod search;
mod searcher;
mod snapshot;
pub mod symbol;
pub mod symbols;
pub mod threads;
mod types;
mod view;

pub use encoding::Encoding;
pub use searcher::Searcher;
pub use types::{
    AnswerProgress, DEFAULT_LIMIT, DEFAULT_TIMEOUT, Error, FileMatch, LastFile, Line, Request,
    Resume, ShardSet,
};
pub use view::{View, Visible};
