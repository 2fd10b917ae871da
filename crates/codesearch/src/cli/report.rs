//! `codesearch stats`, `repos` and `check`: the contents of the index, and its use.

use clap::Args;

use statistics::Trim;

pub(super) const STATS_HELP: &str = "\
A time span covers whole hours, including the current one:
  24h, 7d                        the time until now
  48h-24h                        from 48 to 24 hours ago
  2026-01-30..2026-01-31T12:00   between two times

Examples:
  codesearch stats                           the last 24 hours
  codesearch stats --since 7d --kind scan    searches without an index
  codesearch stats --compare before          with the time before that
  codesearch stats --since 1h --compare 25h-24h
  codesearch stats --slow                    the slowest, with their plans
  codesearch stats --statements              what Postgres counts

Quantiles are accurate within a tenth. Exit status: 0, or 1 when there is nothing to show.";

pub(super) const CHECK_HELP: &str = "\
Reads every text once, and compares it with the hash of its file, with the documents and filters derived from it, and \
with the tables. Searches continue meanwhile; ingests wait.

--repair rebuilds derived data; restart the servers of the index afterwards. A corrupt text cannot be repaired: check \
the disk, and re-index the repository (codesearch remove, then codesearch ingest).

Exit status: 0 when there are no problems or all were repaired, 1 when problems remain, 2 on an error.";

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Check only this many shards, chosen at random
    #[arg(long, value_name = "SHARDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) sample: Option<u32>,
    /// Rebuild damaged documents, filters and trigram indexes
    #[arg(long)]
    pub(crate) repair: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StatsArgs {
    /// The time until now [default: 24h]
    #[arg(long, value_name = "SPAN", conflicts_with_all = ["from", "to"])]
    pub(crate) since: Option<String>,
    /// From this time: 2026-01-31, 2026-01-31T12:00, with Z for UTC
    #[arg(long, value_name = "TIME")]
    pub(crate) from: Option<String>,
    /// Until this time [default: now]
    #[arg(long, value_name = "TIME", requires = "from")]
    pub(crate) to: Option<String>,
    /// Compare with another span: `before` for as many hours before it, or any span
    #[arg(long, value_name = "SPAN")]
    pub(crate) compare: Option<String>,
    /// Only searches of this kind: indexed, scan, multi-line, names, ...
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Percentages of the fastest and slowest searches that the trimmed mean leaves out
    #[arg(long, value_name = "LOW,HIGH", default_value = "5,5")]
    pub(crate) trim: Trim,
    /// List the slowest logged searches, with their plans
    #[arg(long, conflicts_with_all = ["compare", "statements"])]
    pub(crate) slow: bool,
    /// List Postgres' statistics of this database's statements (pg_stat_statements)
    #[arg(long, conflicts_with = "compare")]
    pub(crate) statements: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ReposArgs {
    /// List only repositories whose name contains PART, in any case (repeatable: any of them)
    #[arg(value_name = "PART")]
    pub(crate) parts: Vec<String>,
    /// List the files left out of this repository, with reasons
    #[arg(long, value_name = "NAME", conflicts_with = "parts")]
    pub(crate) skipped: Option<String>,
    /// Also list the commit of each, and when it was last looked at
    #[arg(short, long)]
    pub(crate) long: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
