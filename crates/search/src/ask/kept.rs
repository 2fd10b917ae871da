//! What questions keep in memory, also in a server without a cache: the lengths of chunks, a byte for each, and which
//! chunks a view sees, a bit for each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use store::{Catalog, Epoch, RepoId, Shard, ShardId, Switch, TreeFilter};

use super::lengths::Lengths;
use super::visible::VisibleChunks;

/// Most memory for the visible chunks of all views, in bytes: those of a hundred views of two gigabytes of text.
const MAX_VISIBLE: usize = 16 << 20;

/// The files that a question is about: equal values mean equal files in one state of a shard.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Among {
    /// A hash of the fields.
    pub(super) query: u64,
    /// The repositories that may be seen and that the fields choose; `None` for all.
    pub(super) repos: Option<Vec<RepoId>>,
    pub(super) trees: TreeFilter,
    /// The main trees and the sets of trees that each name of trees means.
    pub(super) meant: Vec<(Vec<RepoId>, Vec<i32>)>,
}

/// A state of a shard: the epochs in which it went live and in which its files last changed, and its chunks.
type State = (Epoch, Epoch, i32);

#[derive(Debug, Default)]
struct Visible {
    among: Option<Among>,
    shards: HashMap<ShardId, (State, Arc<VisibleChunks>)>,
    bytes: usize,
}

/// What is kept of one index.
#[derive(Debug, Default)]
struct Contents {
    identity: i64,
    switch: Switch,
    /// With the epoch in which the shard went live.
    lengths: HashMap<ShardId, (Epoch, Arc<Lengths>)>,
    /// The most recently used first.
    visible: Vec<Visible>,
    /// Number of times that it was cleared. What was read before must not be added.
    generation: u64,
}

/// The memory of questions.
#[derive(Debug, Default)]
pub(crate) struct AskMemory(Mutex<Contents>);

impl AskMemory {
    fn contents(&self) -> std::sync::MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything if a catalog is of another index, or does not follow the newest state seen: then the same numbers
    /// may stand for other data.
    pub(crate) fn clear_if_stale(&self, catalog: &Catalog) {
        let mut contents = self.contents();
        if !catalog.follows(contents.identity, contents.switch) {
            let generation = contents.generation + 1;
            *contents = Contents { generation, ..Contents::default() };
        }
        (contents.identity, contents.switch) = (catalog.identity, catalog.switch);
    }

    /// Returns a number to be given back with what is read from now on.
    pub(super) fn generation(&self) -> u64 {
        self.contents().generation
    }

    /// Returns the lengths of the chunks of a shard, as far as they are known.
    pub(super) fn lengths(&self, shard: &Shard) -> Arc<Lengths> {
        let contents = self.contents();
        let known = contents.lengths.get(&shard.id).filter(|(since, _)| *since == shard.since);
        known.map(|(_, lengths)| Arc::clone(lengths)).unwrap_or_default()
    }

    /// Keeps the lengths of the chunks of a shard.
    pub(super) fn keep_lengths(&self, generation: u64, shard: &Shard, lengths: &Arc<Lengths>) {
        let mut contents = self.contents();
        if contents.generation == generation {
            contents.lengths.insert(shard.id, (shard.since, Arc::clone(lengths)));
        }
    }

    /// Returns the visible chunks of each of some shards, as far as they are known.
    pub(super) fn visible(
        &self,
        among: &Among,
        shards: &[(&Shard, i32)],
    ) -> Vec<Option<Arc<VisibleChunks>>> {
        let mut contents = self.contents();
        let Some(at) = contents.visible.iter().position(|of| of.among.as_ref() == Some(among))
        else {
            return vec![None; shards.len()];
        };
        let of = contents.visible.remove(at);
        let known = shards.iter().map(|(shard, upto)| {
            let (state, visible) = of.shards.get(&shard.id)?;
            (*state == state_of(shard, *upto)).then(|| Arc::clone(visible))
        });
        let known = known.collect();
        contents.visible.insert(0, of);
        known
    }

    /// Keeps the visible chunks of some shards, each with the number of its chunks that have lengths. Forgets those of views
    /// that were not asked for long, if they take too much memory.
    pub(super) fn keep_visible(
        &self,
        generation: u64,
        among: &Among,
        shards: &[(&Shard, i32, Arc<VisibleChunks>)],
    ) {
        let mut contents = self.contents();
        if contents.generation != generation {
            return;
        }
        let at = contents.visible.iter().position(|of| of.among.as_ref() == Some(among));
        let mut of = at.map_or_else(Visible::default, |at| contents.visible.remove(at));
        of.among = Some(among.clone());
        for (shard, upto, visible) in shards {
            of.shards.insert(shard.id, (state_of(shard, *upto), Arc::clone(visible)));
        }
        of.bytes = of.shards.values().map(|(_, visible)| visible.memory()).sum();
        contents.visible.insert(0, of);
        let mut bytes = 0;
        contents.visible.retain(|of| {
            bytes += of.bytes;
            bytes <= MAX_VISIBLE
        });
    }
}

fn state_of(shard: &Shard, upto: i32) -> State {
    (shard.since, shard.changed, upto)
}
