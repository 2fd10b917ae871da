//! The page of results: what was found, the best first, and where to go from there.
//!
//! Ranking needs more than what is shown: the best of the first [`POOL`] files that are found are shown
//! on pages of [`PAGE`], and then the best of the next. In the order of paths or of repositories, all
//! that there is is found, and only as much is kept as is shown.

use std::sync::Arc;
use std::time::{Duration, Instant};

use askama::Template;
use axum::response::Response;
use engine::search::{FileMatch, Request, Resume, Stats};
use query::{Count, Select};
use tokio::time::timeout_at;

use super::links::{all_values, chosen, facets, folder_of, orders, with};
use super::trim::trim;
use super::unrendered::UnrenderedFiles;
use super::view::{HintView, Results};
use crate::http::connections::run_on;
use crate::http::cursor::Cursor;
use crate::http::error::Failure;
use crate::http::hints;
use crate::http::pages::view::{CONTEXT, FileView};
use crate::http::pages::{link, search_page};
use crate::http::params::{SearchParams, names};
use crate::http::request::compiled;
use crate::http::search_stream::{SearchStream, stopped};
use crate::http::server::Server;
use crate::human::{count, duration, grouped};
use crate::order::Order;
use crate::print::explained;
use crate::request::Client;
use crate::top_k::{POOL, TopK};

/// Files on a page.
const PAGE: usize = 50;

/// What takes longer is shown while it is found.
const PATIENCE: Duration = Duration::from_millis(150);

/// How long a browser is left alone with the first results. What comes sooner is read before they are painted,
/// and drawing it takes one of the cores that paint.
const PAINTING: Duration = Duration::from_millis(60);

/// The results alone, for a script to put into its page.
#[derive(Template)]
#[template(path = "results.html")]
struct Fragment<'a> {
    result: &'a Results,
}

/// The files alone.
#[derive(Template)]
#[template(path = "found.html")]
struct Found<'a> {
    files: &'a [FileView],
}

/// Word that files are missing.
#[derive(Template)]
#[template(
    source = "<section class=\"error\" role=\"alert\"><p>The other results cannot be shown: {{ message }}</p></section>",
    ext = "html"
)]
struct Broken<'a> {
    message: &'a str,
}

/// A search for a page, and what is known of it.
pub(crate) struct Search {
    running: SearchStream,
    request: Arc<Request>,
    top: TopK,
    /// Results of this window that were shown on the pages before.
    shown: usize,
    /// Ranked results that are shown at most, on all pages.
    most: usize,
    begun: Instant,
}

/// A search for a page that can be made: nothing is wrong with what was asked.
pub(crate) struct Prepared {
    request: Arc<Request>,
    order: Order,
    shown: usize,
    most: usize,
    /// The folder that holds all results.
    folder: String,
}

impl Prepared {
    /// What an address asks for.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) async fn of(params: &SearchParams) -> Result<Self, Failure> {
        let order = params.order();
        let limit = if order == Order::Relevance { Count::Most(POOL) } else { Count::All };
        let cursor = params.cursor(Some(order))?;
        let mut request = compiled(params, Client { limit, ..Client::PAGE }).await?;
        // They are read for the files that are shown only.
        request.context = (0, 0);
        request.best = order == Order::Relevance;
        // Ranked first, then cut.
        let most = request.limit.filter(|_| request.best).unwrap_or(usize::MAX);
        let most = if most < POOL { most } else { usize::MAX };
        request.limit = if request.best { Some(POOL) } else { request.limit };
        request.resume = cursor.map(|cursor| cursor.resume);
        let shown = cursor.map_or(0, |cursor| cursor.shown);
        let request = Arc::new(request);
        Ok(Self { request, order, shown, most, folder: folder_of(&params.q) })
    }

    /// Starts it.
    pub(crate) fn start(self, server: &Server) -> Search {
        let Self { request, order, shown, most, folder } = self;
        let mut top = TopK::new(request.query(), order, shown.saturating_add(PAGE));
        top.below = folder;
        Search {
            running: SearchStream::start(server, &request),
            top,
            request,
            shown,
            most,
            begun: Instant::now(),
        }
    }
}

