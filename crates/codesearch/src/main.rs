//! codesearch: all your repositories, searched by regular expression, on plain Postgres.
//!
//! This binary is the only crate that knows the command line, HTTP, JSON and HTML. `cli` says what
//! can be typed, `commands` has one file for each verb, `database` opens the index, `request`
//! makes of a query and what stands beside it what the engine is asked, `print` and `http` show what was found.

/// Prints a line to stdout. A reader that has left is an error like others, not a panic.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stdout(), $($text)*)?
    }};
}

mod cli;
mod commands;
mod cursor;
mod database;
mod http;
mod human;
mod print;
mod progress;
mod request;
mod statistics;

use std::process::ExitCode;

use cli::Command;

/// Gives back what is free: a server that has read its index ahead takes less memory than with the
/// system's.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Something was found, or done.
const FOUND: u8 = 0;
/// Nothing was found.
const NOTHING: u8 = 1;
/// It could not be done.
const FAILED: u8 = 2;
/// Ended by Ctrl-C, as a shell counts it.
const INTERRUPTED: u8 = 130;

fn main() -> ExitCode {
    let cli = cli::parse();
    if matches!(cli.command, Command::Serve(_) | Command::Up(_) | Command::Mcp) {
        // For those who answer again and again: threads are there already, and what is free is given back without
        // waiting for somebody to take more. Where that cannot be had, it is given back later.
        engine::threads::keep();
        let _ = tikv_jemalloc_ctl::background_thread::write(true);
    }
    progress::init(matches!(cli.command, Command::Serve(_) | Command::Up(_)));
    let done = match cli.command {
        Command::Up(args) => commands::up::run(&cli.database, args),
        Command::Ingest(args) => commands::ingest::run(&cli.database, &args),
        Command::Search(args) => commands::search::run(&cli.database, &args),
        Command::Files(args) => commands::files::run(&cli.database, &args),
        Command::Docs(args) => commands::docs::run(&cli.database, &args),
        Command::Syntax => commands::syntax(),
        Command::Serve(args) => commands::serve::run(&cli.database, &args),
        Command::Token(args) => commands::token::run(&args),
        Command::Mcp => commands::mcp::run(&cli.database),
        Command::Repos(args) => commands::repos::list(&cli.database, &args),
        Command::Remove(args) => commands::repos::remove(&cli.database, &args),
        Command::Init(args) => commands::repos::init(&cli.database, &args),
        Command::Stats(args) => commands::stats::run(&cli.database, &args),
        Command::Check(args) => commands::check::run(&cli.database, &args),
        Command::Db(args) => commands::db::run(&cli.database, &args),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        // Whoever reads has seen enough: `codesearch repos | head`.
        Err(error) if is_broken_pipe(&error) => ExitCode::from(FOUND),
        Err(error) => {
            eprintln!("codesearch: {error:#}");
            ExitCode::from(FAILED)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = std::io::ErrorKind::BrokenPipe;
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == broken)
}
