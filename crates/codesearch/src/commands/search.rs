//! `codesearch search`: print what matches.

use std::io::{BufWriter, IsTerminal, Write, stdout};
use std::sync::Arc;

use anyhow::{Context, Result};
use engine::search::{FileMatch, Request, Searcher, Stats, Stopped};
use query::{Case, Count, Field, Pattern, Query, Select, Suggestion, Tree};
use tokio::sync::mpsc;

use super::by_rank::ByRank;
use super::{hints, refused};
use crate::cli::{DatabaseArgs, SearchArgs, Sort};
use crate::database::Database;
use crate::human::count;
use crate::print::{Explain, Json, Paths, Printer, Text};
use crate::request::{self, Client, Options};
use crate::top_k::POOL;

/// Batches of files that the search may be ahead of the printing.
const FOUND_AHEAD: usize = 2;

pub(crate) fn run(database: &DatabaseArgs, args: &SearchArgs) -> Result<u8> {
    let options = options(args);
    let mut request = request(args, &options)
        .map_err(|error| hints::explained(database, args, &options, error))?;
    let mut by_rank = by_rank(args, request.limit).then(|| ByRank::of(&mut request));
    let request = Arc::new(request);
    let parallel = std::thread::available_parallelism().map_or(2, usize::from);
    Database::open(database, parallel as u32)?.run(async |store| {
        let searcher = Searcher::new(store.clone(), parallel);
        let mut out = BufWriter::new(stdout().lock());
        let paths = Paths::new(store, args.local || args.vimgrep).await?;
        let mut printer = printer(args, &request, paths, store.no_recheck());
        let (found, files) = mpsc::channel(FOUND_AHEAD);
        let print = async {
            // Its own: when printing fails, nobody listens to the search any longer, and it ends.
            let mut files = files;
            while let Some(found) = files.recv().await {
                if let Some(by_rank) = &mut by_rank {
                    by_rank.add(found);
                    continue;
                }
                for file in found {
                    printer.file(&mut out, &file)?;
                }
                // On a terminal files are shown when they are found; a pipe wants throughput.
                if stdout().is_terminal() {
                    out.flush()?;
                }
            }
            Ok::<_, std::io::Error>(())
        };
        let (stats, done) = tokio::join!(searcher.search(&request, found), print);
        let mut stats = stats?;
        let done = match (done, by_rank) {
            (Ok(()), Some(by_rank)) => {
                let (mut files, around, found) = by_rank.into_files();
                if around != (0, 0) && request.program().select == Select::Lines {
                    searcher.add_context(&mut files, stats.switch, around).await?;
                }
                stats.files = files.len();
                stats.matches = files.iter().map(FileMatch::matches).sum();
                if files.len() < found {
                    stats.stopped.get_or_insert(Stopped::Limit);
                }
                files.iter().try_for_each(|file| printer.file(&mut out, file))
            }
            (done, _) => done,
        };
        let ended = done.and_then(|()| printer.end(&mut out, &stats)).and_then(|()| out.flush());
        match ended {
            // Whoever reads has seen enough: `codesearch search x | head`.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                return Ok(crate::FOUND);
            }
            other => other.context("cannot write")?,
        }
        drop(out);
        report(args, request.program().select, &stats);
        if hints::wanted(args) && !args.explain {
            if stats.files == 0 && stats.stopped.is_none() {
                hints::nothing_found(&searcher, args, &options).await;
            } else {
                hints::taken_for_expression(args);
            }
        }
        Ok(match stats.stopped {
            Some(Stopped::Shards(_) | Stopped::Timeout(_)) => crate::FAILED,
            _ if stats.files == 0 => crate::NOTHING,
            _ => crate::FOUND,
        })
    })
}

/// Whether the best are printed first: where somebody looks at them who is to see no more of them than are ranked.
fn by_rank(args: &SearchArgs, limit: Option<usize>) -> bool {
    match args.sort {
        Some(sort) => sort == Sort::Relevance,
        None => {
            let printed = !args.json && !args.vimgrep && !args.explain;
            printed && stdout().is_terminal() && limit.is_some_and(|limit| limit <= POOL)
        }
    }
}

fn request(args: &SearchArgs, options: &Options) -> Result<Request> {
    let query = query(args, options)?;
    request::build(query, options, &Client::COMMAND_LINE).map_err(refused)
}

