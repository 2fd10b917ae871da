//! SCIP indexes that were imported: what compilers know of the names in the texts.
//!
//! A row of `scip_NNN` is a document: what one index tells of a path and of the blob that the path had. It counts where a
//! file of the repository has that path and that blob. Indexes made for the same repository, folder and tool replace each
//! other.

mod document;
mod find;
pub(crate) mod keep;
mod pack;

pub use document::{NO_KIND, ScipDocument, is_local};
pub use find::{ScipImport, ScipPlace};
pub use pack::{Occurrence, Relation};
