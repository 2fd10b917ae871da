//! `/mcp`: the tools for agents, by the Streamable HTTP of the Model Context Protocol
//! (<https://modelcontextprotocol.io/specification/draft/basic/transports>). Each request is answered for itself: there are
//! no sessions.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::endpoint::{Class, Endpoint};
use super::server::Server;
use crate::mcp::Tools;

/// `/mcp`.
pub(crate) const MCP: Endpoint = Endpoint::undocumented("/mcp", Class::Search, || any(mcp));

async fn mcp(State(server): State<Server>, request: Request) -> Response {
    let _turn = match server.turn().await {
        Ok(turn) => turn,
        Err(failure) => return failure.into_response(),
    };
    // Names of hosts, and pages of other sites, were looked at before.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let searcher = Arc::clone(&server.searcher);
    let tools = move || Ok(Tools::new(Arc::clone(&searcher)));
    let service =
        StreamableHttpService::new(tools, Arc::new(NeverSessionManager::default()), config);
    service.handle(request).await.map(Body::new)
}
