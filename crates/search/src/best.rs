//! A search whose results will be ranked. It finds the first matching files, and those anywhere that define the name or
//! are named after it ([`BoostQueries`](rank::boost::BoostQueries)); and if more match than are ranked, other files
//! that users probably want.
//! These boosted files are part of the first page. A search that continues after it finds them again and leaves them
//! out, so that all pages together have each file once.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use query::{CompiledQuery, Select};
use store::{RepoId, Switch};
use tokio::sync::mpsc;

use super::cost::RANK_BATCHES;
use super::missing::Missing;
use super::order;
use super::stats::{Stats, Stopped};
use crate::types::{Error, Request, Resume, Texts};
use answer::FileMatch;
use rank::boost::{self, BoostQueries, BoostWords};
use rank::{POOL, Ranking, Votes};

/// A search in the order in which files are found.
pub(crate) type Plain<'s> = dyn Fn(Arc<Request>, mpsc::Sender<Vec<FileMatch>>) -> BoxFuture<'s, Result<Stats, Error>>
    + Sync
    + 's;

/// A lookup of the texts that have a query's words, best first over all shards but the missing ones.
pub(crate) type ByWords<'s> = dyn Fn(BoostWords, Option<Duration>) -> BoxFuture<'s, Result<Option<(Texts, Missing)>, Error>>
    + Sync
    + 's;

/// Files, by repository and path.
type Files = HashSet<(RepoId, String)>;

/// Searches a state of the index, with a search that finds files in any order.
///
/// # Errors
/// The errors of a search.
pub(crate) async fn search<'s>(
    (plain, by_words): (&Plain<'s>, &ByWords<'s>),
    switch: Switch,
    request: &Arc<Request>,
    found: mpsc::Sender<Vec<FileMatch>>,
) -> Result<Stats, Error> {
    let begun = Instant::now();
    let of_files = request.compiled_query().select != Select::Repos;
    // A query that is too large has no boosted files; the query itself is compiled already.
    let lead = of_files.then(|| BoostQueries::of(request.query()).ok().flatten()).flatten();
    let Some(lead) = lead else { return plain(Arc::clone(request), found).await };
    let leads = BoostedSearch { plain, by_words, request, switch, begun };
    if request.resume.is_some_and(|from| from.results > 0) {
        leads.search_on(lead, found).await
    } else {
        leads.search_from_start(lead, found).await
    }
}

/// Maximum number of files with near definitions.
const MOST_NEAR: usize = 3;

/// Finds definitions of a query's qualified name in the folder or file that the qualifier names, in files that the
/// query does not find. Returns the best few, each with only the lines of the definitions, and what could not be searched.
///
/// # Errors
/// The errors of a search.
pub(crate) async fn near_definitions(
    plain: &Plain<'_>,
    switch: Switch,
    request: &Request,
) -> Result<(Vec<FileMatch>, Missing), Error> {
    // The definitions do not match the query, so they may be of other trees.
    let of_lines = request.query().settings.select == Select::Lines
        && request.compiled_query().trees.is_empty();
    let query = of_lines.then(|| boost::near_definitions(request.query()).ok().flatten()).flatten();
    let Some(query) = query else { return Ok((Vec::new(), Missing::default())) };
    let (files, stats) = auxiliary(plain, switch, request, query, request.timeout).await?;
    let (ranking, mut votes) = (Ranking::of(request.query()), Votes::default());
    let score = |file: FileMatch| {
        let (score, _) = ranking.score(&file, &mut votes);
        (score, file)
    };
    let mut scored: Vec<_> = files.into_iter().map(score).collect();
    scored.sort_by(|(a, x), (b, y)| {
        let by_points = votes.points(b).total_cmp(&votes.points(a));
        by_points.then_with(|| (&x.repo, &x.path).cmp(&(&y.repo, &y.path)))
    });
    scored.truncate(MOST_NEAR);
    let only_definitions = |(_, mut file): (_, FileMatch)| {
        file.lines.retain(|line| !line.symbols.is_empty());
        file
    };
    Ok((scored.into_iter().map(only_definitions).collect(), stats.missing))
}

