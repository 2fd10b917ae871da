//! `/diff`: what changed between two revisions of a repository, or in a commit. Pages for browsers, JSON for programs.

mod both;
mod list;

use std::sync::Arc;

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use query::{Case, Comparison, CompiledQuery, Field, Pattern, Query, Tree};
use request::changes::{CONTEXT, file_json};
use search::changes::{ChangedFile, Compared, Comparing, Contents, Range};
use search::{DEFAULT_TIMEOUT, Stopped};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::browse::{self, Crumb};
use super::link;
use super::search_page::failed;
use crate::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use crate::error::Failure;
use crate::params::names::{FORMAT, REPO};
use crate::params::{CheckedParams, DeclaredParams, Kind, Param, StrictParams, wants_page};
use crate::search_stream::stopped_because;
use crate::server::Server;

/// Most changed files of an answer.
const PAGE: usize = 500;

/// Batches of files that the comparison may be ahead.
const FOUND_AHEAD: usize = 2;

/// Most unchanged lines around changed ones: all.
const ALL_LINES: usize = 1_000_000;

const IN_REPO: Param = REPO
    .saying("The name of a repository; NAME@WORKTREE for the HEAD of one of its worktrees.")
    .required();
const BASE: Param =
    Param::text("base", "The older revision: a branch, a tag or a commit. Default HEAD.")
        .at_most(1000);
const HEAD: Param =
    Param::text("head", "The newer revision: a branch, a tag or a commit. Default HEAD.")
        .at_most(1000);
const MERGE_BASE: Param = Param::word(
    "merge_base",
    "1 to compare `head` with the commit where it left `base`, as `A...B` in a query does.",
);
const COMMIT: Param = Param::text(
    "commit",
    "A commit, to compare it with its first parent; instead of `base` and `head`.",
)
.at_most(1000);
const PATH: Param = Param::text("path", "The path of a changed file: sends its lines, too.");
const SKIP: Param = Param {
    kind: Kind::Number { least: 0, most: ALL_LINES, instead: "a number up to 1000000" },
    ..Param::text("skip", "Number of files to skip: `next` of the previous answer.")
};
const AROUND: Param = Param {
    kind: Kind::Number { least: 0, most: ALL_LINES, instead: "a number up to 1000000" },
    ..Param::text("context", "Number of unchanged lines around changed ones; default 3.")
};

/// `/diff`: what changed between two revisions.
pub(crate) const DIFF: Endpoint = Endpoint {
    path: "/diff",
    route: || get(diff),
    class: Class::Whole,
    admits: Admits::Clients,
    params: DeclaredParams {
        documented: &[IN_REPO, BASE, HEAD, MERGE_BASE, COMMIT, PATH, AROUND, SKIP, FORMAT],
        undocumented: &[],
    },
    doc: Some(Doc {
        summary: "What changed between two revisions, or in a commit",
        description: "Reads the clone that the repository was ingested from, if it is on the server's machine. Returns 500 \
                      files at a time, by path, with the numbers of added and removed lines; with `path`, one file with \
                      its changed lines. Renamed files are found by their contents.",
        answers: &[
            Answer::ok("Changed files.", Content::Json(&["Diff"])),
            Answer::BAD,
            Answer::NOT_FOUND,
            Answer::UNAVAILABLE,
        ],
    }),
};

/// The parameters: a repository, revisions, and what to show.
#[derive(Clone, Debug)]
struct DiffParams {
    repo: String,
    base: String,
    head: String,
    from_merge_base: bool,
    commit: String,
    path: String,
    skip: usize,
    context: Option<usize>,
    format: Option<String>,
}

impl From<CheckedParams> for DiffParams {
    fn from(given: CheckedParams) -> Self {
        Self {
            repo: given.text(&IN_REPO),
            base: given.text(&BASE),
            head: given.text(&HEAD),
            from_merge_base: given.get(&MERGE_BASE).is_some(),
            commit: given.text(&COMMIT),
            path: given.text(&PATH),
            skip: given.number(&SKIP).unwrap_or_default(),
            context: given.number(&AROUND),
            format: given.get(&FORMAT).map(str::to_owned),
        }
    }
}

impl DiffParams {
    /// Returns the revisions.
    ///
    /// # Errors
    /// Both a commit and revisions are given, or neither.
    fn range(&self) -> Result<Range, Failure> {
        if self.repo.is_empty() {
            return Err(Failure::bad_request("the repository is missing; give it in repo="));
        }
        let has_ends = !self.base.is_empty() || !self.head.is_empty();
        match (has_ends, self.commit.is_empty()) {
            (true, true) => Ok(Range::Between(Comparison {
                old: self.base.clone(),
                new: self.head.clone(),
                from_merge_base: self.from_merge_base,
            })),
            (false, false) => Ok(Range::Commit(self.commit.clone())),
            (true, false) => Err(Failure::bad_request(
                "commit= cannot be combined with base= and head=; leave one out",
            )),
            (false, true) => Err(Failure::bad_request(
                "the revisions are missing; give base= and head=, or commit=",
            )),
        }
    }

    /// Returns the address of this page with other values of some parameters.
    fn address(&self, other: &[(&str, &str)]) -> String {
        let context = self.context.map(|lines| lines.to_string()).unwrap_or_default();
        let own = [
            ("repo", self.repo.as_str()),
            ("base", &self.base),
            ("head", &self.head),
            ("merge_base", if self.from_merge_base { "1" } else { "" }),
            ("commit", &self.commit),
            ("path", &self.path),
            ("context", &context),
        ];
        let value = |(name, value)| {
            (name, other.iter().find(|(of, _)| *of == name).map_or(value, |(_, value)| *value))
        };
        let more = other.iter().filter(|(name, _)| own.iter().all(|(of, _)| of != name)).copied();
        let all: Vec<(&str, &str)> = own.into_iter().map(value).chain(more).collect();
        link::to("/diff", &all)
    }
}

