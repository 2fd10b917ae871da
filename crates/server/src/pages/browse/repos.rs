//! `/repos`: the list of repositories; for a repository, or a folder in it, see [`one_repo`].

use std::cmp::Reverse;

use askama::Template;
use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;
use store::Repo;

use super::in_tree::in_tree;
use super::one_repo::{one_repo, repo_json};
use super::{Answered, BrowseParams, ORDER, PATH, REV, TREE, answered};
use crate::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use crate::error::Failure;
use crate::identity::MayIngest;
use crate::pages::home::held;
use crate::pages::link;
use crate::pages::render::render;
use crate::params::names::{FORMAT, REPO};
use crate::params::{DeclaredParams, Param, StrictParams, wants_page};
use crate::server::Server;
use request::about::about_words;
use request::fresh;
use request::hints::near_name;
use request::human::{count, grouped, size};

#[derive(Template)]
#[template(path = "repos.html")]
struct ReposPage<'a> {
    query: &'a str,
    filter: &'a str,
    /// If no name matches the filter, the most similar name and its address.
    near: Option<(String, String)>,
    summary: String,
    /// Whether any repository has a rank.
    ranked: bool,
    /// The columns by which the list can be sorted: the heading, the address, and whether it is.
    name: SortLink,
    files: SortLink,
    text: SortLink,
    age: SortLink,
    rows: Vec<RepoView>,
}

/// The heading of a column, which sorts by it.
struct SortLink {
    title: &'static str,
    href: String,
    /// `ascending` or `descending` if the list is sorted by it, else empty.
    sorted: &'static str,
}

/// An order of the list of repositories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RepoOrder {
    #[default]
    Name,
    /// Most files first.
    Files,
    /// Most text first.
    Text,
    /// Those looked at the longest ago first.
    Age,
}

impl RepoOrder {
    /// Returns the order of a name.
    pub(super) fn of(name: &str) -> Self {
        match name {
            "files" => Self::Files,
            "text" => Self::Text,
            "age" => Self::Age,
            _ => Self::Name,
        }
    }

    /// Sorts repositories, which are sorted by name.
    fn sort(self, repos: &mut [Repo]) {
        match self {
            Self::Name => {}
            Self::Files => repos.sort_by_key(|repo| Reverse(repo.files)),
            Self::Text => repos.sort_by_key(|repo| Reverse(repo.bytes)),
            Self::Age => repos.sort_by(|a, b| a.looked_at.total_cmp(&b.looked_at)),
        }
    }

    /// Returns the heading that sorts by this order. `now` is the current order.
    fn link(self, title: &'static str, filter: &str, now: Self) -> SortLink {
        let name = match self {
            Self::Name => "",
            Self::Files => "files",
            Self::Text => "text",
            Self::Age => "age",
        };
        let href = link::to("/repos", &[("q", filter), ("sort", name)]);
        let sorted = match self {
            _ if self != now => "",
            Self::Name | Self::Age => "ascending",
            _ => "descending",
        };
        SortLink { title, href, sorted }
    }
}

/// Most repositories whose branches are read from their clones.
const MAX_BRANCHES: usize = 500;

struct RepoView {
    name: String,
    href: String,
    /// The branch and the commit, if it is a clone.
    branch: String,
    commit: String,
    /// The address of the commit on the web.
    commit_href: Option<String>,
    files: String,
    size: String,
    /// Number of files left out; empty if there are none.
    skipped: String,
    rank: u16,
    /// What is known of it, in a few words.
    about: String,
    looked: String,
    looked_at: String,
    /// Why it could not be updated, and its place in the queue.
    troubles: Vec<String>,
}

/// `/repos`: the repositories, a repository, or a folder in it.
pub(crate) const REPOS: Endpoint = Endpoint {
    path: "/repos",
    route: || get(repos),
    class: Class::Read,
    admits: Admits::Clients,
    params: DeclaredParams {
        documented: &[
            Param::text("q", "Part of the names to list."),
            REPO.saying("A repository, or one of its trees as NAME@TREE."),
            PATH.saying("A folder in the repository."),
            REV,
            FORMAT,
        ],
        undocumented: &[ORDER, TREE],
    },
    doc: Some(Doc {
        summary: "List repositories, or a folder of one repository",
        description: "",
        answers: &[
            Answer::ok("The repositories, or the folder.", Content::Json(&["Repos", "Folder"])),
            Answer {
                status: 303,
                says: "The path is a file; redirects to it.",
                content: Content::Nothing,
            },
            Answer::NOT_FOUND,
        ],
    }),
};

