//! Tells why a requested file is not in the index.

use files::SkipReason;
use search::View;

/// A file that was left out of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Name of its repository.
    pub repo: String,
    /// Its path.
    pub path: String,
    /// The reason, worded to follow "it was left out: ".
    pub why: String,
}

/// Returns why a file of a repository was left out; `None` if neither it nor a folder above it was.
///
/// # Errors
/// The database cannot be asked.
pub async fn why_left_out(
    view: &View,
    repo: &str,
    path: &str,
) -> Result<Option<String>, store::Error> {
    let tree = view.tree().await?;
    let Some(repo) = tree.repo(repo).filter(|_| !path.contains('\0')) else { return Ok(None) };
    let above = path.match_indices('/').map(|(at, _)| &path[..at]);
    let paths: Vec<&str> = above.chain([path]).collect();
    let reason = view.left_out_reason(repo.id, &paths).await?;
    Ok(reason.map(|reason| sentence(&reason)))
}

/// Returns a left-out file whose path is the typed text, or ends with it after a slash. The text may begin with the
/// repository's name.
///
/// # Errors
/// The database cannot be asked.
pub async fn left_out_file(view: &View, typed: &str) -> Result<Option<LeftOut>, store::Error> {
    let typed = typed.trim().trim_matches('/');
    if typed.is_empty() {
        return Ok(None);
    }
    let catalog = view.catalog().await?;
    let ends = |path: &str| {
        path.strip_suffix(typed).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let found = catalog.skipped().await?.iter().find_map(|file| {
        let repo = &catalog.repos.get(&file.repo)?.name;
        let is_it = ends(&file.path)
            || typed
                .strip_prefix(&**repo)
                .is_some_and(|rest| rest.strip_prefix('/') == Some(&file.path));
        is_it.then(|| LeftOut {
            repo: repo.clone(),
            path: file.path.clone(),
            why: sentence(&file.reason),
        })
    });
    Ok(found)
}

/// Returns the words for a stored reason.
fn sentence(reason: &str) -> String {
    SkipReason::of(reason).map_or_else(|| reason.to_owned(), |reason| reason.to_string())
}
