//! The one builder of a search [`Request`](search::Request) for the command line, HTTP,
//! agents (MCP), Zoekt and livegrep.
//!
//! A client passes a query, its [`Options`], and its kind ([`Client`]). [`build`] applies one rule: the query overrides
//! the options, and the options override the client's defaults. No other code decides this.
//!
//! ARCHITECTURE.md has a recipe for a new field of the query language.

pub mod about;
mod ask;
pub mod ask_answer;
mod build;
pub mod by_words;
pub mod changes;
mod client;
pub mod cursor;
mod docs;
pub mod docs_answer;
pub mod explain;
pub mod fresh;
mod here;
pub mod hints;
pub mod human;
mod json;
mod narrow;
pub mod notes;
mod options;
mod refused;
pub mod scip;
pub mod shell;
mod spell;
pub mod stale;

pub use ask::{AskOptions, MAX_LINES, ask};
pub use build::{build, build_in_time, limit_or, parse};
pub use client::Client;
pub use docs::{DocsQuery, docs};
pub use here::{Below, Here, InRepo};
pub use options::{MAX_CONTEXT, Options, case, context, count};
pub use refused::Refused;
pub use spell::{LinePattern, as_one_query};
