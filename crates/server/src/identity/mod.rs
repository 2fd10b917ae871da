//! Who asks. A server that others can reach answers only clients that prove who they are, unless it is open.
//!
//! Proofs are tokens of the server's own file, headers of its proxy ([`proxy`]), and JWTs of an identity provider ([`jwt`]).
//! A program sends its token or JWT with each request (RFC 6750). A person enters it once on a page ([`sign_in`]), and the
//! browser then sends it in a cookie, only from this server's own pages. [`identify`] finds out who asks, [`admit`] lets
//! them in or refuses them ([`refusal`]), and tells handlers: each request has an [`access::Principal`] in its extensions,
//! and a [`Caller`](crate::limits::Caller) if it proved who asks.

mod admit;
mod attempts;
mod credentials;
mod identify;
mod jwt;
mod keys;
mod metadata;
mod noted;
mod origin;
mod proxy;
mod refusal;
mod sign_in;
mod verify;
mod whoami;

pub(crate) use admit::{IsOperator, MayIngest, admit, mark};
pub use identify::Identity;
pub(crate) use metadata::{METADATA, METADATA_OF_MCP};
pub(crate) use noted::Noted;
pub use proxy::Proxy;
pub(crate) use refusal::Denied;
pub(crate) use sign_in::{SIGN_IN, SIGN_OUT};
pub(crate) use whoami::WHOAMI;
