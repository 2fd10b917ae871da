//! Who asks, and what they see: a handler that takes a [`Server`] gets it with the view of the request's principal. The
//! state of the server has no view, so no handler can read for everybody by mistake.

use std::sync::Arc;

use access::Principal;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};

use super::compat::zoekt;
use super::connections::OnSocket;
use super::error::Failure;
use super::limits::Caller;
use super::pages::failed;
use super::params::{Pairs, wants_page};
use super::server::{Server, Shared};

impl FromRequestParts<Shared> for Server {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<Self, Response> {
        let principal = principal(parts);
        if let Principal::Named(named) = &principal
            && shared.limits.others_name()
        {
            let alone = shared.fellows.others() == 0;
            shared.noted.note(&shared.admin().store, named, alone).await;
        }
        match shared.visible(&principal).await {
            Ok(visible) => Ok(Self::of(shared, principal, visible)),
            Err(error) => Err(refused(parts, Failure::from(error))),
        }
    }
}

/// Returns who sends a request. Whoever proved nothing is anybody.
fn principal(parts: &Parts) -> Principal {
    if let Some(principal) = parts.extensions.get::<Principal>() {
        return principal.clone();
    }
    if parts.extensions.get::<OnSocket>().is_some() {
        return Principal::Owner;
    }
    match parts.extensions.get::<Caller>() {
        Some(caller) => Principal::Named(Arc::clone(caller.named())),
        None => Principal::Anonymous,
    }
}

/// Returns the answer to a request when nobody knows what is granted, in the format of errors at its address.
fn refused(parts: &Parts, failure: Failure) -> Response {
    if zoekt::is_zoekt_api(parts.uri.path()) {
        return zoekt::refused(&failure);
    }
    let pairs = Pairs::of(&parts.extensions);
    if wants_page(&parts.headers, pairs.get("format")) {
        failed(pairs.get("q").unwrap_or_default(), failure)
    } else {
        failure.into_response()
    }
}
