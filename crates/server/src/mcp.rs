//! `/mcp`: the tools for agents, over the Streamable HTTP transport of the Model Context Protocol
//! (<https://modelcontextprotocol.io/specification/draft/basic/transports>). Requests are independent: there are no
//! sessions.
//!
//! The protocol asks clients to accept both JSON and events, and to declare that they send JSON. Many do neither. So
//! the code here reads from the headers which formats a client accepts, and gives the library the headers that it
//! requires.

use std::sync::Arc;

use audit::Told;
use axum::Json;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequest, Request};
use axum::http::header::{ACCEPT, ALLOW, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use rmcp::model::ErrorCode;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use statistics::Refusal;

use super::endpoint::{Class, Endpoint};
use super::error::Failure;
use super::identity::IsOperator;
use super::layers::MAX_BODY;
use super::server::Server;
use mcp::Tools;

/// `/mcp`. Its answers are built as a whole.
pub(crate) const MCP: Endpoint = Endpoint::undocumented("/mcp", Class::Whole, || any(mcp));

/// The media type of server-sent events.
const EVENTS: &str = "text/event-stream";

/// Longest repeated message of the library, in bytes.
const MAX_TOLD: usize = 1000;

async fn mcp(server: Server, IsOperator(is_operator): IsOperator, request: Request) -> Response {
    if request.method() != Method::POST {
        let mut failure = Failure::method_not_allowed();
        "use POST: there are no sessions, and no events outside answers"
            .clone_into(&mut failure.body.message);
        return ([(ALLOW, "POST")], failure).into_response();
    }
    let (mut head, body) = request.into_parts();
    let body = Request::from_parts(head.clone(), body);
    let body = match Bytes::from_request(body, &()).await {
        Ok(body) => body,
        Err(error) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            return Failure::too_large().into_response();
        }
        Err(error) => return Failure::bad_request(error.body_text()).into_response(),
    };
    let (message, body) = match read(&body, takes_events(&head.headers)) {
        Ok(read) => read,
        Err(wrong) => return wrong.answer(&Value::Null),
    };
    tell(&message, &audit::told());
    for (name, value) in
        [(ACCEPT, "application/json, text/event-stream"), (CONTENT_TYPE, "application/json")]
    {
        head.headers.insert(name, HeaderValue::from_static(value));
    }
    head.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    let _turn = match server.turn().await {
        Ok(turn) => turn,
        Err(failure) => return failure.into_response(),
    };
    // Host names and pages of other sites were checked before.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .with_legacy_session_mode(false)
        .with_json_response(true);
    let view = server.view().clone();
    let sql = server.sql.clone();
    // The library answers in a task of its own.
    let telling = audit::told();
    let metrics = Arc::clone(&server.metrics);
    let refused: Arc<dyn Fn() + Send + Sync> = Arc::new(move || metrics.refuse(Refusal::Statement));
    let tools = move || {
        let tools = Tools::new(view.clone()).with_sql(sql.clone(), is_operator);
        Ok(tools.telling(telling.clone(), Arc::clone(&refused)))
    };
    let service =
        StreamableHttpService::new(tools, Arc::new(NeverSessionManager::default()), config);
    let request = Request::from_parts(head, Body::from(body));
    let answer = service.handle(request).await.map(Body::new);
    told(answer, &message["id"]).await
}

/// Tells the audit what a message asks for. What no tool declares may be a secret.
fn tell(message: &Value, told: &Told) {
    let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
    let (method, name) = (text("/method").unwrap_or_default(), text("/params/name"));
    let interface = (name == Some("sql")).then_some("sql");
    told.endpoint(format!("/mcp {}", name.unwrap_or(method)), interface);
    if let Some(uri) = text("/params/uri") {
        told.query(uri);
    } else if let Some(arguments) = message.pointer("/params/arguments").and_then(Value::as_object)
    {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let declared = mcp::declared_arguments(name.unwrap_or_default(), arguments);
        if let Some((_, query)) = declared.iter().find(|(name, _)| *name == "query") {
            told.query(&text(query));
        }
        let others = declared.iter().filter(|(name, _)| *name != "query");
        let others: Vec<String> =
            others.map(|(name, value)| format!("{name}={}", text(value))).collect();
        if !others.is_empty() {
            told.parameters(others.join("&"));
        }
    }
}

/// A message that cannot be answered, as a JSON-RPC error.
struct Wrong(ErrorCode, String);

impl Wrong {
    fn answer(self, id: &Value) -> Response {
        let error = json!({ "code": self.0.0, "message": self.1 });
        let body = json!({ "jsonrpc": "2.0", "id": id, "error": error });
        (StatusCode::BAD_REQUEST, Json(body)).into_response()
    }
}

