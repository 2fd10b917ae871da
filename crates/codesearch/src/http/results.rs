//! The page of results: what was found, the best first, and where to go from there.
//!
//! Ranking needs more than what is shown: the best of the first [`WINDOW`] files that are found are shown
//! on pages of [`PAGE`], and then the best of the next. In the order of paths or of repositories, all
//! that there is is found, and only as much is kept as is shown.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use engine::search::{DEFAULT_TIMEOUT, FileMatch, Line, Request, Resume, Stats, score};
use query::{Count, Query as Parsed, Select, Tree};
use tokio::time::timeout_at;

use super::ask::{Asked, Cursor, Running, compiled, stopped};
use super::error::Failure;
use super::view::{self, FileView};
use super::{Server, link, page};
use crate::print::explained;

/// Files on a page.
const PAGE: usize = 50;

/// Files that are found before the best of them are shown.
const WINDOW: usize = 1000;

/// What takes longer is shown while it is found.
const PATIENCE: Duration = Duration::from_millis(150);

/// Of a longer line so many bytes are kept, around its first match.
const MAX_LINE: usize = 4096;

/// Values of a facet that are shown.
const FACET_VALUES: usize = 12;

/// In which order results are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Relevance,
    Path,
    Repo,
}

impl Order {
    const ALL: [(Order, &'static str); 3] =
        [(Order::Relevance, "relevance"), (Order::Path, "path"), (Order::Repo, "repo")];

    fn of(asked: &Asked) -> Result<Self, Failure> {
        match asked.sort.as_deref() {
            None | Some("") => Ok(Order::Relevance),
            Some(name) => Self::ALL.iter().find(|(_, known)| *known == name).map_or_else(
                || Err(Failure::bad_request(format!("sort={name}: use relevance, path or repo"))),
                |(order, _)| Ok(*order),
            ),
        }
    }
}

/// A result, and where it belongs.
struct Ranked {
    score: f32,
    file: FileMatch,
    /// Its matching lines, of which some may not be kept.
    matches: usize,
    /// What matches in lines that are not kept and will be shown around those that are: their numbers and ranges.
    beyond: Vec<(u64, Vec<Range<usize>>)>,
}

/// What was found so far: the best of it, and counts of all.
struct Gathering {
    order: Order,
    /// Results to keep.
    keep: usize,
    best: Vec<Ranked>,
    files: usize,
    repos: HashMap<String, usize>,
    languages: HashMap<String, usize>,
    folders: HashMap<String, usize>,
}

impl Gathering {
    fn new(order: Order, keep: usize) -> Self {
        let (repos, languages, folders) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { order, keep, best: Vec::new(), files: 0, repos, languages, folders }
    }

    fn add(&mut self, mut file: FileMatch) {
        self.files += 1;
        let count = |counts: &mut HashMap<String, usize>, name: &str| match counts.get_mut(name) {
            Some(count) => *count += 1,
            None => drop(counts.insert(name.to_owned(), 1)),
        };
        count(&mut self.repos, &file.repo);
        if let Some(language) = &file.language {
            count(&mut self.languages, language);
        }
        if let Some((folder, _)) = file.path.split_once('/') {
            count(&mut self.folders, folder);
        }
        let score = if self.order == Order::Relevance { score(&file) } else { 0.0 };
        let matches = file.matches();
        let beyond = beyond(&mut file.lines);
        file.lines.iter_mut().for_each(shorten);
        self.best.push(Ranked { score, file, matches, beyond });
        if self.best.len() >= 2 * self.keep {
            self.settle();
        }
    }

    /// Puts the best in order, and forgets the others.
    fn settle(&mut self) {
        let order = self.order;
        self.best.sort_by(|a, b| a.before(b, order));
        self.best.truncate(self.keep);
    }
}

impl Ranked {
    fn before(&self, other: &Self, order: Order) -> Ordering {
        let by_repo =
            || (&self.file.repo, &self.file.path).cmp(&(&other.file.repo, &other.file.path));
        match order {
            Order::Relevance => other.score.total_cmp(&self.score).then_with(by_repo),
            Order::Path => self.file.path.cmp(&other.file.path).then_with(by_repo),
            Order::Repo => by_repo(),
        }
    }
}

/// Keeps the lines that are shown at first, and gives what matches in those that will be seen around them.
fn beyond(lines: &mut Vec<Line>) -> Vec<(u64, Vec<Range<usize>>)> {
    let rest = lines.split_off(lines.len().min(view::MAX_LINES));
    let last = lines.last().map_or(0, |line| line.number);
    let seen = rest.into_iter().take_while(|line| line.number <= last + view::CONTEXT as u64);
    // A line may be a megabyte of matches.
    seen.map(|line| (line.number, line.ranges.into_iter().take(64).collect())).collect()
}

/// Keeps of a long line what is around its first match.
fn shorten(line: &mut Line) {
    if line.text.len() <= MAX_LINE {
        return;
    }
    let first = line.ranges.first().map_or(0, |range| range.start);
    let from = line.text.floor_char_boundary(first.saturating_sub(MAX_LINE / 4));
    let upto = line.text.floor_char_boundary(from + MAX_LINE);
    line.text = line.text[from..upto].to_owned();
    line.offset += from as u64;
    line.ranges.retain_mut(|range| {
        *range = range.start.saturating_sub(from)..range.end.min(upto).saturating_sub(from);
        range.start <= range.end && range.end <= upto - from
    });
}

/// What a page shows of a search.
pub(crate) struct Results {
    /// How much was found, in how long.
    pub(crate) summary: String,
    /// Why that is not all there is; none if it is.
    pub(crate) stopped: Option<String>,
    /// What was left out of the index and might match.
    pub(crate) skipped: Option<String>,
    pub(crate) explanation: Option<String>,
    pub(crate) facets: Vec<Facet>,
    /// Each order, its address, and whether it is this one.
    pub(crate) orders: Vec<(&'static str, String, bool)>,
    pub(crate) files: Vec<FileView>,
    /// Repositories, when only those were asked for: name and address.
    pub(crate) repos: Vec<(String, String)>,
    /// There is more than was counted.
    pub(crate) cut: bool,
    /// The address of the next page.
    pub(crate) next: Option<String>,
    /// Nothing was found, and everything was looked at.
    pub(crate) nothing: bool,
}

/// By what the results can be narrowed.
pub(crate) struct Facet {
    pub(crate) title: &'static str,
    /// Each value, how many files, and the address of the narrower search.
    pub(crate) values: Vec<(String, usize, String)>,
    /// Values that are not shown.
    pub(crate) more: usize,
}

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

/// A search for a page, and what is known of it.
pub(crate) struct Search {
    running: Running,
    request: Arc<Request>,
    gathering: Gathering,
    /// Results of this window that were shown on the pages before.
    shown: usize,
    begun: Instant,
}

impl Search {
    /// Starts it.
    pub(crate) async fn start(server: &Server, asked: &Asked) -> Result<Self, Failure> {
        let order = Order::of(asked)?;
        let usual = if order == Order::Relevance { Count::Most(WINDOW) } else { Count::All };
        let cursor = asked.cursor()?;
        let mut request = compiled(asked, Some(usual)).await?;
        // They are read for the files that are shown only.
        request.context = (0, 0);
        // Nobody looks at an empty page for longer.
        request.timeout.get_or_insert(DEFAULT_TIMEOUT);
        request.resume = cursor.map(|cursor| cursor.resume);
        let shown = cursor.map_or(0, |cursor| cursor.shown);
        let request = Arc::new(request);
        Ok(Self {
            running: Running::start(server, &request),
            gathering: Gathering::new(order, shown.saturating_add(PAGE)),
            request,
            shown,
            begun: Instant::now(),
        })
    }

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
                self.gathering.add(file);
            }
        }
    }

