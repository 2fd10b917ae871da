//! Searching: from the shards that may hold a match to the files that do. A [`Searcher`] holds the state that all
//! searches of a process share; a [`View`] of it is the only way to the data of the index.
//!
//! | step | where |
//! |---|---|
//! | choose repositories and shards, and the plan of each | [`shards`], [`plans`], [`blocks`] |
//! | order the shards | [`order`] |
//! | search some shards at a time; stop at the limit; note where the next search continues | [`merge`] |
//! | ask Postgres about several shards at once, ahead of their turn | [`prefetch`], [`together`] |
//! | filters, in memory or stored, and the chunks that survive them | [`filters`], [`survivors`], [`chunk_set`] |
//! | names: paths and symbols | [`names`] |
//! | candidates: filters, documents and names combined by the plan | [`find`], [`candidates`] |
//! | one shard: candidates, files, texts, matches | [`shard`], [`source`], [`batch`], [`evaluate`], [`sender`] |
//! | read files and texts, from memory or Postgres | [`reader`] |
//! | match texts on several threads | [`jobs`], [`verify`] |
//! | decide on symbols | [`symbols`] |
//! | add context lines and the symbols around lines; count skipped files | [`context`], [`around`], [`left_out`] |
//! | find the best beyond the first | [`best`] |
//! | answer questions in words | [`ask`](mod@ask) |
//! | compare revisions, and search what changed between them | [`changes`] |
//! | search commits that are not indexed | [`revision`] |
//! | trees in names: `NAME@TREE` | [`named_tree`] |
//! | tell which names of trees mean none | [`unmeant`] |
//! | wait for changes that are not indexed yet; tell how fresh the searched repositories are | [`await_fresh`], [`fresh`] |
//! | tell which shown files have changed on disk since they were indexed | [`stale`] |
//! | search the history of lines | [`history`] |
//! | tell what an epoch changed | [`changed`] |
//! | what nodes that do not answer leave out | [`missing`] |
//! | shared: deadline, counters, cost model | [`state`], [`clock`], [`stats`], [`cost`] |

mod around;
pub mod ask;
mod at;
mod await_fresh;
mod batch;
mod best;
mod blocks;
mod cache;
mod candidates;
mod changed;
pub mod changes;
mod chunk_set;
mod chunk_terms;
mod clock;
mod context;
mod cost;
pub mod docs;
mod entry;
mod evaluate;
mod filters;
mod find;
mod fresh;
mod gate;
mod history;
mod jobs;
mod kept_trees;
mod left_out;
mod merge;
mod missing;
mod named_tree;
mod names;
mod order;
mod plans;
mod prefetch;
mod ranked;
mod reader;
mod reads;
mod revision;
mod searcher;
mod searching;
mod sender;
mod shard;
mod shards;
mod snapshot;
mod source;
mod stale;
mod state;
mod stats;
mod survivors;
mod symbols;
pub mod threads;
mod together;
mod tree;
mod types;
mod unmeant;
mod verify;
mod view;
mod visible;

pub use at::{ContentsAt, TreeAt};
pub use await_fresh::Holds;
pub use changed::{EpochChanges, FileChange, TextsByPlace};
pub use entry::FileEntry;
pub use fresh::{Covered, FailedRepo, Oldest};
pub use gate::Gate;
pub use missing::Missing;
pub use named_tree::NamedTree;
pub use ranked::{Best, Ranked};
pub use reads::{Scip, SymbolsKnown};
pub use searcher::Searcher;
pub use stale::{ShownFiles, Stale, StaleRepo};
pub use stats::{Phases, Stats, Stopped, SymbolsLeft};
pub use tree::{FileTotals, FolderItem, RepoTree, Tree};
pub use types::{
    AnswerProgress, DEFAULT_LIMIT, DEFAULT_TIMEOUT, Error, LastFile, Request, Resume, ShardSet,
};
pub use view::View;
pub use visible::{ReadyVisible, Visible};
