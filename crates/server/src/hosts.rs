//! Checks the host and the site of a request, to protect against pages of other sites.
//!
//! Another site can point its own host name at 127.0.0.1; the browser would then treat this server
//! as part of that site (DNS rebinding). So a server that listens only on this machine answers only
//! to this machine's names.
//!
//! Another site's page can also make the browser send requests whose answers it cannot read: to start searches, or to
//! learn from their duration. The browser names the site for which it sends a request (`Sec-Fetch-Site`,
//! <https://www.w3.org/TR/fetch-metadata/>; `Origin`). Requests for another site's page are refused, except for links
//! that a person follows. Programs send neither header.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method, StatusCode, Version};
use axum::response::{IntoResponse, Response};

use super::error::{Body, Failure};
use super::pages::failed;
use super::params::wants_page;

/// The host names that a server answers to.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// Additional names from the operator; `None` if it answers to every name.
    others: Option<Arc<[String]>>,
    /// Whether it listens for other machines, which may use any of its addresses.
    is_open: bool,
}

impl Hosts {
    /// Returns the names for a server that listens on an address, with the operator's `others`. A server that listens
    /// for other machines and has no given name does not know its names. If it needs tokens, it then answers to every
    /// name: a browser sends the cookie only to the name that set it.
    pub fn of(address: SocketAddr, others: &[String], needs_token: bool) -> Self {
        let is_open = !address.ip().to_canonical().is_loopback();
        let names: Arc<[String]> = others.iter().map(|name| name.to_lowercase()).collect();
        Self { others: (!is_open || !needs_token || !names.is_empty()).then_some(names), is_open }
    }

    /// Returns whether a value of `Host`, with or without a port, names this server.
    fn allow(&self, host: &str) -> bool {
        let Some(others) = &self.others else { return true };
        let Some(name) = name_of(host) else { return false };
        is_loopback_name(host)
            || self.is_open && address_of(&name).is_some()
            || others.contains(&name)
    }

    /// Returns the answer to a request for another host name, or for a page of another site; `None` if the request is
    /// allowed.
    pub(super) fn refusal(&self, request: &Request) -> Option<Response> {
        // https://www.rfc-editor.org/rfc/rfc9112#name-request-target: exactly one name, optional only in HTTP/1.0.
        let names = request.headers().get_all(HOST).iter().count();
        if names > 1 || names == 0 && request.version() == Version::HTTP_11 {
            let failure = Failure::bad_request(if names > 1 {
                "the request has several Host headers; send one"
            } else {
                "the request has no Host header, which HTTP/1.1 requires"
            });
            return Some(failure.into_response());
        }
        // An HTTP/1.0 client may leave out the host; browsers always send it.
        let name = match request.uri().authority() {
            Some(authority) => Some(authority.as_str()),
            None => request.headers().get(HOST).map(|host| host.to_str().unwrap_or_default()),
        };
        let (status, code, message) = if !name.is_none_or(|name| self.allow(name)) {
            let message = "unknown host name; start the server with codesearch serve --host NAME, or use localhost";
            (StatusCode::MISDIRECTED_REQUEST, "wrong_host", message)
        } else if is_for_another_site(request.method(), request.headers(), name) {
            let message = "this request is for a page of another site; follow a link, or use a program that does not \
                           send Origin or Sec-Fetch-Site";
            (StatusCode::FORBIDDEN, "other_site", message)
        } else {
            return None;
        };
        let failure = Failure { status, body: Body::new(code, message) };
        let is_page = wants_page(request.headers(), None);
        Some(if is_page { failed("", failure) } else { failure.into_response() })
    }
}

/// Returns a host name in lower case, without its port; `None` if it is invalid.
fn name_of(host: &str) -> Option<String> {
    // A name before an @ would be that of a user.
    let authority = host.parse::<Authority>().ok().filter(|_| !host.contains('@'))?;
    Some(authority.host().trim_end_matches('.').to_lowercase())
}

