//! Searches commits that are not indexed: the commit of a branch, of a tag, or any other (`rev:`).
//!
//! [`choose`] finds the repositories of which no indexed tree is meant, and resolves the revision in their clones.
//! [`load`] lists the files of each commit. Contents that are stored are searched in their shards, through the indexes:
//! [`OnDemand`] gives each shard the files of the commit in place of those of the epoch. Other contents are [read](read)
//! from the clone, and form a shard in memory. A reader learns nothing that the commit does not have: stored contents
//! are found by their names in git only.

pub(crate) mod cache;
pub(crate) mod choose;
pub(crate) mod commit_files;
pub(crate) mod load;
pub(crate) mod memory;
pub(crate) mod on_demand;
pub(crate) mod prepare;
pub(crate) mod read;
pub(crate) mod rules;

pub(crate) use cache::Commits;
pub(crate) use on_demand::OnDemand;
