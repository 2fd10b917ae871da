//! codesearch: search all your repositories by regular expression, on plain Postgres.
//!
//! This crate is the command line. `cli` declares its options, `commands` has a file for each subcommand, `database`
//! opens the index, and `print` writes the results. The crates `request` and `server` build requests and answer over
//! HTTP. [`main`] is the program.

/// Prints a line to stdout: that of this process, or `to` a console. A closed pipe is an ordinary error, not a panic.
macro_rules! say {
    (to $console:expr, $($text:tt)*) => { $console.say(format_args!($($text)*))? };
    ($($text:tt)*) => { $crate::terminal::say(format_args!($($text)*))? };
}

/// Prints a line to stderr: that of this process, or `to` a console.
macro_rules! note {
    (to $console:expr, $($text:tt)*) => { $console.note(format_args!($($text)*)) };
    ($($text:tt)*) => { $crate::terminal::note(format_args!($($text)*)) };
}

mod as_user;
mod cli;
mod commands;
mod console;
mod database;
mod pager;
mod print;
mod progress;
mod remote;
mod terminal;

use std::process::ExitCode;

use anyhow::Result;
use cli::{Cli, Command, CommandLine, DbCommand};
use console::Console;
use pager::Pager;

/// Exit code: something was found, or done.
const FOUND: u8 = 0;
/// Exit code: nothing was found.
const NOTHING: u8 = 1;
/// Exit code: an error.
const FAILED: u8 = 2;
/// Exit code after Ctrl-C, as a shell reports it: 128 and SIGINT.
const INTERRUPTED: u8 = 130;

/// Runs the command line.
pub fn main() -> ExitCode {
    // Until it is known that the process does more than ask a server.
    use_large_pages(false);
    let (cli, line) = cli::parse();
    if matches!(cli.command, Command::SymbolsWorker) {
        return match ingest::symbols::worker::run() {
            Ok(()) => ExitCode::from(FOUND),
            Err(_) => ExitCode::from(FAILED),
        };
    }
    let done = if cli.command.reads_index() { read(&cli, line) } else { run(cli) };
    done.map_or_else(
        |error| {
            report(&Console::own(CommandLine::default()), &error);
            ExitCode::from(status_of(&error))
        },
        ExitCode::from,
    )
}

/// Runs a command that reads the index, with a pager if one is asked for.
fn read(cli: &Cli, line: CommandLine) -> Result<u8> {
    let pager = if cli.no_pager { None } else { Pager::start(cli.pager)? };
    let done = remote::read(&cli.database, &cli.command, line);
    if let Some(pager) = pager {
        // An error is shown after the pager has given back the terminal.
        pager.wait();
    }
    done
}

/// Runs a command that no server runs.
fn run(cli: Cli) -> Result<u8> {
    let Cli { command, database, .. } = cli;
    let is_small = matches!(&command, Command::Mcp)
        || matches!(&command, Command::Db(db) if matches!(db.what, DbCommand::Keeper));
    use_large_pages(!is_small);
    let needs_no_index =
        matches!(command, Command::Mcp | Command::Syntax | Command::Token(_) | Command::Config(_));
    if !needs_no_index {
        remote::check_own(&database, &cli::typed_command())?;
    }
    if database.as_user.is_some()
        && !matches!(command, Command::Mcp | Command::Repos(_) | Command::Sql(_))
    {
        anyhow::bail!(
            "{} does not take --as, which is for commands that read the index; leave it out",
            cli::typed_command()
        );
    }
    if matches!(command, Command::Serve(_) | Command::Up(_)) {
        start_threads();
    }
    progress::init(matches!(command, Command::Serve(_) | Command::Up(_)));
    match command {
        Command::Up(args) => commands::up::run(&database, args),
        Command::Ingest(args) => commands::ingest::run(&database, &args),
        Command::Mirror(args) => commands::mirror::run(&database, &args),
        Command::Symbols => commands::symbols::run(&database),
        Command::Scip(args) => commands::scip::run(&database, &args),
        Command::Syntax => commands::syntax(),
        Command::Serve(args) => commands::serve::run(&database, &args),
        Command::Token(args) => commands::token::run(&args),
        Command::Mcp => commands::mcp::run(&database),
        Command::Monitor(args) => commands::monitor::run(&database, &args),
        Command::Repos(args) => commands::repos::list(&database, &args),
        Command::Remove(args) => commands::repos::remove(&database, &args),
        Command::Init(args) => commands::repos::init(&database, &args),
        Command::Stats(args) => commands::stats::run(&database, &args),
        Command::Audit(args) => commands::audit::run(&database, &args),
        Command::Sql(args) => commands::sql::run(&database, &args),
        Command::Check(args) => commands::check::run(&database, &args),
        Command::Config(args) => commands::config::run(&database, &args),
        Command::Grant(args) => commands::access::grant(&database, &args),
        Command::Revoke(args) => commands::access::revoke(&database, &args),
        Command::Grants(args) => commands::access::grants(&database, &args),
        Command::Access(args) => commands::access::access(&database, &args),
        Command::Db(args) => commands::db::run(&database, &args),
        command => unreachable!("{command:?} reads the index, or has none"),
    }
}

/// Whether the allocator gets large pages. With them a process that only asks a server takes 12 MB instead of 4, all of
/// which must be zeroed first.
pub(crate) fn use_large_pages(used: bool) {
    // Without this, it only takes more memory.
    let _ = nix::sys::prctl::set_thp_disable(!used);
}

/// Starts the threads of a command that runs long, ahead of its first search.
fn start_threads() {
    search::threads::start();
    // jemalloc returns free memory in background threads, or later if these are not available.
    #[cfg(feature = "jemalloc")]
    let _ = tikv_jemalloc_ctl::background_thread::write(true);
}

/// Prints the error of a command, unless it is that the reader has closed the pipe: `codesearch repos | head`.
fn report(console: &Console, error: &anyhow::Error) {
    if !is_broken_pipe(error) {
        note!(to console, "codesearch: {error:#}");
    }
}

/// Returns the exit status of a command that failed.
fn status_of(error: &anyhow::Error) -> u8 {
    if is_broken_pipe(error) { FOUND } else { FAILED }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = std::io::ErrorKind::BrokenPipe;
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == broken)
}
