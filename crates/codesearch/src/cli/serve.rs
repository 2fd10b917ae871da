//! `codesearch serve` and `mcp`: address, access and limits.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

pub(super) const SERVE_HELP: &str = "\
Limits:
  Only --server-at-once has a default. A client is an address (of IPv6 its /64), or the owner of a \
token. What a client does not use is kept, up to a minute's worth. Who asks for more gets status 429 and is told when to come \
back (Retry-After).

Tokens:
  With --tokens, only who has a token is answered, unless --open is there, too. A program sends Authorization: Bearer \
TOKEN, a person signs in on a page. Without --tokens or --open, a server listens on a loopback address only. Each line of \
the file is made by codesearch token NAME: a name, the hash of the token, and what may follow: limits (one that is \
not given is that of an address; none is no limit), and admin for who may see /stats and /metrics. A server follows \
changes of the file.

    # name  hash          limits
    ci      sha256:9f...  at-once=8 per-minute=600
    ann     sha256:c4...  per-minute=none admin

All of it: docs/operating.md";

pub(super) const MCP_HELP: &str = "\
An agent starts this command by itself and speaks JSON-RPC with it, one message a line. It ends with its standard input; \
what it has to tell people goes to stderr. In an agent's configuration:

  {\"mcpServers\": {\"codesearch\": {\"command\": \"codesearch\", \"args\": [\"mcp\"]}}}

Tools:
  search       lines, paths or repositories that match a query
  definitions  where a name is defined
  references   where a name is used
  outline      what a file defines
  read_file    the lines of a file, or what lies in a folder
  find_file    files by some letters of their paths
  list_repos   the repositories that are indexed
  docs         documents and comments, by words

An answer has 8 KiB of text unless the agent asks for more. One that was cut says so, and how to get the rest.";

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// The address to listen on; port 0 for any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// Answer requests for this host name, too, for example behind a proxy (several: each of them). Others are
    /// answered only for localhost and addresses, so that no other site can read the server, unless it asks for tokens
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Vec<String>,
    /// Keep up to this many MiB of texts in memory, compressed; 0 for none [default: a quarter of the
    /// machine's memory]
    #[arg(long = "cache", value_name = "MIB", value_parser = mebibytes)]
    pub(crate) cache_bytes: Option<u64>,
    #[command(flatten)]
    pub(crate) operator: OperatorArgs,
}

/// What the operator of a server decides.
#[derive(Args, Debug)]
#[command(next_help_heading = "Statistics and limits")]
pub(crate) struct OperatorArgs {
    /// Log searches that take this long with their plans, for `codesearch stats --slow`
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = query::duration)]
    pub(crate) slow: Duration,
    /// Keep no statistics and no slow searches in the database
    #[arg(long)]
    pub(crate) no_statistics: bool,
    /// Searches that a client may have running
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) client_at_once: Option<u32>,
    /// Searches that a client may make in a minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) client_per_minute: Option<u32>,
    /// MiB of answers that a client may be sent in a minute, before they are compressed
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) client_mib_per_minute: Option<u32>,
    /// Searches that may run for all clients together; more wait up to 10 s for their turn [default: 4
    /// for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) server_at_once: Option<u32>,
    /// Searches that all clients together may make in a minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) server_per_minute: Option<u32>,
    /// MiB of answers that all clients together may be sent in a minute
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) server_mib_per_minute: Option<u32>,
    /// Longest time for any search, also for one without a limit (`limit=0`)
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = query::duration)]
    pub(crate) max_time: Duration,
    /// How often to check a random shard, as `codesearch check --sample 1` does, or `never`
    #[arg(long, value_name = "TIME", default_value = "60m", value_parser = time_or_never)]
    pub(crate) check_every: Duration,
    /// Show no blame, no history and no old versions of files, which git reads from the clones
    #[arg(long)]
    pub(crate) no_history: bool,
    /// Answer only to those who have a token of this file, and give each the limits that stand there
    #[arg(long, value_name = "FILE")]
    pub(crate) tokens: Option<PathBuf>,
    /// Answer to everybody who reaches the server, with or without a token
    #[arg(long)]
    pub(crate) open: bool,
    /// Take the client's address from the last entry of X-Forwarded-For. Only behind a proxy that adds
    /// it: whoever else reaches the server can say anything
    #[arg(long)]
    pub(crate) trust_forwarded: bool,
}

#[derive(Args, Debug)]
pub(crate) struct TokenArgs {
    /// Whose token it is: one word, which no client sees
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The token shows what others search for, too: /stats and /metrics
    #[arg(long)]
    pub(crate) admin: bool,
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
