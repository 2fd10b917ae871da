//! The trees that a query means (`worktree:`, `branch:`, `rev:`), and the revisions that it compares (`diff:`).

use std::fmt;
use std::ops::Range;

use crate::write::written;

/// The name of the main tree in `branch:` and, if it is a commit, in `rev:`.
const HEAD: &str = "HEAD";

/// The fewest digits of a commit's name that mean it.
const MIN_DIGITS: usize = 7;

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
    /// `branch:`: a branch or tag whose name contains the text, as in Zoekt, or matches it as a glob; `HEAD` is the main
    /// tree.
    Branch,
    /// `rev:`: a branch or tag by its name or a glob, or any commit; `HEAD` is the main tree if that is a commit.
    Revision,
}

/// A name of trees in a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeTerm {
    /// The field.
    pub field: TreeField,
    /// The name as typed.
    pub name: String,
    /// The byte range in the query from which it was read.
    pub(crate) range: Range<usize>,
}

impl TreeTerm {
    /// Returns whether it means an indexed tree.
    pub fn means(&self, tree: TreeName<'_>) -> bool {
        let is_commit = matches!(tree.kind, TreeKind::Branch | TreeKind::Tag);
        match self.field {
            TreeField::Worktree => !is_commit && fits(&self.name, tree.name),
            TreeField::Branch if is_commit => {
                tree.name.contains(&self.name) || fits(&self.name, tree.name)
            }
            TreeField::Branch => tree.kind == TreeKind::Main && self.name == HEAD,
            TreeField::Revision => {
                let named = match tree.kind {
                    TreeKind::Main => tree.commit.is_some() && self.name == HEAD,
                    TreeKind::Worktree => false,
                    TreeKind::Branch => self.is_called(tree.name, &["heads/", "remotes/"]),
                    TreeKind::Tag => self.is_called(tree.name, &["tags/"]),
                };
                named || tree.commit.is_some_and(|commit| self.abbreviates(commit))
            }
        }
    }

    /// Returns whether it is the name of a branch or tag, with or without one of these folders of `refs/`.
    fn is_called(&self, name: &str, folders: &[&str]) -> bool {
        let short = self.name.strip_prefix("refs/").unwrap_or(&self.name);
        let mut in_folders = folders.iter().filter_map(|folder| short.strip_prefix(folder));
        fits(&self.name, name) || in_folders.any(|short| fits(short, name))
    }

    /// Returns whether it is the beginning of a commit's name in hexadecimal.
    fn abbreviates(&self, commit: &str) -> bool {
        let typed = self.name.as_bytes();
        typed.len() >= MIN_DIGITS
            && commit.len() >= typed.len()
            && commit.as_bytes()[..typed.len()].eq_ignore_ascii_case(typed)
    }

    /// Returns whether it may mean several trees of one repository: it is a glob, or a part of a name.
    pub fn is_pattern(&self) -> bool {
        self.field == TreeField::Branch || is_glob(&self.name)
    }
}

fn is_glob(name: &str) -> bool {
    name.contains(['*', '?'])
}

/// Returns whether a name is exactly the typed one, or matches it as a glob: a star is any text, and a question mark any
/// character.
fn fits(typed: &str, name: &str) -> bool {
    if !is_glob(typed) {
        return typed == name;
    }
    let mut parts = typed.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = begins(name, first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        // The first place is the best one: it leaves most of the name to the others.
        let found = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
        let Some(after) = { found }.find_map(|at| begins(&rest[at..], part)) else { return false };
        rest = after;
    }
    let (wanted, left) = (last.chars().count(), rest.chars().count());
    let Some(skipped) = left.checked_sub(wanted) else { return false };
    let end = rest.char_indices().nth(skipped).map_or(rest.len(), |(at, _)| at);
    begins(&rest[end..], last) == Some("")
}

/// Returns the rest of a text after a part in which a question mark is any character.
fn begins<'n>(text: &'n str, part: &str) -> Option<&'n str> {
    let mut rest = text.chars();
    for wanted in part.chars() {
        let c = rest.next()?;
        if wanted != '?' && wanted != c {
            return None;
        }
    }
    Some(rest.as_str())
}

/// Prints as typed, in quotes if it needs them.
impl fmt::Display for TreeTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&written(self.field.name(), &self.name))
    }
}

impl TreeField {
    /// Returns its name in a query.
    pub fn name(self) -> &'static str {
        match self {
            TreeField::Worktree => "worktree",
            TreeField::Branch => "branch",
            TreeField::Revision => "rev",
        }
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

impl Comparison {
    /// Parses `A..B` or `A...B`; one of the revisions may be missing. Returns `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let (old, rest) = text.split_once("..")?;
        let (new, from_merge_base) = match rest.strip_prefix('.') {
            Some(new) => (new, true),
            None => (rest, false),
        };
        let (old, new) = (old.trim(), new.trim());
        let is_one = |name: &str| !name.contains("..") && !name.starts_with('.');
        let is_comparison = is_one(old) && is_one(new) && !(old.is_empty() && new.is_empty());
        is_comparison.then(|| Self { old: old.to_owned(), new: new.to_owned(), from_merge_base })
    }
}

