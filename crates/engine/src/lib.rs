//! What codesearch does: [`ingest`], [`search`], [`prose`] for what was written to be read, and [`browse`] for what is
//! beside a search.
//!
//! All are orchestration: reading files and cutting texts is here, SQL is in `store`, the meaning
//! of a query is in `query`, and what is printed is in the binary.

pub mod browse;
pub mod ingest;
pub mod prose;
pub mod search;
pub mod threads;
