//! Distinguishes requests of programs on this machine from those that a proxy forwards: both come from a loopback
//! address.

use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Version};

use super::connections::{OnProxySocket, Peer};
use super::hosts::is_loopback_name;

/// Prefixes of the names of headers that only proxies, and the networks around them, add to a request.
const OF_PROXIES: [&str; 18] = [
    "x-forwarded",
    "forwarded",
    "via",
    "x-real-ip",
    "x-original-",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-proxyuser-ip",
    "x-envoy-",
    "x-amz",
    "x-appengine-",
    "x-azure-",
    "x-cloud-trace-context",
    "x-arr-",
    "true-client-ip",
    "fastly-",
    "fly-",
    "cf-",
];

/// The sender of a request, according to its connection and its headers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sender<'r> {
    pub(super) peer: Option<Peer>,
    pub(super) version: Version,
    pub(super) headers: &'r HeaderMap,
    /// Whether it is the proxy that has a socket of its own.
    pub(super) is_proxy: bool,
}

impl<'r> Sender<'r> {
    pub(super) fn of(request: &'r Request) -> Self {
        let peer = request.extensions().get::<Peer>().copied();
        let is_proxy = request.extensions().get::<OnProxySocket>().is_some();
        Self { peer, version: request.version(), headers: request.headers(), is_proxy }
    }

    /// Returns the sender of a request whose body was split off.
    pub(super) fn of_head(head: &'r Parts) -> Self {
        let peer = head.extensions.get::<Peer>().copied();
        let is_proxy = head.extensions.get::<OnProxySocket>().is_some();
        Self { peer, version: head.version, headers: &head.headers, is_proxy }
    }

    /// Returns whether a program on this machine sends the request. A forwarded request does not count. For safety,
    /// neither does a request that names another host, or uses HTTP/1.0: some proxies still use it, and add no header.
    pub(super) fn is_here(&self) -> bool {
        let is_loopback =
            self.peer.is_some_and(|Peer(address)| address.to_canonical().is_loopback());
        let names_here = |host: &axum::http::HeaderValue| host.to_str().is_ok_and(is_loopback_name);
        is_loopback
            && !self.is_proxy
            && self.version > Version::HTTP_10
            && !self.headers.keys().any(|name| is_of_proxy(name.as_str()))
            && self.headers.get_all(HOST).iter().all(names_here)
    }
}

fn is_of_proxy(name: &str) -> bool {
    OF_PROXIES.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn what_a_proxy_passes_on_is_not_from_here() {
        let is_here = |address: &str, version, told: &[(&'static str, &'static str)]| {
            let header = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            let headers = told.iter().map(header).collect();
            let peer = Some(Peer(address.parse().unwrap()));
            Sender { peer, version, headers: &headers, is_proxy: false }.is_here()
        };
        let new = Version::HTTP_11;
        for host in ["localhost", "127.0.0.1:8080", "[::1]:8080", "x.localhost", "localhost."] {
            let host = ("host", host);
            for address in ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"] {
                assert!(
                    is_here(address, new, &[host, ("user-agent", "curl")]),
                    "{address} {host:?}"
                );
            }
            for address in ["192.0.2.1", "::ffff:192.0.2.1", "2001:db8::1", "0.0.0.0"] {
                assert!(!is_here(address, new, &[host]), "{address}");
            }
            assert!(!is_here("127.0.0.1", Version::HTTP_10, &[host]));
            for name in [
                "x-forwarded-for",
                "x-forwarded-host",
                "x-forwarded-proto",
                "forwarded",
                "via",
                "x-real-ip",
                "cf-connecting-ip",
                "true-client-ip",
                "x-original-forwarded-for",
                "x-envoy-external-address",
            ] {
                assert!(!is_here("127.0.0.1", new, &[host, (name, "")]), "{name}");
            }
        }
        for host in ["search.example", "192.0.2.1", "", "localhost.example", "a@localhost"] {
            assert!(!is_here("127.0.0.1", new, &[("host", host)]), "{host}");
        }
    }
}
