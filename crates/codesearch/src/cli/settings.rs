//! The option that names the configuration file, and `codesearch config`.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, Subcommand};

pub(super) const CONFIG_HELP: &str = "\
The file:
  TOML, by default codesearch/codesearch.toml in the folder for configuration (~/.config). Another one is named by \
  --settings or CODESEARCH_SETTINGS; an empty name means none. Servers act on its changes, and keep the last good state \
  if it has a mistake. (codesearch/config, without .toml, is another file: it has options, one on each line.)

    [[folder]]                    # indexed by ingest and up without PATH, and serve
    path = \"~/repos\"
    branches = [\"release/*\"]      # also: depth, watch, commit, follow_git,
    history = true                # no_ignore, secrets

    [host.work]                   # kept in step by codesearch mirror
    kind = \"gitlab\"               # or github, gitea, forgejo
    url = \"https://git.example.com\"
    token = \"file:token\"          # or env:NAME, cmd:COMMAND; never the token itself
    take = [\"group/**\"]           # also: leave, topics, leave_topics, forks,
    max_size = \"2 GB\"             # archived, visibility, clone, into, ca_file, ...

    [git.others]                  # any git addresses
    urls = [\"https://example.com/x.git\", \"git@example.com:y\"]

    [hook.push]                   # webhooks to /hooks/push
    secret = \"env:HOOK_SECRET\"

    [mirror]                      # every, at_once, grace, timeout, into
    [watch]                       # after, poll, max_folders
    [monitor]                     # allow, url

    [identity]                    # JWTs that serve accepts
    issuer = \"https://id.example.com\"
    audience = [\"codesearch\"]
    keys = \"https://id.example.com/keys\"   # or file:PATH
    user = \"email\"                # claims; also: groups, ca_file, admin_groups, ingest_groups, url

    [access]                      # who sees which repositories; also: codesearch grant
    \"*\" = [\"docs/**\"]            # everybody; or user:NAME, group:NAME, user:*

What overrides what:
  An option of the command line overrides the configuration of a clone (git config codesearch.branches), this overrides \
  the file, and the file overrides what an earlier ingest chose.

Details: docs/operating.md";

/// The configuration file.
#[derive(Args, Clone, Debug)]
pub(crate) struct SettingsArgs {
    /// Configuration file with folders, hosts, webhooks, monitors and identities, see `codesearch config --help` [default:
    /// codesearch/codesearch.toml in the folder for configuration, if it exists]
    #[arg(
        long,
        env = settings::VARIABLE,
        value_name = "FILE",
        value_parser = OsStringValueParser::new().map(PathBuf::from)
    )]
    pub(crate) settings: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) what: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the configuration file, and print what it means, without secrets
    Check {
        /// The file [default: the one that --settings would name]
        #[arg(
            value_name = "FILE",
            env = settings::VARIABLE,
            value_parser = OsStringValueParser::new().map(PathBuf::from)
        )]
        file: Option<PathBuf>,
    },
    /// Print the path of the configuration file; exit status 1 if it does not exist
    Path,
}
