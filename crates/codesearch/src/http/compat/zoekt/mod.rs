//! Zoekt's JSON: `POST /api/search` and `POST /api/list` are here, what its pages answer is in [`web`].
//!
//! Names of fields, what counts from where, defaults and status codes are Zoekt's; `docs/protocols.md`
//! says what is not.

mod answer;
mod arguments;
mod find;
mod lines;
mod list;
mod web;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, post};
use engine::search::Request;
use query::{Case, Field, Pattern, Query, Tree};
use serde_json::{Value, json};

use crate::http::endpoint::{Class, Endpoint};
use crate::http::error::{Body, Failure};
use crate::http::request::compile;
use crate::http::server::Server;
use crate::request::{self, Client, Options as Beside};
use arguments::{ListArgs, SearchArgs, read};
use find::find;
use list::{entry, listed, total};

/// `POST /api/search` and `/api/list`: where Zoekt has them, and below an address that is Zoekt's alone.
pub(crate) const ENDPOINTS: [Endpoint; 5] = [
    api("/api/search", || post(search).fallback(only_post)),
    api("/api/list", || post(list).fallback(only_post)),
    api("/zoekt/api/search", || post(search).fallback(only_post)),
    api("/zoekt/api/list", || post(list).fallback(only_post)),
    web::WEB,
];

const fn api(path: &'static str, route: fn() -> MethodRouter<Server>) -> Endpoint {
    Endpoint::untold(path, Class::Search, route)
}

/// Whether an address is one that answers in Zoekt's JSON, errors too.
pub(crate) fn is_asked(path: &str) -> bool {
    let path = path.strip_prefix("/zoekt").unwrap_or(path);
    matches!(path, "/api/search" | "/api/list")
}

/// Searches with what Zoekt's clients say in its own way.
async fn search(State(server): State<Server>, body: Result<Bytes, BytesRejection>) -> Response {
    let answer = async {
        let args: SearchArgs = read(body)?;
        if args.q.is_empty() {
            return Err(Failure::bad_request("give a query in Q"));
        }
        if args.repo_ids.is_some() {
            return Err(Failure::bad_request(
                "repositories have no numbers here: leave out RepoIDs, and name repositories in Q with repo:",
            ));
        }
        find(&server, parse(&args.q)?, args.opts).await
    };
    match answer.await {
        Ok(result) => Json(json!({ "Result": result })).into_response(),
        Err(failure) => refused(&failure),
    }
}

/// Lists repositories.
async fn list(State(server): State<Server>, body: Result<Bytes, BytesRejection>) -> Response {
    let answer = async {
        let args: ListArgs = read(body)?;
        let query = parse(&args.q)?;
        // 2 asks for a map by numbers; Zoekt lists repositories without a number all the same.
        if !matches!(args.opts.field, 0 | 2) {
            return Err(internal(format!("Field {}: use 0 or 2", args.opts.field)));
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

/// Any method but POST.
async fn only_post() -> Response {
    let mut failure = Failure::method_not_allowed();
    "use POST".clone_into(&mut failure.body.message);
    refused(&failure)
}

/// An error as Zoekt sends it.
pub(crate) fn refused(failure: &Failure) -> Response {
    (failure.status, Json(json!({ "Error": failure.body.message }))).into_response()
}

fn internal(message: String) -> Failure {
    let body = Body { code: "internal", message, position: None };
    Failure { status: StatusCode::INTERNAL_SERVER_ERROR, body }
}

/// A query as Zoekt would understand it: what can match a line feed does, and nothing is everything.
fn parse(text: &str) -> Result<Query, Failure> {
    if text.trim().is_empty() {
        let mut query = Query::of(Field::Path, Pattern::literal("", Case::Smart)?);
        query.tree = Tree::All(Vec::new());
        return Ok(query);
    }
    Ok(request::parse(text, &Beside::default(), &Client::ZOEKT)?)
}

/// The request for a query and what stands beside it, compiled where that keeps nobody waiting.
async fn compiled(query: Query, beside: Beside) -> Result<Request, Failure> {
    compile(false, move || Ok(request::build(query, &beside, &Client::ZOEKT)?)).await
}
