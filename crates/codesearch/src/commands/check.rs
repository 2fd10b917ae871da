//! `codesearch check`: verifies that the index holds what was ingested.

use anyhow::Result;
use indicatif::ProgressBar;
use ingest::check::{Options, check};

use crate::cli::{CheckArgs, DatabaseArgs};
use crate::database::Database;
use request::human::count;

pub(crate) fn run(database: &DatabaseArgs, args: &CheckArgs) -> Result<u8> {
    let options = Options { sample: args.sample, repair: args.repair };
    Database::open_index(database, 1)?.run(async |store| {
        let bar = ProgressBar::no_length();
        let told = |read: usize, of: usize| {
            bar.set_length(of as u64);
            bar.set_position(read as u64);
        };
        let report = check(store, options, told).await?;
        bar.finish_and_clear();
        if report.is_new && report.problems.is_empty() {
            note!("codesearch: {}", store::Error::Empty);
            return Ok(crate::NOTHING);
        }
        for problem in &report.problems {
            match problem.shard {
                Some(shard) => say!("shard {}: {}", shard.0, problem.what),
                None => say!("{}", problem.what),
            }
        }
        let (shards, mended) = (count(report.shards, "shard"), report.repaired);
        if mended > 0 {
            say!(
                "{} repaired; restart the servers of this index, and extract symbols again: codesearch symbols",
                count(mended, "shard")
            );
        }
        if report.problems.is_empty() {
            say!("{shards} checked: no problems found");
            return Ok(crate::FOUND);
        }
        say!("{shards} checked: {}", count(report.problems.len(), "problem"));
        if !args.repair && report.problems.iter().any(|problem| problem.is_derived) {
            say!("to rebuild derived data, run: codesearch check --repair");
        }
        Ok(crate::NOTHING)
    })
}
