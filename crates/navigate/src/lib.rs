//! Navigation: the definitions of a name, the places where it is used, and the outline of a file.
//!
//! What a SCIP index of the repository tells of the place from which is asked comes first, as *precise*. Beside it a name is
//! looked up as it is spelled, by *search*. There nothing is resolved: of several definitions of a name, those come first
//! that are near the place, and all are given.
//!
//! | what | where |
//! |---|---|
//! | definitions of a name | [`definitions`] |
//! | where a name is used, and how | [`references`], [`label`] |
//! | what SCIP indexes tell | [`precise`] |
//! | what a file defines | [`outline`] |
//! | languages whose names mean the same | [`family`] |
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

pub use basis::Basis;
pub use definitions::{Definition, Definitions, definitions};
pub use near::{Near, place};
pub use outline::{Outline, OutlineSymbol, SymbolsState, outline, outline_of_text};
pub use place::{Error, Place};
pub use references::{Reference, ReferenceFile, References, references};
pub use request::NameRequest;
pub use symbols::Label;
