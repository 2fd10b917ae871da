//! The page of results: what was found, the best first, and where to go from there.

mod links;
mod search;
mod trim;
mod unrendered;
mod view;

pub(crate) use search::{Prepared, page};
pub(crate) use view::Results;
