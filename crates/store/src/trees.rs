//! The trees of repositories: which of them have a file, and which are searched.

use std::sync::Arc;

use query::TreeName;

use crate::RepoId;

/// The trees that have a file: `files.trees`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Trees(pub i32);

impl Trees {
    /// Returns whether the main tree has it.
    pub fn has_main(self) -> bool {
        self.0 >= 0
    }

    /// Returns the set of the other trees that have it: `tree_sets.id`. `None` if there are none.
    pub fn set(self) -> Option<i32> {
        (self.0 != 0).then(|| self.0.abs())
    }
}

/// The kind of a tree besides the main one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TreeKind {
    /// A worktree.
    Worktree,
    /// The commit of a branch.
    Branch,
    /// The commit of a tag.
    Tag,
}

impl TreeKind {
    /// Returns its word in `trees.kind`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Worktree => "worktree",
            Self::Branch => "branch",
            Self::Tag => "tag",
        }
    }

    /// Returns the kind with this word.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Worktree, Self::Branch, Self::Tag].into_iter().find(|kind| kind.word() == word)
    }
}

/// A tree of a repository besides its main one.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// Its bit in sets.
    pub bit: usize,
    /// Its kind.
    pub kind: TreeKind,
    /// Name of the worktree, branch or tag.
    pub name: String,
    /// The folder of a worktree.
    pub source: Option<String>,
    /// The commit that is checked out, or that the branch or tag names.
    pub commit: Option<String>,
    /// Number of its indexed files.
    pub files: i64,
    /// When an ingest began to list its files, in seconds since 1970.
    pub listed: Option<f64>,
}

impl Tree {
    /// Returns its name for a query.
    pub fn name(&self) -> TreeName<'_> {
        let kind = match self.kind {
            TreeKind::Worktree => query::TreeKind::Worktree,
            TreeKind::Branch => query::TreeKind::Branch,
            TreeKind::Tag => query::TreeKind::Tag,
        };
        // The files of a worktree may differ from its commit.
        let commit = self.commit.as_deref().filter(|_| self.kind != TreeKind::Worktree);
        TreeName { kind, name: &self.name, commit }
    }
}

/// A set of trees of a repository, besides the main one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeSet {
    /// Its key: `tree_sets.id`.
    pub id: i32,
    /// Its members: bit n, from the lowest of the first byte, is that of the tree with this bit.
    pub members: Vec<u8>,
}

impl TreeSet {
    /// Returns whether the tree with a bit is a member.
    pub fn has(&self, bit: usize) -> bool {
        self.members.get(bit / 8).is_some_and(|byte| byte & (1 << (bit % 8)) != 0)
    }
}

/// The trees of a repository besides its main one, in one epoch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RepoTrees {
    /// The trees, by kind and name.
    pub trees: Vec<Tree>,
    /// The sets in use, by id.
    pub sets: Vec<TreeSet>,
}

impl RepoTrees {
    /// Returns the set with a key.
    pub fn set(&self, id: i32) -> Option<&TreeSet> {
        self.sets.binary_search_by_key(&id, |set| set.id).ok().map(|at| &self.sets[at])
    }

    /// Returns the trees besides the main one that have a file.
    pub fn of(&self, trees: Trees) -> impl Iterator<Item = &Tree> {
        let set = trees.set().and_then(|id| self.set(id));
        self.trees.iter().filter(move |tree| set.is_some_and(|set| set.has(tree.bit)))
    }
}

/// The trees of which one must have a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TreeFilter {
    /// The main tree of each repository.
    #[default]
    Main,
    /// Any tree.
    All,
    /// Other trees of some repositories, and the main trees of the others.
    Chosen(Arc<ChosenTrees>),
}

/// Trees chosen instead of main ones.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ChosenTrees {
    /// The repositories whose main trees do not count, ascending.
    pub replaced: Vec<RepoId>,
    /// Repository, bit and name of each tree.
    pub trees: Vec<(RepoId, usize, String)>,
    /// The sets that have a chosen tree, ascending.
    pub sets: Vec<i32>,
}

/// Returns the condition that a row of a table with columns `repo` and `trees` passes a [`TreeFilter`], whose
/// [`parameters`](TreeFilter::parameters) have these numbers. `of` is a dot after the table's name, or empty.
pub(crate) fn condition(of: &str, sets: usize, replaced: usize) -> String {
    format!(
        "(${sets}::int[] is null or {of}trees >= 0 and {of}repo <> all(${replaced}::int[])
          or {of}trees <> 0 and abs({of}trees) = any(${sets}))"
    )
}

impl ChosenTrees {
    /// Returns the names of the chosen trees that have a file of a repository.
    pub fn names(&self, repo: RepoId, of: &RepoTrees, trees: Trees) -> Vec<String> {
        let set = trees.set().and_then(|id| of.set(id));
        let has = |bit: usize| set.is_some_and(|set| set.has(bit));
        let here = self.trees.iter().filter(|(id, bit, _)| *id == repo && has(*bit));
        here.map(|(.., name)| name.clone()).collect()
    }
}

impl TreeFilter {
    /// Returns whether a file of a repository passes.
    pub fn passes(&self, repo: RepoId, trees: Trees) -> bool {
        match self {
            Self::Main => trees.has_main(),
            Self::All => true,
            Self::Chosen(chosen) => {
                let is_chosen = |set| chosen.sets.binary_search(&set).is_ok();
                trees.has_main() && chosen.replaced.binary_search(&repo).is_err()
                    || trees.set().is_some_and(is_chosen)
            }
        }
    }

    /// Returns the parameters of the condition in SQL: the sets (`None` if any tree will do), and the repositories whose
    /// main trees do not count.
    pub(crate) fn parameters(&self) -> (Option<Vec<i32>>, Vec<i32>) {
        match self {
            Self::Main => (Some(Vec::new()), Vec::new()),
            Self::All => (None, Vec::new()),
            Self::Chosen(chosen) => {
                (Some(chosen.sets.clone()), chosen.replaced.iter().map(|repo| repo.0).collect())
            }
        }
    }
}
