//! `codesearch monitor`: watches queries.

use clap::{Args, Subcommand};

use super::settings::SettingsArgs;

pub(super) const MONITOR_HELP: &str = "\
With a query, prints the matches that appear (+) and disappear (-) with each ingest, until Ctrl-C. Unchanged lines of a \
changed file, renamed files, and the matches of a new repository are no news. Main trees are watched: no worktrees and \
other branches.

A stored monitor watches while no one looks: codesearch serve and codesearch up run all stored monitors of an index. \
Its news are on the page /monitors/NAME and in the feed /monitors/NAME.atom. With --webhook, each piece of news is also \
sent to an address, signed as standardwebhooks.com says, until the receiver acknowledges it. Addresses in the server's \
own network are refused, unless [monitor] allow in the configuration file lists them.

Examples:
  codesearch monitor 'password\\s*=' -file:_test
  codesearch monitor add leaks 'password\\s*=' -file:_test
  codesearch monitor add todo TODO --webhook https://hooks.example/x
  codesearch monitor show leaks
  codesearch monitor -- list     the word list, not the command
  codesearch monitor --once --json --since 7 'password'

Exit status: 0, or 1 when --once has found nothing, 2 on an error.";

#[derive(Args, Debug)]
#[command(subcommand_negates_reqs = true, disable_help_subcommand = true)]
pub(crate) struct MonitorArgs {
    #[command(subcommand)]
    pub(crate) what: Option<MonitorCommand>,
    /// The query (codesearch help syntax)
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,
    /// Begin with the changes after this epoch, if they are still kept [default: the newest epoch]
    #[arg(long, value_name = "EPOCH")]
    pub(crate) since: Option<u32>,
    /// End after the changes that there are now, and print the number of the newest epoch
    #[arg(long)]
    pub(crate) once: bool,
    /// Print JSON, an object for each match and for each epoch
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MonitorCommand {
    /// Store a monitor
    Add(AddMonitorArgs),
    /// List the stored monitors
    List(ListMonitorsArgs),
    /// Print the last news and deliveries of a monitor
    Show(ShowMonitorArgs),
    /// Pause monitors: changes pass them by, and deliveries wait
    Pause(MonitorNames),
    /// Resume monitors, with the changes from now on
    Resume(MonitorNames),
    /// Remove monitors with all that they found
    Remove(MonitorNames),
    /// Print what the query of a monitor matches now, and check where it delivers
    Test(TestMonitorArgs),
}

#[derive(Args, Debug)]
pub(crate) struct AddMonitorArgs {
    /// Name of the monitor: letters, digits, dots, minus signs and underscores
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The query
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,
    /// Also send its news to this address; the key of their signatures is printed once
    #[arg(long, value_name = "URL")]
    pub(crate) webhook: Option<String>,
    #[command(flatten)]
    pub(crate) configuration: SettingsArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ListMonitorsArgs {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ShowMonitorArgs {
    /// Name of the monitor
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct MonitorNames {
    /// Names of monitors
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct TestMonitorArgs {
    /// Name of the monitor
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Send a test delivery, too
    #[arg(long)]
    pub(crate) send: bool,
    #[command(flatten)]
    pub(crate) configuration: SettingsArgs,
}
