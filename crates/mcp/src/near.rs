//! Errors for repositories and files that do not exist, with the nearest ones.

use anyhow::{Result, anyhow};
use browse::FindRequest;
use search::View;

/// Most similar paths or repositories that are named in place of a missing one.
const NEAR: usize = 3;

/// Most bytes of an unknown name that an error repeats.
const MAX_NAME: usize = 200;

/// Checks that a repository exists.
///
/// # Errors
/// There is none of that name, or the database query fails.
pub(super) async fn check_repo(view: &View, typed: &str) -> Result<()> {
    let catalog = view.catalog().await?;
    let names: Vec<&str> = catalog.repos.values().map(|repo| repo.name.as_str()).collect();
    if names.contains(&typed) {
        return Ok(());
    }
    let (near, shown) = (near_repos(&names, typed), query::shortened(typed, MAX_NAME));
    Err(if near.is_empty() {
        anyhow!("unknown repository '{shown}'; list_repos lists those that exist")
    } else {
        anyhow!("unknown repository '{shown}'; did you mean {near}?")
    })
}

/// Returns the repositories with the most similar names; empty if there are none.
fn near_repos(names: &[&str], typed: &str) -> String {
    let typed = typed.to_lowercase();
    let cost = |name: &str| {
        let name = name.to_lowercase();
        let last = name.rsplit('/').next().unwrap_or(&name);
        if last == typed {
            return Some(0);
        }
        if name.contains(&typed) || typed.contains(last) {
            return Some(1);
        }
        query::nearest(&typed, [last, name.as_str()]).map(|_| 2)
    };
    let costs = names.iter().filter_map(|name| Some((cost(name)?, *name)));
    let mut near: Vec<(usize, &str)> = costs.collect();
    near.sort_by_key(|(cost, name)| (*cost, name.len(), *name));
    let near: Vec<&str> = near.into_iter().take(NEAR).map(|(_, name)| name).collect();
    near.join(" or ")
}

/// Returns the error for a file or folder that a repository does not have.
pub(super) async fn no_file(view: &View, repo: &str, path: &str) -> anyhow::Error {
    let shown = query::shortened(path, MAX_NAME);
    match near_paths(view, repo, path).await {
        Ok(near) if !near.is_empty() => {
            anyhow!("{repo} has no file '{shown}'; did you mean {}?", near.join(" or "))
        }
        Ok(_) => anyhow!("{repo} has no file '{shown}'; find_file finds files by their paths"),
        Err(error) => error,
    }
}

/// Returns the files of a repository with the most similar paths.
async fn near_paths(view: &View, repo: &str, path: &str) -> Result<Vec<String>> {
    let tree = view.tree().await?;
    let name = path.rsplit('/').next().unwrap_or(path).to_owned();
    let within = repo.to_owned();
    // The search visits every path.
    let work = tokio::task::spawn_blocking(move || {
        let within = Some(within.as_str());
        let finding =
            FindRequest { query: &name, repo: within, limit: NEAR, ..FindRequest::default() };
        browse::find(&tree, &finding).unwrap_or_default()
    });
    let (near, _) = work.await?;
    Ok(near.into_iter().map(|near| near.path).collect())
}
