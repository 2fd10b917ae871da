//! Docs search: finds READMEs, manual pages and leading comments by their words, best first. [`find`](find()) ranks, `show`
//! loads and marks the results, `change_log` puts change logs last. [`among`] asks the word index which docs may match; Postgres
//! matches and ranks these by their stored lexemes.

mod among;
mod change_log;
mod find;
mod show;
mod snippet;
mod types;

pub use find::find;
pub use types::{
    Dictionary, Doc, DocKind, Docs, DocsError, DocsRequest, DocsStopped, MAX_QUERY, MAX_RANKED,
    TextRun,
};
