//! `/blame` and `/history`: the origin of a file's lines, and its earlier versions, from its clone. Pages for browsers,
//! JSON for programs.

mod blame;
mod log;

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use git::{Commit, Error, OldText, TrackedFile};
use serde_json::{Value, json};

pub(crate) use self::blame::BLAME;
pub(crate) use self::log::HISTORY;
use super::browse::{self, Crumb};
use super::link;
use super::search_page::failed;
use crate::error::{Body, Failure};
use crate::params::names::{FORMAT, REPO};
use crate::params::{CheckedParams, Kind, Param, wants_page};
use crate::server::Server;
use request::human::ago;
use statistics::now;
use store::InTree;

const IN_REPO: Param =
    REPO.saying("The name of a repository, or of one of its trees as NAME@TREE.").required();
const PATH: Param = Param::text("path", "A path in the repository.").required();

/// The revision whose history is shown.
const REV: Param = Param::text(
    "rev",
    "A branch, a tag or a commit that has the file, in place of the commit of the last ingest.",
)
.at_most(1000);

/// Number of changes to skip.
const SKIP: Param = Param {
    kind: Kind::Number { least: 0, most: git::MAX_CHANGES, instead: "a number up to 1000" },
    ..Param::text(
        "skip",
        "Number of changes to skip, from the newest: `next` of the previous answer.",
    )
};

/// The commit before which a file is blamed.
const BEFORE: Param = Param::word(
    "before",
    "The hash of a commit of the file's history: shows the lines as they were before it.",
);

/// The parameters: a file, and the changes to show.
#[derive(Clone, Debug)]
struct HistoryParams {
    repo: String,
    /// The tree of it, if that is not the main one.
    tree: Option<InTree>,
    path: String,
    /// The revision, if it is not the commit of the tree.
    rev: Option<String>,
    skip: usize,
    /// The commit before which the file is blamed.
    before: Option<String>,
    format: Option<String>,
}

impl From<CheckedParams> for HistoryParams {
    fn from(given: CheckedParams) -> Self {
        Self {
            repo: given.text(&IN_REPO),
            tree: None,
            rev: given.get(&REV).filter(|rev| !rev.is_empty()).map(str::to_owned),
            path: given.text(&PATH),
            skip: given.number(&SKIP).unwrap_or_default(),
            before: given.get(&BEFORE).map(str::to_lowercase),
            format: given.get(&FORMAT).map(str::to_owned),
        }
    }
}

impl HistoryParams {
    /// Returns the repository as addresses name it, with the tree.
    fn place(&self) -> String {
        link::in_tree(&self.repo, self.tree.as_ref().map_or("", |tree| &tree.tree))
    }

    /// Returns the address of a page about the file.
    fn to(&self, page: &str) -> String {
        link::of_file_at(page, &self.place(), &self.path, self.rev.as_deref())
    }
}

/// The head of all pages of a file's history: the file, and a note.
struct Head {
    repo: String,
    path: String,
    /// Git's hash of the shown contents; empty if there are none.
    hash: String,
    crumbs: Vec<Crumb>,
    /// The addresses of its text, its blame and its history.
    text: String,
    blame: String,
    history: String,
    /// The file as a place for definitions and references; `None` if its tree may not be indexed.
    from: Option<String>,
    /// A remark on the page, or why it is empty.
    note: String,
    /// Whether the page shows an earlier state of the file.
    is_before: bool,
}

impl Head {
    fn of(wanted: &HistoryParams) -> Self {
        let (repo, path) = (wanted.place(), wanted.path.as_str());
        Self {
            crumbs: browse::crumbs_at(&repo, path, wanted.rev.as_deref()),
            text: wanted.to("/file"),
            blame: wanted.to("/blame"),
            history: wanted.to("/history"),
            from: wanted.rev.is_none().then(|| format!("{repo}/{path}")),
            repo,
            path: path.to_owned(),
            hash: String::new(),
            note: String::new(),
            is_before: false,
        }
    }
}

/// Seconds of a year.
const YEAR: i64 = 365 * 86_400;

/// A commit on a page.
struct CommitView {
    /// The address of its page at the repository's origin, or its place in the history.
    href: String,
    is_elsewhere: bool,
    /// The address of the blame of the file before it, if the file existed.
    before: Option<String>,
    hash: String,
    summary: String,
    author: String,
    /// Time since it was written or, after a year, the day; and the exact time.
    ago: String,
    time: String,
}

impl CommitView {
    fn of(commit: &Commit, web: Option<&str>, history: &str) -> Self {
        let elsewhere = web.and_then(|web| link::commit_page(web, &commit.hash));
        let time = jiff::Timestamp::from_second(commit.time).unwrap_or_default();
        let since = now() - commit.time;
        Self {
            is_elsewhere: elsewhere.is_some(),
            before: None,
            href: elsewhere.unwrap_or_else(|| format!("{history}#{}", commit.hash)),
            hash: commit.hash.clone(),
            summary: if commit.summary.is_empty() {
                format!("commit {}", link::short(&commit.hash))
            } else {
                commit.summary.clone()
            },
            author: commit.author.clone(),
            ago: if since < YEAR { ago(since) } else { time.strftime("%Y-%m-%d").to_string() },
            time: time.strftime("%Y-%m-%d %H:%M:%SZ").to_string(),
        }
    }
}

fn commit_json(commit: &Commit) -> Value {
    let time = jiff::Timestamp::from_second(commit.time).unwrap_or_default();
    json!({
        "hash": commit.hash,
        "author": commit.author,
        "time": time.to_string(),
        "summary": commit.summary,
    })
}

