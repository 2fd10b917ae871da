//! `/files`: finds files by approximate paths.

use std::sync::Arc;

use askama::Template;
use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use browse::FindRequest;
use fuzzy::{PathQuery, QueryTooLong};
use query::MAX_QUERY_BYTES;
use serde_json::json;

use super::{Answered, BrowseParams, LIMIT, answered};
use crate::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use crate::error::Failure;
use crate::pages::link;
use crate::pages::render::render;
use crate::pages::view::{self, Piece};
use crate::params::names::{FORMAT, LANG, REPO};
use crate::params::{DeclaredParams, Param, StrictParams, wants_page};
use crate::server::Server;
use request::human::{self, grouped};
use request::notes::MissingJson;
use statistics::{Kind, Outcome};

/// Number of files listed without `limit=`.
const FOUND: usize = 50;

#[derive(Template)]
#[template(path = "find.html")]
struct FindPage<'a> {
    query: &'a str,
    typed: &'a str,
    summary: String,
    /// A sentence about what was not searched.
    missing: Option<String>,
    rows: Vec<(String, Vec<Piece>, String)>,
}

/// `/files`: finds files by approximate paths.
pub(crate) const FILES: Endpoint = Endpoint {
    path: "/files",
    route: || get(files),
    class: Class::Search,
    admits: Admits::Clients,
    params: DeclaredParams {
        documented: &[
            Param::text(
                "q",
                "Letters of the path in order, in any case, with gaps and a few errors; parts separated by spaces may \
                 be in any order. The path may begin with the name of the repository, or its last folders. At most \
                 256 letters and 8 words.",
            )
            .at_most(MAX_QUERY_BYTES),
            REPO.saying("Part of the repository's name."),
            LANG,
            LIMIT,
            FORMAT,
        ],
        undocumented: &[],
    },
    doc: Some(Doc {
        summary: "Find files by parts of their paths",
        description: "",
        answers: &[
            Answer::ok("Files, the nearest first.", Content::Json(&["Near"])),
            Answer::BAD,
        ],
    }),
};

async fn files(
    server: Server,
    headers: HeaderMap,
    StrictParams(wanted): StrictParams<BrowseParams>,
) -> Response {
    let done = files_answer(&server, &headers, &wanted).await;
    answered(&headers, "", wanted.format.as_deref(), done)
}

async fn files_answer(server: &Server, headers: &HeaderMap, wanted: &BrowseParams) -> Answered {
    let limit = wanted.limit.unwrap_or(FOUND);
    let language = wanted.lang.as_deref();
    let languages = language.map_or(Ok(Vec::new()), query::languages);
    let languages = languages.map_err(|why| Failure::bad_request(format!("lang=: {why}")))?;
    let wrong = |why: QueryTooLong| Failure::bad_request(format!("q=: {why}"));
    PathQuery::new(wanted.q.trim()).map_err(wrong)?;
    let _turn = server.turn().await?;
    let typed = wanted.q.clone();
    let counted = server.metrics.begin(Kind::Files, move |_| (typed.clone(), String::new()));
    let tree = server.view().tree().await?;
    let (params, kept) = (wanted.clone(), Arc::clone(&tree));
    let work = tokio::task::spawn_blocking(move || {
        let repo = Some(params.repo.as_str()).filter(|repo| !repo.is_empty());
        browse::find(
            &kept,
            &FindRequest { query: params.q.trim(), repo, languages: &languages, limit },
        )
    });
    let (near, count) = work.await.map_err(|_| Failure::panicked())?.map_err(wrong)?;
    audit::told().results(near.iter().map(|near| near.repo.as_str()));
    let missing = tree.missing();
    let lacking = tree.lacking(wanted.repo.split('@').next());
    counted.ended(match missing.is_empty() && lacking.is_none() {
        false => Outcome::ShardError,
        true if count > near.len() => Outcome::Limit,
        true => Outcome::Complete,
    });
    if !wants_page(headers, wanted.format.as_deref()) {
        let files: Vec<_> = near
            .iter()
            .map(|near| {
                json!({
                    "repo": near.repo,
                    "path": near.path,
                    "language": near.language,
                    "matched": near.matched,
                })
            })
            .collect();
        let complete = files.len() == count && missing.is_empty() && lacking.is_none();
        let mut body = json!({ "files": files, "found": count, "complete": complete });
        if let Some(missing) = MissingJson::of(&missing) {
            body["missing"] = json!(missing);
        }
        return Ok(Json(body).into_response());
    }
    let rows = near
        .iter()
        .map(|near| {
            let path = view::pieces(&near.path, &near.ranges(), &[], 0..near.path.len());
            (link::file(&near.repo, &near.path, "", None), path, near.repo.clone())
        })
        .collect();
    let all = human::count(if count == 0 { tree.len() } else { count }, "file");
    let summary = match near.len() {
        0 => format!("none of {all}"),
        shown if shown == count => all,
        shown => format!("the nearest {} of {all}", grouped(shown)),
    };
    let missing = request::notes::missing(&missing).or(lacking);
    Ok(render(StatusCode::OK, &FindPage { query: "", typed: &wanted.q, summary, missing, rows }))
}
