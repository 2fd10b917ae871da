//! `codesearch search`: prints matches.

use std::io::Write;
use std::sync::Arc;

use answer::FileMatch;
use anyhow::{Context, Result};
use query::{Case, Count, Query, Select};
use search::{Holds, Request, ShownFiles, Stats, Stopped, View};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

use super::by_rank::MOST_LINES;
use super::collected::Collected;
use super::ordered::Ordered;
use super::scope::{self, Scope};
use super::{globs, hints, patterns, refused};
use crate::cli::{OutputArgs, SearchArgs, Sort};
use crate::console::Console;
use crate::database::Index;
use crate::print::{Json, Paths, Printer, Replacer, Silent, Text, keep_first, spans_lines};
use rank::POOL;
use request::explain::Explain;
use request::hints::missing_repository;
use request::human::count;
use request::{self, Client, Here, Options};

/// Batches of files that the search may be ahead of the printer.
const FOUND_AHEAD: usize = 2;

pub(crate) fn run(index: &Index<'_>, console: &Console, args: &SearchArgs) -> Result<u8> {
    if args.how.type_list {
        return type_list(console, args);
    }
    let options = options(console, args);
    let explained = |error| hints::explained(index, console, args, &options, error);
    // A wrong query is reported before the index is opened, unless words of it may be paths.
    let query = if scope::may_have_paths(console, args) {
        None
    } else {
        Some(query(console, args, &options).map_err(explained)?)
    };
    if args.output.max_count == Some(0) {
        return Ok(crate::NOTHING);
    }
    let parallel = std::thread::available_parallelism().map_or(2, usize::from);
    let done = index.read(parallel as u32, parallel, async |view| {
        // A server keeps connections open.
        if matches!(index, Index::Own(_)) {
            view.connect_ahead();
        }
        let here = Here::of(view, console.folder.as_deref()).await?;
        let scope = Scope::of(console, args, &here)?;
        let here = here.choosing(&scope.trees);
        let view = &here.in_view(view);
        let query = query.map_or_else(|| self::query(console, &scope.args, &options), Ok)?;
        let replacer = replacer(&args.output, &query)?;
        // What was asked for is one list for a quiet search, for an explanation, and in the order of paths.
        let output = &args.output;
        let sorted = [output.sort, output.sortr].contains(&Some(Sort::Path));
        // So are changes, which have an order of their own.
        let in_order = sorted || query.changes.is_some();
        let grouped = !in_order && !output.quiet && !args.how.explain;
        let queries = scope.queries(&here, query, grouped)?;
        let paths = Paths::of(here, console, output.local || output.vimgrep);
        // Whoever names a folder means the files in it.
        let paths = if scope.is_of_folders() { paths.shortened() } else { paths };
        let search =
            Search { index, view, console, typed: args, args: &scope.args, options: &options };
        search.run(queries, paths, replacer).await
    });
    done.map_err(explained)
}

/// A search, with what its answer depends on.
struct Search<'a> {
    index: &'a Index<'a>,
    view: &'a View,
    console: &'a Console,
    /// The arguments as they were typed.
    typed: &'a SearchArgs,
    /// Those without paths.
    args: &'a SearchArgs,
    options: &'a Options,
}

/// What is printed so far.
#[derive(Default)]
struct Answer {
    stats: Option<Stats>,
    scores: String,
    /// Matching lines that are not shown.
    lines_left: usize,
    is_ranked: bool,
    /// The files that are shown, if the answer says which have changed on disk.
    shown: Option<ShownFiles>,
}

