//! A repository of a given set.

/// A repository of the set, checked out at the revision that was judged.
#[derive(Clone, Debug)]
pub(crate) struct Repo {
    pub(crate) name: String,
    /// The last part of its address, by which engines call it.
    pub(crate) called: String,
    pub(crate) language: String,
    /// The folder, with a slash at its end, whose files count; empty for all files.
    pub(crate) root: String,
}

impl Repo {
    /// Returns whether an engine's name of a repository is this one's: engines name it by its address or by its folder.
    pub(crate) fn is(&self, repo: &str) -> bool {
        let name = repo.rsplit('/').next().unwrap_or(repo);
        [&self.name, &self.called].into_iter().any(|own| name.eq_ignore_ascii_case(own))
    }
}
