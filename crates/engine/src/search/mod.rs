//! One search, from the shards that may hold a match to the files that do. [`Searcher`](crate::Searcher) is
//! the entry.
//!
//! | step | where |
//! |---|---|
//! | choose repositories and shards, and the plan of each | [`shards`], [`plans`], [`filters`] |
//! | order the shards | [`order`] |
//! | search some shards at a time; stop at the limit; note where the next search continues | [`merge`] |
//! | match few names; filter chunks, in memory or as Postgres stores their filters | [`names`], [`survivors`], [`stored_survivors`] |
//! | choose memory or Postgres for a shard | [`source`] |
//! | ask Postgres about several shards at once, ahead of their turn | [`prefetch`], [`together`], [`answers`] |
//! | one shard: candidates, files, texts, matches | [`shard`], [`candidates`], [`batch`], [`evaluate`], [`sender`] |
//! | match texts on several threads | [`jobs`], [`verify`] |
//! | decide on symbols | [`symbols`] |
//! | add context lines; count skipped files | [`context`], [`left_out`] |
//! | rank results; find the best beyond the first | [`rank`], [`best`] |
//! | shared: deadline, counters, cost model | [`state`], [`clock`], [`stats`], [`cost`] |

mod answers;
mod batch;
pub(crate) mod best;
mod candidates;
mod chunk_terms;
pub(crate) mod clock;
pub(crate) mod context;
mod cost;
mod evaluate;
mod filters;
mod jobs;
pub(crate) mod left_out;
pub(crate) mod merge;
mod names;
pub(crate) mod order;
pub(crate) mod plans;
mod prefetch;
pub mod rank;
mod sender;
mod shard;
pub(crate) mod shards;
mod source;
pub(crate) mod state;
mod stats;
mod stored_survivors;
mod survivors;
pub(crate) mod symbols;
mod together;
mod verify;

pub use crate::types::{
    AnswerProgress, DEFAULT_LIMIT, DEFAULT_TIMEOUT, Error, FileMatch, Line, Request, Resume,
};
pub use stats::{Phases, Stats, Stopped, SymbolsLeft};
