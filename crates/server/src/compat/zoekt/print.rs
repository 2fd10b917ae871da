//! `/print`: a file, at the address of Zoekt's web server.

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use query::MAX_QUERY_BYTES;
use store::{InTree, Tree};

use super::list::HEAD;
use crate::endpoint::{Class, Endpoint};
use crate::error::Failure;
use crate::etag::with_etag;
use crate::pages::{file_address, not_in_index, protect};
use crate::params::{CheckedParams, DeclaredParams, Param, RejectedParams, StrictParams};
use crate::server::Server;

const REPO: Param = Param::text("r", "");
const FILE: Param = Param::text("f", "");
const BRANCH: Param = Param::text("b", "");
const Q: Param = Param::text("q", "").at_most(MAX_QUERY_BYTES);
const NUM: Param = Param::word("num", "");
const FORMAT: Param = Param::one_of("format", &["raw"], "");

/// `/print`. It has no other use, so links made by Zoekt work here.
pub(super) const PRINT: Endpoint = at("/print");

/// The same endpoint below `/zoekt`.
pub(super) const PRINT_BELOW: Endpoint = at("/zoekt/print");

const fn at(path: &'static str) -> Endpoint {
    Endpoint {
        params: DeclaredParams {
            documented: &[],
            undocumented: &[REPO, FILE, BRANCH, Q, NUM, FORMAT],
        },
        ..Endpoint::undocumented(path, Class::Read, || get(print))
    }
}

async fn print(
    server: Server,
    headers: HeaderMap,
    given: Result<StrictParams<CheckedParams>, RejectedParams>,
) -> Response {
    answer(&server, &headers, given).await.unwrap_or_else(|failure| {
        let theirs = failure.status == StatusCode::BAD_REQUEST;
        let status = if theirs { StatusCode::IM_A_TEAPOT } else { failure.status };
        (status, failure.body.message).into_response()
    })
}

async fn answer(
    server: &Server,
    headers: &HeaderMap,
    given: Result<StrictParams<CheckedParams>, RejectedParams>,
) -> Result<Response, Failure> {
    let StrictParams(given) = given.map_err(|refused| refused.failure)?;
    let [repo, path, branch, q] = [REPO, FILE, BRANCH, Q].map(|param| given.text(&param));
    if repo.is_empty() || path.is_empty() {
        return Err(Failure::bad_request(
            "the file is missing; give a repository in r= and a path in f=",
        ));
    }
    let mut view = server.view().clone();
    if !branch.is_empty() && branch != HEAD {
        let repos = server.view().repos().await?;
        let found = repos.into_iter().find(|it| it.name == repo);
        let catalog = server.view().catalog().await?;
        let known = found.as_ref().and_then(|found| catalog.repos.get(&found.id));
        let is_named =
            |tree: &&Tree| tree.name == branch || tree.commit.as_deref() == Some(&*branch);
        let mut trees = known.into_iter().flat_map(|known| &known.trees.trees);
        if found.and_then(|it| it.commit).as_deref() == Some(&*branch) {
            // The commit of the main tree.
        } else if let Some(tree) = trees.find(is_named) {
            let tree = InTree { repo: repo.clone(), kind: tree.kind, tree: tree.name.clone() };
            view = view.in_trees(&[tree]);
        } else {
            return Err(Failure::not_indexed(&format!("the branch {branch} of {repo}")));
        }
    }
    if given.get(&FORMAT).is_none() {
        let tree = if branch == HEAD { "" } else { &branch };
        return Ok(Redirect::to(&file_address(&repo, &path, tree, &q, None)).into_response());
    }
    let found = browse::file_text(&view, &repo, &path).await?;
    let Some(file) = found else {
        return Err(Failure::no_such(not_in_index(server, &repo, &path).await?));
    };
    audit::told().file(&repo);
    let kind = [(CONTENT_TYPE, "text/plain; charset=utf-8")];
    let mut response = (kind, file.text).into_response();
    protect(&mut response, "default-src 'none'; sandbox");
    Ok(with_etag(headers, &file.hash, response))
}
