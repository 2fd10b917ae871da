//! Admits the clients that an endpoint is for.

use std::convert::Infallible;

use access::Principal;
use axum::extract::{FromRequestParts, Request};
use axum::http::HeaderValue;
use axum::http::header::VARY;
use axum::http::request::Parts;
use axum::response::Response;

use super::identify::{Proofs, identify};
use super::refusal::{forbidden, nobody, wrong};
use crate::connections::OnSocket;
use crate::endpoint::Admits;
use crate::limits::Caller;
use crate::sender::Sender;
use crate::server::{Access, Shared};

/// Admits the client of a request, and attaches to the request who asks.
///
/// # Errors
/// The response to a client that is not admitted.
pub(crate) async fn admit(
    server: &Shared,
    admits: Admits,
    request: &mut Request,
) -> Result<(), Box<Response>> {
    // The socket is open to its user only.
    if request.extensions().get::<OnSocket>().is_some() {
        request.extensions_mut().insert(Principal::Owner);
        return Ok(());
    }
    request.extensions_mut().insert(Principal::Anonymous);
    let Access { needs_token, is_public } = server.access;
    let (needs_token, may): (bool, fn(&Caller) -> bool) = match admits {
        Admits::Anyone => return Ok(()),
        Admits::Clients => (needs_token, |_| true),
        // Without tokens, everyone on this machine may see what others search for.
        Admits::Operators => {
            let is_elsewhere = is_public || !Sender::of(request).is_here();
            (needs_token || is_elsewhere, Caller::is_operator)
        }
        // Nor is anybody else to have them read folders again and again.
        Admits::Ingesters => {
            let is_elsewhere = is_public || !Sender::of(request).is_here();
            (needs_token || is_elsewhere, Caller::may_ingest)
        }
    };
    let proofs = Proofs::of(&server.identity, &server.limits, request);
    let caller = match identify(&server.identity, &server.limits, proofs).await {
        Ok(caller) => caller,
        Err(why) => return Err(Box::new(wrong(server, &why, request))),
    };
    match &caller {
        _ if !needs_token => {}
        Some(caller) if may(caller) => {}
        Some(caller) => return Err(Box::new(forbidden(server, admits, caller, request))),
        None => return Err(Box::new(nobody(server, admits, request))),
    }
    if let Some(caller) = caller {
        let extensions = request.extensions_mut();
        extensions.insert(Principal::Named(caller.named().clone()));
        extensions.insert(caller);
    }
    Ok(())
}

/// Whether the client of a request may have repositories ingested.
pub(crate) struct MayIngest(pub(crate) bool);

impl FromRequestParts<Shared> for MayIngest {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, server: &Shared) -> Result<Self, Infallible> {
        if parts.extensions.get::<OnSocket>().is_some() {
            return Ok(Self(true));
        }
        let sender = Sender::of_head(parts);
        let Access { needs_token, is_public } = server.access;
        let has_right = parts.extensions.get::<Caller>().is_some_and(Caller::may_ingest);
        Ok(Self(has_right || !needs_token && !is_public && sender.is_here()))
    }
}

/// Whether the client of a request may see what others search for, as it may at addresses for operators.
pub(crate) struct IsOperator(pub(crate) bool);

impl FromRequestParts<Shared> for IsOperator {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, server: &Shared) -> Result<Self, Infallible> {
        if parts.extensions.get::<OnSocket>().is_some() {
            return Ok(Self(true));
        }
        let Access { needs_token, is_public } = server.access;
        let has_right = parts.extensions.get::<Caller>().is_some_and(Caller::is_operator);
        let is_here = Sender::of_head(parts).is_here();
        Ok(Self(has_right || !needs_token && !is_public && is_here))
    }
}

/// Marks an answer as dependent on the token, so that shared caches do not give it to other clients.
pub(crate) fn mark(server: &Shared, admits: Admits, response: &mut Response) {
    let identity = &server.identity;
    // Of an open server, too: who asks decides what is seen.
    let depends = identity.takes_tokens() || identity.has_jwt() || identity.has_proxy();
    if depends && admits != Admits::Anyone {
        response.headers_mut().append(VARY, HeaderValue::from_static("authorization, cookie"));
    }
}
