//! What a webhook tells: the repository, by its number and addresses, and whether its files may have changed. Nothing else
//! of it is used.

use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use percent_encoding::percent_decode;
use serde::Deserialize;

/// The headers that name the event, in the order in which they are tried.
const NAMES: [&str; 5] =
    ["x-github-event", "x-gitea-event", "x-forgejo-event", "x-gogs-event", "x-gitlab-event"];

/// Events after which a repository may have other branches.
const CHANGES: [&str; 7] =
    ["push", "create", "delete", "push hook", "tag push hook", "tag_push", "repository_update"];

/// Events after which a repository may be new, gone, or called otherwise.
const OF_REPOSITORIES: [&str; 5] =
    ["repository", "project_create", "project_destroy", "project_rename", "project_transfer"];

/// What a webhook tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The host tries whether the address answers.
    Ping,
    /// No branch changed; the name of the event.
    Other(String),
    /// Branches of a repository may have changed.
    Changed(Changed),
}

/// A repository whose branches may have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// Its number on its host.
    pub(super) id: Option<u64>,
    /// Its addresses to clone from, and its page.
    pub(super) addresses: Vec<String>,
    /// The branch or tag, `refs/heads/main`, if the event names one.
    pub(super) reference: Option<String>,
    /// Whether the repository may be new, gone, or called otherwise, which its host's list tells.
    pub(super) is_other: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Payload {
    event_name: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    project_id: Option<u64>,
    repository: Option<Repository>,
    project: Option<Repository>,
}

/// A repository as the hosts name it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Repository {
    id: Option<u64>,
    clone_url: Option<String>,
    ssh_url: Option<String>,
    git_url: Option<String>,
    html_url: Option<String>,
    git_http_url: Option<String>,
    git_ssh_url: Option<String>,
    http_url: Option<String>,
    web_url: Option<String>,
    homepage: Option<String>,
}

impl Event {
    /// Reads a webhook whose proof was checked.
    ///
    /// # Errors
    /// A sentence about a body that no host sends.
    pub(super) fn read(headers: &HeaderMap, body: &[u8]) -> Result<Self, String> {
        let name = NAMES.iter().find_map(|name| headers.get(*name)?.to_str().ok());
        let name = name.unwrap_or_default().to_lowercase();
        if name == "ping" {
            return Ok(Self::Ping);
        }
        let payload: Payload = serde_json::from_slice(&json(headers, body)?).map_err(|_| {
            "the body is not the JSON of a webhook; send application/json".to_owned()
        })?;
        // A hook of all of GitLab says `System Hook`.
        let told = payload.event_name.map(|name| name.to_lowercase());
        let is_one = |of: &[&str]| {
            of.contains(&&*name) || told.as_deref().is_some_and(|told| of.contains(&told))
        };
        let is_other = is_one(&OF_REPOSITORIES);
        if !is_other && !is_one(&CHANGES) {
            return Ok(Self::Other(told.unwrap_or(name)));
        }
        let mut changed = Changed {
            id: payload.project_id,
            reference: payload.reference,
            is_other,
            ..Changed::default()
        };
        for repo in [payload.repository, payload.project].into_iter().flatten() {
            changed.id = changed.id.or(repo.id);
            let Repository {
                clone_url, ssh_url, git_url, html_url, git_http_url, git_ssh_url, ..
            } = repo;
            let Repository { http_url, web_url, homepage, .. } = repo;
            let all = [
                clone_url,
                git_http_url,
                http_url,
                ssh_url,
                git_ssh_url,
                git_url,
                html_url,
                web_url,
                homepage,
            ];
            for address in all.into_iter().flatten().filter(|address| !address.is_empty()) {
                if !changed.addresses.contains(&address) {
                    changed.addresses.push(address);
                }
            }
        }
        if changed.id.is_none() && changed.addresses.is_empty() {
            return Err("the body names no repository; send the JSON of the host".to_owned());
        }
        Ok(Self::Changed(changed))
    }
}

