//! One builder of a search [`Request`](engine::search::Request) for the command line, HTTP, agents (MCP), Zoekt and
//! livegrep.
//!
//! A client hands over a query and [`Options`], which are what it was told beside the query, and says who it is
//! ([`Client`]). [`build`] decides: the query goes before the options, and the options before what the client is given
//! when neither says anything. That rule stands there and nowhere else.
//!
//! To add a field `xyz:` to the query language, change these files and no others:
//!
//! 1. `crates/query/src/field.rs`: its names, and what is suggested to somebody who types it;
//! 2. its meaning: `crates/query/src/settings.rs` for a setting of the whole query (as `count:`),
//!    `crates/query/src/build.rs` for a term that the index can answer already (as `repo:`);
//! 3. for a setting, `crates/codesearch/src/request/build.rs`: what it does to a request, and what it goes before;
//! 4. `docs/syntax.md`.
//!
//! `crates/codesearch/tests/it/language.rs` tests it through the program.

mod build;
mod client;
mod narrow;
mod options;
mod refused;

pub(crate) use build::{build, parse, settled_limit};
pub(crate) use client::Client;
pub(crate) use narrow::docs;
pub(crate) use options::{MAX_CONTEXT, Options, case, context, count};
pub(crate) use refused::Refused;
