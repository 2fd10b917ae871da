//! Addresses of other trees than the main one: `repo=NAME@TREE`, as `repo:` in a query.

use store::{CatalogRepo, InTree, MAIN_TREE, Tree, TreeKind};

use super::BrowseParams;
use crate::error::Failure;
use crate::server::Server;

/// Takes the name of a tree from the name of a repository: returns the server whose view has this tree instead of the
/// main one, and the parameters with the name of the repository alone.
///
/// # Errors
/// The database query fails.
pub(super) async fn in_tree(
    server: Server,
    mut wanted: BrowseParams,
) -> Result<(Server, BrowseParams), Failure> {
    if !wanted.repo.contains('@') {
        return Ok((server, wanted));
    }
    let catalog = server.view().catalog().await?;
    let known = |name: &str| catalog.repos.values().find(|repo| repo.name == name);
    if known(&wanted.repo).is_some() {
        return Ok((server, wanted));
    }
    // Both names may have an @.
    for (at, _) in wanted.repo.match_indices('@') {
        let (name, tree) = (&wanted.repo[..at], &wanted.repo[at + 1..]);
        let Some(repo) = known(name) else { continue };
        if tree == MAIN_TREE {
            name.to_owned().clone_into(&mut wanted.repo);
            return Ok((server, wanted));
        }
        if let Some(tree) = called(repo, tree) {
            let tree = InTree { repo: name.to_owned(), kind: tree.kind, tree: tree.name.clone() };
            let name = name.to_owned();
            wanted.repo = name;
            return Ok((server.in_tree(&tree), BrowseParams { tree: Some(tree), ..wanted }));
        }
    }
    Ok((server, wanted))
}

/// Returns the tree with a name or a commit: a worktree before a branch, and a branch before a tag.
fn called<'r>(repo: &'r CatalogRepo, name: &str) -> Option<&'r Tree> {
    let is_one = |tree: &&Tree| tree.name == name || tree.commit.as_deref() == Some(name);
    let trees = repo.trees.trees.iter().filter(is_one);
    trees.min_by_key(|tree| match tree.kind {
        TreeKind::Worktree => 0,
        TreeKind::Branch => 1,
        TreeKind::Tag => 2,
    })
}