async fn repos(
    server: Server,
    headers: HeaderMap,
    MayIngest(can_ingest): MayIngest,
    StrictParams(wanted): StrictParams<BrowseParams>,
) -> Response {
    let page = wants_page(&headers, wanted.format.as_deref());
    let format = wanted.format.clone();
    let done = async {
        match (wanted.repo.is_empty(), page) {
            (true, true) => all_repos_page(&server, &wanted).await,
            (true, false) => all_repos(&server, &wanted).await,
            (false, _) => {
                let (server, wanted) = in_tree(server, wanted).await?;
                one_repo(&server, &wanted, page, can_ingest).await
            }
        }
    };
    answered(&headers, "", format.as_deref(), done.await)
}

async fn chosen_repos(server: &Server, wanted: &BrowseParams) -> Result<Vec<Repo>, Failure> {
    // Fails with an error if nothing is indexed.
    server.view().catalog().await?;
    let filter = wanted.q.to_lowercase();
    let mut repos = server.view().repos().await?;
    repos.retain(|repo| repo.name.to_lowercase().contains(&filter));
    audit::told().results(repos.iter().map(|repo| repo.name.as_str()));
    Ok(repos)
}

async fn all_repos(server: &Server, wanted: &BrowseParams) -> Answered {
    let repos = chosen_repos(server, wanted).await?;
    let imports = server.view().scip_imports().await?;
    let catalog = server.view().catalog().await?;
    let queue = server.view().queue_places().await?;
    let repos: Vec<_> =
        repos.iter().map(|repo| repo_json(repo, &imports, &catalog, &queue)).collect();
    let symbols = server.view().symbols_progress().await?.percent();
    Ok(Json(json!({ "repos": repos, "symbols_percent": symbols })).into_response())
}

async fn all_repos_page(server: &Server, wanted: &BrowseParams) -> Answered {
    let catalog = server.view().catalog().await?;
    let mut repos = chosen_repos(server, wanted).await?;
    let order = wanted.order;
    order.sort(&mut repos);
    let stored = server.view().stored_bytes().await?;
    let queue = server.view().queue_places().await?;
    let bytes: i64 = repos.iter().map(|repo| repo.bytes).sum();
    let files: i64 = repos.iter().map(|repo| repo.files).sum();
    let names = catalog.repos.values().map(|repo| repo.name.as_str()).collect::<Vec<_>>();
    let near = if repos.is_empty() { near_name(&wanted.q, &names) } else { None };
    let most = if server.shows_history() { MAX_BRANCHES } else { 0 };
    let clones: Vec<Repo> = repos.iter().take(most).cloned().collect();
    // Each is a few small files.
    let reading = tokio::task::spawn_blocking(move || {
        let branch = |repo: &Repo| git::branch_of(repo).unwrap_or_default();
        clones.iter().map(branch).collect::<Vec<String>>()
    });
    let branches = reading.await.map_err(|_| Failure::panicked())?;
    let branches = branches.into_iter().chain(std::iter::repeat(String::new()));
    let page = ReposPage {
        query: "",
        filter: &wanted.q,
        name: RepoOrder::Name.link("Name", &wanted.q, order),
        files: RepoOrder::Files.link("Files", &wanted.q, order),
        text: RepoOrder::Text.link("Text", &wanted.q, order),
        age: RepoOrder::Age.link("Looked at", &wanted.q, order),
        near: near.map(|name| (link::folder(name, ""), name.to_owned())),
        summary: if wanted.q.is_empty() {
            format!("{}, {}", count(repos.len(), "repository"), held(stored, &repos))
        } else {
            format!(
                "{} of {}, {}, {} of text",
                grouped(repos.len()),
                grouped(catalog.repos.len()),
                count(files as usize, "file"),
                size(bytes as u64)
            )
        },
        ranked: repos.iter().any(|repo| repo.rank > 0),
        rows: repos
            .iter()
            .zip(branches)
            .map(|(repo, branch)| RepoView {
                branch,
                commit: repo.commit.as_deref().map_or("", link::short).to_owned(),
                commit_href: commit_href(repo),
                name: repo.name.clone(),
                href: link::folder(&repo.name, ""),
                files: grouped(repo.files as usize),
                size: size(repo.bytes as u64),
                skipped: if repo.skipped > 0 {
                    grouped(repo.skipped as usize)
                } else {
                    String::new()
                },
                rank: repo.rank,
                about: about_words(&repo.metadata).join(" · "),
                looked: fresh::since(repo.looked_at),
                looked_at: fresh::time(repo.looked_at),
                troubles: fresh::troubles(repo, queue.get(&repo.id)),
            })
            .collect(),
    };
    Ok(render(StatusCode::OK, &page))
}

/// Returns the address of the indexed commit on the web.
fn commit_href(repo: &Repo) -> Option<String> {
    link::commit_page(repo.web.as_deref()?, repo.commit.as_deref()?)
}
