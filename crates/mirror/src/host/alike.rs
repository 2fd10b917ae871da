//! What the APIs of GitHub and of Gitea have in common: that of Gitea follows GitHub's.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Place, either, part, parts};
use crate::listed::{Listed, SeenBy, seconds};

/// The fields of a repository that are used and are called alike; `Own` has the others.
#[derive(Debug, Deserialize)]
pub(super) struct Repository<Own> {
    id: u64,
    full_name: String,
    private: Option<bool>,
    #[serde(default)]
    fork: bool,
    #[serde(default)]
    archived: Option<bool>,
    #[serde(default)]
    topics: Option<Vec<String>>,
    /// In KiB.
    #[serde(default)]
    size: Option<u64>,
    description: Option<String>,
    default_branch: Option<String>,
    ssh_url: Option<String>,
    html_url: Option<String>,
    #[serde(flatten)]
    own: Own,
}

/// What the fields of one kind of host say.
pub(super) trait Own: DeserializeOwned {
    /// Returns whether everybody who is signed in sees it.
    fn is_internal(&self) -> bool;

    /// Returns whether nothing was pushed to it yet, as far as the host says.
    fn is_empty(&self) -> bool {
        false
    }

    /// Returns the number of its stars.
    fn stars(&self) -> u32;

    /// Returns when something was last pushed to it.
    fn pushed_at(&self) -> Option<&str>;
}

impl<O: Own> From<Repository<O>> for Listed {
    fn from(of: Repository<O>) -> Self {
        let seen_by = match (of.own.is_internal(), of.private) {
            (true, _) => SeenBy::Internal,
            (_, Some(false)) => SeenBy::Public,
            // What is not said shows nothing.
            (_, Some(true) | None) => SeenBy::Private,
        };
        Self {
            id: of.id.to_string(),
            path: of.full_name,
            ssh: of.ssh_url,
            web: of.html_url,
            description: of.description.filter(|text| !text.is_empty()),
            seen_by,
            fork: of.fork,
            archived: of.archived.unwrap_or_default(),
            empty: of.own.is_empty(),
            topics: of.topics.unwrap_or_default(),
            stars: of.own.stars(),
            bytes: of.size.map(|kib| kib.saturating_mul(1024)),
            pushed_at: of.own.pushed_at().and_then(seconds),
            default_branch: of.default_branch.filter(|name| !name.is_empty()),
        }
    }
}

/// Reads a page, or a single repository.
///
/// # Errors
/// It has another shape.
pub(super) fn read<O: Own>(body: &[u8]) -> Result<Vec<Listed>, serde_json::Error> {
    Ok(either::<Repository<O>>(body)?.into_iter().map(Listed::from).collect())
}

/// Returns the address of the repository with an id.
pub(super) fn by_id(base: &str, id: &str) -> String {
    format!("{base}/repositories/{}", part(id))
}

/// Returns the place of all that the token sees, or of one repository; `None` for an owner. `all` is the address of all.
pub(super) fn all_or_one(base: &str, beginning: &str, all: &str) -> Option<Vec<Place>> {
    if beginning.is_empty() {
        return Some(vec![Place::many(format!("{base}/{all}"))]);
    }
    let one = || vec![Place::one(format!("{base}/repos/{}", parts(beginning)))];
    beginning.contains('/').then(one)
}
