//! Indexed trees in names: `NAME@TREE`, `NAME@TREE/PATH`; and the trees that take the place of main ones.

use std::sync::Arc;

use store::{Catalog, CatalogRepo, InTree, MAIN_TREE, Tree, TreeKind};

use crate::types::Error;
use crate::view::View;

/// Trees that a sentence names.
const NAMED: usize = 5;

/// A text from which the name of a tree was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTree {
    /// The text without the tree.
    pub text: String,
    /// The repository and the tree that it named: `None` as the tree for the main one; `None` if it named none.
    pub named: Option<(String, Option<InTree>)>,
}

impl NamedTree {
    fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), named: None }
    }

    fn of(text: &str, repo: &CatalogRepo, tree: Option<&Tree>) -> Self {
        let tree = tree.map(|tree| InTree {
            repo: repo.name.clone(),
            kind: tree.kind,
            tree: tree.name.clone(),
        });
        Self { text: text.to_owned(), named: Some((repo.name.clone(), tree)) }
    }

    /// Returns the tree that it named, if that is not the main one.
    pub fn tree(&self) -> Option<&InTree> {
        self.named.as_ref()?.1.as_ref()
    }

    /// Returns the view in which the named tree takes the place of others of its repository.
    pub fn in_view(&self, view: &View) -> View {
        let Some((repo, tree)) = &self.named else { return view.clone() };
        let others = view.trees().iter().filter(|of| of.repo != *repo);
        let all: Vec<InTree> = others.chain(tree).cloned().collect();
        view.clone().in_trees(&all)
    }
}

impl View {
    /// Splits `NAME@TREE` into a repository and its tree. A text that names no repository and tree stays as it is.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn named_tree(&self, text: &str) -> Result<NamedTree, store::Error> {
        if !text.contains('@') {
            return Ok(NamedTree::plain(text));
        }
        let catalog = self.catalog().await?;
        if known(&catalog, text).is_some() {
            return Ok(NamedTree::plain(text));
        }
        // Both names may have an @.
        for (at, _) in text.match_indices('@') {
            let (name, tree) = (&text[..at], &text[at + 1..]);
            let Some(repo) = known(&catalog, name) else { continue };
            if tree == MAIN_TREE {
                return Ok(NamedTree::of(name, repo, None));
            }
            if let Some(tree) = called(repo, tree) {
                return Ok(NamedTree::of(name, repo, Some(tree)));
            }
        }
        Ok(NamedTree::plain(text))
    }

    /// Takes the tree from `NAME@TREE/PATH`: the text becomes `NAME/PATH`. A text that names no repository with a tree stays
    /// as it is.
    ///
    /// # Errors
    /// The repository has no such indexed tree, or the database query fails.
    pub async fn named_tree_of_path(&self, text: &str) -> Result<NamedTree, Error> {
        if !text.contains('@') {
            return Ok(NamedTree::plain(text));
        }
        let catalog = self.catalog().await?;
        if text.match_indices('/').any(|(at, _)| known(&catalog, &text[..at]).is_some()) {
            return Ok(NamedTree::plain(text));
        }
        for (at, _) in text.match_indices('@') {
            let (name, rest) = (&text[..at], &text[at + 1..]);
            let Some(repo) = known(&catalog, name) else { continue };
            let after = |tree: &str| rest.strip_prefix(tree).filter(|path| path.starts_with('/'));
            // Names of branches contain slashes, too.
            let longest = repo
                .trees
                .trees
                .iter()
                .filter_map(|tree| Some((tree, after(&tree.name)?)))
                .min_by_key(|(tree, path)| (path.len(), order(tree.kind)));
            if let Some((tree, path)) = longest {
                return Ok(NamedTree::of(&format!("{name}{path}"), repo, Some(tree)));
            }
            if let Some(path) = after(MAIN_TREE) {
                return Ok(NamedTree::of(&format!("{name}{path}"), repo, None));
            }
            let names = repo.trees.trees.iter().map(|tree| tree.name.as_str());
            let names: Vec<&str> = std::iter::once(MAIN_TREE).chain(names).collect();
            let more = if names.len() > NAMED { ", ..." } else { "" };
            let tree = rest.split('/').next().unwrap_or_default();
            return Err(Error::Revision(format!(
                "{name} has no indexed tree {tree}; the indexed ones are {}{more}",
                names[..names.len().min(NAMED)].join(", ")
            )));
        }
        Ok(NamedTree::plain(text))
    }

    /// Returns the tree that takes the place of the main one of a repository, if there is one.
    pub fn tree_in_place(&self, repo: &str) -> Option<&InTree> {
        self.trees().iter().find(|tree| tree.repo == repo)
    }

    /// Returns the name of the worktree whose `HEAD` is meant in a repository; `None` for the main checkout.
    pub(crate) fn worktree(&self, repo: &str) -> Option<String> {
        let chosen = self.tree_in_place(repo)?;
        (chosen.kind == TreeKind::Worktree).then(|| chosen.tree.clone())
    }
}

fn known<'c>(catalog: &'c Catalog, name: &str) -> Option<&'c CatalogRepo> {
    catalog.repos.values().find(|repo| repo.name == name).map(Arc::as_ref)
}

/// Returns the tree with a name or a commit: a worktree before a branch, and a branch before a tag.
fn called<'r>(repo: &'r CatalogRepo, name: &str) -> Option<&'r Tree> {
    let is_one = |tree: &&Tree| tree.name == name || tree.commit.as_deref() == Some(name);
    repo.trees.trees.iter().filter(is_one).min_by_key(|tree| order(tree.kind))
}

/// Returns the order in which trees with one name are preferred.
pub(crate) fn order(kind: TreeKind) -> u8 {
    match kind {
        TreeKind::Worktree => 0,
        TreeKind::Branch => 1,
        TreeKind::Tag => 2,
    }
}