/// The head of a page: the repository, the revisions, and a note.
struct Head {
    repo: String,
    crumbs: Vec<Crumb>,
    /// The revisions, as they were typed, and those of the form.
    label: String,
    base: String,
    head: String,
    from_merge_base: bool,
    /// The address of the page with all changed files, on that of one.
    all: Option<String>,
    note: String,
}

impl Head {
    fn of(wanted: &DiffParams) -> Self {
        let label = wanted.range().map(|range| range.label()).unwrap_or_default();
        Self {
            repo: wanted.repo.clone(),
            crumbs: browse::crumbs(&wanted.repo, &wanted.path),
            label,
            base: wanted.base.clone(),
            head: wanted.head.clone(),
            from_merge_base: wanted.from_merge_base,
            all: (!wanted.path.is_empty())
                .then(|| wanted.address(&[("path", ""), ("context", "")])),
            note: String::new(),
        }
    }
}

async fn diff(
    server: Server,
    headers: HeaderMap,
    StrictParams(wanted): StrictParams<DiffParams>,
) -> Response {
    let page = wants_page(&headers, wanted.format.as_deref());
    match answer(&server, &wanted, page).await {
        Ok(response) => response,
        Err(failure) if !page => failure.into_response(),
        Err(failure) if failure.status == StatusCode::BAD_REQUEST && wanted.repo.is_empty() => {
            failed("", failure)
        }
        Err(failure) => list::failed(&wanted, &failure),
    }
}

async fn answer(server: &Server, wanted: &DiffParams, page: bool) -> Result<Response, Failure> {
    let range = wanted.range()?;
    let has_path = !wanted.path.is_empty();
    let paths = if has_path {
        let exactly = format!("^{}$", query::escape(&wanted.path));
        Tree::term(Field::Path, Pattern::parse(&exactly, Case::Sensitive, false)?)
    } else {
        Tree::every_file()
    };
    let named = server.view().named_tree(&wanted.repo).await?;
    let server = &server.seeing(named.in_view(server.view()));
    let what = Comparing {
        repo: named.text,
        range,
        paths: Arc::new(CompiledQuery::new(&Query::from_tree(paths))?),
        files: if has_path { (0, 1) } else { (wanted.skip, PAGE) },
        timeout: Some(DEFAULT_TIMEOUT),
    };
    let _turn = server.turn().await?;
    let (compared, files) = compare(server, &what, has_path).await?;
    audit::told().results(files.iter().map(|_| compared.repo.name.as_str()));
    audit::told().repo(&compared.repo.name);
    if has_path && files.is_empty() && compared.stopped.is_none() {
        let (path, label) = (&wanted.path, &compared.label);
        return Err(Failure::no_such(format!("{path} did not change in {label}")));
    }
    if !page {
        return Ok(Json(told(wanted, &compared, &files)).into_response());
    }
    let wanted = wanted.clone();
    let work = tokio::task::spawn_blocking(move || match files.first().filter(|_| has_path) {
        Some(file) => both::draw(&wanted, &compared, file),
        None => list::draw(&wanted, &compared, &files),
    });
    work.await.map_err(|_| Failure::panicked())
}

/// Compares, and returns the files; without their texts unless these are wanted.
async fn compare(
    server: &Server,
    what: &Comparing,
    with_texts: bool,
) -> Result<(Compared, Vec<ChangedFile>), Failure> {
    let (found, mut batches) = mpsc::channel(FOUND_AHEAD);
    let collecting = async {
        let mut files = Vec::new();
        while let Some(batch) = batches.recv().await {
            let batch: Vec<ChangedFile> = batch;
            files.extend(batch.into_iter().map(|mut file| {
                if let Contents::Texts(texts) = &mut file.contents
                    && !with_texts
                {
                    // The numbers of their lines are enough.
                    (texts.old, texts.new) = (String::new(), String::new());
                }
                file
            }));
        }
        files
    };
    let (compared, files) = tokio::join!(server.view().compare(what, found), collecting);
    match compared {
        Err(search::Error::Compare(error)) if error.is_missing() => {
            Err(Failure::no_such(error.to_string()))
        }
        compared => Ok((compared?, files)),
    }
}

/// Returns the number of files to skip for the next page; `None` if this is the last one.
fn next(wanted: &DiffParams, compared: &Compared, shown: usize) -> Option<usize> {
    let seen = wanted.skip + shown;
    (wanted.path.is_empty() && seen < compared.files && compared.stopped == Some(Stopped::Limit))
        .then_some(seen)
}

fn told(wanted: &DiffParams, compared: &Compared, files: &[ChangedFile]) -> Value {
    let context = (!wanted.path.is_empty()).then(|| wanted.context.unwrap_or(CONTEXT));
    let next = next(wanted, compared, files.len());
    let stopped = compared.stopped.as_ref().filter(|why| **why != Stopped::Limit);
    json!({
        "repo": compared.repo.name,
        "base": compared.old,
        "head": compared.new,
        "label": compared.label,
        "files": compared.files,
        "changes": files.iter().map(|file| file_json(file, context)).collect::<Vec<_>>(),
        "next": next,
        "complete": stopped.is_none(),
        "stopped_because": stopped.map(|why| stopped_because(why, files.len()).0),
    })
}
