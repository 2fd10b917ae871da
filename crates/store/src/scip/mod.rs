//! Imported SCIP indexes: compilers' knowledge of the names in the texts.
//!
//! A row of `scip_NNN` is a document: the data of one index on a path and its blob. It applies where a file of the
//! repository has that path and that blob. Indexes made for the same repository, folder and tool replace each other.

mod document;
mod find;
pub(crate) mod keep;
mod pack;

pub use document::{NO_KIND, ScipDocument, is_local};
pub use find::{ScipImport, ScipPlace};
pub use pack::{Occurrence, Relation};
