//! Answers to clients of other search engines, in their shapes.

mod collect;
pub(crate) mod livegrep;
pub(crate) mod zoekt;