impl Search<'_> {
    /// Runs queries one after the other, and prints their results as one answer.
    async fn run(
        &self,
        queries: Vec<Query>,
        paths: Paths,
        replacer: Option<Replacer>,
    ) -> Result<u8> {
        let Self { view, console, args, options, .. } = *self;
        // The printer of coloured text escapes control characters itself.
        let mut out: Box<dyn Write> = if args.how.explain || args.output.json {
            Box::new(console.stdout())
        } else {
            Box::new(console.plain_stdout())
        };
        let here = paths.here().clone();
        let mut requests = Vec::new();
        for query in queries {
            let built = request::build_in_time(query, options, &Client::COMMAND_LINE, ());
            requests.push(built.map_err(refused)?);
        }
        let (select, tree) =
            (requests[0].query().settings.select, requests[0].query().tree.clone());
        let tells_stale =
            console.stderr_is_terminal && !args.output.quiet && select != Select::Repos;
        let shown = tells_stale.then(ShownFiles::default);
        let mut answer = Answer { shown, ..Answer::default() };
        let mut making = Some((paths, replacer));
        let mut printer = None;
        for mut request in requests {
            if let Some(stats) = &mut answer.stats {
                match left(stats, &mut request) {
                    Left::Nothing => break,
                    // The answer is full. It says whether there is more.
                    Left::Question => {
                        if self.finds_any(&Arc::new(request)).await? {
                            stats.stopped = Some(Stopped::Limit);
                        }
                        break;
                    }
                    Left::Results => {}
                }
            }
            if args.how.wait {
                let holds =
                    if matches!(self.index, Index::Own(_)) { Holds::Nothing } else { Holds::ATurn };
                let note = view.await_fresh(&request, holds).await?;
                request.notes.extend(note);
            }
            let collected = Collected::of(console, args, &mut request);
            let request = Arc::new(request);
            if let Some((paths, replacer)) = making.take() {
                let loose = view.no_recheck();
                printer = Some(self::printer(console, args, &request, paths, replacer, loose)?);
            }
            let Some(printer) = &mut printer else { break };
            let done = self.group(&request, collected, &mut **printer, &mut out, &mut answer);
            if done.await? == Printed::Closed {
                return Ok(crate::FOUND);
            }
        }
        let stats = answer.stats.unwrap_or_default();
        let ended = printer
            .map_or(Ok(()), |mut printer| printer.end(&mut out, &stats))
            .and_then(|()| out.write_all(answer.scores.as_bytes()))
            .and_then(|()| out.flush());
        if printed(ended)? == Printed::Closed {
            return Ok(crate::FOUND);
        }
        drop(out);
        if answer.lines_left > 0 {
            let lines = count(answer.lines_left, "more matching line");
            note!(to console,
                "codesearch: the best {MOST_LINES} lines of each file; {lines} not shown (-m 1000 for all)"
            );
        }
        if let Some(shown) = answer.shown
            && let Some(stale) = request::stale::with_command(&view.stale(shown).await)
        {
            note!(to console, "codesearch: {stale}");
        }
        report(console, args, select, &stats, answer.is_ranked);
        if hints::wanted(console, args) {
            scope::tell_readings(console, self.typed, args, &here);
            if stats.files == 0 && stats.stopped.is_none() {
                hints::nothing_found(view, console, args, options).await;
            } else {
                hints::meant_as_text(console, args);
            }
        } else if stats.files == 0 && !args.output.quiet {
            // A missing repository is an error in the query, which the logs of programs should have, too.
            let repos = hints::repositories(&tree);
            if let Some(missing) = missing_repository(view, &repos).await {
                note!(to console, "codesearch: nothing found: {missing}");
            }
        }
        Ok(match stats.stopped {
            Some(Stopped::Shards(_) | Stopped::Timeout(_) | Stopped::Revision(_)) => crate::FAILED,
            _ if stats.files == 0 => crate::NOTHING,
            _ => crate::FOUND,
        })
    }

    /// Returns whether a request finds anything.
    async fn finds_any(&self, request: &Arc<Request>) -> Result<bool> {
        let (found, mut files) = mpsc::channel(FOUND_AHEAD);
        let drained = async { while files.recv().await.is_some() {} };
        let (stats, ()) = tokio::join!(self.view.search(request, found), drained);
        Ok(stats?.files > 0)
    }

    /// Runs a request, and prints its results.
    async fn group(
        &self,
        request: &Arc<Request>,
        mut collected: Option<Collected>,
        printer: &mut dyn Printer,
        out: &mut Box<dyn Write + '_>,
        answer: &mut Answer,
    ) -> Result<Printed> {
        let Self { view, console, args, options, .. } = *self;
        let is_ranked = collected.as_ref().is_some_and(Collected::is_ranked);
        // Near definitions stand at the top.
        let is_top = answer.stats.as_ref().is_none_or(|before| before.files == 0);
        let wants_near =
            is_ranked && is_top && console.stdout_is_terminal && !args.output.only_matching;
        let (spans_lines, after) = (spans_lines(request), options.context.1);
        let shown = &mut answer.shown;
        let mut first = |file: &mut FileMatch| {
            if let Some(most) = args.output.max_count {
                keep_first(file, spans_lines, most, after);
            }
            if let Some(shown) = shown {
                shown.add(file);
            }
        };
        let (found, files) = mpsc::channel(FOUND_AHEAD);
        let print = async {
            // Moved into this future, so that the receiver is dropped when printing fails. That ends the search.
            let mut files = files;
            while let Some(found) = next(&mut files, out).await? {
                if let Some(collected) = &mut collected {
                    collected.add(found);
                    continue;
                }
                audit::told().files(&found);
                for mut file in found {
                    first(&mut file);
                    printer.file(out, &file)?;
                }
            }
            Ok::<_, std::io::Error>(())
        };
        let counted = self.index.counted(request, view.no_recheck());
        let (stats, done) = tokio::join!(view.search(request, found), print);
        let mut stats = stats?;
        if let Some(counted) = counted {
            counted.done(&stats);
        }
        let done = match (done, collected) {
            (Ok(()), Some(collected)) => {
                let ordered = collected.into_files(view, request, &mut stats, wants_near).await?;
                let Ordered { files, scores: explained, near, cut, dropped } = ordered;
                answer.lines_left += dropped;
                audit::told().files(&files);
                if args.how.explain {
                    answer.scores = request::explain::scores(&files, &explained);
                }
                if wants_near {
                    printer.near(out, &near)?;
                }
                (stats.files, stats.matches) =
                    (files.len(), files.iter().map(FileMatch::matches).sum::<usize>() + dropped);
                if cut {
                    stats.stopped.get_or_insert(Stopped::Limit);
                }
                files.into_iter().try_for_each(|mut file| {
                    first(&mut file);
                    printer.file(out, &file)
                })
            }
            (done, _) => done,
        };
        answer.is_ranked |= is_ranked;
        match &mut answer.stats {
            None => answer.stats = Some(stats),
            Some(before) => before.join(stats),
        }
        printed(done)
    }
}

