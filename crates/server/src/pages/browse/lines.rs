//! `/search/lines`: all lines of one file in which a query matches.

use std::sync::Arc;

use answer::FileMatch;
use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::missing::not_in_index;
use super::{Answered, BrowseParams, PATH};
use crate::endpoint::{Class, Endpoint};
use crate::error::Failure;
use crate::pages::link;
use crate::pages::render::render;
use crate::pages::view::{self, LineView};
use crate::params::names::{Q, REPO};
use crate::params::{DeclaredParams, StrictParams};
use crate::request::built;
use crate::search_stream::SearchStream;
use crate::server::Server;
use request::{Client, Options};

/// Most matching lines shown of one file.
const MAX_LINES: usize = 1000;

#[derive(Template)]
#[template(path = "lines.html")]
struct Lines {
    lines: Vec<LineView>,
    href: String,
    /// Number of matching lines that are not shown.
    more: usize,
}

/// `/search/lines`: all lines of one file in which a query matches, as a piece of a page.
pub(crate) const LINES: Endpoint = Endpoint {
    params: DeclaredParams { documented: &[], undocumented: &[REPO, PATH, Q] },
    ..Endpoint::undocumented("/search/lines", Class::Search, || get(lines))
};

async fn lines(server: Server, StrictParams(wanted): StrictParams<BrowseParams>) -> Response {
    lines_answer(&server, &wanted).await.unwrap_or_else(IntoResponse::into_response)
}

async fn lines_answer(server: &Server, wanted: &BrowseParams) -> Answered {
    let exactly = |name: &str| vec![format!("(?-i:^{}$)", query::escape(name))];
    if wanted.q.trim().is_empty() {
        return Err(Failure::bad_request("the query is empty; give it in q="));
    }
    let options = Options {
        repos: exactly(&wanted.repo),
        files: exactly(&wanted.path),
        context: (view::CONTEXT, view::CONTEXT),
        enclosing: true,
        ..Options::default()
    };
    let mut request = built(wanted.q.clone(), options, Client::PROGRAM).await?;
    // The query may set `count:`, but this request is for one file.
    request.limit = Some(1);
    let _turn = server.turn().await?;
    let mut search = SearchStream::start(server, &Arc::new(request));
    let mut found: Vec<FileMatch> = Vec::new();
    while let Some(files) = search.next().await {
        found.extend(files);
    }
    search.end()?;
    let Some(mut file) = found.pop() else {
        return Err(Failure::no_such(not_in_index(server, &wanted.repo, &wanted.path).await?));
    };
    audit::told().files([&file]);
    let all = file.matches();
    file.lines.truncate(MAX_LINES);
    let more = all - file.matches();
    let href = link::file(&wanted.repo, &wanted.path, &wanted.q, None);
    let work = tokio::task::spawn_blocking(move || view::lines(&file));
    let lines = work.await.map_err(|_| Failure::panicked())?;
    Ok(render(StatusCode::OK, &Lines { lines, href, more }))
}
