//! `codesearch stats`, `repos` and `check`: the contents of the index, and its use.

use clap::Args;

use statistics::Trim;

pub(super) const STATS_HELP: &str = "\
Spans of time are whole hours, the one that has begun included:
  24h, 7d                        so long until now
  48h-24h                        from so long ago until so long ago
  2026-01-30..2026-01-31T12:00   between two times

Examples:
  codesearch stats                           the last 24 hours
  codesearch stats --since 7d --kind scan    those that no index could help
  codesearch stats --compare before          beside those before
  codesearch stats --since 1h --compare 25h-24h
  codesearch stats --slow                    the slowest, with their plans
  codesearch stats --statements              what Postgres counts

Quantiles are right within a tenth. Exit status: 0, or 1 when there is nothing to show.";

pub(super) const CHECK_HELP: &str = "\
It reads every text once, and compares it with the hash of its file, with the words and filters that were made of it, and \
with what the tables say of it. No ingest can run meanwhile; searches can.

What is made of texts can be made anew (--repair); then start the servers of the index again. Where a text itself is \
wrong, have the disk looked at, and index the repository anew: codesearch remove, codesearch ingest.

Exit status: 0 if all is well or was mended, 1 if something is wrong, 2 on an error.";

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Read only so many shards, taken by chance
    #[arg(long, value_name = "SHARDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) sample: Option<u32>,
    /// Make anew the words, filters and trigram indexes of shards where they are wrong
    #[arg(long)]
    pub(crate) repair: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StatsArgs {
    /// So long until now [default: 24h]
    #[arg(long, value_name = "SPAN", conflicts_with_all = ["from", "to"])]
    pub(crate) since: Option<String>,
    /// From this time: 2026-01-31, 2026-01-31T12:00, with Z for UTC
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// Until this time [default: now]
    #[arg(long, value_name = "TIME", requires = "from")]
    pub(crate) to: Option<String>,
    /// Show another span beside it: as many hours `before` it, or any span
    #[arg(long, value_name = "SPAN")]
    pub(crate) compare: Option<String>,
    /// Only searches of this kind: indexed, scan, multi-line, names, ...
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Percentages of the quickest and of the slowest that the trimmed mean leaves out
    #[arg(long, value_name = "LOW,HIGH", default_value = "5,5")]
    pub(crate) trim: Trim,
    /// List the slowest searches of those that took long, with their plans
    #[arg(long, conflicts_with_all = ["compare", "statements"])]
    pub(crate) slow: bool,
    /// List what Postgres counts of the statements of this database (pg_stat_statements)
    #[arg(long, conflicts_with = "compare")]
    pub(crate) statements: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ReposArgs {
    /// Only repositories whose name contains this, in any case (several: any of them)
    #[arg(value_name = "PART")]
    pub(crate) parts: Vec<String>,
    /// List the files that were left out of this repository, and why
    #[arg(long, value_name = "NAME", conflicts_with = "parts")]
    pub(crate) skipped: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