/// What is left to do for a request after those before it.
enum Left {
    Nothing,
    /// Whether there is anything.
    Question,
    Results,
}

/// Limits a request to what those before it have left.
fn left(before: &Stats, request: &mut Request) -> Left {
    if matches!(before.stopped, Some(Stopped::Limit | Stopped::Timeout(_))) {
        return Left::Nothing;
    }
    request.timeout = request.timeout.map(|all| all.saturating_sub(before.duration));
    let left = request.limit.map(|limit| limit.saturating_sub(before.files));
    request.limit = left.map(|left| left.max(1));
    if left == Some(0) { Left::Question } else { Left::Results }
}

/// How printing went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Printed {
    Everything,
    /// The reader has closed the pipe: `codesearch search x | head`.
    Closed,
}

fn printed(done: std::io::Result<()>) -> Result<Printed> {
    match done {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(Printed::Closed),
        done => done.context("cannot write").map(|()| Printed::Everything),
    }
}

/// Receives the next files. Flushes the output before it waits for them.
async fn next(
    files: &mut mpsc::Receiver<Vec<FileMatch>>,
    out: &mut impl Write,
) -> std::io::Result<Option<Vec<FileMatch>>> {
    Ok(match files.try_recv() {
        Ok(found) => Some(found),
        Err(TryRecvError::Disconnected) => None,
        Err(TryRecvError::Empty) => {
            out.flush()?;
            files.recv().await
        }
    })
}

/// Prints the types as `rg --type-list` does.
fn type_list(console: &Console, args: &SearchArgs) -> Result<u8> {
    for known in globs::definitions(&args.filters)? {
        say!(to console, "{}: {}", known.name(), known.globs().join(", "));
    }
    Ok(crate::FOUND)
}

/// Returns the options of the search, apart from the query.
fn options(console: &Console, args: &SearchArgs) -> Options {
    let SearchArgs { patterns, filters, output, how, .. } = args;
    // Into a pipe, print all results, as ripgrep does. Emacs runs programs on a pseudoterminal.
    let is_read = console.stdout_is_terminal && output.is_for_people();
    let all = !is_read && !how.explain;
    let limit = how.limit.or(all.then_some(0)).map(Count::of);
    Options {
        case: match (patterns.ignore_case, patterns.case_sensitive) {
            (true, _) => Case::Insensitive,
            (_, true) => Case::Sensitive,
            _ => Case::Smart,
        },
        multiline: patterns.multiline,
        limit: if output.quiet { Some(Count::Most(1)) } else { limit },
        timeout: how.timeout,
        paths_only: output.files_with_matches
            || output.files_without_match
            || output.quiet
            || how.files,
        repos: filters.repo.clone(),
        files: filters.file.clone(),
        languages: filters.lang.clone(),
        context: (
            output.before_context.unwrap_or(output.context),
            output.after_context.unwrap_or(output.context),
        ),
        skipped: how.stats || how.explain,
        enclosing: false,
        brute: how.brute,
        oldest_first: output.sort == Some(Sort::Oldest),
        resume: None,
    }
}

