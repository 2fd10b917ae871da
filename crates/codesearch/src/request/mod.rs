//! The one builder of a search [`Request`](engine::search::Request) for the command line, HTTP,
//! agents (MCP), Zoekt and livegrep.
//!
//! A client passes a query, the [`Options`] beside it, and its kind ([`Client`]). [`build`] applies
//! one rule: the query overrides the options, and the options override the client's defaults. No
//! other code decides that.
//!
//! ARCHITECTURE.md has a recipe for a new field of the query language.

mod build;
mod client;
mod docs;
mod narrow;
mod options;
mod refused;
mod spell;

pub(crate) use build::{build, build_in_time, limit_or, parse};
pub(crate) use client::Client;
pub(crate) use docs::{DocsQuery, docs};
pub(crate) use options::{MAX_CONTEXT, Options, case, context, count};
pub(crate) use refused::Refused;
pub(crate) use spell::{LinePattern, as_one_query};