/// What stands beside the query.
fn options(args: &SearchArgs) -> Options {
    Options {
        case: match (args.ignore_case, args.case_sensitive) {
            (true, _) => Case::Insensitive,
            (_, true) => Case::Sensitive,
            _ => Case::Smart,
        },
        multiline: args.multiline,
        limit: args.limit.map(Count::of),
        timeout: args.timeout,
        paths_only: args.files_with_matches,
        repos: args.repo.clone(),
        files: args.file.clone(),
        languages: args.lang.clone(),
        context: (
            args.before_context.unwrap_or(args.context),
            args.after_context.unwrap_or(args.context),
        ),
        skipped: args.stats || args.explain,
        brute: args.brute,
        resume: None,
    }
}

/// The query text, and patterns given by options: one of these must match, too.
fn query(args: &SearchArgs, options: &Options) -> Result<Query> {
    let Options { case, multiline, .. } = *options;
    let regexps = args.regexp.iter().map(|pattern| {
        Pattern::parse(pattern, case, multiline).map_err(|mut error| {
            let (query, text) = (query::literal(pattern), Some(pattern.clone()));
            error.suggestion = Some(Box::new(Suggestion { query, text }));
            error
        })
    });
    let texts = args.fixed.iter().map(|text| Pattern::literal(text, case));
    let patterns: Vec<Pattern> =
        regexps.chain(texts).collect::<Result<_, _>>().context("invalid regular expression")?;
    // The shell has taken its quotes off, so it is not known where a phrase was meant.
    let typed = (!args.query.is_empty()).then(|| args.query.join(" "));
    let typed = typed.map(|text| request::parse(&text, options, &Client::COMMAND_LINE));
    let mut patterns = patterns.into_iter();
    let query = match (typed, patterns.next()) {
        (Some(typed), None) => return typed.map_err(refused),
        (None, Some(first)) => Query::of(Field::Content, first).or(patterns),
        (Some(typed), Some(first)) => {
            let more = patterns.map(|pattern| Tree::term(Field::Content, pattern));
            let any = std::iter::once(Tree::term(Field::Content, first)).chain(more);
            typed.map_err(refused)?.and(Tree::any(any.collect()))
        }
        (None, None) => unreachable!("clap asks for one"),
    };
    Ok(query)
}

fn printer(
    args: &SearchArgs,
    request: &Arc<Request>,
    paths: Paths,
    loose: bool,
) -> Box<dyn Printer> {
    if args.explain {
        return Box::new(Explain::new(Arc::clone(request), loose));
    }
    let select = request.program().select;
    if args.json {
        return Box::new(Json::new(select, paths));
    }
    Box::new(Text::new(args, select, paths, stdout().is_terminal()))
}

/// What is left to say, on stderr: that there is more, and with `--stats` what was done.
fn report(args: &SearchArgs, select: Select, stats: &Stats) {
    match &stats.stopped {
        Some(Stopped::Limit) if !args.explain => {
            let thing = if select == Select::Repos { "repository" } else { "file" };
            eprintln!(
                "codesearch: stopped at {}; there are more (--limit 0 for all)",
                count(stats.files, thing)
            );
        }
        Some(Stopped::Timeout(timeout)) => {
            let begun = match (stats.shards_searched, stats.shards - stats.shards_pruned) {
                (0, _) => "before any shard was searched".to_owned(),
                (begun, all) => {
                    format!("with {begun} of {} searched or begun", count(all, "shard"))
                }
            };
            eprintln!(
                "codesearch: timed out after {timeout:?}, {begun}; there may be more (raise --timeout)"
            );
        }
        Some(Stopped::Shards(error)) => {
            eprintln!("codesearch: incomplete: {error}");
        }
        _ => {}
    }
    if args.stats {
        eprintln!(
            "{} in {}, {:.1} ms; {} of {} searched, {}, {} read; left out of the index: {}",
            count(stats.matches, "matching line"),
            count(stats.files, "result"),
            stats.duration.as_secs_f64() * 1000.0,
            stats.shards_searched,
            count(stats.shards, "shard"),
            count(stats.candidates, "candidate chunk"),
            count(stats.rechecks, "text"),
            crate::print::skipped(stats)
        );
    }
}