/// Builds the query from the query text, the patterns and the conditions on paths.
fn query(console: &Console, args: &SearchArgs, options: &Options) -> Result<Query> {
    let query = patterns::query(console, args, options)?;
    Ok(match globs::condition(&args.filters)? {
        Some(paths) => query.and(paths),
        None => query,
    })
}

/// Returns the replacer of `--replace`.
fn replacer(output: &OutputArgs, query: &Query) -> Result<Option<Replacer>> {
    let Some(with) = &output.replace else { return Ok(None) };
    let pattern = patterns::only_pattern(&query.tree)?;
    Ok(Some(Replacer::new(pattern, with)?))
}

fn printer(
    console: &Console,
    args: &SearchArgs,
    request: &Arc<Request>,
    paths: Paths,
    replacer: Option<Replacer>,
    loose: bool,
) -> Result<Box<dyn Printer>> {
    let select = request.query().settings.select;
    Ok(if args.how.explain {
        Box::new(Explain::new(Arc::clone(request), loose))
    } else if args.output.quiet {
        Box::new(Silent)
    } else if args.output.json {
        let number = !args.output.no_line_number;
        Box::new(Json::new(select, paths, replacer, spans_lines(request), number))
    } else {
        let crlf = args.patterns.crlf;
        Box::new(Text::new(&args.output, request, crlf, paths, replacer, console)?)
    })
}

/// Prints to stderr whether the result is incomplete and, with `--stats`, the work done.
fn report(console: &Console, args: &SearchArgs, select: Select, stats: &Stats, is_ranked: bool) {
    let stats = &stats.shown();
    let missing = request::notes::missing(&stats.missing);
    match &stats.stopped {
        Some(Stopped::Limit) if !args.how.explain && !args.output.quiet => {
            let thing = if select == Select::Repos { "repository" } else { "file" };
            let shown = count(stats.files, thing);
            if is_ranked && stats.files >= POOL {
                note!(to console,
                    "codesearch: the best {shown} of the files found first; --sort path prints all"
                );
            } else {
                note!(to console, "codesearch: stopped at {shown}; there are more (--limit 0 for all)");
            }
        }
        Some(Stopped::Timeout(timeout)) => {
            let begun = match (stats.shards_searched, stats.shards - stats.shards_pruned) {
                // Changes are not in shards.
                (0, 0) if stats.shards == 0 => String::new(),
                (0, _) => ", before any shard was searched".to_owned(),
                (begun, all) => {
                    format!(", after starting {begun} of {}", count(all, "shard"))
                }
            };
            note!(to console,
                "codesearch: timed out after {timeout:?}{begun}; there may be more (raise --timeout)"
            );
        }
        Some(Stopped::Shards(error) | Stopped::Revision(error)) => {
            let missing = missing.as_ref();
            note!(to console, "codesearch: incomplete: {}", missing.unwrap_or(error));
        }
        _ => {}
    }
    if let (Some(missing), Some(Stopped::Limit | Stopped::Timeout(_))) = (missing, &stats.stopped) {
        note!(to console, "codesearch: {missing}");
    }
    if let Some(left) = request::notes::unsearched(stats).filter(|_| !args.output.quiet) {
        note!(to console, "codesearch: {left}");
    }
    let old = request::fresh::very_old(&stats.covered);
    if let Some(old) = old.filter(|_| console.stderr_is_terminal && !args.output.quiet) {
        note!(to console, "codesearch: {old}");
    }
    if args.how.stats {
        let oldest = request::fresh::oldest(&stats.covered).map(|oldest| format!("; {oldest}"));
        // Who does not see all is not told what a search cost.
        let cost = if stats.is_restricted {
            String::new()
        } else {
            format!(
                "; {} of {} searched, {}, {} read",
                stats.shards_searched,
                count(stats.shards, "shard"),
                count(stats.candidates, "candidate chunk"),
                count(stats.rechecks, "text")
            )
        };
        note!(to console,
            "{} in {}, {:.1} ms{cost}; left out of the index: {}{}",
            count(stats.matches, "matching line"),
            count(stats.files, "result"),
            stats.duration.as_secs_f64() * 1000.0,
            request::notes::skipped(stats),
            oldest.unwrap_or_default()
        );
    }
}
