//! Narrower queries for links: another term, or another tree.

use std::collections::HashMap;

use query::{Query, QueryParts, Tree, TreeField, written};
use search::View;
use store::{CatalogRepo, MAIN_TREE, TreeKind};

/// Longest query for which other queries are linked, in bytes: each link repeats it.
pub(crate) const MAX_QUERY: usize = 2000;

/// Adds a required term to a query. `any` tells that the query has an `or` outside of parentheses.
pub(crate) fn joined(any: bool, q: &str, term: &str) -> String {
    let parts = QueryParts::of(q).ok().filter(|_| any);
    // The settings of a query stay outside of the parentheses.
    parts.map_or_else(|| format!("{q} {term}"), |parts| format!("{} {term}", parts.with(|_| true)))
}

/// Returns whether the query has an `or` outside of parentheses.
pub(crate) fn is_any(q: &str) -> bool {
    Query::parse(q, query::Case::Smart).is_ok_and(|query| matches!(query.tree, Tree::Any(_)))
}

/// Returns the fields of a query that name its trees.
fn tree_fields(q: &str) -> Vec<query::TypedField> {
    let names_trees = |name: &str| ["worktree", "branch", "rev"].contains(&name);
    query::typed_fields(q).into_iter().filter(|field| names_trees(field.name)).collect()
}

/// Returns a query with another tree instead of those that it names.
fn with_tree(q: &str, term: &str) -> String {
    if is_any(q) {
        return joined(true, q, term);
    }
    let mut rest = q.to_owned();
    // From the end, so that the ranges of those before it stay right.
    for field in tree_fields(q).into_iter().rev().filter(|field| !field.negated) {
        rest = query::without(&rest, &field.range);
    }
    format!("{rest} {term}").trim().to_owned()
}

/// The fields of queries for the names of trees.
#[derive(Clone, Debug, Default)]
pub(crate) struct TreeFields(HashMap<String, TreeField>);

impl TreeFields {
    /// Returns those of all repositories of a view.
    ///
    /// # Errors
    /// The database query fails.
    pub(crate) async fn of(view: &View) -> Result<Self, store::Error> {
        let catalog = view.catalog().await?;
        let mut fields = HashMap::new();
        for repo in catalog.repos.values() {
            for (name, field) in named(repo) {
                // A worktree may be called as a branch.
                if field == TreeField::Worktree {
                    fields.insert(name.to_owned(), field);
                } else {
                    fields.entry(name.to_owned()).or_insert(field);
                }
            }
        }
        Ok(Self(fields))
    }

    /// Returns the term for a tree; `None` for a revision that is not indexed.
    pub(crate) fn term(&self, name: &str) -> Option<String> {
        self.0.get(name).map(|field| written(field.name(), name))
    }

    /// Returns a query for the same in one tree.
    pub(crate) fn narrowed(&self, q: &str, name: &str) -> Option<String> {
        let term = self.term(name).filter(|_| q.len() <= MAX_QUERY)?;
        Some(with_tree(q, &term))
    }
}

/// Returns the names of the trees of a repository with several, each with its field: worktrees first.
pub(crate) fn named(repo: &CatalogRepo) -> Vec<(&str, TreeField)> {
    if repo.trees.trees.is_empty() {
        return Vec::new();
    }
    let mut named = vec![(MAIN_TREE, TreeField::Worktree)];
    let of = |is_wanted: fn(TreeKind) -> bool, field: TreeField| {
        let trees = repo.trees.trees.iter().filter(move |tree| is_wanted(tree.kind));
        trees.map(move |tree| (tree.name.as_str(), field))
    };
    named.extend(of(|kind| kind == TreeKind::Worktree, TreeField::Worktree));
    named.extend(of(|kind| kind != TreeKind::Worktree, TreeField::Revision));
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrower_query_means_both() {
        let narrowed = |q, term| joined(is_any(q), q, term);
        assert_eq!(narrowed("foo", "lang:Go"), "foo lang:Go");
        assert_eq!(narrowed("foo or bar", "lang:Go"), "(foo or bar) lang:Go");
        assert_eq!(narrowed("(foo|bar)", "lang:Go"), "(foo|bar) lang:Go");
        assert_eq!(narrowed("a or b diff:x..y", "lang:Go"), "(a or b) diff:x..y lang:Go");
    }

    #[test]
    fn one_tree_takes_the_place_of_others() {
        let fields = [("main", TreeField::Worktree), ("v 1", TreeField::Revision)];
        let fields = TreeFields(fields.map(|(name, field)| (name.to_owned(), field)).into());
        for (q, name, expected) in [
            ("foo", "main", Some("foo worktree:main")),
            ("worktree:* foo rev:x -b:y", "main", Some("foo -b:y worktree:main")),
            ("foo or rev:x", "v 1", Some("(foo or rev:x) rev:\"v 1\"")),
            ("rev:*", "main", Some("worktree:main")),
            ("foo", "HEAD~3", None),
        ] {
            assert_eq!(fields.narrowed(q, name).as_deref(), expected, "{q}");
        }
        assert_eq!(fields.narrowed(&"x".repeat(MAX_QUERY + 1), "main"), None);
    }
}