/// Prints as typed: `A..B`.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dots = if self.from_merge_base { "..." } else { ".." };
        write!(f, "{}{dots}{}", self.old, self.new)
    }
}

/// Prints as in a query: `diff:A..B`.
impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Changes::Between(comparison) => f.write_str(&written("diff", &comparison.to_string())),
            Changes::History => f.write_str("history:*"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_exact_or_a_glob() {
        for (typed, name, expected) in [
            ("main", "main", true),
            ("main", "main2", false),
            ("Main", "main", false),
            ("release/*", "release/1.2", true),
            ("release/*", "release/a/b", true),
            ("release/*", "old/release/1", false),
            ("*", "", true),
            ("*-fix", "big-fix", true),
            ("*-fix", "big-fixes", false),
            ("v?.*", "v1.2", true),
            ("v?.*", "v10.2", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("a*aa", "aaa", true),
            ("*?", "", false),
            ("*?", "\u{e9}", true),
            ("?x", "\u{e9}x", true),
            ("**", "anything", true),
        ] {
            assert_eq!(fits(typed, name), expected, "{typed} {name}");
        }
    }

    #[test]
    fn trees_are_meant_by_name_or_commit() {
        const COMMIT: &str = "abc1234def5678abc1234def5678abc1234def56";
        let tree = |kind, name, commit| TreeName { kind, name, commit };
        let main = tree(TreeKind::Main, "main", None);
        let bare = tree(TreeKind::Main, "main", Some(COMMIT));
        let fix = tree(TreeKind::Worktree, "fix", None);
        let branch = tree(TreeKind::Branch, "release/1", Some(COMMIT));
        let tag = tree(TreeKind::Tag, "v1.2", Some(COMMIT));
        let means = |field, name: &str| {
            let term = TreeTerm { field, name: name.to_owned(), range: 0..0 };
            [main, bare, fix, branch, tag].map(|tree| u8::from(term.means(tree)))
        };
        assert_eq!(means(TreeField::Worktree, "main"), [1, 1, 0, 0, 0]);
        assert_eq!(means(TreeField::Worktree, "f?x"), [0, 0, 1, 0, 0]);
        assert_eq!(means(TreeField::Worktree, "*"), [1, 1, 1, 0, 0]);
        assert_eq!(means(TreeField::Branch, "lease"), [0, 0, 0, 1, 0]);
        assert_eq!(means(TreeField::Branch, "HEAD"), [1, 1, 0, 0, 0]);
        assert_eq!(means(TreeField::Branch, "main"), [0; 5]);
        assert_eq!(means(TreeField::Branch, "1"), [0, 0, 0, 1, 1]);
        assert_eq!(means(TreeField::Revision, "HEAD"), [0, 1, 0, 0, 0]);
        assert_eq!(means(TreeField::Revision, "main"), [0; 5]);
        assert_eq!(means(TreeField::Revision, "release/1"), [0, 0, 0, 1, 0]);
        assert_eq!(means(TreeField::Revision, "refs/heads/release/*"), [0, 0, 0, 1, 0]);
        assert_eq!(means(TreeField::Revision, "heads/v1.2"), [0; 5]);
        assert_eq!(means(TreeField::Revision, "refs/tags/v1.2"), [0, 0, 0, 0, 1]);
        assert_eq!(means(TreeField::Revision, "tags/v1.2"), [0, 0, 0, 0, 1]);
        assert_eq!(means(TreeField::Revision, "ABC1234d"), [0, 1, 0, 1, 1]);
        assert_eq!(means(TreeField::Revision, "abc123"), [0; 5]);
        assert_eq!(means(TreeField::Revision, &format!("{COMMIT}0")), [0; 5]);
    }

    #[test]
    fn revisions_are_compared() {
        for (text, expected) in [
            ("a..b", Some(("a", "b", false))),
            ("a...b", Some(("a", "b", true))),
            ("main..", Some(("main", "", false))),
            ("..main", Some(("", "main", false))),
            ("v1.2..v1.3", Some(("v1.2", "v1.3", false))),
            ("HEAD~3...", Some(("HEAD~3", "", true))),
            ("main", None),
            ("..", None),
            ("...", None),
            ("a....b", None),
            ("a..b..c", None),
        ] {
            let parsed = Comparison::parse(text);
            let found = parsed.as_ref().map(|of| (&*of.old, &*of.new, of.from_merge_base));
            assert_eq!(found, expected, "{text}");
            assert!(parsed.is_none_or(|of| of.to_string() == text));
        }
    }
}
