//! Who asks for monitors.

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};

use crate::connections::OnSocket;
use crate::error::{Body, Failure};
use crate::limits::Caller;
use crate::pages::failed;
use crate::params::{Pairs, wants_page};
use crate::sender::Sender;
use crate::server::{Access, Shared};

/// Who asks for monitors: everybody else is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// The operator of the server.
    Operator,
    /// The owner of a token.
    Owner(String),
}

impl Who {
    /// Returns whether a monitor with this owner is shown.
    pub(super) fn sees(&self, owner: Option<&str>) -> bool {
        match self {
            Self::Operator => true,
            Self::Owner(name) => owner == Some(name),
        }
    }

    /// Returns the owner of the monitors that it makes.
    pub(super) fn owner(&self) -> Option<String> {
        match self {
            Self::Operator => None,
            Self::Owner(name) => Some(name.clone()),
        }
    }
}

impl FromRequestParts<Shared> for Who {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, server: &Shared) -> Result<Self, Response> {
        let Access { needs_token, is_public } = server.access;
        match parts.extensions.get::<Caller>() {
            Some(caller) if caller.is_operator() => return Ok(Self::Operator),
            Some(caller) => return Ok(Self::Owner(caller.name().to_owned())),
            None => {}
        }
        // The socket is open to its user only. Without tokens, whoever uses this machine is the operator.
        let is_on_socket = parts.extensions.get::<OnSocket>().is_some();
        if is_on_socket || !needs_token && !is_public && Sender::of_head(parts).is_here() {
            return Ok(Self::Operator);
        }
        let why = "monitors have owners: send a token, or sign in at /sign-in; a server without tokens shows them to its \
                   own machine only, and not through a proxy";
        let status = StatusCode::UNAUTHORIZED;
        let failure = Failure { status, body: Body::new("no_token", why) };
        let format = Pairs::of(&parts.extensions);
        let page = wants_page(&parts.headers, format.get("format"));
        Err(if page { failed("", failure) } else { failure.into_response() })
    }
}
