//! Files, folders and repositories: pages for browsers, JSON for programs, at the same addresses.

mod file;
mod finder;
mod lines;
mod repos;

use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use store::Repo;

pub(crate) use self::file::{file, raw};
pub(crate) use self::finder::files;
pub(crate) use self::lines::lines;
pub(crate) use self::repos::repos;
use super::link;
use super::search_page::failed;
use crate::http::error::Failure;
use crate::http::params::wants_page;
use crate::http::server::Server;

/// What can be asked of files and repositories.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Wanted {
    /// The name of a repository; of the finder, a part of it.
    #[serde(default)]
    repo: String,
    /// A path in it.
    #[serde(default)]
    path: String,
    /// A query, of which the page of a file shows what matches; or what was typed into the finder.
    #[serde(default)]
    q: String,
    /// Lines of a file to send: `10-20`.
    lines: Option<String>,
    /// A language.
    lang: Option<String>,
    /// Most files.
    limit: Option<String>,
    /// `1` for a file to be saved.
    download: Option<String>,
    /// `json` or `html`.
    format: Option<String>,
}

/// A part of a path, and the address of what it names.
struct Crumb {
    name: String,
    href: String,
}

/// A page or JSON, whatever came of it.
fn answered(headers: &HeaderMap, q: &str, format: Option<&str>, done: Answered) -> Response {
    done.unwrap_or_else(|failure| {
        if wants_page(headers, format) { failed(q, failure) } else { failure.into_response() }
    })
}

type Answered = Result<Response, Failure>;

async fn repo(server: &Server, name: &str) -> Result<Repo, Failure> {
    let repos = server.searcher.store().repos().await?;
    let found = repos.into_iter().find(|repo| repo.name == name);
    found.ok_or_else(|| Failure::no_such(name))
}

/// The parts of a path, each with its address.
fn crumbs(repo: &str, path: &str) -> Vec<Crumb> {
    let mut crumbs = vec![Crumb { name: repo.to_owned(), href: link::folder(repo, "") }];
    let mut upto = String::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        if !upto.is_empty() {
            upto.push('/');
        }
        upto.push_str(part);
        crumbs.push(Crumb { name: part.to_owned(), href: link::folder(repo, &upto) });
    }
    crumbs
}