impl Search {
    /// Takes what is found until the end, or until a time; says whether it is at its end.
    pub(crate) async fn go_on(&mut self, until: Option<Instant>) -> bool {
        loop {
            let next = self.running.next();
            let found = match until {
                None => next.await,
                Some(until) => match timeout_at(until.into(), next).await {
                    Ok(found) => found,
                    Err(_) => return false,
                },
            };
            let Some(found) = found else { return true };
            for file in found {
                self.top.add(file, trim);
            }
        }
    }

    /// How many files were found so far.
    pub(crate) fn found(&self) -> usize {
        self.top.files
    }

    /// The best files so far, as HTML.
    pub(crate) async fn so_far(&mut self, q: &str) -> String {
        self.top.settle();
        let best = self.top.best.iter();
        let files: Vec<(FileMatch, usize)> =
            best.take(PAGE).map(|ranked| (ranked.file.clone(), ranked.matches)).collect();
        match UnrenderedFiles::of(files, q).draw().await {
            Ok(files) => Found { files: &files }.render().unwrap_or_default(),
            Err(_) => String::new(),
        }
    }

    /// All of the results as HTML, without the page around them.
    pub(crate) async fn html(
        self,
        server: &Server,
        params: &SearchParams,
    ) -> Result<String, Failure> {
        let (mut results, files) = self.end(server, params).await?;
        results.files = files.draw().await?;
        Ok(Fragment { result: &results }.render().unwrap_or_default())
    }

    /// What there is to show, at the end, and its files, which are not drawn yet.
    async fn end(
        self,
        server: &Server,
        params: &SearchParams,
    ) -> Result<(Results, UnrenderedFiles), Failure> {
        let Self { running, request, mut top, shown, most, .. } = self;
        let stats = running.end()?;
        top.settle();
        let select = request.program().select;
        let best = top.best.drain(..).take(most).skip(shown).take(PAGE);
        let (mut files, counts): (Vec<FileMatch>, Vec<_>) =
            best.map(|ranked| (ranked.file, (ranked.matches, ranked.dropped))).unzip();
        let seen = shown + files.len();
        let next = Cursor::after(&request, &stats, Some(top.order), (seen, top.files))
            .filter(|_| seen < most)
            .map(|cursor| with(params, &names::CURSOR, &cursor.to_string()));
        let mut repos = Vec::new();
        if select == Select::Repos {
            repos.extend(files.drain(..).map(|file| {
                let address = link::folder(&file.repo, "");
                (file.repo, address)
            }));
        } else if select.has_lines() {
            let around = (CONTEXT, CONTEXT);
            server.searcher.add_context(&mut files, stats.switch, around).await?;
            server.searcher.add_enclosing(&mut files, stats.switch).await?;
        }
        let marked = files.into_iter().zip(counts).map(|(mut file, (matches, dropped))| {
            for (number, ranges) in dropped {
                if let Some(line) = file.lines.iter_mut().find(|line| line.number == number) {
                    line.ranges = ranges;
                }
            }
            (file, matches)
        });
        let files = UnrenderedFiles::of(marked.collect(), &params.q);
        let explanation = params
            .explains()
            .then(|| explained(&request, server.searcher.store().no_recheck(), Some(&stats)));
        let skipped = (!stats.skipped.is_empty()).then(|| {
            let said = format!(
                "Files that are not in the index, though they might match: {}",
                crate::print::skipped(&stats)
            );
            let mut found = top.repos.keys();
            let only = found.next().filter(|_| found.next().is_none());
            let place = only.map_or_else(
                || "/repos".to_owned(),
                |repo| format!("{}#left-out", link::folder(repo, "")),
            );
            (said, place)
        });
        let hints = hints::beside(server, params, &request, &stats).await;
        let results = Results {
            hints: hints.into_iter().map(HintView::from).collect(),
            summary: summary(&request, &stats, top.order, top.files),
            stopped: told(why(&stats, top.order, request.resume), &stats),
            skipped,
            chosen: chosen(&params.q),
            all_values: all_values(params),
            explanation,
            facets: if select == Select::Repos { Vec::new() } else { facets(params, &top) },
            cut: stats.stopped.is_some(),
            orders: orders(params, top.order),
            nothing: files.is_empty() && repos.is_empty() && stats.stopped.is_none(),
            files: Vec::new(),
            goes_on: false,
            repos,
            next,
        };
        Ok((results, files))
    }
}

