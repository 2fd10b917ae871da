//! Zoekt's JSON: its API, and what its web pages answer with `format=json`.
//!
//! Names of fields, what counts from where, defaults and status codes are Zoekt's; `docs/protocols.md` lists the
//! differences.

mod api;
mod arguments;
mod error;
mod find;
mod list;
mod matches;
mod query;
mod result;
mod web;

pub(crate) use api::ENDPOINTS;
pub(crate) use error::{is_asked, refused};
