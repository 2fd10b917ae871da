//! `codesearch serve` and `mcp`: address, access and limits.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::identity::ProxyArgs;
use super::settings::SettingsArgs;

pub(super) const SERVE_HELP: &str = "\
Limits:
  Only --server-at-once has a default. A client is an IP address (for IPv6, a /64 network) or the owner of a token. \
  Unused budget accumulates, up to a minute's worth. A client over its limit gets status 429, and Retry-After says \
  when to try again.

Tokens:
  --tokens requires a token, unless --open is given, too. Programs send Authorization: Bearer TOKEN; people sign in \
  on a page. Without --tokens or --open, a server listens only on a loopback address. To make a line of the token \
  file, run codesearch token NAME. The line has a name, the hash of the token, and optionally limits (default: those \
  of an address; none: no limit) and rights: ingest allows /ingest, and admin also /stats and /metrics. user=, groups= \
  and repos= say who sends it and what it sees, expires= when it ends. The server notices changes of the file.

    # name  hash          limits, rights, owner
    ci      sha256:9f...  at-once=8 per-minute=600 ingest expires=2027-01-31
    ann-2   sha256:c4...  per-minute=none admin user=ann groups=team-a,ops

Other identities:
  Behind a proxy that signs people in, --trust-user-header and --trust-groups-header name the headers in which it says \
  who asks. Programs may send a JWT of an identity provider as bearer, and people may sign in with one, if \
  [identity] of the configuration file names the issuer (codesearch config --help). Either requires an identity of \
  everybody, as --tokens does. /whoami says who a client is.

Audit:
  A server that knows its clients by name records who asked what; see codesearch audit. --audit records requests without \
  names, too.

Details: docs/operating.md";

pub(super) const MCP_HELP: &str = "\
The agent starts this command and exchanges JSON-RPC messages with it, one per line. The command ends when its \
standard input ends, and logs to stderr. In an agent's configuration:

  {\"mcpServers\": {\"codesearch\": {\"command\": \"codesearch\", \"args\": [\"mcp\"]}}}

Tools:
  search      lines, paths or repositories that match a query; documents for words
  symbol      where a name is defined, and who uses it
  read_file   the lines of a file, what it defines, or the contents of a folder
  find_file   files by parts of their paths
  diff        what changed between two revisions
  list_repos  the repositories that are indexed
  sql         one query of the views of codesearch sql

sql needs all repositories, and the private Postgres or CODESEARCH_READER_URL; at a server's /mcp, only operators have it.

An answer has at most 8 KiB of text unless the agent asks for more. If that cuts it off, the answer says how to get \
the rest.";

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Address to listen on; port 0 for any free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// Also accept requests for this host name, for example behind a proxy (repeatable). Without tokens, the server
    /// accepts only localhost, its IP addresses and these names, so that no other site can read from it
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// Cache up to this many MiB of compressed texts in memory; 0 for none [default: a quarter of the machine's memory]
    #[arg(long = "cache", value_name = "MIB", value_parser = mebibytes)]
    pub(crate) cache_bytes: Option<u64>,
    /// On SIGTERM, answer on for this time while /readyz is 503, so that a load balancer turns to other servers
    #[arg(long, value_name = "TIME", value_parser = query::duration)]
    pub(crate) drain: Option<Duration>,
    /// Let searches read from these streaming replicas of the Postgres (repeatable). One that is behind or does not answer
    /// is left out meanwhile
    #[arg(
        long,
        value_name = "URL,...",
        value_delimiter = ',',
        env = "CODESEARCH_READ_FROM",
        hide_env_values = true
    )]
    pub(crate) read_from: Vec<String>,
    #[command(flatten)]
    pub(crate) configuration: SettingsArgs,
    #[command(flatten)]
    pub(crate) operator: OperatorArgs,
    /// Watch at most this many folders, for tests [default: half of fs.inotify.max_user_watches]
    #[arg(long, value_name = "N", hide = true)]
    pub(crate) watches: Option<usize>,
    /// How often to look at repositories of which no events tell, for tests
    #[arg(long, value_name = "TIME", hide = true, value_parser = query::duration)]
    pub(crate) poll_every: Option<Duration>,
    /// How often to note that watched repositories have not changed, for tests
    #[arg(long, value_name = "TIME", hide = true, value_parser = query::duration)]
    pub(crate) note_every: Option<Duration>,
}

#[derive(Args, Debug)]
pub(crate) struct ServeCommand {
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
    /// Watch the folders of all repositories, and index what changes within a second
    #[arg(long)]
    pub(crate) watch: bool,
}

/// What the operator of a server decides.
#[derive(Args, Debug)]
#[command(next_help_heading = "Statistics and limits")]
pub(crate) struct OperatorArgs {
    /// Log searches that take at least this long, with their plans, for `codesearch stats --slow`
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = query::duration)]
    pub(crate) slow: Duration,
    /// Store no statistics and no slow searches in the database
    #[arg(long)]
    pub(crate) no_statistics: bool,
    /// Record who asked what, for `codesearch audit` and /audit [default: if clients are known by name]
    #[arg(long, conflicts_with = "no_audit")]
    pub(crate) audit: bool,
    /// Record nobody's requests
    #[arg(long)]
    pub(crate) no_audit: bool,
    /// Keep a month of the audit until all of it is this many days old
    #[arg(long, value_name = "DAYS", default_value = "180", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) audit_days: u32,
    /// Concurrent searches of a client
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) client_at_once: Option<u32>,
    /// Searches of a client per minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) client_per_minute: Option<u32>,
    /// MiB of answers to a client per minute, before compression
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) client_mib_per_minute: Option<u32>,
    /// Concurrent searches of all clients together; further searches wait for up to 10 s [default: 4 per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) server_at_once: Option<u32>,
    /// Searches of all clients together per minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) server_per_minute: Option<u32>,
    /// MiB of answers to all clients together per minute
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) server_mib_per_minute: Option<u32>,
    /// Timeout of any search, even without a limit (`limit=0`)
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = query::duration)]
    pub(crate) max_time: Duration,
    /// How often to check a random shard, as `codesearch check --sample 1` does, or `never`
    #[arg(long, value_name = "TIME", default_value = "60m", value_parser = time_or_never)]
    pub(crate) check_every: Duration,
    /// Disable blame, history and old versions of files, which git reads from the clones
    #[arg(long)]
    pub(crate) no_history: bool,
    /// Require a token listed in FILE; apply its limits
    #[arg(long, value_name = "FILE")]
    pub(crate) tokens: Option<PathBuf>,
    /// Answer everybody who can reach the server, with or without a token
    #[arg(long)]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) proxy: ProxyArgs,
}

/// Parses a number of MiB, perhaps with a fraction, to bytes.
fn mebibytes(text: &str) -> Result<u64, String> {
    let number = text.parse::<f64>().ok().filter(|mib| (0.0..1e12).contains(mib));
    number.map(|mib| (mib * 1_048_576.0) as u64).ok_or_else(|| "give a number of MiB".to_owned())
}

/// Parses an address to listen on.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let port = text.trim_start_matches(':').parse::<u16>().unwrap_or(8080);
        format!("give an address and a port, as in 127.0.0.1:{port}, or 0.0.0.0:{port} for all")
    })
}

/// Parses a duration; `never` is the longest one.
fn time_or_never(text: &str) -> Result<Duration, String> {
    if text == "never" { Ok(Duration::MAX) } else { query::duration(text) }
}
