//! Gitea and Forgejo. The shapes are those of <https://docs.gitea.com/api/> and <https://codeberg.org/api/swagger>
//! (`orgListRepos`, `userListRepos`, `repoSearch`, `repoGet`, `repoGetByID`; definition `Repository`).

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde::Deserialize;

use super::alike::{self, Own};
use super::{Api, Place, header, part};
use crate::listed::Listed;

#[derive(Debug)]
pub(crate) struct Gitea {
    pub(crate) base: String,
}

/// The fields of a `Repository` that only Gitea has.
#[derive(Debug, Deserialize)]
struct Fields {
    #[serde(default)]
    internal: bool,
    #[serde(default)]
    empty: bool,
    #[serde(default)]
    stars_count: u32,
    /// A push renews it.
    updated_at: Option<String>,
}

impl Own for Fields {
    fn is_internal(&self) -> bool {
        self.internal
    }

    fn is_empty(&self) -> bool {
        self.empty
    }

    fn stars(&self) -> u32 {
        self.stars_count
    }

    fn pushed_at(&self) -> Option<&str> {
        self.updated_at.as_deref()
    }
}

impl Api for Gitea {
    fn places(&self, beginning: &str) -> Vec<Place> {
        let base = &self.base;
        let all = "repos/search?sort=id&order=asc&limit=50";
        if let Some(places) = alike::all_or_one(base, beginning, all) {
            return places;
        }
        let owner = part(beginning);
        vec![
            Place::many(format!("{base}/orgs/{owner}/repos?limit=50")),
            Place::many(format!("{base}/users/{owner}/repos?limit=50")),
        ]
    }

    fn by_id(&self, id: &str) -> String {
        alike::by_id(&self.base, id)
    }

    fn read(&self, body: &[u8]) -> Result<Vec<Listed>, serde_json::Error> {
        alike::read::<Fields>(body)
    }

    fn authorization(&self, token: &str) -> Option<(HeaderName, HeaderValue)> {
        header(AUTHORIZATION, &format!("token {token}"))
    }
}
