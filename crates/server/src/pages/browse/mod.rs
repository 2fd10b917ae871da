//! Files, folders and repositories: pages for browsers and JSON for programs, at the same addresses.

mod around;
mod file;
mod finder;
mod in_tree;
mod lines;
mod missing;
mod one_repo;
mod outline;
mod repos;

use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use store::{Catalog, InTree, MAIN_TREE, Repo};

pub(crate) use self::file::{FILE, RAW};
pub(crate) use self::finder::FILES;
pub(crate) use self::lines::LINES;
pub(crate) use self::missing::not_in_index;
pub(super) use self::outline::names_of_headings as headings;
pub(crate) use self::repos::REPOS;
use self::repos::RepoOrder;
use super::link;
use super::search_page::failed;
use crate::error::Failure;
use crate::params::names::{FORMAT, LANG, Q, REPO};
use crate::params::{CheckedParams, Kind, Param, wants_page};
use crate::server::Server;

/// A path in a repository.
const PATH: Param = Param::text("path", "A path in the repository.");

/// Most files that the finder lists.
const LIMIT: Param = Param {
    kind: Kind::Number { least: 0, most: 1000, instead: "a number up to 1000" },
    ..Param::text("limit", "Maximum number of files, up to 1000; default 50.")
};

/// The range of lines to send.
const LINE_RANGE: Param = Param::word("lines", "A range of lines, such as 10-20, or one line.");

/// Contents of a file.
const HASH: Param = Param::text(
    "hash",
    "Git's hash of the contents, from `hash` of an answer. Returns this version of the file as long as the index or \
     the clone has it.",
)
.at_most(128);

/// Another tree of a repository.
const REV: Param = Param::text(
    "rev",
    "A branch, a tag or a commit, or the name of an indexed worktree: its files are shown in place of the current ones.",
)
.at_most(1000);

/// The same, as the addresses of results have it.
const TREE: Param = Param::text("tree", "The same as rev.").at_most(1000);

/// Makes the browser save the file.
const DOWNLOAD: Param = Param::word("download", "1 to save the file instead of showing it.");

/// The order of the page that lists repositories.
const ORDER: Param = Param::one_of(
    "sort",
    &["name", "files", "text", "age"],
    "The order of the page of all repositories.",
);

/// Makes the page of a Markdown file show it as a document.
const RENDERED: Param = Param::word("rendered", "1 for a page with Markdown as a document.");

/// The parameters of a request for files or repositories.
#[derive(Clone, Debug)]
pub(crate) struct BrowseParams {
    /// The name of a repository; for the finder, a part of it.
    repo: String,
    /// The tree of it, if that is not the main one.
    tree: Option<InTree>,
    /// A path in the repository.
    path: String,
    /// A query whose matches the page of a file shows, or the text typed into the finder.
    q: String,
    /// The lines of a file to send: `10-20`.
    lines: Option<String>,
    /// The hash of the contents, if they are not the current ones.
    hash: Option<String>,
    /// The tree whose files are shown, if it is not the main one.
    rev: Option<String>,
    /// A language.
    lang: Option<String>,
    /// Most files to list.
    limit: Option<usize>,
    /// Whether the browser saves the file.
    download: bool,
    /// Whether the page shows Markdown as a document.
    rendered: bool,
    /// The order of repositories.
    order: RepoOrder,
    /// `json` or `html`.
    format: Option<String>,
}

impl From<CheckedParams> for BrowseParams {
    fn from(given: CheckedParams) -> Self {
        let some = |param| given.get(param).map(str::to_owned);
        Self {
            repo: given.text(&REPO),
            tree: None,
            path: given.text(&PATH),
            q: given.text(&Q),
            lines: some(&LINE_RANGE),
            hash: given.get(&HASH).map(str::to_lowercase),
            rev: some(&REV).or_else(|| some(&TREE)).filter(|rev| !rev.is_empty()),
            lang: some(&LANG),
            limit: given.number(&LIMIT),
            download: given.get(&DOWNLOAD).is_some(),
            rendered: given.get(&RENDERED).is_some(),
            order: given.get(&ORDER).map(RepoOrder::of).unwrap_or_default(),
            format: some(&FORMAT),
        }
    }
}

impl BrowseParams {
    /// Returns the repository as addresses name it, with the tree.
    fn place(&self) -> String {
        self.tree
            .as_ref()
            .map_or_else(|| self.repo.clone(), |tree| link::in_tree(&self.repo, &tree.tree))
    }
}

/// A part of a path, and its address.
pub(super) struct Crumb {
    pub(super) name: String,
    pub(super) href: String,
}

/// Turns a result into a response; a failure becomes a page or JSON.
fn answered(headers: &HeaderMap, q: &str, format: Option<&str>, done: Answered) -> Response {
    done.unwrap_or_else(|failure| {
        if wants_page(headers, format) { failed(q, failure) } else { failure.into_response() }
    })
}

type Answered = Result<Response, Failure>;

/// Returns the trees of a repository with several, the main one first, as JSON.
fn trees_json(catalog: &Catalog, repo: &Repo) -> Vec<serde_json::Value> {
    let Some(known) = catalog.repos.get(&repo.id).filter(|known| !known.trees.trees.is_empty())
    else {
        return Vec::new();
    };
    let main = json!({
        "name": MAIN_TREE, "kind": "main", "commit": repo.commit, "files": repo.files,
    });
    let others = known.trees.trees.iter().map(|tree| {
        json!({
            "name": tree.name, "kind": tree.kind.word(), "commit": tree.commit, "files": tree.files,
        })
    });
    std::iter::once(main).chain(others).collect()
}

pub(super) async fn repo(server: &Server, name: &str) -> Result<Option<Repo>, Failure> {
    let repos = server.view().repos().await?;
    Ok(repos.into_iter().find(|repo| repo.name == name))
}

/// Splits a path into its parts, each with its address.
pub(super) fn crumbs(repo: &str, path: &str) -> Vec<Crumb> {
    crumbs_at(repo, path, None)
}

/// Like [`crumbs`], for a revision.
pub(super) fn crumbs_at(repo: &str, path: &str, rev: Option<&str>) -> Vec<Crumb> {
    let mut crumbs = vec![Crumb { name: repo.to_owned(), href: link::folder_at(repo, "", rev) }];
    let mut upto = String::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        if !upto.is_empty() {
            upto.push('/');
        }
        upto.push_str(part);
        crumbs.push(Crumb { name: part.to_owned(), href: link::folder_at(repo, &upto, rev) });
    }
    crumbs
}
