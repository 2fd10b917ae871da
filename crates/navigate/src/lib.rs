//! Navigation: the definitions of a name, the places where it is used, and the outline of a file.
//!
//! If a SCIP index of the repository covers the request's place, its results come first, as *precise*. Other results
//! come from a *search* for the same spelling. The search resolves nothing: it returns all definitions of the name,
//! those near the place first.
//!
//! | topic | module |
//! |---|---|
//! | definitions of a name | [`definitions`] |
//! | where a name is used, and how | [`references`], [`label`] |
//! | results of SCIP indexes | [`precise`] |
//! | the symbols of a file | [`outline`] |
//! | the lines of a signature | [`signature`] |
//! | languages that share names | [`family`] |
//! | how near a file is to another | [`near`] |
//! | the search for a name | [`request`], [`place`] |

mod basis;
mod definitions;
mod family;
mod label;
mod near;
mod outline;
mod place;
mod precise;
mod references;
mod request;
mod signature;

pub use basis::Basis;
pub use definitions::{Definition, Definitions, definitions};
pub use near::{Near, place};
pub use outline::{Outline, OutlineSymbol, SymbolsState, outline, outline_at, outline_of_text};
pub use place::{Error, Place};
pub use references::{Reference, ReferenceFile, References, references};
pub use request::NameRequest;
pub use signature::signature;
pub use symbols::Label;
