//! Searches for a page of results, and renders it.
//!
//! Ranking needs more files than a page shows. The first [`POOL`] files found are ranked and shown on pages of [`PAGE`]
//! files; then the next [`POOL`] files are. In the order of paths or repositories, the search runs to its end and keeps
//! only the files to show.

use std::sync::Arc;
use std::time::{Duration, Instant};

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use query::{Count, Select};
use search::View;
use search::{Best, Ranked, Request, Stats};
use tokio::time::timeout_at;

use super::links::{all_values, choice_of_trees, chosen, facets, folder_of, orders, with};
use super::trim::trim;
use super::unrendered::{UnrenderedFile, UnrenderedFiles};
use super::view::{ByWords, HintView, Results};
use crate::by_words;
use crate::connections::run_on;
use crate::cursor::Cursor;
use crate::error::Failure;
use crate::fresh;
use crate::hints;
use crate::pages::narrow::{self, TreeFields};
use crate::pages::view::{self, CONTEXT, FileView, ListedCopies};
use crate::pages::{ask, link, search_page};
use crate::params::{SearchParams, names};
use crate::request::compiled;
use crate::search_stream::{SearchStream, stopped};
use crate::server::Server;
use rank::Order;
use rank::{POOL, RankedFile};
use request::Client;
use request::explain::{explained, score};
use request::human::{count, duration, grouped};

/// Files on a page.
const PAGE: usize = 50;

/// Longest time to wait for the complete result. After that, the page shows results while they are found.
const PATIENCE: Duration = Duration::from_millis(150);

/// Longest time of a search while its query is being typed; after that, its results come too late.
const TYPING: Duration = Duration::from_secs(1);

/// Pause before the other results are rendered, so that the browser paints the first ones. Without it, the browser
/// would parse the others before painting, and rendering them would take one of the cores that paint.
const PAINTING: Duration = Duration::from_millis(60);

/// The results without the page around them, for a script to insert.
#[derive(Template)]
#[template(path = "results.html")]
struct Fragment<'a> {
    result: &'a Results,
}

/// The files without anything around them.
#[derive(Template)]
#[template(path = "found.html")]
struct Found<'a> {
    files: &'a [FileView],
}

/// The message in place of files that cannot be rendered.
#[derive(Template)]
#[template(
    source = "<section class=\"error\" role=\"alert\"><p>The remaining results cannot be shown: {{ message \
              }}</p></section>",
    ext = "html"
)]
struct Broken<'a> {
    message: &'a str,
}

/// A running search for a page, and its best results so far.
pub(crate) struct Search {
    running: SearchStream,
    request: Arc<Request>,
    ranked: Ranked,
    /// Number of results in the current pool that earlier pages showed.
    shown: usize,
    /// Most ranked results shown on all pages together.
    most: usize,
    /// Whether the results up to this page take too much memory.
    too_large: bool,
    begun: Instant,
}

/// A search for a page that is ready to run: its parameters are valid.
pub(crate) struct Prepared {
    request: Arc<Request>,
    ranked: Ranked,
    shown: usize,
    most: usize,
}

impl Prepared {
    /// Prepares the search that the parameters ask for.
    ///
    /// # Errors
    /// A parameter is invalid.
    pub(crate) async fn of(params: &SearchParams) -> Result<Self, Failure> {
        let order = params.order();
        let limit = if order == Order::Relevance { Count::Most(POOL) } else { Count::All };
        let cursor = params.cursor(Some(order))?;
        let mut request = compiled(params, Client { limit, ..Client::PAGE }).await?;
        let is_ranked = order == Order::Relevance;
        // The limit applies after ranking.
        let most = request.limit.filter(|_| is_ranked).unwrap_or(usize::MAX);
        let most = if most < POOL { most } else { usize::MAX };
        request.resume = cursor.map(|cursor| cursor.resume);
        request.context = (CONTEXT, CONTEXT);
        let shown = cursor.map_or(0, |cursor| cursor.shown);
        let page = PAGE.min(most.saturating_sub(shown));
        let mut ranked = Ranked::of(&mut request, order, shown, page);
        ranked.top().below = folder_of(&params.q);
        ranked.check_disk();
        Ok(Self { request: Arc::new(request), ranked, shown, most })
    }

