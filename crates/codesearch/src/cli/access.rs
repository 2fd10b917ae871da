//! `codesearch grant`, `revoke`, `grants` and `access`: who may see which repositories.

use clap::Args;

pub(super) const GRANT_HELP: &str = "\
WHO is user:NAME, group:NAME, user:* for everybody who has a name, or * for everybody. PATTERN is a glob of names of \
repositories: * matches within a part of a name, ** over several.

Before the first grant everybody sees all repositories. From then on, nobody but the owner of the index's folder sees \
what is not granted, here, in [access] of the configuration file, or by a mirrored host that shows it to everybody.

Examples:
  codesearch grant group:shop 'gitlab.acme/shop/**'
  codesearch grant user:ann gitlab.acme/secrets/vault
  codesearch grant '*' '**'              everybody sees all again
  codesearch access ann gitlab.acme/shop/web --as-groups shop";

#[derive(Args, Debug)]
pub(crate) struct GrantArgs {
    /// user:NAME, group:NAME, user:* or *
    #[arg(value_name = "WHO")]
    pub(crate) who: String,
    /// Globs of the names of repositories
    #[arg(value_name = "PATTERN", required = true)]
    pub(crate) patterns: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct RevokeArgs {
    /// user:NAME, group:NAME, user:* or *
    #[arg(value_name = "WHO")]
    pub(crate) who: String,
    /// Globs to take back, as `codesearch grants` prints them
    #[arg(value_name = "PATTERN", required_unless_present = "all", conflicts_with = "all")]
    pub(crate) patterns: Vec<String>,
    /// Take back all that was granted to WHO
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Args, Debug)]
pub(crate) struct GrantsArgs {
    /// Only what is granted to this user, or to user:NAME, group:NAME, user:* or *
    #[arg(long, value_name = "WHO")]
    pub(crate) of: Option<String>,
    #[command(flatten)]
    pub(crate) configuration: super::SettingsArgs,
    /// Print JSON, one object per line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct AccessArgs {
    /// Name of a user, or * for somebody without a name
    #[arg(value_name = "USER")]
    pub(crate) user: String,
    /// Name of a repository
    #[arg(value_name = "REPO")]
    pub(crate) repo: String,
    #[command(flatten)]
    pub(crate) configuration: super::SettingsArgs,
}
