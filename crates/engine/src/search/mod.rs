//! One search, from the shards that may hold a match to the files that do. [`Searcher`](crate::Searcher) is the entry.
//!
//! | step | where |
//! |---|---|
//! | which repositories and shards, each with its plan | [`shards`], [`plans`], [`filters`] |
//! | in which order the shards are searched | [`order`] |
//! | searching some of them at a time; the limit; where a next search goes on | [`merge`] |
//! | what of a shard is in memory; which of two sources it is searched from | [`survivors`], [`source`] |
//! | one shard: candidates, files, texts, matches | [`shard`], [`candidates`], [`batch`], [`evaluate`], [`sender`] |
//! | matching texts, on several threads | [`jobs`], [`verify`] |
//! | lines around matches; what was left out; what is wanted most | [`context`], [`left_out`], [`rank`] |
//! | what is shared while it runs: the deadline, counters; how much is read at a time | [`state`], [`clock`], [`stats`], [`cost`] |

mod batch;
mod candidates;
pub(crate) mod clock;
pub(crate) mod context;
mod cost;
mod evaluate;
mod filters;
mod jobs;
pub(crate) mod left_out;
pub(crate) mod merge;
pub(crate) mod order;
pub(crate) mod plans;
mod rank;
mod sender;
mod shard;
pub(crate) mod shards;
mod source;
pub(crate) mod state;
mod stats;
mod survivors;
mod verify;

pub use crate::searcher::Searcher;
pub use crate::types::{
    DEFAULT_LIMIT, DEFAULT_TIMEOUT, Error, FileMatch, Line, Progress, Request, Resume,
};
pub use rank::score;
pub use stats::{Phases, Stats, Stopped};
