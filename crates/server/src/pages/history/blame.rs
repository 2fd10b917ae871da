//! `/blame`: the commit of each line of a file.

use askama::Template;
use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use browse::FileText;
use git::{Blame, TrackedFile};
use serde_json::{Value, json};

use super::{
    BEFORE, CommitView, Head, HistoryParams, IN_REPO, PATH, REV, Tracked, answered, commit_json,
    in_tree, tracked, unknown,
};
use crate::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use crate::error::Failure;
use crate::pages::highlight::{Grammar, MAX_COLOURED};
use crate::pages::link;
use crate::pages::render::render;
use crate::pages::view::{self, Piece};
use crate::params::names::FORMAT;
use crate::params::{DeclaredParams, StrictParams, wants_page};
use crate::server::Server;
use request::human::count;

/// Most characters of a line shown.
const MAX_LINE: usize = 2000;

/// `/blame`: the commit of each line of a file.
pub(crate) const BLAME: Endpoint = Endpoint {
    path: "/blame",
    route: || get(blame),
    class: Class::Search,
    admits: Admits::Clients,
    params: DeclaredParams { documented: &[IN_REPO, PATH, REV, BEFORE, FORMAT], undocumented: &[] },
    doc: Some(Doc {
        summary: "The commit that last changed each line of a file",
        description: "Reads the clone that the repository was ingested from, if it is on the server's machine, at the \
                      commit that was checked out at the last ingest; if that commit no longer exists, at the current \
                      one.",
        answers: &[
            Answer::ok("Commits and their lines.", Content::Json(&["Blame"])),
            Answer::BAD,
            Answer::NOT_FOUND,
            Answer::UNAVAILABLE,
        ],
    }),
};

#[derive(Template)]
#[template(path = "blame.html")]
struct BlamePage<'a> {
    query: &'static str,
    head: Head,
    lines: Vec<BlameLine<'a>>,
}

/// A line, and its commit unless it is that of the line before.
struct BlameLine<'a> {
    number: usize,
    commit: Option<&'a CommitView>,
    pieces: Vec<Piece>,
}

async fn blame(
    server: Server,
    headers: HeaderMap,
    StrictParams(wanted): StrictParams<HistoryParams>,
) -> Response {
    let page = wants_page(&headers, wanted.format.as_deref());
    let work = async {
        let _turn = server.turn_of_git().await?;
        let (server, wanted) = in_tree(&server, &wanted).await?;
        let Tracked { mut file, web } = tracked(&server, &wanted).await?;
        if let Some(hash) = &wanted.before {
            file = before(&file, hash).await?;
        }
        let blame = file.blame().await.map_err(|error| unknown(&error))?;
        let (repo, path) = (wanted.repo.as_str(), wanted.path.as_str());
        let document = match &wanted.rev {
            Some(rev) => browse::file_text_at(server.view(), repo, path, rev).await?,
            None => browse::file_text(server.view(), repo, path).await?,
        };
        let is_shown = |document: &FileText| document.hash == file.blob;
        let is_same = document.as_ref().is_some_and(is_shown);
        let is_stored = document.as_ref().is_some_and(|document| document.stored.is_some());
        let indexed = is_same && is_stored;
        if !page {
            return Ok(Json(blame_json(&wanted, &file, &blame, indexed)).into_response());
        }
        let mut head = Head::of(&wanted);
        file.blob.clone_into(&mut head.hash);
        let at =
            format!("{} at commit {}", count(blame.lines.len(), "line"), link::short(&file.commit));
        head.is_before = wanted.before.is_some();
        head.note = if let Some(hash) = &wanted.before {
            let name = if file.path == wanted.path { "" } else { file.path.as_str() };
            let called = if name.is_empty() { String::new() } else { format!(", then {name}") };
            format!("{at}, before {}{called}.", link::short(hash))
        } else if is_same {
            format!("{at}.")
        } else {
            format!(
                "{at}, which is not the indexed text: the file has changed since, or was not committed."
            )
        };
        let language = document.and_then(|document| document.language);
        let work = tokio::task::spawn_blocking(move || {
            draw(head, &blame, language.as_deref(), web.as_deref())
        });
        work.await.map_err(|_| Failure::panicked())
    };
    answered(&headers, &wanted, work.await, |status, head| {
        render(status, &BlamePage { query: "", head, lines: Vec::new() })
    })
}

/// Returns the file as it was before a commit of its history.
async fn before(file: &TrackedFile, hash: &str) -> Result<TrackedFile, Failure> {
    let found = file.before(hash).await.map_err(|error| unknown(&error))?;
    found.ok_or_else(|| {
        Failure::no_such(format!("no text of this file from before commit {}", link::short(hash)))
    })
}

fn draw(head: Head, blame: &Blame, language: Option<&str>, web: Option<&str>) -> Response {
    let bytes: usize = blame.lines.iter().map(String::len).sum();
    let grammar = Grammar::of(language, &head.path).filter(|_| bytes <= MAX_COLOURED);
    let all = || blame.lines.iter().map(String::as_str);
    let mut colours = grammar.map_or_else(Vec::new, |grammar| grammar.colour(all()));
    colours.resize(blame.lines.len(), Vec::new());
    let commits = blame.commits.iter().zip(&blame.has_before).map(|(commit, has_before)| {
        let before = || format!("{}&before={}", head.blame, commit.hash);
        CommitView { before: has_before.then(before), ..CommitView::of(commit, web, &head.history) }
    });
    let commits: Vec<CommitView> = commits.collect();
    let mut lines: Vec<BlameLine<'_>> = all()
        .zip(colours)
        .enumerate()
        .map(|(at, (line, colours))| {
            let upto = line.char_indices().nth(MAX_LINE).map_or(line.len(), |(at, _)| at);
            let mut pieces = view::pieces(line, &[], &colours, 0..upto);
            if upto < line.len() {
                pieces.push(Piece { hit: false, class: "cut", text: " …".to_owned() });
            }
            BlameLine { number: at + 1, commit: None, pieces }
        })
        .collect();
    for run in &blame.runs {
        if let Some(line) = lines.get_mut(run.line - 1) {
            line.commit = commits.get(run.commit);
        }
    }
    render(StatusCode::OK, &BlamePage { query: "", head, lines })
}

fn blame_json(wanted: &HistoryParams, file: &TrackedFile, blame: &Blame, indexed: bool) -> Value {
    let hash = |at: usize| blame.commits[at].hash.as_str();
    let lines: Vec<Value> = blame
        .runs
        .iter()
        .map(|run| json!({ "from": run.line, "to": run.line + run.count - 1, "commit": hash(run.commit) }))
        .collect();
    json!({
        "repo": wanted.repo,
        "path": file.path,
        "commit": file.commit,
        "hash": file.blob,
        "indexed": indexed,
        "lines": lines,
        "commits": blame.commits.iter().map(commit_json).collect::<Vec<_>>(),
    })
}
