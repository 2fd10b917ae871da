//! How much a client may ask: searches at once and a minute, and bytes of answers a minute, by address or
//! by token, and all clients together. Who asks for more is told when to come back.
//!
//! A budget fills by the second and holds a minute's worth. A search costs one before it begins. What an
//! answer takes in bytes is known when it is sent, so it may overdraw the budget, and the client waits
//! until that is paid back: an answer is never broken off.
//!
//! Nothing of this is done by a library for rate limits: those refuse what is known beforehand, and forget
//! no client by themselves.

mod budget;
mod clients;
mod layer;
mod quota;
mod token;
mod unread;

pub(crate) use clients::{Caller, Limits};
pub(crate) use layer::{reads, refused, searches};
pub(crate) use quota::Quota;
pub(crate) use token::{TokenFile, new_token};
pub(crate) use unread::Unread;
