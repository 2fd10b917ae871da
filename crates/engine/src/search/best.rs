//! A search whose results will be ranked: before the first ones that are found, those that define what is looked for or
//! are called so, wherever they are ([`Lead`](super::rank::lead::Lead)).
//!
//! They belong to the first results. A search that goes on behind these looks for them again, and leaves them out: all
//! parts together hold each file once.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::BoxFuture;
use query::Select;
use store::{RepoId, Switch};
use tokio::sync::mpsc;

use super::order;
use super::rank::lead::{self, Lead};
use super::stats::{Stats, Stopped};
use crate::types::{Error, FileMatch, Request, Resume};

/// Batches of files that the search may be ahead of who passes them on.
const AHEAD: usize = 2;

/// A search in the order in which files are found.
pub(crate) type Plain<'s> = dyn Fn(Arc<Request>, mpsc::Sender<Vec<FileMatch>>) -> BoxFuture<'s, Result<Stats, Error>>
    + Sync
    + 's;

/// Files, each by its repository and its path.
type Files = HashSet<(RepoId, String)>;

/// Searches, with a search that finds files in any order.
///
/// # Errors
/// Those of a search.
pub(crate) async fn search(
    plain: &Plain<'_>,
    request: &Arc<Request>,
    found: mpsc::Sender<Vec<FileMatch>>,
) -> Result<Stats, Error> {
    let begun = Instant::now();
    let of_files = request.program().select != Select::Repos;
    // What is too large to be looked for has no lead; the query itself is compiled already.
    let lead = of_files.then(|| Lead::of(request.query()).ok().flatten()).flatten();
    let Some(lead) = lead else { return plain(Arc::clone(request), found).await };
    if request.resume.is_some_and(|from| from.results > 0) {
        return search_on(plain, request, lead, begun, found).await;
    }
    search_from_start(plain, request, lead, begun, found).await
}

/// Searches: what leads comes first, perhaps with lines that the query does not match.
async fn search_from_start(
    plain: &Plain<'_>,
    request: &Arc<Request>,
    lead: Lead,
    begun: Instant,
    found: mpsc::Sender<Vec<FileMatch>>,
) -> Result<Stats, Error> {
    let hash = order::hash(request.program());
    if request.resume.is_some_and(|from| from.query != hash) {
        return Err(Error::OtherQuery);
    }
    let switch = request.resume.map(|from| from.switch);
    let (files, done) = search_lead(plain, request, lead, begun, switch).await?;
    let known: Files = files.iter().map(key).collect();
    let more = files.clone();
    if !files.is_empty() && found.send(files).await.is_err() {
        return Ok(done);
    }
    // The same state of the index.
    let mut here = Request::clone(request);
    here.resume = Some(Resume::start(done.switch, hash));
    let here = Arc::new(here);
    let (send, first) = mpsc::channel(AHEAD);
    let mut left_out = (0, 0);
    let pass = pass(first, found, |file| is_new(file, &known, &mut left_out));
    let (stats, ()) = tokio::join!(plain(here, send), pass);
    let mut stats = stats?;
    subtract(&mut stats, left_out);
    add(&mut stats, &more, &done, request);
    stats.duration = begun.elapsed();
    Ok(stats)
}

/// Goes on behind the first results.
async fn search_on(
    plain: &Plain<'_>,
    request: &Arc<Request>,
    lead: Lead,
    begun: Instant,
    found: mpsc::Sender<Vec<FileMatch>>,
) -> Result<Stats, Error> {
    let switch = request.resume.map(|from| from.switch);
    let (files, _) = search_lead(plain, request, lead, begun, switch).await?;
    let known: Files = files.iter().map(key).collect();
    let (send, first) = mpsc::channel(AHEAD);
    let mut left_out = (0, 0);
    let pass = pass(first, found, |file| is_new(file, &known, &mut left_out));
    let (stats, ()) = tokio::join!(plain(Arc::clone(request), send), pass);
    let mut stats = stats?;
    subtract(&mut stats, left_out);
    stats.duration = begun.elapsed();
    Ok(stats)
}

/// The files that lead, in a state of the index, the newest unless one is given, and what was done to find them.
async fn search_lead(
    plain: &Plain<'_>,
    request: &Request,
    lead: Lead,
    begun: Instant,
    switch: Option<Switch>,
) -> Result<(Vec<FileMatch>, Stats), Error> {
    let timeout = request.timeout.map(|timeout| timeout.saturating_sub(begun.elapsed()));
    let resume = switch.map(|switch| Resume::start(switch, order::hash(&lead.query)));
    let lead = request.beside(lead.query, lead::MOST, timeout, resume);
    let (send, mut files) = mpsc::channel(AHEAD);
    let all = async {
        let mut all = Vec::new();
        while let Some(some) = files.recv().await {
            all.extend(some);
        }
        all
    };
    let (stats, files) = tokio::join!(plain(Arc::new(lead), send), all);
    Ok((files, stats?))
}

/// Adds files that lead to what a search found. What comes next leaves out what leads, so if not all of that was found, the
/// search is not complete.
fn add(stats: &mut Stats, files: &[FileMatch], led: &Stats, request: &Request) {
    stats.files += files.len();
    stats.matches += files.iter().map(FileMatch::matches).sum::<usize>();
    match &led.stopped {
        Some(Stopped::Timeout(_)) => {
            stats.stopped = Some(Stopped::Timeout(request.timeout.unwrap_or_default()));
        }
        Some(Stopped::Shards(why)) => stats.stopped = Some(Stopped::Shards(why.clone())),
        Some(Stopped::Limit) | None => {}
    }
}

/// Whether a file is not one that is known; if it is, it is counted with its matching lines.
fn is_new(file: &FileMatch, known: &Files, left_out: &mut (usize, usize)) -> bool {
    let is_known = known.contains(&key(file));
    if is_known {
        left_out.0 += 1;
        left_out.1 += file.matches();
    }
    !is_known
}

/// Takes files that were left out from what a search found.
fn subtract(stats: &mut Stats, (files, matches): (usize, usize)) {
    stats.files -= files.min(stats.files);
    stats.matches -= matches.min(stats.matches);
}

/// Passes files on that are wanted, as long as somebody listens.
async fn pass(
    mut files: mpsc::Receiver<Vec<FileMatch>>,
    found: mpsc::Sender<Vec<FileMatch>>,
    mut wanted: impl FnMut(&FileMatch) -> bool,
) {
    while let Some(mut some) = files.recv().await {
        some.retain(&mut wanted);
        if !some.is_empty() && found.send(some).await.is_err() {
            return;
        }
    }
}

fn key(file: &FileMatch) -> (RepoId, String) {
    (file.repo_id, file.path.clone())
}