    /// How many files were found so far.
    pub(crate) fn found(&self) -> usize {
        self.gathering.files
    }

    /// The best files so far, as HTML.
    pub(crate) async fn so_far(&mut self, q: &str) -> String {
        self.gathering.settle();
        let best = self.gathering.best.iter();
        let files: Vec<(FileMatch, usize)> =
            best.take(PAGE).map(|ranked| (ranked.file.clone(), ranked.matches)).collect();
        let files = views(files, q.to_owned()).await;
        Found { files: &files }.render().unwrap_or_default()
    }

    /// What there is to show, at the end.
    pub(crate) async fn end(self, server: &Server, asked: &Asked) -> Result<Results, Failure> {
        let Self { running, request, mut gathering, shown, .. } = self;
        let stats = running.end()?;
        gathering.settle();
        let select = request.program().select;
        let best = gathering.best.drain(..).skip(shown).take(PAGE);
        let (mut files, counts): (Vec<FileMatch>, Vec<_>) =
            best.map(|ranked| (ranked.file, (ranked.matches, ranked.beyond))).unzip();
        let next = next(&request, &stats, shown + files.len(), gathering.files)
            .map(|cursor| with(asked, "cursor", &cursor.to_string()));
        let mut repos = Vec::new();
        if select == Select::Repos {
            repos.extend(files.drain(..).map(|file| {
                let address = link::folder(&file.repo, "");
                (file.repo, address)
            }));
        } else if select == Select::Lines {
            let around = (view::CONTEXT, view::CONTEXT);
            server.searcher.add_context(&mut files, stats.epoch, around).await?;
        }
        let marked = files.into_iter().zip(counts).map(|(mut file, (matches, beyond))| {
            for (number, ranges) in beyond {
                if let Some(line) = file.lines.iter_mut().find(|line| line.number == number) {
                    line.ranges = ranges;
                }
            }
            (file, matches)
        });
        let views = views(marked.collect(), asked.q.clone()).await;
        let explanation = asked
            .explains()
            .then(|| explained(&request, server.searcher.store().is_loose(), Some(&stats)));
        let skipped = (!stats.skipped.is_empty()).then(|| {
            format!("Not in the index, though they might match: {}", crate::print::skipped(&stats))
        });
        Ok(Results {
            summary: summary(&request, &stats, gathering.order, gathering.files),
            stopped: why(&stats, gathering.order, request.resume),
            skipped,
            explanation,
            facets: if select == Select::Repos { Vec::new() } else { facets(&asked.q, &gathering) },
            cut: stats.stopped.is_some(),
            orders: orders(asked, gathering.order),
            nothing: views.is_empty() && repos.is_empty() && stats.stopped.is_none(),
            files: views,
            repos,
            next,
        })
    }
}