fn address_of(name: &str) -> Option<IpAddr> {
    name.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Returns whether a value of `Host`, with or without a port, is a loopback name of this machine.
pub(super) fn is_loopback_name(host: &str) -> bool {
    name_of(host).is_some_and(|name| {
        name == "localhost"
            || name.ends_with(".localhost")
            || address_of(&name).is_some_and(|ip| ip.to_canonical().is_loopback())
    })
}

/// Returns whether the headers say that a browser makes the request for a page of another site, other than to follow a
/// link. A form is not a link: one of another site must not sign a person in or out.
fn is_for_another_site(method: &Method, headers: &HeaderMap, host: Option<&str>) -> bool {
    let told = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let Some(site) = told("sec-fetch-site") else {
        // An older browser, or a similar program, sends the page's origin if that matters.
        let origin =
            told("origin").map(|origin| origin.split_once("://").map_or(origin, |(_, at)| at));
        return origin.is_some_and(|origin| Some(origin) != host);
    };
    // Another port of this machine counts as the same site, but may belong to another user.
    let is_ours = site == "same-origin" || site == "none";
    let is_followed = method.is_safe()
        && told("sec-fetch-mode") == Some("navigate")
        && told("sec-fetch-dest").is_none_or(|for_what| for_what == "document");
    !is_ours && !is_followed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_asks_for_another_site_is_told_from_the_rest() {
        let check = |expected: bool, told: &[(&'static str, &'static str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in told {
                headers.insert(*name, value.parse().unwrap());
            }
            let is_other = is_for_another_site(&Method::GET, &headers, Some("localhost:8080"));
            assert_eq!(is_other, expected, "{told:?}");
            // A form is not a link.
            let is_link = told.contains(&("sec-fetch-dest", "document"));
            let is_other = is_for_another_site(&Method::POST, &headers, Some("localhost:8080"));
            assert_eq!(is_other, expected || is_link, "{told:?}");
        };
        // Programs, the server's own pages, and addresses that a person types.
        check(false, &[]);
        check(false, &[("origin", "http://localhost:8080")]);
        check(false, &[("sec-fetch-site", "same-origin"), ("origin", "http://localhost:8080")]);
        check(false, &[("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")]);
        // A link.
        let site = ("sec-fetch-site", "cross-site");
        check(false, &[site, ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")]);
        // An image, a frame, a script that fetches, another port.
        check(true, &[site, ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")]);
        check(true, &[site, ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")]);
        check(true, &[site, ("sec-fetch-mode", "cors"), ("origin", "https://evil.example")]);
        check(true, &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors")]);
        check(true, &[("origin", "https://evil.example")]);
        check(true, &[("origin", "http://localhost:3000")]);
        check(true, &[("origin", "null")]);
    }

    #[test]
    fn a_server_on_loopback_answers_to_its_own_names() {
        let hosts =
            Hosts::of("127.0.0.1:80".parse().unwrap(), &["Search.example".to_owned()], false);
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
            "evil.example@localhost",
            "a b",
        ] {
            assert!(!hosts.allow(host), "{host}");
        }
        assert!(Hosts::of("0.0.0.0:80".parse().unwrap(), &[], true).allow("any.example"));
        assert!(!Hosts::of("0.0.0.0:80".parse().unwrap(), &[], false).allow("evil.example"));
        let told = Hosts::of("0.0.0.0:80".parse().unwrap(), &["search.example".to_owned()], true);
        for host in ["search.example", "localhost", "192.168.0.1:80", "[2001:db8::1]"] {
            assert!(told.allow(host), "{host}");
        }
        assert!(!told.allow("evil.example"));
        assert!(Hosts::of("[::1]:80".parse().unwrap(), &[], false).allow("localhost"));
        assert!(!Hosts::of("[::1]:80".parse().unwrap(), &[], false).allow("evil.example"));
    }
}
