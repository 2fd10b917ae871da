//! codesearch: search all your repositories by regular expression, on plain Postgres.
//!
//! This crate is the command line. `cli` declares its options, `commands` has a file for each subcommand, `database`
//! opens the index, and `print` writes the results. The crates `request` and `server` build requests and answer over
//! HTTP. [`main`] is the program.

/// Prints a line to stdout. A closed pipe is an ordinary error, not a panic.
macro_rules! say {
    ($($text:tt)*) => { $crate::print::say(format_args!($($text)*))? };
}

/// Prints a line to stderr.
macro_rules! note {
    ($($text:tt)*) => { $crate::print::note(format_args!($($text)*)) };
}

mod cli;
mod commands;
mod database;
mod print;
mod progress;

use std::process::ExitCode;

use cli::Command;

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
    let cli = cli::parse();
    if matches!(cli.command, Command::SymbolsWorker) {
        return match ingest::symbols::worker::run() {
            Ok(()) => ExitCode::from(FOUND),
            Err(_) => ExitCode::from(FAILED),
        };
    }
    if matches!(cli.command, Command::Serve(_) | Command::Up(_) | Command::Mcp) {
        // Long-running commands start their threads ahead of the first search.
        search::threads::start();
        // jemalloc returns free memory in background threads, or later if these are not available.
        #[cfg(feature = "jemalloc")]
        let _ = tikv_jemalloc_ctl::background_thread::write(true);
    }
    progress::init(matches!(cli.command, Command::Serve(_) | Command::Up(_)));
    let done = match cli.command {
        Command::Up(args) => commands::up::run(&cli.database, args),
        Command::Ingest(args) => commands::ingest::run(&cli.database, &args),
        Command::Symbols => commands::symbols::run(&cli.database),
        Command::Scip(args) => commands::scip::run(&cli.database, &args),
        Command::SymbolsWorker => unreachable!("it has no database"),
        Command::Search(args) => commands::search::run(&cli.database, &args),
        Command::Files(args) => commands::files::run(&cli.database, &args),
        Command::Def(args) => commands::navigate::definitions(&cli.database, &args),
        Command::Refs(args) => commands::navigate::references(&cli.database, &args),
        Command::Outline(args) => commands::navigate::outline(&cli.database, &args),
        Command::Docs(args) => commands::docs::run(&cli.database, &args),
        Command::Syntax => commands::syntax(),
        Command::Serve(args) => commands::serve::run(&cli.database, &args),
        Command::Token(args) => commands::token::run(&args),
        Command::Mcp => commands::mcp::run(&cli.database),
        Command::Repos(args) => commands::repos::list(&cli.database, &args),
        Command::Remove(args) => commands::repos::remove(&cli.database, &args),
        Command::Init(args) => commands::repos::init(&cli.database, &args),
        Command::Stats(args) => commands::stats::run(&cli.database, &args),
        Command::Sql(args) => commands::sql::run(&cli.database, &args),
        Command::Check(args) => commands::check::run(&cli.database, &args),
        Command::Db(args) => commands::db::run(&cli.database, &args),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        // The reader has closed the pipe: `codesearch repos | head`.
        Err(error) if is_broken_pipe(&error) => ExitCode::from(FOUND),
        Err(error) => {
            note!("codesearch: {error:#}");
            ExitCode::from(FAILED)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = std::io::ErrorKind::BrokenPipe;
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == broken)
}
