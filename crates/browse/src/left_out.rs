//! Tells why a requested file is not in the index.

use files::SkipReason;
use search::View;
use store::SkippedFile;

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
    // The path of a folder that a rule left out ends with a slash.
    let above = path.match_indices('/').flat_map(|(at, _)| [&path[..at], &path[..=at]]);
    let folder = format!("{path}/");
    let paths: Vec<&str> = above.chain([path, &folder]).collect();
    let row = view.left_out_reason(repo.id, &paths).await?;
    Ok(row.map(|row| sentence(&row.reason, row.rule.as_deref())))
}

/// Returns a left-out file whose path is the typed text, or ends with it after a slash; or a left-out folder around it. The
/// text may begin with the repository's name.
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
    let names = |file: &SkippedFile| {
        let repo = &catalog.repos.get(&file.repo)?.name;
        let path = file.path.trim_end_matches('/');
        let within = typed.strip_prefix(&**repo).and_then(|rest| rest.strip_prefix('/'));
        let is_it = ends(path)
            || [Some(typed), within].into_iter().flatten().any(|typed| {
                typed == path || file.path.ends_with('/') && typed.starts_with(&file.path)
            });
        is_it.then(|| LeftOut {
            repo: repo.clone(),
            path: file.path.clone(),
            why: sentence(&file.reason, file.rule.as_deref()),
        })
    };
    let trees = catalog.filter().trees;
    let mut chosen = catalog.skipped().await?.iter().filter(|of| trees.passes(of.repo, of.trees));
    if let Some(found) = chosen.find_map(names) {
        return Ok(Some(found));
    }
    // What ignore files name is not in memory: it may be very many files.
    let within = |name: &str| typed.strip_prefix(name)?.strip_prefix('/');
    let within = catalog.repos.values().filter_map(|repo| within(&repo.name));
    let folders = within.chain([typed]).flat_map(|typed| {
        let above = typed.match_indices('/').map(|(at, _)| typed[..=at].to_owned());
        above.chain([typed.to_owned(), format!("{typed}/")])
    });
    let folders: Vec<String> = folders.collect();
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    Ok(catalog.ignored(&folders, typed).await?.iter().find_map(names))
}

/// Returns the words for a stored reason, with the rule, if one left the file out.
fn sentence(reason: &str, rule: Option<&str>) -> String {
    let why = SkipReason::of(reason).map_or_else(|| reason.to_owned(), |reason| reason.to_string());
    rule.map_or(why.clone(), |rule| format!("{why}: {rule}"))
}