    /// Returns the request.
    pub(crate) fn request(&mut self) -> &mut Request {
        Arc::make_mut(&mut self.request)
    }

    /// Starts the search.
    pub(crate) fn start(self, server: &Server) -> Search {
        let Self { request, ranked, shown, most } = self;
        Search {
            running: SearchStream::start(server, &request),
            ranked,
            request,
            shown,
            most,
            too_large: false,
            begun: Instant::now(),
        }
    }
}

impl Search {
    /// Takes results until the search or the time ends. Returns whether the search has ended.
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
            self.ranked.add(found, trim);
            if self.ranked.top().is_too_large() {
                self.too_large = true;
                return true;
            }
        }
    }

    /// Returns the number of files found so far.
    pub(crate) fn found(&mut self) -> usize {
        self.ranked.top().files
    }

    /// Renders the best files so far as HTML.
    pub(crate) async fn so_far(&mut self, view: &View, params: &SearchParams) -> String {
        self.ranked.top().settle();
        let best = self.ranked.top().best.iter();
        let unrendered = |ranked: &RankedFile| UnrenderedFile {
            file: ranked.file.clone(),
            matches: ranked.matches,
            score: None,
        };
        let files = best.take(PAGE).map(unrendered).collect();
        let files = UnrenderedFiles::of(files, &params.q, None, listed_copies(params));
        match files.draw(view).await {
            Ok(files) => Found { files: &files }.render().unwrap_or_default(),
            Err(_) => String::new(),
        }
    }

    /// Renders all results as HTML, without the page around them.
    pub(crate) async fn html(
        self,
        server: &Server,
        params: &SearchParams,
    ) -> Result<String, Failure> {
        let (mut results, files) = self.end(server, params).await?;
        results.files = files.draw(server.view()).await?;
        Ok(Fragment { result: &results }.render().unwrap_or_default())
    }

    /// Returns the contents of the page, and its files, which are not rendered yet.
    async fn end(
        self,
        server: &Server,
        params: &SearchParams,
    ) -> Result<(Results, UnrenderedFiles), Failure> {
        let Self { running, request, mut ranked, shown, most, too_large, .. } = self;
        if too_large {
            return Err(Failure::bad_request(
                "the results up to this page are too large to sort; narrow the query, or sort by relevance",
            ));
        }
        let mut stats = running.end()?;
        let select = request.query().settings.select;
        let only = {
            let mut found = ranked.top().repos.keys();
            found.next().filter(|_| found.next().is_none()).cloned()
        };
        let trees = if ranked.top().trees.is_empty() {
            TreeFields::default()
        } else {
            TreeFields::of(server.view()).await?
        };
        let catalog = server.view().catalog().await?;
        let of = |repo: &store::CatalogRepo| (repo.name.clone(), Arc::clone(&repo.properties));
        let found = |repo: &&Arc<store::CatalogRepo>| ranked.top().repos.contains_key(&repo.name);
        let known = catalog.repos.values().filter(found).map(|repo| of(repo)).collect();
        let (order, mut facets) = (params.order(), facets(params, ranked.top(), &trees, &known));
        if let Some(only) = &only
            && request.compiled_query().trees.is_empty()
            && request.query().changes.is_none()
        {
            let names = trees_of(server.view(), only).await?;
            facets.extend(choice_of_trees(&params.q, &names, &trees));
        }
        let Best { files: mut best, near, found, results, stale } =
            ranked.best(server.view(), &request, &mut stats, true).await?;
        audit::told().files(best.iter().map(|(ranked, _)| &ranked.file).chain(&near));
        let seen = shown + best.len();
        let next = Cursor::after(&request, &stats, Some(order), (seen, results))
            .filter(|_| seen < most)
            .map(|cursor| with(params, &names::CURSOR, &cursor.to_string()));
        let mut repos = Vec::new();
        if select == Select::Repos {
            repos.extend(best.drain(..).map(|(RankedFile { file, .. }, _)| {
                let address = link::folder(&file.repo, "");
                (file.repo, address)
            }));
        }
        let files = best.into_iter().map(|(ranked, explained)| {
            let RankedFile { mut file, matches, dropped, .. } = ranked;
            for (number, ranges) in dropped {
                if let Some(line) = file.lines.iter_mut().find(|line| line.number == number) {
                    line.ranges = ranges;
                }
            }
            let score = explained.filter(|_| params.explains()).as_ref().map(score);
            UnrenderedFile { file, matches, score }
        });
        let files: Vec<UnrenderedFile> = files.collect();
        let by_words = if params.is_typed() {
            None
        } else {
            let known: Vec<(String, String)> =
                files.iter().map(|one| (one.file.repo.clone(), one.file.path.clone())).collect();
            ranked_by_words(server, params, (&request, &stats), &known).await?
        };
        let near =
            near.iter().map(|file| view::file(file, file.matches(), &params.q, None, &trees));
        let near = near.collect();
        let enclosing = select.has_lines().then_some(stats.switch);
        let files = UnrenderedFiles::of(files, &params.q, enclosing, listed_copies(params));
        let explanation = params
            .explains()
            .then(|| explained(&request, server.view().no_recheck(), Some(&stats)));
        let skipped = (!stats.skipped.is_empty()).then(|| {
            let said = format!(
                "Files that are not in the index, but might match: {}",
                request::notes::skipped(&stats)
            );
            let place = only.as_ref().map_or_else(
                || "/repos".to_owned(),
                |repo| format!("{}#left-out", link::folder(repo, "")),
            );
            (said, place)
        });
        let hints = if params.is_typed() {
            // They need searches of their own.
            Vec::new()
        } else {
            hints::beside(server, params, &request, &stats, true).await
        };
        let results = Results {
            hints: hints.into_iter().map(HintView::from).collect(),
            summary: summary(&request, &stats, order, found),
            stale: request::stale::sentence(&stale),
            stopped: notes(why(&stats, order), &stats),
            age: request::fresh::dated_age(&stats.covered),
            skipped,
            chosen: chosen(&params.q),
            all_values: all_values(params),
            explanation,
            facets: if select == Select::Repos { Vec::new() } else { facets },
            cut: stats.stopped.is_some(),
            orders: orders(params, order),
            nothing: files.is_empty() && repos.is_empty() && stats.stopped.is_none(),
            near,
            files: Vec::new(),
            by_words,
            goes_on: false,
            repos,
            next,
        };
        Ok((results, files))
    }
}

