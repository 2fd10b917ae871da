//! GitHub, and GitHub Enterprise Server. The shapes are those of
//! <https://docs.github.com/en/rest/repos/repos?apiVersion=2022-11-28> ("List organization repositories", "List repositories
//! for a user", "List repositories for the authenticated user", "Get a repository").

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde::Deserialize;

use super::alike::{self, Own};
use super::{Api, Place, header, part};
use crate::listed::Listed;

#[derive(Debug)]
pub(crate) struct GitHub {
    pub(crate) base: String,
    pub(crate) has_token: bool,
}

/// The fields of a "Minimal Repository" that only GitHub has.
#[derive(Debug, Deserialize)]
struct Fields {
    visibility: Option<String>,
    #[serde(default)]
    stargazers_count: Option<u32>,
    pushed_at: Option<String>,
}

impl Own for Fields {
    fn is_internal(&self) -> bool {
        self.visibility.as_deref() == Some("internal")
    }

    fn stars(&self) -> u32 {
        self.stargazers_count.unwrap_or_default()
    }

    fn pushed_at(&self) -> Option<&str> {
        self.pushed_at.as_deref()
    }
}

/// The order of names changes least from page to page while repositories are pushed to.
const PAGES: &str = "per_page=100&sort=full_name&direction=asc";

impl Api for GitHub {
    fn places(&self, beginning: &str) -> Vec<Place> {
        let base = &self.base;
        if let Some(places) = alike::all_or_one(base, beginning, &format!("user/repos?{PAGES}")) {
            return places;
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
        alike::by_id(&self.base, id)
    }

    fn read(&self, body: &[u8]) -> Result<Vec<Listed>, serde_json::Error> {
        alike::read::<Fields>(body)
    }

    fn authorization(&self, token: &str) -> Option<(HeaderName, HeaderValue)> {
        header(AUTHORIZATION, &format!("Bearer {token}"))
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("accept", "application/vnd.github+json"), ("x-github-api-version", "2022-11-28")]
    }
}
