//! Lookups: which paths they search, and for which variant of the query.

use std::ops::Range;

use super::query::PathQuery;

/// Maximum number of candidates that are scored letter by letter in one round.
pub const CANDIDATES: usize = 512;

/// A variant of the query, and the paths it applies to. Each path belongs to one variant.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Query, without the repository's name if that counts as a folder around the paths.
    pub query: PathQuery,
    /// Numbers of the paths, ascending.
    pub among: Vec<Range<u32>>,
    /// Whether the name of the repository counts as a folder around the paths.
    pub in_repo: bool,
}

/// A lookup: reads paths by number, and tells which and how many to return.
pub struct Lookup<'a, P, W> {
    /// Returns the path of a number.
    pub path: P,
    /// Returns the repository of a number.
    pub repo: &'a (dyn Fn(u32) -> &'a str + Sync),
    /// Returns whether a path is wanted.
    pub wanted: W,
    /// Maximum number of paths returned.
    pub limit: usize,
    /// Maximum number of paths that are scored letter by letter, in each round.
    pub candidates: usize,
}
