//! `/whoami`: who asks, as the server sees it.

use askama::Template;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;

use super::admit::{IsOperator, MayIngest};
use super::refusal::can_sign_in;
use crate::connections::OnSocket;
use crate::endpoint::{Answer, Class, Content, Doc, Endpoint};
use crate::limits::Caller;
use crate::pages::render;
use crate::params::names::FORMAT;
use crate::params::{DeclaredParams, Pairs, wants_page};
use crate::server::Shared;

/// `/whoami`.
pub(crate) const WHOAMI: Endpoint = Endpoint {
    params: DeclaredParams { documented: &[FORMAT], undocumented: &[] },
    doc: Some(Doc {
        summary: "Who asks, as the server sees it",
        description: "",
        answers: &[Answer::ok(
            "The user, the user's groups and rights, and how that was proven.",
            Content::Json(&["Whoami"]),
        )],
    }),
    ..Endpoint::undocumented("/whoami", Class::Light, || get(whoami))
};

/// The answer.
#[derive(Serialize)]
struct Whoami<'c> {
    /// Null for a client that proved nothing, and for the owner of the index.
    name: Option<&'c str>,
    groups: &'c [String],
    /// Globs of the repositories to which the token is narrowed.
    repos: &'c [String],
    rights: Vec<&'static str>,
    /// When the token or the JWT ends.
    until: Option<String>,
    how: &'static str,
}

#[derive(Template)]
#[template(path = "whoami.html")]
struct WhoamiPage<'c> {
    query: &'static str,
    who: &'c Whoami<'c>,
    can_sign_in: bool,
}

async fn whoami(
    State(server): State<Shared>,
    IsOperator(is_operator): IsOperator,
    MayIngest(may_ingest): MayIngest,
    request: Request,
) -> Response {
    let extensions = request.extensions();
    let caller = extensions.get::<Caller>();
    let rights = [(true, "search"), (may_ingest, "ingest"), (is_operator, "admin")];
    let who = Whoami {
        name: caller.map(Caller::name),
        groups: caller.map_or(&[], |caller| &caller.named().groups),
        repos: caller.map_or(&[], |caller| &caller.named().repos),
        rights: rights.into_iter().filter(|(has, _)| *has).map(|(_, word)| word).collect(),
        until: caller.and_then(Caller::until).map(|end| end.to_string()),
        how: match caller {
            Some(caller) => caller.how().word(),
            None if extensions.get::<OnSocket>().is_some() => "socket",
            None => "nothing",
        },
    };
    let pairs = Pairs::of(extensions);
    let mut response = if wants_page(request.headers(), pairs.get("format")) {
        let can_sign_in = can_sign_in(&server);
        render(StatusCode::OK, &WhoamiPage { query: "", who: &who, can_sign_in })
    } else {
        Json(who).into_response()
    };
    response.headers_mut().insert(CACHE_CONTROL, "no-store".parse().expect("it is constant"));
    response
}
