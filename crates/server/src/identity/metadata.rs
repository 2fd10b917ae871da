//! Where clients learn who issues JWTs for this server (RFC 9728, which the Model Context Protocol asks for).

use axum::Json;
use axum::extract::{Request, State};
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;

use super::origin::origin;
use crate::endpoint::{Admits, Class, Endpoint};
use crate::error::Failure;
use crate::server::Shared;

const PATH: &str = "/.well-known/oauth-protected-resource";

/// The path of the endpoint for agents, whose clients look for its metadata below [`PATH`].
const MCP_PATH: &str = "/mcp";

pub(crate) const METADATA: Endpoint = Endpoint {
    admits: Admits::Anyone,
    ..Endpoint::undocumented(PATH, Class::Light, || get(metadata))
};

pub(crate) const METADATA_OF_MCP: Endpoint = Endpoint {
    admits: Admits::Anyone,
    ..Endpoint::undocumented("/.well-known/oauth-protected-resource/mcp", Class::Light, || {
        get(metadata)
    })
};

async fn metadata(State(server): State<Shared>, request: Request) -> Response {
    let Some(jwt) = server.identity.jwt() else { return Failure::not_found().into_response() };
    let Some(origin) = origin(&server, &request) else {
        return Failure::bad_request("the request has no Host header; send one").into_response();
    };
    let of = request.uri().path().strip_prefix(PATH).unwrap_or_default();
    let body = json!({
        "resource": format!("{origin}{of}"),
        "resource_name": "codesearch",
        "authorization_servers": [jwt.said.issuer],
        "bearer_methods_supported": ["header"],
    });
    ([(CACHE_CONTROL, "no-store")], Json(body)).into_response()
}

/// Returns the address of the metadata for a request; `None` if no JWTs count.
pub(super) fn address_for(server: &Shared, request: &Request) -> Option<String> {
    server.identity.jwt()?;
    let of = if request.uri().path() == MCP_PATH { MCP_PATH } else { "" };
    Some(format!("{}{PATH}{of}", origin(server, request)?))
}