/// A file in its clone, and the web address to which its path is appended.
struct Tracked {
    file: TrackedFile,
    web: Option<String>,
}

/// Takes the name of a tree from that of the repository: returns the server whose view has this tree.
///
/// # Errors
/// The database query fails.
async fn in_tree(
    server: &Server,
    wanted: &HistoryParams,
) -> Result<(Server, HistoryParams), Failure> {
    let named = server.view().named_tree(&wanted.repo).await?;
    let server = server.seeing(named.in_view(server.view()));
    let (repo, tree) = (named.text.clone(), named.tree().cloned());
    Ok((server, HistoryParams { repo, tree, ..wanted.clone() }))
}

/// Finds a file of the index, or of a revision, in its clone.
///
/// # Errors
/// It is not there, or its history is unavailable.
async fn tracked(server: &Server, wanted: &HistoryParams) -> Result<Tracked, Failure> {
    let HistoryParams { repo, path, .. } = wanted;
    if repo.is_empty() || path.is_empty() {
        return Err(Failure::bad_request("the file is missing; give repo= and path="));
    }
    if !server.shows_history() {
        return Err(Failure::no_such("this server does not show blame and history"));
    }
    let found = browse::repo(server, repo).await?;
    let has_file = match &wanted.rev {
        // What is left out of a revision is not shown here, either.
        Some(rev) => ::browse::file_text_at(server.view(), repo, path, rev).await?.is_some(),
        None => server.view().tree().await?.file(repo, path)?.is_some(),
    };
    let (true, Some(found)) = (has_file, found) else {
        return Err(match &wanted.rev {
            Some(rev) => Failure::no_such(format!("{repo} has no file {path} at {rev}")),
            None => Failure::no_such(browse::not_in_index(server, repo, path).await?),
        });
    };
    audit::told().file(repo);
    let named = wanted.rev.as_deref().or(wanted.tree.as_ref().map(|tree| tree.tree.as_str()));
    let file = match named {
        Some(named) => {
            let Some(commit) = server.view().commit_at(repo, named).await? else {
                return Err(Failure::no_such(format!("{named} of {repo} has no commit yet")));
            };
            TrackedFile::find_at(&found, path, &commit).await
        }
        None => TrackedFile::find(&found, path).await,
    };
    Ok(Tracked { file: file.map_err(|error| unknown(&error))?, web: found.web })
}

/// Returns the failure for an unavailable history.
fn unknown(error: &Error) -> Failure {
    let (status, code) = match error {
        Error::NoGit
        | Error::NoFolder
        | Error::NoClone
        | Error::NoWorktree
        | Error::Outside
        | Error::Untracked
        | Error::Missing { .. }
        | Error::Reftable => return Failure::no_such(error.to_string()),
        Error::Changed => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        Error::TooSlow => (StatusCode::SERVICE_UNAVAILABLE, "timeout"),
        Error::TooLarge | Error::Huge => (StatusCode::SERVICE_UNAVAILABLE, "too_large"),
        Error::Failed | Error::Damaged(_) | Error::Forbidden(_) => {
            (StatusCode::INTERNAL_SERVER_ERROR, "internal")
        }
    };
    Failure { status, body: Body::new(code, error.to_string()) }
}

/// Returns an earlier text of a file, by its hash, with its language; `None` if the clone does not have it.
///
/// # Errors
/// Git did not answer in time.
pub(super) async fn text_before(
    server: &Server,
    repo: &str,
    path: &str,
    hash: &str,
) -> Result<Option<OldText>, Failure> {
    let Some(of) = browse::repo(server, repo).await?.filter(|of| of.commit.is_some()) else {
        return Ok(None);
    };
    if server.view().tree().await?.file(repo, path)?.is_none() {
        return Ok(None);
    }
    let Some(_turn) = server.turn_of_git().await? else { return Ok(None) };
    let found = async { TrackedFile::find(&of, path).await?.text_before(hash).await };
    match found.await {
        Ok(text) => Ok(text),
        Err(error @ Error::TooSlow) => Err(unknown(&error)),
        Err(_) => Ok(None),
    }
}

/// Makes a sentence of a message.
fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(char::to_uppercase).into_iter().flatten();
    first.chain(letters).chain(['.']).collect()
}

/// Returns the answer for a file or, for a failure, a page with the file's name and the reason.
fn answered(
    headers: &HeaderMap,
    wanted: &HistoryParams,
    done: Result<Response, Failure>,
    draw: impl FnOnce(StatusCode, Head) -> Response,
) -> Response {
    let page = wants_page(headers, wanted.format.as_deref());
    done.unwrap_or_else(|failure| match failure.status {
        _ if !page => failure.into_response(),
        StatusCode::BAD_REQUEST => failed("", failure),
        status => {
            let mut head = Head::of(wanted);
            head.note = sentence(&failure.body.message);
            draw(status, head)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_has_a_page_where_its_files_have() {
        for (web, page) in [
            ("https://github.com/a/blob/blob/0ff/", Some("https://github.com/a/blob/commit/1e")),
            (
                "https://gitlab.example.org/a/b/-/blob/0ff/",
                Some("https://gitlab.example.org/a/b/-/commit/1e"),
            ),
            (
                "https://codeberg.org/a/b/src/commit/0ff/",
                Some("https://codeberg.org/a/b/commit/1e"),
            ),
            ("https://example.org/a/b/", None),
        ] {
            assert_eq!(link::commit_page(web, "1e").as_deref(), page, "{web}");
        }
    }
}
