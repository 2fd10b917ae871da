//! The folder in which an agent works, and the tree that it lies in.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};
use request::Here;
use search::{NamedTree, View};
use serde_json::{Value, json};

/// Returns the place of the folder that a call names, or else of the first of its client's folders that is in a
/// repository.
///
/// # Errors
/// The named folder is not absolute or in no indexed repository, or the database query fails.
pub(super) async fn of(view: &View, named: Option<&str>, client: &[String]) -> Result<Here> {
    let named = named.map(str::trim).filter(|named| !named.is_empty());
    let Some(folder) = named.map(Path::new) else {
        let mut first = None;
        for folder in client {
            let here = Here::of(view, Some(Path::new(folder))).await?;
            if here.inside().is_some() {
                return Ok(here);
            }
            first.get_or_insert(here);
        }
        return Ok(first.unwrap_or_default());
    };
    if !folder.is_absolute() {
        bail!("the argument folder takes an absolute path, not {}", folder.display());
    }
    let here = Here::of(view, Some(folder)).await?;
    // Above several repositories is a fine place to work, too.
    if here.inside().is_none() && here.below(".")?.is_none() {
        bail!(
            "folder: {} is in no indexed repository, and has none below it; leave it out to search the main checkouts, or \
             run: codesearch ingest {}",
            folder.display(),
            request::shell::word(&folder.display().to_string())
        );
    }
    Ok(here)
}

/// Takes the trees from the arguments that name repositories and places: `NAME@TREE`, `NAME@TREE/PATH:LINE`. Returns the
/// arguments without them, and the place in which they are chosen.
///
/// # Errors
/// A repository has no such indexed tree, or the database query fails.
pub(super) async fn take_trees(
    view: &View,
    tool: &str,
    mut asked: Value,
    mut here: Here,
) -> Result<(Value, Here)> {
    let mut choose = |named: &NamedTree| {
        let Some((repo, tree)) = &named.named else { return false };
        let trees = BTreeMap::from([(repo.clone(), tree.iter().cloned().collect())]);
        here = std::mem::take(&mut here).choosing(&trees);
        true
    };
    let is_pattern = matches!(tool, "symbol" | "definitions" | "references");
    if let Some(repo) = asked["repo"].as_str()
        && (is_pattern || matches!(tool, "outline" | "read_file" | "find_file" | "diff"))
    {
        let named = view.named_tree(repo).await?;
        if choose(&named) {
            let name = query::escape(&named.text);
            asked["repo"] = if is_pattern { json!(format!("^{name}$")) } else { json!(named.text) };
        }
    }
    if is_pattern && let Some(from) = asked["from"].as_str() {
        // Other tools print places in this form.
        let named = view.named_tree_of_path(&from.trim().replacen(": ", "/", 1)).await?;
        if choose(&named) {
            asked["from"] = json!(named.text);
        }
    }
    Ok((asked, here))
}
