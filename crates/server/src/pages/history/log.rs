//! `/history`: the commits that changed a file.

use askama::Template;
use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use git::{Change, History, MAX_CHANGES};
use serde_json::{Value, json};

use super::{
    CommitView, Head, HistoryParams, IN_REPO, PATH, REV, SKIP, Tracked, answered, commit_json,
    in_tree, tracked, unknown,
};
use crate::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use crate::pages::link;
use crate::pages::render::render;
use crate::params::names::FORMAT;
use crate::params::{DeclaredParams, StrictParams, wants_page};
use crate::server::Server;
use request::human::{count, grouped};

/// Number of changes on a page.
const PAGE: usize = 50;

/// `/history`: the commits that changed a file.
pub(crate) const HISTORY: Endpoint = Endpoint {
    path: "/history",
    route: || get(history),
    class: Class::Search,
    admits: Admits::Clients,
    params: DeclaredParams { documented: &[IN_REPO, PATH, REV, SKIP, FORMAT], undocumented: &[] },
    doc: Some(Doc {
        summary: "The commits that changed a file",
        description: "Reads the clone that the repository was ingested from, if it is on the server's machine, and \
                      follows renames. Returns 50 commits at a time, the newest first. `/file?hash=` has the contents \
                      after each.",
        answers: &[
            Answer::ok("Changes of the file.", Content::Json(&["History"])),
            Answer::BAD,
            Answer::NOT_FOUND,
            Answer::UNAVAILABLE,
        ],
    }),
};

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage {
    query: &'static str,
    head: Head,
    rows: Vec<ChangeRow>,
    /// The address of the page with older changes.
    next: Option<String>,
}

struct ChangeRow {
    commit: CommitView,
    short: String,
    /// The address of the change.
    changes: String,
    /// The address of the file with the contents after the change.
    text: Option<String>,
    /// The path before the change, if it was different.
    renamed_from: Option<String>,
}

async fn history(
    server: Server,
    headers: HeaderMap,
    StrictParams(wanted): StrictParams<HistoryParams>,
) -> Response {
    let page = wants_page(&headers, wanted.format.as_deref());
    let work = async {
        let _turn = server.turn_of_git().await?;
        let (server, wanted) = in_tree(&server, &wanted).await?;
        let Tracked { file, web } = tracked(&server, &wanted).await?;
        let history = file.history(wanted.skip, PAGE).await.map_err(|error| unknown(&error))?;
        let upto = wanted.skip + history.changes.len();
        let next = history.has_more.then_some(upto);
        Ok(if page {
            draw(&wanted, &file.commit, &history, next, web.as_deref())
        } else {
            let changes: Vec<Value> = history.changes.iter().map(change_json).collect();
            let (repo, path) = (&wanted.repo, &wanted.path);
            let told = json!({
                "repo": repo, "path": path, "commit": file.commit, "changes": changes, "next": next,
            });
            Json(told).into_response()
        })
    };
    answered(&headers, &wanted, work.await, |status, head| {
        render(status, &HistoryPage { query: "", head, rows: Vec::new(), next: None })
    })
}

fn draw(
    wanted: &HistoryParams,
    commit: &str,
    history: &History,
    next: Option<usize>,
    web: Option<&str>,
) -> Response {
    let mut head = Head::of(wanted);
    let shown = count(history.changes.len(), "commit");
    let after = if wanted.skip > 0 {
        format!(" after the first {}", grouped(wanted.skip))
    } else {
        String::new()
    };
    let is_cut = wanted.skip + history.changes.len() >= MAX_CHANGES;
    let end =
        if is_cut { format!("; only the last {MAX_CHANGES} are shown") } else { String::new() };
    head.note = format!("{shown} up to commit {}{after}{end}.", link::short(commit));
    let (repo, path) = (wanted.repo.as_str(), wanted.path.as_str());
    // The texts of other trees are found by their commits.
    let is_main = wanted.tree.is_none() && wanted.rev.is_none();
    let text = |change: &Change| {
        let blob = change.blob.as_deref()?;
        Some(if is_main {
            link::to("/file", &[("repo", repo), ("path", path), ("hash", blob)])
        } else {
            link::file_at(repo, &change.path, Some(&change.commit.hash))
        })
    };
    let rows = history.changes.iter().map(|change| ChangeRow {
        commit: CommitView::of(&change.commit, web, ""),
        changes: {
            let path = change.path.as_str();
            link::to("/diff", &[("repo", repo), ("commit", &change.commit.hash), ("path", path)])
        },
        short: link::short(&change.commit.hash).to_owned(),
        text: text(change),
        renamed_from: change.renamed_from.clone(),
    });
    let rows = rows.collect();
    let next = next.map(|skip| format!("{}&skip={skip}", head.history));
    render(StatusCode::OK, &HistoryPage { query: "", head, rows, next })
}

fn change_json(change: &Change) -> Value {
    let mut told = commit_json(&change.commit);
    told["path"] = json!(change.path);
    told["renamed_from"] = json!(change.renamed_from);
    told["blob"] = json!(change.blob);
    told
}
