//! Docs: READMEs, manual pages and comments, which people wrote to be read, found by their words and ranked.
//!
//! `extract` says without SQL what of a file is a doc, and where its title and headings are: once when the file is
//! ingested, and again when it is shown, since its text is stored once only, as chunks. `words` makes of texts and
//! queries what Postgres is given; `find` ranks, and `show` loads and marks what is shown.

mod comment;
mod doc_text;
mod extract;
mod find;
mod format;
mod show;
mod snippet;
mod types;
mod words;

pub use types::{
    Dictionary, Doc, DocKind, Docs, DocsError, DocsRequest, DocsStopped, MAX_RANKED, TextRun,
};
pub use words::websearch_query;

pub(crate) use doc_text::DocText;
