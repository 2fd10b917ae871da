//! Who asks, and what they see: a handler that takes a [`Server`] gets it with the view of the request's principal. The
//! state of the server has no view, so no handler can read for everybody by mistake.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::Response;

use super::server::{Server, Shared};

impl FromRequestParts<Shared> for Server {
    type Rejection = Response;

    async fn from_request_parts(_: &mut Parts, shared: &Shared) -> Result<Self, Response> {
        let visible = shared.visible().clone();
        Ok(Self::of(shared, visible))
    }
}
