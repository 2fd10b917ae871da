//! The trees that a query means (`worktree:`, `branch:`, `rev:`), and the revisions that it compares (`diff:`).

use std::fmt;

/// A tree of a repository that is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeName<'n> {
    /// Its kind.
    pub kind: TreeKind,
    /// The name of the worktree, branch or tag; that of the main tree is `main`.
    pub name: &'n str,
    /// Its commit in hexadecimal, if it is unchanged since: that of a branch, a tag, or a main tree that is a commit.
    pub commit: Option<&'n str>,
}

/// The kind of an indexed tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeKind {
    /// The main checkout or, of a bare clone, the commit of `HEAD`.
    Main,
    /// Another worktree.
    Worktree,
    /// The commit of a branch.
    Branch,
    /// The commit of a tag.
    Tag,
}

/// A field of a query that names trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeField {
    /// `worktree:`: the main tree or another worktree, by its name or a glob.
    Worktree,
    /// `branch:`: a branch or tag whose name contains the text, as in Zoekt; `HEAD` is the main tree.
    Branch,
    /// `rev:`: a branch or tag by its name or a glob, or any commit.
    Revision,
}

/// A name of trees in a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeTerm {
    /// The field.
    pub field: TreeField,
    /// The name as typed.
    pub name: String,
    /// The byte offset of the term in the query.
    pub(crate) at: usize,
}

impl TreeTerm {
    /// Returns whether it means an indexed tree.
    pub fn means(&self, tree: TreeName<'_>) -> bool {
        match self.field {
            TreeField::Worktree => {
                matches!(tree.kind, TreeKind::Main | TreeKind::Worktree) && self.name == tree.name
            }
            TreeField::Branch => match tree.kind {
                TreeKind::Branch | TreeKind::Tag => tree.name.contains(&self.name),
                TreeKind::Main => self.name == "HEAD",
                TreeKind::Worktree => false,
            },
            TreeField::Revision => {
                matches!(tree.kind, TreeKind::Branch | TreeKind::Tag) && tree.name == self.name
            }
        }
    }
}

impl fmt::Display for TreeTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = match self.field {
            TreeField::Worktree => "worktree",
            TreeField::Branch => "branch",
            TreeField::Revision => "rev",
        };
        write!(f, "{field}:{}", self.name)
    }
}

/// The changes that a query searches instead of files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changes {
    /// `diff:A..B`: those between two revisions.
    Between(Comparison),
    /// `history:`: those of all commits whose lines are indexed.
    History,
}

/// Two revisions of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The older one, as typed; empty for `HEAD`.
    pub old: String,
    /// The newer one, as typed; empty for `HEAD`.
    pub new: String,
    /// Whether the merge base of both takes the place of the older one: `A...B`.
    pub from_merge_base: bool,
}
