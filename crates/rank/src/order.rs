//! The orders of results.

use std::cmp::Ordering;

use answer::FileMatch;

/// The order in which results are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The best first.
    Relevance,
    /// By repository, then by path.
    Path,
    /// The order in which they are found; only searches of changes have it, since their results come in order.
    Found,
}

impl Order {
    /// The orders to choose from.
    pub const ALL: [Order; 2] = [Order::Relevance, Order::Path];

    /// Returns the order with a name; `None` for an unknown name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.name() == name)
    }

    /// Returns the name that options and addresses use.
    pub fn name(self) -> &'static str {
        match self {
            Order::Relevance => "relevance",
            Order::Path => "path",
            Order::Found => "found",
        }
    }
}

/// Compares files by repository and path in the order of a walk through folders sorted by name: `a/b` before `a-b`.
pub fn by_path(one: &FileMatch, other: &FileMatch) -> Ordering {
    walked(&one.repo, &one.path).cmp(walked(&other.repo, &other.path))
}

/// Returns the bytes of the whole path, with the end of a folder's name before any byte of a name.
pub fn walked(repo: &str, path: &str) -> impl Iterator<Item = u8> {
    let bytes = repo.bytes().chain([b'/']).chain(path.bytes());
    bytes.map(|byte| if byte == b'/' { 0 } else { byte })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn folders_are_walked_by_their_names() {
        let walk =
            [("a", "b/c"), ("a", "b.c"), ("a", "bc"), ("a/b", "d"), ("a-b", "a"), ("a.b", "a")];
        let whole = |(repo, path): &(&str, &str)| format!("{repo}/{path}");
        let mut sorted = walk;
        sorted.sort_by(|one, other| walked(one.0, one.1).cmp(walked(other.0, other.1)));
        let mut expected: Vec<String> = walk.iter().map(whole).collect();
        expected.sort_by(|one, other| Path::new(one).cmp(Path::new(other)));
        assert_eq!(sorted.iter().map(whole).collect::<Vec<_>>(), expected);
        assert_eq!(expected[0], "a/b/c");
    }
}
