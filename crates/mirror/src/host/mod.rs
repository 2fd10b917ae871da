//! The hosts' APIs: where repositories are listed, and the shapes of the answers.

mod alike;
mod gitea;
mod github;
mod gitlab;

use reqwest::header::{HeaderName, HeaderValue};
use settings::HostKind;

use crate::listed::Listed;

pub(crate) use gitea::Gitea;
pub(crate) use github::GitHub;
pub(crate) use gitlab::GitLab;

/// Where repositories are listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The address of the first page.
    pub(crate) url: String,
    /// Whether it is of one repository, which may not exist.
    pub(crate) is_one: bool,
    /// Where more of them are listed, among others.
    pub(crate) beside: Option<String>,
}

impl Place {
    fn many(url: String) -> Self {
        Self { url, is_one: false, beside: None }
    }

    fn one(url: String) -> Self {
        Self { url, is_one: true, beside: None }
    }
}

/// The API of a host.
pub(crate) trait Api: Send + Sync + std::fmt::Debug {
    /// Returns where to list the repositories whose paths begin with whole parts; all that the token sees if there are none.
    /// The first place that exists counts.
    fn places(&self, beginning: &str) -> Vec<Place>;

    /// Returns the address of the repository with an id.
    fn by_id(&self, id: &str) -> String;

    /// Reads a page, or a single repository.
    ///
    /// # Errors
    /// It has another shape.
    fn read(&self, body: &[u8]) -> Result<Vec<Listed>, serde_json::Error>;

    /// Returns the header that has the token; `None` if it has characters that no header has.
    fn authorization(&self, token: &str) -> Option<(HeaderName, HeaderValue)>;

    /// Returns further headers of each request.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("accept", "application/json")]
    }

    /// Returns how many seconds the time of a repository's last push may lag.
    fn lag(&self) -> i64 {
        10
    }
}

/// Returns the API of a kind of host, at an address.
pub(crate) fn api(kind: HostKind, base: &str, has_token: bool) -> Box<dyn Api> {
    let base = base.trim_end_matches('/').to_owned();
    match kind {
        HostKind::GitHub => Box::new(GitHub { base, has_token }),
        HostKind::GitLab => Box::new(GitLab { base, has_token }),
        HostKind::Gitea | HostKind::Forgejo => Box::new(Gitea { base }),
    }
}

/// Returns the header of a token, which is not logged.
fn header(name: HeaderName, value: &str) -> Option<(HeaderName, HeaderValue)> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some((name, value))
}

/// Escapes a path as one part of an address.
fn part(path: &str) -> String {
    let mut escaped = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(byte as char);
            }
            _ => escaped.push_str(&format!("%{byte:02X}")),
        }
    }
    escaped
}

/// Escapes a path, and keeps its slashes.
fn parts(path: &str) -> String {
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// Reads an array of repositories, one, or an array in a field.
fn either<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<Vec<T>, serde_json::Error> {
    #[derive(serde::Deserialize)]
    struct Found<T> {
        data: Vec<T>,
    }
    match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'[') => serde_json::from_slice(body),
        // What a search answers: only that has the field.
        _ => match serde_json::from_slice::<Found<T>>(body) {
            Ok(found) => Ok(found.data),
            Err(_) => serde_json::from_slice(body).map(|one| vec![one]),
        },
    }
}
