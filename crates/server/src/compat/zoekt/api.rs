//! `POST /api/search` and `POST /api/list`.

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, post};
use serde::Serialize;
use serde_json::{Value, json};

use super::arguments::{ListArgs, SearchArgs, read};
use super::error::{internal, refused};
use super::find::find;
use super::list::{entry, listed, total};
use super::print;
use super::query::parse;
use super::result::SearchResult;
use super::web;
use crate::endpoint::{Class, Endpoint};
use crate::error::Failure;
use crate::server::{Server, Shared};

/// `POST /api/search` and `/api/list`, at Zoekt's own addresses and below `/zoekt`.
pub(crate) const ENDPOINTS: [Endpoint; 7] = [
    api("/api/search", || post(search).fallback(only_post)),
    api("/api/list", || post(list).fallback(only_post)),
    api("/zoekt/api/search", || post(search).fallback(only_post)),
    api("/zoekt/api/list", || post(list).fallback(only_post)),
    web::WEB,
    print::PRINT,
    print::PRINT_BELOW,
];

const fn api(path: &'static str, route: fn() -> MethodRouter<Shared>) -> Endpoint {
    Endpoint::undocumented(path, Class::Whole, route)
}

#[derive(Serialize)]
struct Found {
    #[serde(rename = "Result")]
    result: SearchResult,
}

/// Searches with Zoekt's query and options.
async fn search(server: Server, body: Result<Bytes, BytesRejection>) -> Response {
    let answer = async {
        let args: SearchArgs = read(body)?;
        if args.q.is_empty() {
            return Err(Failure::bad_request("give a query in Q"));
        }
        if args.repo_ids.is_some() {
            return Err(Failure::bad_request(
                "RepoIDs is not supported: name repositories in Q with repo:",
            ));
        }
        audit::told().query(&args.q);
        find(&server, parse(&args.q)?, args.opts).await
    };
    match answer.await {
        Ok(result) => Json(Found { result }).into_response(),
        Err(failure) => refused(&failure),
    }
}

/// Lists repositories.
async fn list(server: Server, body: Result<Bytes, BytesRejection>) -> Response {
    let answer = async {
        let args: ListArgs = read(body)?;
        audit::told().query(&args.q);
        let query = parse(&args.q)?;
        match args.opts.field {
            0 => {}
            2 => {
                return Err(Failure::bad_request(
                    "Field 2 is not supported: repositories have no numbers; use Field 0",
                ));
            }
            other => return Err(internal(format!("Field {other}: use 0"))),
        }
        listed(&server, query).await
    };
    match answer.await {
        Ok(repos) => {
            let stats = total(&repos);
            let repos: Vec<Value> = repos.iter().map(entry).collect();
            let list = json!({ "Repos": repos, "ReposMap": {}, "Crashes": 0, "Stats": stats });
            Json(json!({ "List": list })).into_response()
        }
        Err(failure) => refused(&failure),
    }
}

/// Refuses any method but POST.
async fn only_post() -> Response {
    let mut failure = Failure::method_not_allowed();
    "use POST".clone_into(&mut failure.body.message);
    refused(&failure)
}