impl Results {
    /// The results as HTML, without the page around them.
    pub(crate) fn html(&self) -> String {
        Fragment { result: self }.render().unwrap_or_default()
    }
}

/// The page of a search, or one on which a script shows what is found while it is found.
pub(crate) async fn page(server: &Server, asked: &Asked) -> Result<Response, Failure> {
    let _turn = server.turn().await?;
    let mut search = Search::start(server, asked).await?;
    let patience = asked.wait.is_none().then(|| search.begun + PATIENCE);
    if !search.go_on(patience).await {
        search.running.replace();
        let stream = with(asked, "format", "html").replacen("/search", "/search/stream", 1);
        return Ok(page::searching(asked, stream, with(asked, "wait", "1")));
    }
    let results = search.end(server, asked).await?;
    Ok(page::found(StatusCode::OK, asked, results))
}

/// Files as they are shown. Colours take their time.
async fn views(files: Vec<(FileMatch, usize)>, q: String) -> Vec<FileView> {
    let work = tokio::task::spawn_blocking(move || {
        files.iter().map(|(file, matches)| view::file(file, *matches, &q)).collect()
    });
    work.await.unwrap_or_default()
}

/// Where the page after this one begins, when `shown` of the `files` of a window have been shown.
fn next(request: &Request, stats: &Stats, shown: usize, files: usize) -> Option<Cursor> {
    let before = request.resume.map_or(0, |resume| resume.results);
    let at = |results| Resume { epoch: stats.epoch, order: stats.order, results };
    if shown < files {
        Some(Cursor { resume: at(before), shown })
    } else {
        stats.ended_at_limit().then(|| Cursor { resume: at(before + files), shown: 0 })
    }
}

fn summary(request: &Request, stats: &Stats, order: Order, files: usize) -> String {
    let before = request.resume.map_or(0, |resume| resume.results);
    let more = if stats.stopped.is_some() { "at least " } else { "" };
    let plural = |n: usize, one: &str, many: &str| {
        format!("{} {}", grouped(n), if n == 1 { one } else { many })
    };
    let found = match request.program().select {
        // Found by their paths, or because something is not in them.
        Select::Lines if stats.matches == 0 => {
            format!("{more}{}", plural(files, "file", "files"))
        }
        Select::Lines => format!(
            "{more}{} in {}",
            plural(stats.matches, "matching line", "matching lines"),
            plural(files, "file", "files")
        ),
        Select::Files => format!("{more}{}", plural(files, "file", "files")),
        Select::Repos => format!("{more}{}", plural(files, "repository", "repositories")),
    };
    let ms = stats.duration.as_secs_f64() * 1000.0;
    let window = if before > 0 && order == Order::Relevance {
        format!(", after the first {}", grouped(before))
    } else {
        String::new()
    };
    format!("{found}{window}, {ms:.1} ms")
}

