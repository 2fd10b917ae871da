//! The docs of files: READMEs, manual pages and leading comments, with title and headings, and their words as Postgres
//! indexes them. Pure: no I/O.
//!
//! [`DocText::of`] finds the doc of a file: once at ingest, and again when the doc is shown, since the text is stored only as
//! chunks. [`words`] turns texts and queries into words.

mod comment;
mod doc_text;
mod extract;
mod format;
pub mod words;

pub use doc_text::DocText;
