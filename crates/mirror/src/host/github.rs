//! GitHub, and GitHub Enterprise Server. The shapes are those of
//! <https://docs.github.com/en/rest/repos/repos?apiVersion=2022-11-28> ("List organization repositories", "List repositories
//! for a user", "List repositories for the authenticated user", "Get a repository").

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde::Deserialize;

use super::{Api, Place, either, header, part, parts};
use crate::listed::{Listed, SeenBy, seconds};

#[derive(Debug)]
pub(crate) struct GitHub {
    pub(crate) base: String,
    pub(crate) has_token: bool,
}

/// The fields of a "Minimal Repository" that are used.
#[derive(Debug, Deserialize)]
struct Repository {
    id: u64,
    full_name: String,
    private: bool,
    visibility: Option<String>,
    fork: bool,
    html_url: Option<String>,
    description: Option<String>,
    #[serde(default)]
    archived: Option<bool>,
    #[serde(default)]
    topics: Option<Vec<String>>,
    #[serde(default)]
    stargazers_count: Option<u32>,
    /// In KB.
    #[serde(default)]
    size: Option<u64>,
    pushed_at: Option<String>,
    default_branch: Option<String>,
    ssh_url: Option<String>,
}

impl From<Repository> for Listed {
    fn from(of: Repository) -> Self {
        let seen_by = match of.visibility.as_deref() {
            Some("internal") => SeenBy::Internal,
            _ if of.private => SeenBy::Private,
            _ => SeenBy::Public,
        };
        Self {
            id: of.id.to_string(),
            path: of.full_name,
            ssh: of.ssh_url,
            web: of.html_url,
            description: of.description,
            seen_by,
            fork: of.fork,
            archived: of.archived.unwrap_or_default(),
            empty: false,
            topics: of.topics.unwrap_or_default(),
            stars: of.stargazers_count.unwrap_or_default(),
            bytes: of.size.map(|kb| kb.saturating_mul(1024)),
            pushed_at: of.pushed_at.as_deref().and_then(seconds),
            default_branch: of.default_branch,
        }
    }
}

/// The order of names changes least from page to page while repositories are pushed to.
const PAGES: &str = "per_page=100&sort=full_name&direction=asc";

impl Api for GitHub {
    fn places(&self, beginning: &str) -> Vec<Place> {
        let base = &self.base;
        if beginning.is_empty() {
            return vec![Place::many(format!("{base}/user/repos?{PAGES}"))];
        }
        if beginning.contains('/') {
            return vec![Place::one(format!("{base}/repos/{}", parts(beginning)))];
        }
        let owner = part(beginning);
        let user = Place {
            // Private ones are listed to their owner alone, at another address.
            beside: self
                .has_token
                .then(|| format!("{base}/user/repos?affiliation=owner&visibility=private&{PAGES}")),
            ..Place::many(format!("{base}/users/{owner}/repos?type=owner&{PAGES}"))
        };
        vec![Place::many(format!("{base}/orgs/{owner}/repos?type=all&{PAGES}")), user]
    }

    fn by_id(&self, id: &str) -> String {
        format!("{}/repositories/{}", self.base, part(id))
    }

    fn read(&self, body: &[u8]) -> Result<Vec<Listed>, serde_json::Error> {
        Ok(either::<Repository>(body)?.into_iter().map(Listed::from).collect())
    }

    fn authorization(&self, token: &str) -> Option<(HeaderName, HeaderValue)> {
        header(AUTHORIZATION, &format!("Bearer {token}"))
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("accept", "application/vnd.github+json"), ("x-github-api-version", "2022-11-28")]
    }
}