/// Why not all is there.
fn why(stats: &Stats, order: Order, resume: Option<Resume>) -> Option<String> {
    let (_, sentence) = stopped(stats)?;
    if stats.ended_at_limit() && order == Order::Relevance {
        let which = if resume.is_some() { "next" } else { "first" };
        return Some(format!(
            "these are the best of the {which} {} that were found; there are more",
            grouped(stats.files)
        ));
    }
    Some(sentence)
}

/// 1234567 as `1,234,567`.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn facets(q: &str, gathering: &Gathering) -> Vec<Facet> {
    let facet = |title, counts: &HashMap<String, usize>, term: &dyn Fn(&str) -> String| {
        let mut values: Vec<(&String, usize)> = counts.iter().map(|(v, n)| (v, *n)).collect();
        values.sort_by(|(a, x), (b, y)| (y, a).cmp(&(x, b)));
        let more = values.len().saturating_sub(FACET_VALUES);
        let values = values.into_iter().take(FACET_VALUES).map(|(value, n)| {
            let address = link::to("/search", &[("q", &narrowed(q, &term(value)))]);
            (value.clone(), n, address)
        });
        Facet { title, values: values.collect(), more }
    };
    let mut facets = vec![
        facet("Repository", &gathering.repos, &|name| query::exactly("repo", name)),
        facet("Language", &gathering.languages, &|name| query::written("lang", name)),
    ];
    // Folders of different repositories have little to do with each other.
    if gathering.repos.len() == 1 {
        facets.push(facet("Folder", &gathering.folders, &|name| query::below("file", name)));
    }
    facets.retain(|facet| facet.values.len() > 1);
    facets
}

/// A query with one more term that must hold.
pub(crate) fn narrowed(q: &str, term: &str) -> String {
    let any =
        Parsed::parse(q, query::Case::Smart).is_ok_and(|query| matches!(query.tree, Tree::Any(_)));
    if any { format!("({q}) {term}") } else { format!("{q} {term}") }
}

/// The address of the same search with another parameter.
fn with(asked: &Asked, name: &str, value: &str) -> String {
    let given = |field: &Option<String>| field.clone().unwrap_or_default();
    let mut parameters = vec![
        ("q", asked.q.clone()),
        ("limit", asked.limit.clone().or_else(|| asked.num.clone()).unwrap_or_default()),
        ("case", given(&asked.case)),
        ("repo", given(&asked.repo)),
        ("file", given(&asked.file)),
        ("lang", given(&asked.lang)),
        ("timeout", given(&asked.timeout)),
        ("explain", given(&asked.explain)),
        ("sort", given(&asked.sort)),
        ("cursor", given(&asked.cursor)),
        ("wait", given(&asked.wait)),
    ];
    parameters.retain(|(known, _)| *known != name);
    parameters.push((name, value.to_owned()));
    let parameters: Vec<(&str, &str)> =
        parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
    link::to("/search", &parameters)
}

fn orders(asked: &Asked, order: Order) -> Vec<(&'static str, String, bool)> {
    let first = Asked { cursor: None, ..asked.clone() };
    Order::ALL
        .iter()
        .map(|(other, name)| (*name, with(&first, "sort", name), *other == order))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_narrower_query_means_both() {
        assert_eq!(narrowed("foo", "lang:Go"), "foo lang:Go");
        assert_eq!(narrowed("foo or bar", "lang:Go"), "(foo or bar) lang:Go");
        assert_eq!(narrowed("(foo|bar)", "lang:Go"), "(foo|bar) lang:Go");
    }

    #[test]
    fn a_long_line_is_kept_around_its_first_match() {
        let text = format!("{}needle{}needle", "é".repeat(5000), "y".repeat(5000));
        let second = text.len() - 6;
        let ranges = vec![10_000..10_006, second..text.len()];
        let mut line = Line { number: 1, offset: 7, text, ended: true, ranges };
        shorten(&mut line);
        assert!(line.text.len() <= MAX_LINE);
        assert_eq!(line.ranges.len(), 1);
        assert_eq!(&line.text[line.ranges[0].clone()], "needle");
        assert_eq!(line.offset + line.ranges[0].start as u64, 10_007);
    }
}
