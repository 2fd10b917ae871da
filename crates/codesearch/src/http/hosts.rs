//! By which names this server may be asked.
//!
//! A page of another site can have its own name point at 127.0.0.1, and would then be let in by the browser
//! as if it were ours. What listens on this machine only answers to this machine's names only.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::error::{Body, Failure};
use super::pages::failed;
use super::params::wants_page;

/// The names by which a server is asked.
#[derive(Clone, Debug)]
pub(crate) struct Hosts(Option<Arc<[String]>>);

impl Hosts {
    /// Those of a server that listens on an address, beside others that it is told. One that listens for
    /// other machines does not know what they call it, and takes every name.
    pub(crate) fn of(address: SocketAddr, others: &[String]) -> Self {
        let others = others.iter().map(|name| name.to_lowercase()).collect();
        Self(address.ip().to_canonical().is_loopback().then_some(others))
    }

    /// Whether this server may be asked by what stands in `Host`, with or without a port.
    fn allow(&self, host: &str) -> bool {
        let Some(others) = &self.0 else { return true };
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let name = authority.host().trim_end_matches('.').to_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        name == "localhost"
            || name.ends_with(".localhost")
            || address.is_ok_and(|address| address.to_canonical().is_loopback())
            || others.contains(&name)
    }
}

/// Answers those only who ask by one of the names.
pub(crate) async fn check(State(hosts): State<Hosts>, request: Request, next: Next) -> Response {
    // Who speaks HTTP/1.0 need not say; browsers always do.
    let name = match request.uri().authority() {
        Some(authority) => Some(authority.as_str()),
        None => request.headers().get(HOST).map(|host| host.to_str().unwrap_or_default()),
    };
    if name.is_none_or(|name| hosts.allow(name)) {
        return next.run(request).await;
    }
    let message = "this server listens on a loopback address and is asked by another name; \
                   start it with codesearch serve --host NAME, or ask for localhost"
        .to_owned();
    let body = Body { code: "wrong_host", message, position: None };
    let failure = Failure { status: StatusCode::MISDIRECTED_REQUEST, body };
    if wants_page(request.headers(), None) { failed("", failure) } else { failure.into_response() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_loopback_answers_to_its_own_names() {
        let hosts = Hosts::of("127.0.0.1:80".parse().unwrap(), &["Search.example".to_owned()]);
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "localhost.",
            "x.localhost:1",
            "127.0.0.1",
            "127.9.9.9:8080",
            "[::1]",
            "[::1]:8080",
            "search.example:443",
        ] {
            assert!(hosts.allow(host), "{host}");
        }
        for host in [
            "",
            "x",
            "evil.example",
            "localhost.evil.example",
            "evillocalhost",
            "127.0.0.1.evil.example",
            "192.168.0.1",
            "0.0.0.0:8080",
            "a b",
        ] {
            assert!(!hosts.allow(host), "{host}");
        }
        assert!(Hosts::of("0.0.0.0:80".parse().unwrap(), &[]).allow("evil.example"));
        assert!(Hosts::of("[::1]:80".parse().unwrap(), &[]).allow("localhost"));
        assert!(!Hosts::of("[::1]:80".parse().unwrap(), &[]).allow("evil.example"));
    }
}
