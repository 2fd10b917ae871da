//! Navigation: the definitions of a name, the places where it is used, and the outline of a file.
//!
//! A name is looked up as it is spelled. Nothing is resolved: of several definitions of a name, those come first that are
//! near the place from which they are asked for, and all are given.
//!
//! | what | where |
//! |---|---|
//! | definitions of a name | [`definitions`] |
//! | where a name is used, and how | [`references`], [`label`] |
//! | what a file defines | [`outline`] |
//! | languages whose names mean the same | [`family`] |
//! | how near a file is to another | [`near`] |
//! | the search for a name | [`request`], [`place`] |

mod definitions;
mod family;
mod label;
mod near;
mod outline;
mod place;
mod references;
mod request;

pub use ::symbols::Label;
pub use definitions::{Definition, Definitions};
pub use near::Near;
pub use outline::{Outline, OutlineSymbol, SymbolsState};
pub use place::{Error, Place};
pub use references::{Reference, ReferenceFile, References};
pub use request::NameRequest;
