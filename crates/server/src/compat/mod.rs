//! Endpoints for clients of other search engines, in the formats of those engines.

mod collect;
pub(crate) mod livegrep;
pub(crate) mod zoekt;
