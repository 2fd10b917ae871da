//! Docs: READMEs, manual pages and leading comments, found by their words and ranked.
//!
//! `extract` finds the doc of a file, with title and headings: once at ingest, and again when the doc is
//! shown, since the text is stored only as chunks. `words` turns texts and queries into words for Postgres;
//! `find` ranks; `show` loads and marks the results.

mod comment;
mod doc_text;
mod extract;
mod find;
mod format;
mod show;
mod snippet;
mod types;
mod words;

pub use find::find;
pub use types::{
    Dictionary, Doc, DocKind, Docs, DocsError, DocsRequest, DocsStopped, MAX_QUERY, MAX_RANKED,
    TextRun,
};
pub use words::websearch_query;

pub(crate) use doc_text::DocText;