/// Sends the page with its results. If the search takes longer, sends one whose script shows results while they are
/// found.
pub(crate) async fn page(server: &Server, params: &SearchParams) -> Result<Response, Failure> {
    let mut search = Prepared::of(params).await?;
    fresh::wait(server, params, search.request()).await?;
    let _turn = server.turn().await?;
    let mut search = search.start(server);
    let patience = (!params.waits()).then(|| search.begun + PATIENCE);
    if !search.go_on(patience).await {
        search.running.replace();
        let stream = with(params, &names::FORMAT, "html").replacen("/search", "/search/stream", 1);
        return Ok(search_page::searching(&params.q, stream, with(params, &names::WAIT, "1")));
    }
    let (mut results, mut files) = search.end(server, params).await?;
    results.files = files.take_first().draw(server.view()).await?;
    results.goes_on = !files.is_empty();
    Ok(search_page::found(&params.q, results, rest(server.clone(), files)))
}

/// Sends the page for a query that is still being typed, as a whole. Sends nothing, with status 204, if the query is
/// not valid yet, if no turn is free without waiting, or if the search takes longer than [`TYPING`]. When another
/// letter is typed, the browser closes the connection, which ends the search.
pub(crate) async fn typed(server: &Server, params: &SearchParams) -> Response {
    all_at_once(server, params).await.unwrap_or_else(|| StatusCode::NO_CONTENT.into_response())
}

