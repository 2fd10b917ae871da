//! `codesearch search`: print what matches.

use std::io::{BufWriter, IsTerminal, Write, stdout};
use std::sync::Arc;

use anyhow::{Context, Result};
use engine::search::{Filter, Request, Searcher, Stats, Stopped};
use query::{Case, Matcher, Pattern};
use tokio::sync::mpsc;

use crate::cli::{DatabaseArgs, SearchArgs};
use crate::database::Database;
use crate::print::{Json, Printer, Text};

/// Files that the search may be ahead of the printing.
const FOUND_AHEAD: usize = 64;

pub(crate) fn run(database: &DatabaseArgs, args: &SearchArgs) -> Result<u8> {
    let request = Arc::new(request(args)?);
    let parallel = std::thread::available_parallelism().map_or(2, usize::from);
    Database::open(database, 2 * parallel as u32)?.run(async |store| {
        let searcher = Searcher::new(store.clone(), parallel);
        let mut out = BufWriter::new(stdout().lock());
        let mut printer = printer(args);
        let (found, files) = mpsc::channel(FOUND_AHEAD);
        let print = async {
            // Its own: when printing fails, nobody listens to the search any longer, and it ends.
            let mut files = files;
            while let Some(file) = files.recv().await {
                printer.file(&mut out, &file)?;
                // On a terminal each file is shown when it is found; a pipe wants throughput.
                if stdout().is_terminal() {
                    out.flush()?;
                }
            }
            Ok::<_, std::io::Error>(())
        };
        let (stats, done) = tokio::join!(searcher.search(&request, found), print);
        let stats = stats?;
        let ended = done.and_then(|()| printer.end(&mut out, &stats)).and_then(|()| out.flush());
        match ended {
            // Whoever reads has seen enough: `codesearch search x | head`.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                return Ok(crate::FOUND);
            }
            other => other.context("cannot write")?,
        }
        drop(out);
        report(args, &request, &stats);
        Ok(match stats.stopped {
            Some(Stopped::Shards(_)) => crate::FAILED,
            _ if stats.files == 0 => crate::NOTHING,
            _ => crate::FOUND,
        })
    })
}

fn request(args: &SearchArgs) -> Result<Request> {
    let case = match (args.ignore_case, args.case_sensitive) {
        (true, _) => Case::Insensitive,
        (_, true) => Case::Sensitive,
        _ => Case::Smart,
    };
    let pattern = args.pattern.as_ref().or(args.regexp.as_ref()).map_or("", String::as_str);
    let pattern = Pattern::parse(pattern, case).context("not a regular expression")?;
    let mut request = Request::new(&pattern).context("not a regular expression")?;
    let matchers = |option: &str, patterns: &[String]| -> Result<Vec<Matcher>> {
        let compile = |p: &String| Matcher::new(&Pattern::parse(p, Case::Smart)?);
        let compiled: Result<_, _> = patterns.iter().map(compile).collect();
        compiled.with_context(|| format!("{option} is not a regular expression"))
    };
    request.filter = Filter {
        repos: matchers("--repo", &args.repo)?,
        paths: matchers("--file", &args.file)?,
        languages: args.lang.clone(),
    };
    request.limit = (args.limit > 0).then_some(args.limit);
    request.context =
        (args.before_context.unwrap_or(args.context), args.after_context.unwrap_or(args.context));
    request.brute = args.brute;
    Ok(request)
}

fn printer(args: &SearchArgs) -> Box<dyn Printer> {
    if args.json {
        return Box::new(Json::new());
    }
    Box::new(Text::new(args, stdout().is_terminal()))
}

/// What is left to say, on stderr: that there is more, and with `--stats` what was done.
fn report(args: &SearchArgs, request: &Request, stats: &Stats) {
    match &stats.stopped {
        Some(Stopped::Limit) => {
            eprintln!(
                "codesearch: stopped at {} files; there are more (--limit 0 for all)",
                stats.files
            );
        }
        Some(Stopped::Shards(error)) => {
            eprintln!("codesearch: the answer is not complete: {error}");
        }
        None => {}
    }
    if args.stats {
        eprintln!(
            "{} matching lines in {} files, {:.1} ms; {} of {} shards asked, {} candidate chunks; the index \
             was asked for: {}",
            stats.matches,
            stats.files,
            stats.duration.as_secs_f64() * 1000.0,
            stats.shards_searched,
            stats.shards,
            stats.candidates,
            request.need()
        );
    }
}
