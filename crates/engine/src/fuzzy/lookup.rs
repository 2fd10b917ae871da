//! Which paths a lookup is about, and what they must hold.

use std::ops::Range;

use super::query::PathQuery;

/// Most candidates that are scored letter by letter, unless a limit asks for more.
pub(crate) const CANDIDATES: usize = 512;

/// A form of the query, and the paths it applies to. Each path belongs to one variant.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    /// The query; without the name of a repository if that is a folder around the paths.
    pub(crate) query: PathQuery,
    /// The numbers of the paths, ascending.
    pub(crate) among: Vec<Range<u32>>,
    /// Whether the name of a repository is a folder around the paths.
    pub(crate) in_repo: bool,
}

/// A lookup: how to read paths by their numbers, which are wanted, and how many.
pub(crate) struct Lookup<'a, P, W> {
    /// The path of a number.
    pub(crate) path: P,
    /// The repository of a number.
    pub(crate) repo: &'a (dyn Fn(u32) -> &'a str + Sync),
    /// Whether a path is wanted.
    pub(crate) wanted: W,
    /// Most paths that are returned.
    pub(crate) limit: usize,
    /// Most paths that are scored letter by letter, in each round.
    pub(crate) candidates: usize,
}
