//! A repository of a given set.

/// A repository of the set, checked out at the revision that was judged.
#[derive(Clone, Debug)]
pub(crate) struct Repo {
    pub(crate) name: String,
    pub(crate) language: String,
    /// The folder, with a slash at its end, whose files count; empty for all files.
    pub(crate) root: String,
}
