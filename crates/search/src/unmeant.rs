//! Names of trees in a query that mean none: sentences about them, with the name that was probably meant.

use std::collections::BTreeSet;
use std::sync::Arc;

use query::{CompiledQuery, TreeField, TreeKind, TreeName, nearest};
use store::{CatalogRepo, CatalogRepos};

use crate::revision::choose::{is_glob, may_be, required};

/// Maximum number of known names that a sentence lists.
const LISTED: usize = 3;

/// Returns a sentence without a full stop for each name of trees that means none of some repositories, unless the
/// query rules all of them out by name. Revisions that are searched on demand are not checked.
pub(crate) fn notes(
    query: &CompiledQuery,
    repos: &CatalogRepos,
    go_on: &dyn Fn() -> bool,
) -> Vec<String> {
    if query.trees.is_empty() {
        return Vec::new();
    }
    let on_demand = required(query);
    let repos: Vec<&CatalogRepo> =
        repos.values().map(Arc::as_ref).filter(|repo| may_be(query, repo, go_on)).collect();
    let all: Vec<TreeName<'_>> = repos
        .iter()
        .flat_map(|repo| {
            let others = repo.trees.trees.iter().map(store::Tree::name);
            std::iter::once(repo.main_tree()).chain(others)
        })
        .collect();
    let terms = query.trees.iter().enumerate();
    let unmeant = terms.filter(|(at, term)| {
        let is_checked =
            term.field != TreeField::Revision || is_glob(&term.name) || !on_demand.contains(at);
        is_checked && !all.is_empty() && !all.iter().any(|tree| term.means(*tree))
    });
    let mut notes: Vec<String> = Vec::new();
    for (_, term) in unmeant {
        let is_worktree =
            |of: &TreeName<'_>| matches!(of.kind, TreeKind::Main | TreeKind::Worktree);
        let wants_worktree = term.field == TreeField::Worktree;
        let of_kind = all.iter().filter(|tree| is_worktree(tree) == wants_worktree);
        let names: BTreeSet<&str> = of_kind.map(|tree| tree.name).collect();
        let near = near(&term.name, &names);
        let note = match (term.field, near) {
            (TreeField::Worktree, Some(near)) => {
                format!("no worktree matches {term}; did you mean {near}?")
            }
            (TreeField::Worktree, None) => {
                format!("no worktree matches {term}; known: {}", listed(&names))
            }
            (_, Some(near)) => {
                format!("no indexed branch or tag matches {term}; did you mean {near}?")
            }
            (TreeField::Revision, None) if !is_glob(&term.name) => format!(
                "{term} is not indexed, and is read from clones only if all results must be in it, without or and not"
            ),
            (_, None) => format!(
                "no indexed branch or tag matches {term}; rev: and a whole name searches one that is not indexed"
            ),
        };
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// Returns the name most similar to the typed one, as a whole or in its last part.
fn near<'n>(typed: &str, names: &BTreeSet<&'n str>) -> Option<&'n str> {
    let last = |name: &'n str| name.rsplit('/').next().unwrap_or(name);
    let whole = nearest(typed, names.iter().copied());
    whole.or_else(|| {
        let near = nearest(typed, names.iter().copied().map(last))?;
        names.iter().copied().find(|name| last(name) == near)
    })
}

/// Lists some names.
fn listed(names: &BTreeSet<&str>) -> String {
    let more = names.len().saturating_sub(LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let first: Vec<&str> = names.iter().copied().take(LISTED).collect();
    format!("{}{more}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_near_as_a_whole_or_in_their_last_part() {
        let names = BTreeSet::from(["main", "release/1.2", "feature/parser"]);
        assert_eq!(near("mian", &names), Some("main"));
        assert_eq!(near("release/1.3", &names), Some("release/1.2"));
        assert_eq!(near("parsr", &names), Some("feature/parser"));
        assert_eq!(near("elsewhere", &names), None);
        assert_eq!(listed(&names), "feature/parser, main, release/1.2");
        assert_eq!(listed(&(["a", "b", "c", "d"].into())), "a, b, c and 1 more");
    }
}