/// Returns the JSON of a body, which GitHub may send as a form.
fn json<'b>(headers: &HeaderMap, body: &'b [u8]) -> Result<std::borrow::Cow<'b, [u8]>, String> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("application/x-www-form-urlencoded") {
        return Ok(body.into());
    }
    let mut fields = body.split(|byte| *byte == b'&');
    let payload = fields.find_map(|field| field.strip_prefix(b"payload="));
    let payload = payload.ok_or_else(|| "the form has no field payload".to_owned())?;
    let spaced: Vec<u8> =
        payload.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    Ok(percent_decode(&spaced).collect::<Vec<u8>>().into())
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn read(headers: &[(&'static str, &'static str)], body: &str) -> Result<Event, String> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        Event::read(&headers.collect(), body.as_bytes())
    }

    fn changed(id: u64, addresses: &[&str], reference: Option<&str>) -> Event {
        let addresses = addresses.iter().map(|text| (*text).to_owned()).collect();
        let reference = reference.map(str::to_owned);
        Event::Changed(Changed { id: Some(id), addresses, reference, is_other: false })
    }

    #[test]
    fn each_host_names_the_repository() {
        // <https://docs.github.com/en/webhooks/webhook-events-and-payloads#push>
        let github = r#"{"ref": "refs/heads/main", "before": "00", "repository": {"id": 186853002,
            "name": "Hello-World", "full_name": "Codertocat/Hello-World",
            "html_url": "https://github.com/Codertocat/Hello-World",
            "clone_url": "https://github.com/Codertocat/Hello-World.git",
            "ssh_url": "git@github.com:Codertocat/Hello-World.git", "owner": {"id": 1}}, "commits": []}"#;
        let expected = changed(
            186_853_002,
            &[
                "https://github.com/Codertocat/Hello-World.git",
                "git@github.com:Codertocat/Hello-World.git",
                "https://github.com/Codertocat/Hello-World",
            ],
            Some("refs/heads/main"),
        );
        assert_eq!(read(&[("x-github-event", "push")], github), Ok(expected.clone()));
        let form = format!(
            "a=b&payload={}",
            github.replace('%', "%25").replace('+', "%2B").replace('&', "%26")
        );
        let headers =
            [("x-github-event", "push"), ("content-type", "application/x-www-form-urlencoded")];
        assert_eq!(read(&headers, &form), Ok(expected));
        // <https://docs.gitlab.com/user/project/integrations/webhook_events/#push-events>
        let gitlab = r#"{"object_kind": "push", "event_name": "push", "ref": "refs/heads/master", "project_id": 15,
            "project": {"id": 15, "web_url": "http://example.com/mike/diaspora",
                "git_ssh_url": "git@example.com:mike/diaspora.git",
                "git_http_url": "http://example.com/mike/diaspora.git", "homepage": "http://example.com/mike/diaspora"},
            "repository": {"name": "Diaspora", "url": "git@example.com:mike/diaspora.git",
                "git_http_url": "http://example.com/mike/diaspora.git"}}"#;
        let expected = changed(
            15,
            &[
                "http://example.com/mike/diaspora.git",
                "git@example.com:mike/diaspora.git",
                "http://example.com/mike/diaspora",
            ],
            Some("refs/heads/master"),
        );
        assert_eq!(read(&[("x-gitlab-event", "Push Hook")], gitlab), Ok(expected.clone()));
        assert_eq!(read(&[("x-gitlab-event", "System Hook")], gitlab), Ok(expected));
        // <https://docs.gitea.com/usage/webhooks>
        let gitea = r#"{"ref": "refs/heads/develop", "repository": {"id": 140,
            "clone_url": "http://localhost:3000/gitea/webhooks.git"}}"#;
        let expected =
            changed(140, &["http://localhost:3000/gitea/webhooks.git"], Some("refs/heads/develop"));
        assert_eq!(read(&[("x-gitea-event", "push")], gitea), Ok(expected));
    }

    #[test]
    fn a_repository_that_is_called_otherwise_is_told_apart() {
        let is_other = |headers, body| match read(&[headers], body) {
            Ok(Event::Changed(changed)) => changed.is_other,
            other => panic!("{other:?}"),
        };
        // <https://docs.github.com/en/webhooks/webhook-events-and-payloads#repository>
        let github = r#"{"action": "renamed", "repository": {"id": 1}}"#;
        assert!(is_other(("x-github-event", "repository"), github));
        assert!(!is_other(("x-github-event", "push"), github));
        // <https://docs.gitlab.com/administration/system_hooks/#project-renamed>
        let gitlab = r#"{"event_name": "project_rename", "project_id": 73}"#;
        assert!(is_other(("x-gitlab-event", "System Hook"), gitlab));
    }

    #[test]
    fn what_changes_no_branch_is_told_apart() {
        assert_eq!(read(&[("x-github-event", "ping")], "{\"zen\": \"...\"}"), Ok(Event::Ping));
        let other = Ok(Event::Other("issues".to_owned()));
        assert_eq!(read(&[("x-github-event", "issues")], "{\"repository\": {\"id\": 1}}"), other);
        let system = "{\"event_name\": \"user_create\"}";
        assert_eq!(
            read(&[("x-gitlab-event", "System Hook")], system),
            Ok(Event::Other("user_create".to_owned()))
        );
        for body in ["", "[", "[]", "{\"ref\": 1}", "\u{0}", "{}", "{\"repository\": {}}"] {
            assert!(read(&[("x-github-event", "push")], body).is_err(), "{body}");
        }
        let deep = "[".repeat(1 << 20);
        assert!(read(&[("x-github-event", "push")], &deep).is_err());
    }
}
