//! The one builder of a search [`Request`](engine::search::Request) for the command line, HTTP,
//! agents (MCP), Zoekt and livegrep.
//!
//! A client passes a query, the [`Options`] beside it, and its kind ([`Client`]). [`build`] applies
//! one rule: the query overrides the options, and the options override the client's defaults. No
//! other code decides that.
//!
//! To add a field `xyz:` to the query language, change these files and no others:
//!
//! 1. `crates/query/src/field.rs`: its names, and the suggestions for somebody who types it; `foreign.rs` has the
//!    fields of other engines;
//! 2. its meaning: `crates/query/src/settings.rs` for a setting of the whole query (as `count:`),
//!    `crates/query/src/build.rs` for a term that the index can answer already (as `repo:`);
//! 3. for a setting, `crates/codesearch/src/request/build.rs`: its effect on a request, and what it
//!    overrides;
//! 4. `docs/syntax.md`.
//!
//! `crates/codesearch/tests/it/language.rs` tests it through the program.

mod build;
mod client;
mod docs;
mod narrow;
mod options;
mod refused;
mod spell;

pub(crate) use build::{build, limit_or, parse};
pub(crate) use client::Client;
pub(crate) use docs::{DocsQuery, docs};
pub(crate) use options::{MAX_CONTEXT, Options, case, context, count};
pub(crate) use refused::Refused;
pub(crate) use spell::{LinePattern, as_one_query};