/// The page of a search, or one on which a script shows what is found while it is found.
pub(crate) async fn page(server: &Server, params: &SearchParams) -> Result<Response, Failure> {
    let search = Prepared::of(params).await?;
    let _turn = server.turn().await?;
    let mut search = search.start(server);
    let patience = (!params.waits()).then(|| search.begun + PATIENCE);
    if !search.go_on(patience).await {
        search.running.replace();
        let stream = with(params, &names::FORMAT, "html").replacen("/search", "/search/stream", 1);
        return Ok(search_page::searching(&params.q, stream, with(params, &names::WAIT, "1")));
    }
    let (mut results, mut files) = search.end(server, params).await?;
    results.files = files.take_first().draw().await?;
    results.goes_on = !files.is_empty();
    Ok(search_page::found(&params.q, results, rest(server.clone(), files)))
}

/// The files that follow the first ones, as HTML, when those are painted.
async fn rest(server: Server, files: UnrenderedFiles) -> String {
    tokio::time::sleep(PAINTING).await;
    let searching = server.clone();
    let drawn = run_on(&server.threads, async move {
        let _turn = searching.turn().await?;
        files.draw().await
    });
    match drawn.await.flatten() {
        Ok(files) => Found { files: &files }.render().unwrap_or_default(),
        // What is said above of what was found is true, but it is not all shown.
        Err(failure) => Broken { message: &failure.body.message }.render().unwrap_or_default(),
    }
}

fn summary(request: &Request, stats: &Stats, order: Order, files: usize) -> String {
    let before = request.resume.map_or(0, |resume| resume.results);
    let more = if stats.stopped.is_some() { "at least " } else { "" };
    let found = match request.program().select {
        // Found by their paths, or because something is not in them.
        Select::Lines | Select::Symbols if stats.matches == 0 => {
            format!("{more}{}", count(files, "file"))
        }
        Select::Symbols => {
            format!("{more}{} in {}", count(stats.matches, "line"), count(files, "file"))
        }
        Select::Lines => {
            format!("{more}{} in {}", count(stats.matches, "matching line"), count(files, "file"))
        }
        Select::Files => format!("{more}{}", count(files, "file")),
        Select::Repos => format!("{more}{}", count(files, "repository")),
    };
    let window = if before > 0 && order == Order::Relevance {
        format!(", after the first {}", grouped(before))
    } else {
        String::new()
    };
    format!("{found}{window}, {}", duration(stats.duration))
}

/// Why not all is there, and what of symbols is not.
fn told(why: Option<String>, stats: &Stats) -> Option<String> {
    let all: Vec<String> = why.into_iter().chain(crate::print::symbols_left(stats)).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Why not all is there.
fn why(stats: &Stats, order: Order, resume: Option<Resume>) -> Option<String> {
    let (_, sentence) = stopped(stats)?;
    if stats.ended_at_limit() && order == Order::Relevance {
        let which = if resume.is_some() { "next" } else { "first" };
        return Some(format!(
            "best of the {which} {} files; narrow the query for the rest",
            grouped(stats.files)
        ));
    }
    Some(sentence)
}
