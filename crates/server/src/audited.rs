//! The audit of requests: an event for each, made when its answer has ended or its client has left.
//!
//! All endpoints are audited, except those of [`NOT_AUDITED`]. Handlers tell what is in their answers by
//! [`audit::told`]. Bodies of requests and headers are never recorded, and of parameters only declared ones.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use access::Principal;
use audit::{Audit, MAX_PARAMETERS, MAX_QUERY, Told, shortened};
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use store::AuditEvent;

use super::connections::OnSocket;
use super::endpoint::Endpoint;
use super::error::Code;
use super::identity::Denied;
use super::observed_body::{Observer, observed};
use super::params::{Pairs, wants_page};
use super::sender::Sender;
use super::server::Shared;

/// The endpoints whose requests are not audited, with the reason.
pub(crate) const NOT_AUDITED: [(&str, &str); 7] = [
    ("/healthz", "a health check, without contents of the index"),
    ("/readyz", "a health check, without contents of the index"),
    ("/metrics", "numbers for Prometheus, which asks often"),
    ("/openapi.json", "the description of the API, the same for everybody"),
    ("/syntax", "the manual, the same for everybody"),
    ("/.well-known/oauth-protected-resource", "who issues JWTs, the same for everybody"),
    ("/.well-known/oauth-protected-resource/mcp", "who issues JWTs, the same for everybody"),
];

/// Returns whether the requests of an endpoint are audited.
pub(crate) fn is_audited(endpoint: &Endpoint) -> bool {
    NOT_AUDITED.iter().all(|(path, _)| *path != endpoint.path)
}

/// A request whose answer has not ended. Dropped, it becomes an event.
pub(crate) struct Audited {
    audit: Arc<Audit>,
    told: Told,
    event: AuditEvent,
    /// The client's address; `None` on the socket of the index.
    address: Option<IpAddr>,
    begun: Instant,
    /// Whether the answer has ended, or has no body.
    has_ended: bool,
}

impl Audited {
    /// Begins to audit a request to an endpoint, of which the parameters were read; `None` without an audit.
    pub(crate) fn begin(
        server: &Shared,
        path: impl Into<Cow<'static, str>>,
        request: &Request,
    ) -> Option<Self> {
        let audit = Arc::clone(server.audit.as_ref()?);
        audit.begin();
        let is_on_socket = request.extensions().get::<OnSocket>().is_some();
        let address = (!is_on_socket).then(|| server.limits.address(Sender::of(request)));
        let pairs = Pairs::of(request.extensions());
        let is_page = wants_page(request.headers(), pairs.get("format"));
        let (query, parameters) = pairs.for_audit();
        let path = path.into();
        let interface = match &*path {
            "/mcp" => "mcp",
            "/sql" => "sql",
            client::COMMAND_PATH => "command",
            _ if is_page => "page",
            _ => "api",
        };
        let event = AuditEvent {
            at: audit::now(),
            sender: address.map(|address| address.to_string()),
            is_owner: is_on_socket,
            interface: interface.into(),
            endpoint: path,
            query: query.map(|query| shortened(query, MAX_QUERY)),
            parameters: parameters.map(|text| shortened(text, MAX_PARAMETERS)),
            ..AuditEvent::default()
        };
        // The body of an answer to HEAD is never sent.
        let has_ended = request.method() == Method::HEAD;
        Some(Self { audit, told: Told::new(), event, address, begun: Instant::now(), has_ended })
    }

    /// Records who asks, once it is known.
    pub(crate) fn asked_by(&mut self, request: &Request) {
        match request.extensions().get::<Principal>() {
            Some(Principal::Owner) => self.event.is_owner = true,
            Some(principal) => {
                self.event.is_owner = false;
                self.event.who = principal.name().map(str::to_owned);
            }
            None => {}
        }
    }

    /// Returns the cell in which the handler tells what is in its answer.
    pub(crate) fn told(&self) -> Told {
        self.told.clone()
    }

    /// Records the beginning of the answer. The event is made when its body ends.
    pub(crate) fn answered(mut self, response: Response) -> Response {
        let status = response.status();
        self.event.status = status.as_u16() as i16;
        if let Some(Denied { code, name }) = response.extensions().get() {
            self.event.reason = Some((*code).into());
            if let Some(name) = name {
                self.event.who = Some(name.clone());
            }
        } else if let Some(Code(code)) = response.extensions().get() {
            self.event.reason = Some((*code).into());
        }
        let is_refused = matches!(
            status,
            StatusCode::UNAUTHORIZED
                | StatusCode::FORBIDDEN
                | StatusCode::MISDIRECTED_REQUEST
                | StatusCode::TOO_MANY_REQUESTS
        );
        self.event.outcome = if is_refused {
            "refused".into()
        } else if status.is_client_error() || status.is_server_error() {
            "failed".into()
        } else {
            "answered".into()
        };
        response.map(|body| observed(body, self))
    }
}

impl Drop for Audited {
    fn drop(&mut self) {
        let answer = self.told.take();
        let mut event = std::mem::take(&mut self.event);
        event.took = i32::try_from(self.begun.elapsed().as_millis()).unwrap_or(i32::MAX);
        let has_ended = self.has_ended || answer.has_ended;
        if !has_ended && (event.outcome.is_empty() || event.outcome == "answered") {
            event.outcome = "aborted".into();
        }
        event.files = i32::try_from(answer.files).unwrap_or(i32::MAX);
        event.results = i32::try_from(answer.results).unwrap_or(i32::MAX);
        if let Some(query) = &answer.query {
            event.query = Some(query.clone());
        }
        if let Some(parameters) = &answer.parameters {
            event.parameters = Some(parameters.clone());
        }
        if let Some(endpoint) = &answer.endpoint {
            event.endpoint = endpoint.clone().into();
        }
        if let Some(interface) = answer.interface {
            event.interface = interface.into();
        }
        if answer.who.is_some() {
            event.who.clone_from(&answer.who);
        }
        let is_frequent = event.outcome == "refused";
        if let Some((outcome, reason)) = answer.outcome
            && event.outcome != "aborted"
        {
            (event.outcome, event.reason) = (outcome.into(), Some(reason.into()));
        }
        let (count, repos) = answer.repos();
        (event.repos_count, event.repos) = (i32::try_from(count).unwrap_or(i32::MAX), repos);
        // What was admitted and then refused is within the limits of clients, and its query is of interest.
        if is_frequent {
            self.audit.refuse(self.address.map(super::connections::network), event);
        } else {
            self.audit.push(event);
        }
    }
}

impl Observer for Audited {
    fn ended(&mut self) {
        self.has_ended = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_is_audited_or_named() {
        let endpoints = crate::endpoints();
        for (path, why) in NOT_AUDITED {
            assert!(endpoints.iter().any(|endpoint| endpoint.path == path), "{path}");
            assert!(!why.is_empty(), "{path}");
        }
        let others = endpoints.iter().filter(|endpoint| is_audited(endpoint)).count();
        assert_eq!(others + NOT_AUDITED.len(), endpoints.len());
    }
}
