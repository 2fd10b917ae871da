//! Options about who asks a server, besides its tokens: `codesearch token`, and the proxy of `serve`.

use std::path::PathBuf;

use clap::Args;

/// The proxy in front of a server.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Proxy")]
pub(crate) struct ProxyArgs {
    /// Take the client's address from the last entry of X-Forwarded-For. Use this only behind a proxy that adds the
    /// header, since other clients could forge it
    #[arg(long)]
    pub(crate) trust_forwarded: bool,
    /// Header in which the proxy names the user. It counts only with --proxy-secret-file, --proxy-network or on
    /// --proxy-socket: anybody can send it
    #[arg(long, value_name = "HEADER")]
    pub(crate) trust_user_header: Option<String>,
    /// Header in which the proxy names the user's groups, separated by commas
    #[arg(long, value_name = "HEADER", requires = "trust_user_header")]
    pub(crate) trust_groups_header: Option<String>,
    /// File with a secret, or several, one on each line, that the proxy sends with each request
    #[arg(long, value_name = "FILE", requires = "trust_user_header")]
    pub(crate) proxy_secret_file: Option<PathBuf>,
    /// Header in which the proxy sends the secret
    #[arg(long, value_name = "HEADER", default_value = "X-Proxy-Secret")]
    pub(crate) proxy_secret_header: String,
    /// Network from which the proxy connects, as in 10.0.0.0/8 (repeatable); with a secret, both must hold
    #[arg(long, value_name = "NETWORK", requires = "trust_user_header", value_parser = network)]
    pub(crate) proxy_network: Vec<settings::Allowed>,
    /// Unix socket on which the proxy, and nothing else, connects. Whoever may write to it can ask as anybody; it has
    /// mode 0660
    #[arg(long, value_name = "PATH")]
    pub(crate) proxy_socket: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct TokenArgs {
    /// Name of the token: one word, never shown to clients
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// User who sends it, as grants name the user [default: NAME]
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
    /// Groups of the user, separated by commas
    #[arg(long, value_name = "GROUP,...", value_delimiter = ',')]
    pub(crate) groups: Vec<String>,
    /// Narrow what the token sees to repositories whose names match one of these globs
    #[arg(long, value_name = "GLOB,...", value_delimiter = ',')]
    pub(crate) repos: Vec<String>,
    /// When it ends: 90d, 2027-01-31 (the end of that day in UTC) or 2027-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<String>,
    /// Allow /stats and /metrics, which show what others search for, and all else that tokens can allow
    #[arg(long)]
    pub(crate) admin: bool,
    /// Allow /ingest, which has repositories looked at
    #[arg(long)]
    pub(crate) ingest: bool,
}

/// Parses a network.
fn network(text: &str) -> Result<settings::Allowed, String> {
    match settings::Allowed::parse(text) {
        Ok(network @ settings::Allowed::Network(..)) => Ok(network),
        _ => Err("give a network, as in 10.0.0.0/8 or 127.0.0.1".to_owned()),
    }
}