/// Parses a message, and returns it with the body to pass on. For a client that does not accept events, the body
/// requests no progress, which needs them.
fn read(body: &Bytes, takes_events: bool) -> Result<(Value, Bytes), Wrong> {
    let mut message: Value = serde_json::from_slice(body)
        .map_err(|error| Wrong(ErrorCode::PARSE_ERROR, format!("the body is not JSON: {error}")))?;
    if !message.is_object() {
        let what = if message.is_array() {
            "batches are not supported: send each message separately"
        } else {
            "send an object"
        };
        let message = format!("the body is not a JSON-RPC message: {what}");
        return Err(Wrong(ErrorCode::INVALID_REQUEST, message));
    }
    let meta = message.pointer_mut("/params/_meta").and_then(Value::as_object_mut);
    let progress = meta.filter(|_| !takes_events).and_then(|meta| meta.remove("progressToken"));
    let body = if progress.is_some() { message.to_string().into() } else { body.clone() };
    Ok((message, body))
}

/// Returns whether a client explicitly accepts events. One that accepts anything gets JSON, which is simpler.
fn takes_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut kinds = accepted.flat_map(|value| value.split(','));
    kinds.any(|kind| {
        kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(EVENTS))
    })
}

/// Converts the library's refusals, which are plain text, to JSON-RPC.
async fn told(answer: Response, id: &Value) -> Response {
    let is_json = |kind: &HeaderValue| kind.as_bytes().starts_with(b"application/json");
    let status = answer.status();
    if !status.is_client_error() || answer.headers().get(CONTENT_TYPE).is_some_and(is_json) {
        return answer;
    }
    let text = to_bytes(answer.into_body(), MAX_BODY).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    // The library reports JSON that is not a message of the protocol as a wrong media type.
    let message = match status {
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            "the body is not a message of the protocol".to_owned()
        }
        _ => query::shortened(&text, MAX_TOLD).into_owned(),
    };
    Wrong(ErrorCode::INVALID_REQUEST, message).answer(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_takes_is_read_from_its_headers() {
        for (accept, expected) in [
            (&["application/json, text/event-stream"][..], true),
            (&["application/json", "Text/Event-Stream;q=0.5"], true),
            (&["*/*"], false),
            (&["application/json"], false),
            (&["text/*"], false),
            (&[], false),
        ] {
            let mut headers = HeaderMap::new();
            for value in accept {
                headers.append(ACCEPT, HeaderValue::from_static(value));
            }
            assert_eq!(takes_events(&headers), expected, "{accept:?}");
        }
    }

    #[test]
    fn the_audit_keeps_only_arguments_that_a_tool_declares() {
        let told = |name: &str, arguments: Value| {
            let message = json!({
                "method": "tools/call", "params": { "name": name, "arguments": arguments },
            });
            let told = Told::new();
            tell(&message, &told);
            let answer = told.take();
            (answer.endpoint.unwrap(), answer.query, answer.parameters)
        };
        let found = told("search", json!({ "query": "x", "limit": 5, "password": "hidden" }));
        let query = Some("x".to_owned());
        assert_eq!(found, ("/mcp search".to_owned(), query.clone(), Some("limit=5".to_owned())));
        // What is understood by another name is kept by its own.
        let found = told("search", json!({ "pattern": "x", "token": { "nested": "hidden" } }));
        assert_eq!(found, ("/mcp search".to_owned(), query, None));
        let found = told("no_such_tool", json!({ "query": "hidden" }));
        assert_eq!(found, ("/mcp no_such_tool".to_owned(), None, None));
    }

    #[test]
    fn only_a_client_that_takes_events_hears_of_progress() {
        let body = json!({ "params": { "_meta": { "progressToken": 1, "x": 2 } } });
        let body = Bytes::from(body.to_string());
        let handed_on = |events| read(&body, events).map(|(_, body)| body).ok().unwrap();
        assert_eq!(handed_on(true), body);
        assert_eq!(handed_on(false), json!({ "params": { "_meta": { "x": 2 } } }).to_string());
        for (wrong, code) in [
            ("", ErrorCode::PARSE_ERROR),
            ("{", ErrorCode::PARSE_ERROR),
            (&"[".repeat(100_000), ErrorCode::PARSE_ERROR),
            ("[]", ErrorCode::INVALID_REQUEST),
            ("1", ErrorCode::INVALID_REQUEST),
        ] {
            let read = read(&Bytes::copy_from_slice(wrong.as_bytes()), true);
            assert_eq!(read.err().map(|Wrong(code, _)| code), Some(code), "{wrong:.20}");
        }
    }
}
