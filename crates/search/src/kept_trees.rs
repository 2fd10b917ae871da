//! The trees of views: those that were asked for last, so that views of several people in turn do not make theirs again each
//! time.

use std::sync::Arc;

use store::{Catalog, Epoch};

use crate::tree::Tree;

/// Trees that are kept, of different views. Each takes eight bytes a file, and a hundred more once the finder has used it.
const MAX_TREES: usize = 8;

/// The trees of one state, those that were asked for last first.
#[derive(Debug, Default)]
pub(crate) struct KeptTrees(Vec<Arc<Tree>>);

impl KeptTrees {
    /// Returns the tree of a catalog, if it is kept.
    pub(crate) fn find(&mut self, catalog: &Catalog) -> Option<Arc<Tree>> {
        self.0.retain(|tree| tree.is_fresh());
        let at = self.0.iter().position(|tree| tree.is_of(catalog))?;
        self.0[..=at].rotate_right(1);
        self.0.first().cloned()
    }

    /// Keeps a tree, and forgets those of other states.
    pub(crate) fn keep(&mut self, tree: &Arc<Tree>) {
        self.0.retain(|of| of.is_of_state(tree));
        self.0.insert(0, Arc::clone(tree));
        self.0.truncate(MAX_TREES);
    }

    /// Forgets trees of other states than that of a catalog.
    pub(crate) fn keep_only(&mut self, catalog: &Catalog) {
        self.0.retain(|tree| tree.is_of_epoch(catalog));
    }

    /// Forgets all unless an epoch is among those that are still read.
    pub(crate) fn expire(&mut self, is_read: impl Fn(Epoch) -> bool) {
        self.0.retain(|tree| is_read(tree.epoch()));
    }
}
