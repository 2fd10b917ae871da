//! The page of results: the best ones first, and links to narrower searches and further pages.

mod links;
mod search;
mod trim;
mod unrendered;
mod view;

pub(crate) use search::{Prepared, page, typed};
pub(crate) use view::Results;
