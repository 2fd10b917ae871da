//! The parts of codesearch between SQL (`store`), the query language (`query`) and what is printed (the binary):
//! [`ingest`] fills the index, [`search`] finds files and lines in it, [`docs`] ranks what was written to be read, and
//! [`browse`] answers which files there are.

pub mod browse;
pub mod docs;
pub mod fuzzy;
pub mod ingest;
pub mod search;
pub mod threads;
