//! Checks an index, and rebuilds data derived from its texts.

use store::{Problem, Result, Store};

use files::is_text_of;

/// Options of a check.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Number of random shards to check; `None` for all.
    pub sample: Option<u32>,
    /// Whether to rebuild derived data (documents, filters) of shards where it is wrong.
    pub repair: bool,
}

/// The result of a check.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Whether nothing was ever indexed.
    pub is_new: bool,
    /// Number of shards read.
    pub shards: usize,
    /// Problems found and not repaired.
    pub problems: Vec<Problem>,
    /// Number of shards repaired.
    pub repaired: usize,
}

/// Checks the index: the rules between tables, whether repositories lack files of lost nodes, each text against the hash of its
/// file, and documents and filters against the texts. Calls `told` before each shard with the number of shards read and their total.
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
        report.problems.extend(check.histories().await?);
    }
    for (name, _) in store.lost_repos().await? {
        let what =
            format!("{name} lacks files of a lost node; run: codesearch ingest --now {name}");
        report.problems.push(Problem { shard: None, what, is_derived: false });
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
