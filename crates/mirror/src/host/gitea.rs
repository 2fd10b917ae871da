//! Gitea and Forgejo. The shapes are those of <https://docs.gitea.com/api/> and <https://codeberg.org/api/swagger>
//! (`orgListRepos`, `userListRepos`, `repoSearch`, `repoGet`, `repoGetByID`; definition `Repository`).

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde::Deserialize;

use super::{Api, Place, either, header, part, parts};
use crate::listed::{Listed, SeenBy, seconds};

#[derive(Debug)]
pub(crate) struct Gitea {
    pub(crate) base: String,
}

/// The fields of a `Repository` that are used.
#[derive(Debug, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "the host's answer has these fields")]
struct Repository {
    id: u64,
    full_name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    private: bool,
    #[serde(default)]
    internal: bool,
    #[serde(default)]
    fork: bool,
    #[serde(default)]
    archived: bool,
    #[serde(default)]
    empty: bool,
    #[serde(default)]
    topics: Option<Vec<String>>,
    #[serde(default)]
    stars_count: u32,
    /// In KiB.
    #[serde(default)]
    size: Option<u64>,
    updated_at: Option<String>,
    default_branch: Option<String>,
    ssh_url: Option<String>,
    html_url: Option<String>,
}

impl From<Repository> for Listed {
    fn from(of: Repository) -> Self {
        let seen_by = match (of.private, of.internal) {
            (true, _) => SeenBy::Private,
            (_, true) => SeenBy::Internal,
            _ => SeenBy::Public,
        };
        Self {
            id: of.id.to_string(),
            path: of.full_name,
            ssh: of.ssh_url,
            web: of.html_url,
            description: of.description.filter(|text| !text.is_empty()),
            seen_by,
            fork: of.fork,
            archived: of.archived,
            empty: of.empty,
            topics: of.topics.unwrap_or_default(),
            stars: of.stars_count,
            bytes: of.size.map(|kib| kib.saturating_mul(1024)),
            // A push renews it.
            pushed_at: of.updated_at.as_deref().and_then(seconds),
            default_branch: of.default_branch.filter(|name| !name.is_empty()),
        }
    }
}

impl Api for Gitea {
    fn places(&self, beginning: &str) -> Vec<Place> {
        let base = &self.base;
        if beginning.is_empty() {
            return vec![Place::many(format!("{base}/repos/search?sort=id&order=asc&limit=50"))];
        }
        if beginning.contains('/') {
            return vec![Place::one(format!("{base}/repos/{}", parts(beginning)))];
        }
        let owner = part(beginning);
        vec![
            Place::many(format!("{base}/orgs/{owner}/repos?limit=50")),
            Place::many(format!("{base}/users/{owner}/repos?limit=50")),
        ]
    }

    fn by_id(&self, id: &str) -> String {
        format!("{}/repositories/{}", self.base, part(id))
    }

    fn read(&self, body: &[u8]) -> Result<Vec<Listed>, serde_json::Error> {
        Ok(either::<Repository>(body)?.into_iter().map(Listed::from).collect())
    }

    fn authorization(&self, token: &str) -> Option<(HeaderName, HeaderValue)> {
        header(AUTHORIZATION, &format!("token {token}"))
    }
}
