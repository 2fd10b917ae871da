//! GitLab. The shapes are those of <https://docs.gitlab.com/api/projects/> ("List all projects", "List a user's projects",
//! "Retrieve a project") and <https://docs.gitlab.com/api/groups/#list-projects>; pages are described at
//! <https://docs.gitlab.com/api/rest/#pagination>.

use reqwest::header::{HeaderName, HeaderValue};
use serde::Deserialize;

use super::{Api, Place, either, header, part};
use crate::listed::{Listed, SeenBy, seconds};

#[derive(Debug)]
pub(crate) struct GitLab {
    pub(crate) base: String,
    pub(crate) has_token: bool,
}

/// The fields of a project that are used.
#[derive(Debug, Deserialize)]
struct Project {
    id: u64,
    path_with_namespace: String,
    description: Option<String>,
    default_branch: Option<String>,
    /// Only shown to who may read the code.
    #[serde(default)]
    visibility: Option<String>,
    #[serde(default)]
    archived: Option<bool>,
    #[serde(default)]
    empty_repo: Option<bool>,
    #[serde(default)]
    topics: Option<Vec<String>>,
    #[serde(default)]
    star_count: Option<u32>,
    last_activity_at: Option<String>,
    ssh_url_to_repo: Option<String>,
    web_url: Option<String>,
    forked_from_project: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    statistics: Option<Statistics>,
}

/// Only shown to members.
#[derive(Debug, Deserialize)]
struct Statistics {
    /// In bytes.
    repository_size: Option<u64>,
}

impl Project {
    fn listed(self, has_token: bool) -> Listed {
        let of = self;
        let seen_by = match of.visibility.as_deref() {
            Some("public") => SeenBy::Public,
            Some("internal") => SeenBy::Internal,
            // Who is not signed in is not told, and sees only public ones.
            None if !has_token => SeenBy::Public,
            Some(_) | None => SeenBy::Private,
        };
        Listed {
            id: of.id.to_string(),
            path: of.path_with_namespace,
            ssh: of.ssh_url_to_repo,
            web: of.web_url,
            description: of.description,
            seen_by,
            fork: of.forked_from_project.is_some(),
            archived: of.archived.unwrap_or_default(),
            empty: of.empty_repo.unwrap_or_default(),
            topics: of.topics.unwrap_or_default(),
            stars: of.star_count.unwrap_or_default(),
            bytes: of.statistics.and_then(|of| of.repository_size),
            pushed_at: of.last_activity_at.as_deref().and_then(seconds),
            default_branch: of.default_branch,
        }
    }
}

impl Api for GitLab {
    fn places(&self, beginning: &str) -> Vec<Place> {
        let base = &self.base;
        // The order of ids never changes. Sizes are shown to who is signed in.
        let sizes = if self.has_token { "&statistics=true" } else { "" };
        let pages = format!("per_page=100&order_by=id&sort=asc{sizes}");
        let of = part(beginning);
        if beginning.is_empty() {
            let mine =
                if base.starts_with("https://gitlab.com/") { "&membership=true" } else { "" };
            return vec![Place::many(format!("{base}/projects?pagination=keyset&{pages}{mine}"))];
        }
        let group =
            format!("{base}/groups/{of}/projects?include_subgroups=true&with_shared=false&{pages}");
        let mut places = vec![Place::many(group)];
        places.push(if beginning.contains('/') {
            Place::one(format!("{base}/projects/{of}{}", sizes.replacen('&', "?", 1)))
        } else {
            Place::many(format!("{base}/users/{of}/projects?{pages}"))
        });
        places
    }

    fn by_id(&self, id: &str) -> String {
        format!("{}/projects/{}", self.base, part(id))
    }

    fn read(&self, body: &[u8]) -> Result<Vec<Listed>, serde_json::Error> {
        let listed = |project: Project| project.listed(self.has_token);
        Ok(either::<Project>(body)?.into_iter().map(listed).collect())
    }

    fn authorization(&self, token: &str) -> Option<(HeaderName, HeaderValue)> {
        header(HeaderName::from_static("private-token"), token)
    }

    /// `last_activity_at` is renewed once an hour at most.
    fn lag(&self) -> i64 {
        65 * 60
    }
}
