//! The options that choose the database, and `codesearch db`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

/// The index that is used if none is named.
pub(crate) const DEFAULT_INDEX: &str = "codesearch";

/// Where the index is.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Database options")]
pub(crate) struct DatabaseArgs {
    /// URL of a codesearch server that searches its index, instead of one on this machine
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "CODESEARCH_SERVER",
        value_name = "URL"
    )]
    pub(crate) server: Option<String>,
    /// File with the token that the server requires, in its first line
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "CODESEARCH_SERVER_TOKEN",
        value_name = "FILE"
    )]
    pub(crate) server_token: Option<PathBuf>,
    /// URL of the Postgres to use instead of a private one
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "DATABASE_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    pub(crate) database_url: Option<String>,
    /// Folder of the private Postgres [default: ~/.local/share/codesearch, for root /var/lib/codesearch]
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "CODESEARCH_HOME",
        value_name = "FOLDER"
    )]
    pub(crate) home: Option<PathBuf>,
    /// Index of the private Postgres to use; each index is a database
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "CODESEARCH_INDEX",
        value_name = "NAME",
        default_value = DEFAULT_INDEX
    )]
    pub(crate) index: String,
    /// Read only the repositories whose names match one of these patterns, written as for `repo:`
    #[arg(
        long,
        global = true,
        hide = true,
        env = "CODESEARCH_REPOS",
        value_name = "PATTERN,...",
        value_delimiter = ','
    )]
    pub(crate) only_repos: Vec<String>,
    /// Read as this user sees the index, or as somebody without a name: *
    #[arg(long = "as", global = true, hide_short_help = true, value_name = "USER")]
    pub(crate) as_user: Option<String>,
    /// Groups of the user that --as names, or of whom `access` is asked about
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        value_name = "GROUP,...",
        value_delimiter = ','
    )]
    pub(crate) as_groups: Vec<String>,
    /// Folder with the programs initdb, pg_ctl and postgres for the private Postgres
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "CODESEARCH_POSTGRES_BIN",
        value_name = "FOLDER"
    )]
    pub(crate) postgres_bin: Option<PathBuf>,
    /// A Postgres archive that was downloaded elsewhere, for machines without a network
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "CODESEARCH_POSTGRES_ARCHIVE",
        value_name = "FILE"
    )]
    pub(crate) postgres_archive: Option<PathBuf>,
    /// Time for which the private Postgres runs on after the last command that used it; 0 to stop it at once
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        env = "CODESEARCH_POSTGRES_IDLE",
        value_name = "TIME",
        default_value = "10m",
        value_parser = idle
    )]
    pub(crate) postgres_idle: Duration,
    /// Download Postgres even if one is installed, unless an option above names one
    #[arg(long, global = true, hide_short_help = true, env = "CODESEARCH_POSTGRES_DOWNLOAD")]
    pub(crate) postgres_download: bool,
}

/// Parses a time; 0 is one.
fn idle(text: &str) -> Result<Duration, String> {
    if text.trim_end_matches(['m', 's']) == "0" {
        return Ok(Duration::ZERO);
    }
    query::duration(text)
}

#[derive(Args, Debug)]
pub(crate) struct DbArgs {
    #[command(subcommand)]
    pub(crate) what: DbCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Show its folder, version, state and size
    Status,
    /// Start it, and keep it running until `codesearch db stop`
    Start,
    /// Stop it
    Stop {
        /// Stop it even while another program uses it (a codesearch server starts it again)
        #[arg(long)]
        force: bool,
    },
    /// List the indexes of the server: size on disk, repositories, files and last ingest
    List {
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
    /// List the codesearch servers of the index that run, and which of them ingests
    Servers {
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
    /// List the nodes of an index on Citus: groups of shards, shards with text, text, size on disk and state of each
    Nodes {
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,
    },
    /// Move groups of shards between the nodes of an index on Citus, while it is searched, until each has about as much
    Rebalance {
        /// Move all groups away from this node, so that it can be removed. It gets no more groups, also if this is interrupted
        #[arg(long, value_name = "HOST:PORT", value_parser = node)]
        drain: Option<(String, u16)>,
    },
    /// Rebuild the groups of shards of nodes that are lost for good on other nodes: ingest again what was in them
    ///
    /// Refuses nodes that answer. Of repositories whose folders are gone, the files on other nodes stay. Run the command again
    /// if it was interrupted.
    Rebuild {
        /// A node, as codesearch db nodes prints it
        #[arg(value_name = "HOST:PORT", value_parser = node, required = true)]
        nodes: Vec<(String, u16)>,
    },
    /// Print its connection URL
    Url,
    /// Print the command that opens it in psql
    PsqlHint,
    /// Stop it when it has had no user for some time
    #[command(hide = true)]
    Keeper,
    /// Start it, and stop it when standard input ends
    #[command(hide = true)]
    Hold,
}

/// Parses the name of a node.
fn node(text: &str) -> Result<(String, u16), String> {
    let parsed = text.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    let (host, port) =
        parsed.ok_or("a node is named by its host and port, such as 10.0.0.2:5432")?;
    Ok((host.to_owned(), port))
}
