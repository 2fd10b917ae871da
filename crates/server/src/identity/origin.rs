//! The address of a server for others.

use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::{HeaderMap, Uri};

use crate::sender::Sender;
use crate::server::Shared;

/// The header in which a proxy states that its client used TLS.
const FORWARDED_PROTO: &str = "x-forwarded-proto";

/// Returns whether the client uses TLS, according to a trusted proxy.
pub(super) fn is_over_tls(server: &Shared, sender: Sender<'_>) -> bool {
    server.limits.is_forwarded(sender)
        && sender.headers.get(FORWARDED_PROTO).is_some_and(|scheme| scheme == "https")
}

/// Returns the address of this server for others: that in the configuration file, or that of the request.
pub(super) fn origin(server: &Shared, request: &Request) -> Option<String> {
    let said = || server.configuration.get().monitor.url.clone();
    if let Some(url) = server.identity.url().or_else(said) {
        return Some(url);
    }
    let scheme = if is_over_tls(server, Sender::of(request)) { "https" } else { "http" };
    let host = host(request.uri(), request.headers())?;
    Some(format!("{scheme}://{host}"))
}

/// Returns the host of a request, with its port. It was checked before.
fn host<'r>(address: &'r Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    let named = || headers.get(HOST).and_then(|host| host.to_str().ok());
    address.authority().map(axum::http::uri::Authority::as_str).or_else(named)
}
