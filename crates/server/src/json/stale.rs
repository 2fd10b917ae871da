//! Files that have changed on disk since they were indexed, as JSON.

use request::stale::utc;
use search::Stale;
use serde_json::{Value, json};

/// Returns the numbers of changed and deleted files, their repositories, and the time of the earliest of their last
/// ingests; `None` if no file has changed.
pub(crate) fn stale_json(stale: &Stale) -> Option<Value> {
    let since = stale.repos.iter().map(|repo| repo.since).min()?;
    let files: usize = stale.repos.iter().map(|repo| repo.changed.len()).sum();
    let deleted: usize = stale.repos.iter().map(|repo| repo.deleted.len()).sum();
    let repos: Vec<&str> = stale.repos.iter().map(|repo| repo.name.as_str()).collect();
    Some(json!({ "files": files, "deleted": deleted, "since": utc(since), "repos": repos }))
}
