//! `codesearch audit`: what servers were asked.

use clap::{Args, ValueEnum};

pub(super) const AUDIT_HELP: &str = "\
A server records its requests if clients are known by name, or with --audit. Reading the audit is recorded, too.

Examples:
  codesearch audit                                   the newest 100 events
  codesearch audit --of ann --since 7d               what ann asked in a week
  codesearch audit --repo 'team/*' --until 2026-02-01
  codesearch audit --refused --interface mcp
  codesearch audit --format jsonl --since 2026-01-01 > audit.jsonl

An answer with more than a thousand repositories counts for every --repo, since only a thousand are named.

Exit status: 0, or 1 when there is nothing to show.";

#[derive(Args, Debug)]
pub(crate) struct AuditArgs {
    /// Only requests of this user
    #[arg(long, value_name = "USER")]
    pub(crate) of: Option<String>,
    /// Only answers with this repository; * stands for any characters
    #[arg(long, value_name = "NAME")]
    pub(crate) repo: Option<String>,
    /// Only since this time: 24h, 2026-01-31, 2026-01-31T12:00, with Z for UTC
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only before this time
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Only requests through this interface
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Option<AuditInterface>,
    /// Only refused requests
    #[arg(long)]
    pub(crate) refused: bool,
    /// Print a table of the newest events, or all events as JSON lines, the oldest first
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(crate) format: AuditFormat,
    /// Maximum number of events; 0 for all [default: 100, or all as JSON lines]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditFormat {
    Table,
    Jsonl,
}

/// An interface, in the order of [`audit::INTERFACES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuditInterface {
    /// Pages in a browser
    Page,
    /// Programs over HTTP
    Api,
    /// Agents
    Mcp,
    /// SQL over HTTP, and the tool sql
    Sql,
    /// Commands that a server runs, and codesearch audit itself
    Command,
    /// What servers note of the audit itself: lost events, and gaps
    Server,
}

impl AuditInterface {
    /// Returns its name in events.
    pub(crate) fn word(self) -> &'static str {
        audit::INTERFACES[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_have_the_names_of_events() {
        let given: Vec<String> = AuditInterface::value_variants()
            .iter()
            .map(|one| {
                let value = one.to_possible_value().unwrap();
                assert_eq!(value.get_name(), one.word());
                value.get_name().to_owned()
            })
            .collect();
        assert_eq!(given, audit::INTERFACES);
    }
}