/// Runs an auxiliary query for a request: returns the first files, and the counters.
async fn auxiliary(
    plain: &Plain<'_>,
    switch: Switch,
    request: &Request,
    query: CompiledQuery,
    timeout: Option<Duration>,
) -> Result<(Vec<FileMatch>, Stats), Error> {
    collect(plain, switch, request.auxiliary(query, boost::MOST, timeout)).await
}

/// Runs a request beside another one: returns its files, and the counters.
async fn collect(
    plain: &Plain<'_>,
    switch: Switch,
    mut beside: Request,
) -> Result<(Vec<FileMatch>, Stats), Error> {
    beside.resume = Some(Resume::start(switch, order::hash(beside.compiled_query())));
    let (send, mut files) = mpsc::channel(RANK_BATCHES);
    let all = async {
        let mut all = Vec::new();
        while let Some(some) = files.recv().await {
            all.extend(some);
        }
        all
    };
    let (stats, files) = tokio::join!(plain(Arc::new(beside), send), all);
    Ok((files, stats?))
}

/// A search, and the searches for its boosted files.
struct BoostedSearch<'r, 's> {
    plain: &'r Plain<'s>,
    by_words: &'r ByWords<'s>,
    request: &'r Arc<Request>,
    switch: Switch,
    begun: Instant,
}

impl BoostedSearch<'_, '_> {
    /// Searches from the start: boosted files come first, or last.
    async fn search_from_start(
        &self,
        lead: BoostQueries,
        found: mpsc::Sender<Vec<FileMatch>>,
    ) -> Result<Stats, Error> {
        let hash = order::hash(self.request.compiled_query());
        if self.request.resume.is_some_and(|from| from.query != hash) {
            return Err(Error::OtherQuery);
        }
        // Search the same state of the index.
        let mut here = Request::clone(self.request);
        here.resume = Some(Resume::start(self.switch, hash));
        let (send, mut first) = mpsc::channel(POOL);
        let (mut known, mut left_out) = (Files::new(), Totals::default());
        let both = async {
            let (files, near) = self.search_boost(lead.near).await?;
            let totals = Totals::of(&files);
            known.extend(files.iter().map(key));
            if files.is_empty() || found.send(files).await.is_ok() {
                let mut is_new = |file: &FileMatch| {
                    let is_new = known.insert(key(file));
                    if !is_new {
                        left_out.add(file);
                    }
                    is_new
                };
                pass(&mut first, &found, &mut is_new).await;
            }
            // Dropping a receiver ends the search.
            drop(first);
            Ok::<_, Error>((totals, near))
        };
        let (stats, both) = tokio::join!((self.plain)(Arc::new(here), send), both);
        let (mut stats, (mut totals, near)) = (stats?, both?);
        let is_cut = stats.ended_at_limit();
        stats.note_boost(&near, self.request);
        if is_cut {
            let both = tokio::try_join!(self.search_boost(lead.wide), self.search_words())?;
            let ((mut files, wide), (others, of_words)) = both;
            files.extend(others);
            files.retain(|file| known.insert(key(file)));
            totals.files += files.len();
            totals.matches += Totals::of(&files).matches;
            stats.note_boost(&wide, self.request);
            stats.note_boost(&of_words, self.request);
            if !files.is_empty() {
                // If the receiver was dropped, it needs no more.
                let _ = found.send(files).await;
            }
        }
        left_out.subtract_from(&mut stats);
        totals.add_to(&mut stats);
        stats.duration = self.begun.elapsed();
        Ok(stats)
    }

