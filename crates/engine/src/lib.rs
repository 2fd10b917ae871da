//! The two verbs of codesearch: [`ingest`] and [`search`].
//!
//! Both are orchestration: reading files and cutting texts is here, SQL is in `store`, the meaning
//! of a query is in `query`, and what is printed is in the binary.

pub mod ingest;
pub mod search;
