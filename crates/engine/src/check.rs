//! Checking an index, and mending what is made of its texts.

use store::{Problem, Result, Store};

use crate::ingest::is_text_of;

/// What to check.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// So many shards by chance, if not all.
    pub sample: Option<u32>,
    /// Make anew what is derived, in shards where it is wrong.
    pub repair: bool,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Nothing was ever indexed.
    pub is_new: bool,
    /// How many shards were read.
    pub shards: usize,
    /// What is wrong, and was not mended.
    pub problems: Vec<Problem>,
    /// How many shards were mended.
    pub repaired: usize,
}

/// Checks the index: what must hold between tables, each text against the hash of its file, and documents and filters
/// against the texts. `told` hears before each shard how many were read, of how many.
///
/// # Errors
/// An ingest is running; the server cannot be reached or refuses a statement.
pub async fn check(
    store: &Store,
    options: Options,
    mut told: impl FnMut(usize, usize),
) -> Result<Report> {
    let mut check = store.check().await?;
    let mut report = Report {
        is_new: check.is_new().await?,
        problems: check.rules().await?,
        ..Report::default()
    };
    if options.sample.is_none() {
        report.problems.extend(check.indexes().await?);
    }
    let shards = check.shards(options.sample).await?;
    for (read, shard) in shards.iter().enumerate() {
        told(read, shards.len());
        let mut problems = check.shard(*shard, &is_text_of).await?;
        if options.repair && problems.iter().any(|problem| problem.is_derived) {
            check.repair(*shard).await?;
            problems = check.shard(*shard, &is_text_of).await?;
            report.repaired += usize::from(!problems.iter().any(|problem| problem.is_derived));
        }
        report.problems.extend(problems);
    }
    report.shards = shards.len();
    check.end().await?;
    Ok(report)
}