    /// Continues after the first results.
    async fn search_on(
        &self,
        lead: BoostQueries,
        found: mpsc::Sender<Vec<FileMatch>>,
    ) -> Result<Stats, Error> {
        let (mut files, _) = self.search_boost(lead.near).await?;
        let both = tokio::try_join!(self.search_boost(lead.wide), self.search_words())?;
        let ((wide, _), (of_words, _)) = both;
        files.extend(wide.into_iter().chain(of_words));
        let known: Files = files.iter().map(key).collect();
        let (send, mut first) = mpsc::channel(RANK_BATCHES);
        let mut left_out = Totals::default();
        let passing = async {
            let mut is_new = |file: &FileMatch| {
                let is_new = !known.contains(&key(file));
                if !is_new {
                    left_out.add(file);
                }
                is_new
            };
            pass(&mut first, &found, &mut is_new).await;
            drop(first);
        };
        let (stats, ()) = tokio::join!((self.plain)(Arc::clone(self.request), send), passing);
        let mut stats = stats?;
        left_out.subtract_from(&mut stats);
        stats.duration = self.begun.elapsed();
        Ok(stats)
    }

    /// Returns the files that one query boosts, and the counters.
    async fn search_boost(
        &self,
        query: Option<CompiledQuery>,
    ) -> Result<(Vec<FileMatch>, Stats), Error> {
        let Some(query) = query else { return Ok((Vec::new(), Stats::default())) };
        auxiliary(self.plain, self.switch, self.request, query, self.time_left()).await
    }

    /// Returns the matching files among the texts that have the words of the query, best first, and the counters.
    async fn search_words(&self) -> Result<(Vec<FileMatch>, Stats), Error> {
        let nothing = || (Vec::new(), Stats::default());
        let Some(words) = BoostWords::of(self.request.query()) else { return Ok(nothing()) };
        let (texts, missing) = match (self.by_words)(words, self.time_left()).await {
            Ok(Some(found)) => found,
            // Words are looked up in indexed trees alone.
            Ok(None) | Err(Error::Revision(_)) => return Ok(nothing()),
            Err(error) => return Err(error),
        };
        let beside = self.request.within(texts, boost::MOST, self.time_left());
        let (files, mut stats) = collect(self.plain, self.switch, beside).await?;
        stats.note_missing(missing);
        Ok((files, stats))
    }

    fn time_left(&self) -> Option<Duration> {
        let timeout = self.request.timeout;
        timeout.map(|timeout| timeout.saturating_sub(self.begun.elapsed()))
    }
}

impl Stats {
    /// Records whether the search for boosted files was incomplete. Later pages leave boosted files out, so if some
    /// were not found, the search is incomplete.
    fn note_boost(&mut self, led: &Self, request: &Request) {
        match &led.stopped {
            Some(Stopped::Timeout(_)) => {
                self.stopped = Some(Stopped::Timeout(request.timeout.unwrap_or_default()));
            }
            Some(stopped @ (Stopped::Shards(_) | Stopped::Revision(_))) => {
                self.stopped = Some(stopped.clone());
            }
            Some(Stopped::Limit) | None => {}
        }
        self.missing.join(led.missing.clone());
    }
}

/// Numbers of files and of their matching lines.
#[derive(Default)]
struct Totals {
    files: usize,
    matches: usize,
}

impl Totals {
    fn of(files: &[FileMatch]) -> Self {
        Self { files: files.len(), matches: files.iter().map(FileMatch::matches).sum() }
    }

    fn add(&mut self, file: &FileMatch) {
        self.files += 1;
        self.matches += file.matches();
    }

    fn add_to(&self, stats: &mut Stats) {
        stats.files += self.files;
        stats.matches += self.matches;
    }

    fn subtract_from(&self, stats: &mut Stats) {
        stats.files = stats.files.saturating_sub(self.files);
        stats.matches = stats.matches.saturating_sub(self.matches);
    }
}

/// Passes wanted files on, as long as the receiver exists.
async fn pass(
    files: &mut mpsc::Receiver<Vec<FileMatch>>,
    found: &mpsc::Sender<Vec<FileMatch>>,
    wanted: &mut (dyn FnMut(&FileMatch) -> bool + Send),
) {
    while let Some(mut some) = files.recv().await {
        some.retain(&mut *wanted);
        if !some.is_empty() && found.send(some).await.is_err() {
            return;
        }
    }
}

fn key(file: &FileMatch) -> (RepoId, String) {
    (file.repo_id, file.path.clone())
}
