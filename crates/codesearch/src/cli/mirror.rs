//! `codesearch mirror`: keeps clones of hosts' repositories in step.

use std::time::Duration;

use clap::Args;

use super::settings::SettingsArgs;

pub(super) const MIRROR_HELP: &str = "\
What is mirrored:
  The repositories that the configuration file names: [host.NAME] a user, group or organisation of GitHub, GitLab, Gitea \
  or Forgejo, [git.NAME] any addresses; the help of config shows the file. --dry-run says what would be mirrored, what not, \
  what would be dropped, and why.

What a pass does:
  It lists each host, clones what is new, fetches what was pushed to since the last pass, and ingests that. All branches \
  and tags are fetched; branches in the configuration file says which of them are indexed. A repository that fails does not \
  stop the others. If a pass is interrupted, run it again.

What is dropped:
  A repository that the host has no more (its id is unknown, while the token still sees others), that is missing in two \
  complete listings, or that the configuration file no longer takes. It is hidden from searches at once, and its clone \
  deleted after the time of grace, 7 days. Nothing is dropped when a listing fails or has lost more than half of its \
  repositories. A repository that is renamed stays the same one. A host that is taken out of the configuration file drops \
  nothing: its repositories stay, and tell that nothing updates them; --forget NAME drops them.

A server with the same configuration file (codesearch serve --settings FILE) mirrors by itself, also as soon as a host tells \
of a push by a webhook.";

#[derive(Args, Debug)]
pub(crate) struct MirrorArgs {
    /// Print what would be done with each repository, and why; change nothing
    #[arg(long, conflicts_with = "every")]
    pub(crate) dry_run: bool,
    /// Go on until interrupted, with a pass over each host at this interval, or without TIME at those of the configuration
    /// file
    #[arg(long, value_name = "TIME", value_parser = ::settings::interval, num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "clap tells an option without its value by this")]
    pub(crate) every: Option<Option<Duration>>,
    /// Drop all clones of a host that the configuration file no longer names, from searches and from disk
    #[arg(long, value_name = "NAME", conflicts_with_all = ["every", "dry_run", "accept_shrunk"])]
    pub(crate) forget: Option<String>,
    /// Believe a listing that has less than half of the repositories of the last one
    #[arg(long)]
    pub(crate) accept_shrunk: bool,
    /// Longest time that a host may be silent
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = ::settings::duration)]
    pub(crate) patience: Duration,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}
