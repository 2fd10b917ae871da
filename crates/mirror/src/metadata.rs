//! What searches and pages show of what a host says.

use std::collections::BTreeMap;

use store::{Properties, RepoMetadata};

use crate::listed::{Listed, SeenBy};

/// Returns the metadata of a repository that a host lists; nothing for one of a list of addresses.
pub(crate) fn metadata(host: &str, listed: &Listed) -> RepoMetadata {
    let mut meta = BTreeMap::new();
    meta.insert("visibility".to_owned(), listed.seen_by.word().to_owned());
    RepoMetadata {
        host: Some(host.to_owned()),
        host_id: Some(listed.id.clone()),
        description: listed.description.clone(),
        properties: Properties {
            archived: Some(listed.archived),
            fork: Some(listed.fork),
            public: Some(listed.seen_by == SeenBy::Public),
            topics: listed.topics.clone(),
            meta,
        },
        stars: Some(listed.stars),
        pushed_at: listed.pushed_at,
        default_branch: listed.default_branch.clone(),
    }
}