async fn all_at_once(server: &Server, params: &SearchParams) -> Option<Response> {
    let search = Prepared::of(params).await.ok()?;
    let _turn = server.free_turn()?;
    let mut search = search.start(server);
    let until = search.begun + TYPING;
    if !search.go_on(Some(until)).await {
        return None;
    }
    let (mut results, files) = search.end(server, params).await.ok()?;
    results.files = files.draw(server.view()).await.ok()?;
    Some(search_page::found(&params.q, results, std::future::ready(String::new())))
}

/// Renders the files after the first ones as HTML, after a pause for painting.
async fn rest(server: Server, files: UnrenderedFiles) -> String {
    tokio::time::sleep(PAINTING).await;
    let searching = server.clone();
    let drawn = run_on(&server.threads, async move {
        let _turn = searching.turn().await?;
        files.draw(searching.view()).await
    });
    match drawn.await.flatten() {
        Ok(files) => Found { files: &files }.render().unwrap_or_default(),
        // The summary above remains true, but some of the counted files are not shown.
        Err(failure) => Broken { message: &failure.body.message }.render().unwrap_or_default(),
    }
}

/// Returns the names of the trees of a repository, if it has several.
async fn trees_of(view: &View, name: &str) -> Result<Vec<String>, store::Error> {
    let catalog = view.catalog().await?;
    let repo = catalog.repos.values().find(|repo| repo.name == name);
    let named = repo.map(|repo| narrow::named(repo)).unwrap_or_default();
    Ok(named.into_iter().map(|(name, _)| name.to_owned()).collect())
}

/// Returns the files ranked by words that follow a search with few results.
async fn ranked_by_words(
    server: &Server,
    params: &SearchParams,
    search: (&Request, &Stats),
    found: &[(String, String)],
) -> Result<Option<ByWords>, Failure> {
    let asked = by_words::after(server, params, search, found).await?;
    let Some(asked) = asked else { return Ok(None) };
    let fields = [names::REPO, names::FILE, names::LANG];
    let given = fields.iter().filter_map(|of| Some((of.name, params.given.get(of)?)));
    let all: Vec<(&str, &str)> = std::iter::once(("q", params.q.as_str())).chain(given).collect();
    Ok(Some(ByWords {
        why: request::by_words::why(search.1.files, &asked),
        href: link::to("/ask", &all),
        files: ask::views(server, &asked, None, params.explains()).await?,
    }))
}

fn listed_copies(params: &SearchParams) -> ListedCopies {
    ListedCopies { all: params.lists_copies(), href: with(params, &names::COPIES, "1") }
}

fn summary(request: &Request, stats: &Stats, order: Order, files: usize) -> String {
    let before = request.resume.map_or(0, |resume| resume.results);
    let is_top = stats.ended_at_limit() && order == Order::Relevance;
    let more = if stats.is_complete() { "" } else { "at least " };
    let found = match request.query().settings.select {
        Select::Repos => format!("{more}{}", count(files, "repository")),
        _ if is_top => {
            let next = if before > 0 { "the next " } else { "" };
            format!("Top results from {next}{}+ files", grouped(stats.files))
        }
        // The files match by their paths, or because their texts lack something.
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
    };
    let window = if before > 0 && order == Order::Relevance {
        format!(", after the first {}", grouped(before))
    } else {
        String::new()
    };
    format!("{found}{window}, {}", duration(stats.duration))
}

/// Returns why the result is incomplete, and which symbols are missing.
fn notes(why: Option<String>, stats: &Stats) -> Option<String> {
    let all: Vec<String> = why.into_iter().chain(request::notes::unsearched(stats)).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Returns a sentence that says why the result is incomplete.
fn why(stats: &Stats, order: Order) -> Option<String> {
    let (_, sentence) = stopped(stats)?;
    if stats.ended_at_limit() && order == Order::Relevance {
        return Some("narrow the query for the rest".to_owned());
    }
    Some(sentence)
}
