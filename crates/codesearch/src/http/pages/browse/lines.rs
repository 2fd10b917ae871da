//! `/search/lines`: all lines of one file in which a query matches.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use engine::search::FileMatch;

use super::{Answered, Wanted};
use crate::http::error::Failure;
use crate::http::pages::link;
use crate::http::pages::render::render;
use crate::http::pages::view::{self, LineView};
use crate::http::params::{SearchParams, StrictParams};
use crate::http::request::compiled;
use crate::http::search_stream::SearchStream;
use crate::http::server::Server;

/// Matching lines of one file that are shown below others.
const MAX_LINES: usize = 1000;

#[derive(Template)]
#[template(path = "lines.html")]
struct Lines {
    lines: Vec<LineView>,
    href: String,
    /// Matching lines that are not shown.
    more: usize,
}

/// `/search/lines`: all lines of one file in which a query matches, as a piece of a page.
pub(crate) async fn lines(
    State(server): State<Server>,
    StrictParams(wanted): StrictParams<Wanted>,
) -> Response {
    lines_answer(&server, &wanted).await.unwrap_or_else(IntoResponse::into_response)
}

async fn lines_answer(server: &Server, wanted: &Wanted) -> Answered {
    let _turn = server.turn().await?;
    let exactly = |name: &str| Some(format!("(?-i:^{}$)", query::escape(name)));
    let params = SearchParams {
        q: wanted.q.clone(),
        limit: Some("1".to_owned()),
        repo: exactly(&wanted.repo),
        file: exactly(&wanted.path),
        ..SearchParams::default()
    };
    let mut request = compiled(&params, None).await?;
    request.context = (view::CONTEXT, view::CONTEXT);
    request.limit = Some(1);
    let mut search = SearchStream::start(server, &Arc::new(request));
    let mut found: Vec<FileMatch> = Vec::new();
    while let Some(files) = search.next().await {
        found.extend(files);
    }
    search.end()?;
    let Some(mut file) = found.pop() else {
        return Err(Failure::no_such(&format!("{}/{}", wanted.repo, wanted.path)));
    };
    let all = file.matches();
    file.lines.truncate(MAX_LINES);
    let more = all - file.matches();
    let href = link::file(&wanted.repo, &wanted.path, &wanted.q, None);
    let work = tokio::task::spawn_blocking(move || view::lines(&file));
    let lines = work.await.map_err(|_| Failure::broke_off())?;
    Ok(render(StatusCode::OK, &Lines { lines, href, more }))
}
