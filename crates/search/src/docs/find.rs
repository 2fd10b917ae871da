//! Finds docs by their words, best first. Several shards at a time match and rank those docs of theirs that may match.

use futures_util::future::BoxFuture;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use query::Matcher;
use store::{Catalog, DocsQuery, FileFilter, RepoId, Shard, ShardDocs, ShardDocsQuery};

use super::among::{Among, among};
use super::change_log::change_logs_last;
use super::show::show_docs;
use super::types::{Dictionary, Docs, DocsError, DocsRequest, DocsStopped, MAX_QUERY, ShardHit};
use crate::fresh::Covered;
use crate::missing::Missing;
use crate::view::View;
use ::docs::words;

/// Minimum time to read the titles and snippets of the results.
const SHOWING: Duration = Duration::from_secs(2);

/// Results beyond the limit that are read, since they may stand before change logs among the first.
const BEYOND: usize = 20;

/// Returns the docs that match, best first, and change logs last.
///
/// # Errors
/// The query has no word to search for or is too long, or the database cannot be reached. A single shard that fails
/// makes the answer incomplete.
pub fn find<'a>(
    view: &'a View,
    request: &'a DocsRequest,
) -> BoxFuture<'a, Result<Docs, DocsError>> {
    Box::pin(async move {
        let begun = Instant::now();
        let timeout = view.time_for(request.timeout);
        let deadline = timeout.map(|timeout| begun + timeout);
        if request.query.len() > MAX_QUERY {
            return Err(DocsError::Long);
        }
        let words = words::websearch_query(&request.query, true);
        if words.is_empty() {
            return Err(DocsError::Empty);
        }
        let catalog = view.catalog().await?;
        let parsing = docs_query(view, &words, request.dictionary);
        let Some(query) = in_time(deadline, parsing).await else {
            let stopped = timeout.map(DocsStopped::Timeout);
            return Ok(Docs { stopped, duration: begun.elapsed(), ..Docs::default() });
        };
        let query = query?;
        let repos = (!request.repos.is_empty()).then(|| {
            // If the deadline stops this, it also stops the search, which reports it.
            chosen(&catalog, &request.repos, &|| deadline.is_none_or(|end| Instant::now() < end))
        });
        let holds = |shard: &Shard| match &repos {
            Some(ids) => ids.iter().any(|id| catalog.repos[id].shards.contains(&shard.id)),
            None => true,
        };
        let shards: Vec<usize> =
            (0..catalog.shards.len()).filter(|at| holds(&catalog.shards[*at])).collect();
        let languages = &request.languages;
        let files = FileFilter {
            epoch: catalog.epoch,
            repos: repos.or_else(|| catalog.filter().repos),
            languages: (!languages.is_empty()).then(|| languages.clone()),
            ..catalog.filter()
        };
        let ranked = request.limit.max(request.ranked / shards.len().max(1)) as i64;
        let read = request.limit.saturating_add(BEYOND);
        let search = ShardDocsQuery { query, files, among: None, ranked, limit: read as i64 };

        let covered = Covered::of(&catalog, search.files.repos.as_deref());
        let mut docs = Docs { shards: shards.len(), covered, ..Docs::default() };
        if deadline.is_some_and(|end| Instant::now() >= end) {
            docs.stopped = timeout.map(DocsStopped::Timeout);
        }
        let bounds = (read, timeout, deadline);
        let hits = best_docs(view, &catalog, shards, &search, bounds, &mut docs).await?;
        docs.ranking = begun.elapsed();
        let showing = show_docs(view, &catalog, &search.files, request, hits);
        // Ranking may have used all the time. Showing the results still happens, since it takes milliseconds.
        match in_time(deadline.map(|end| end.max(Instant::now() + SHOWING)), showing).await {
            Some(shown) => {
                let (shown, missing) = shown?;
                docs.docs = change_logs_last(shown, &request.query);
                docs.note_missing(missing);
                docs.docs.truncate(request.limit);
            }
            None => docs.stopped = timeout.map(DocsStopped::Timeout),
        }
        if docs.stopped.is_none() {
            docs.stopped = if docs.ranked < docs.matched {
                Some(DocsStopped::Common)
            } else {
                let lacks = || docs.covered.lacks().map(DocsStopped::Shards);
                (docs.docs.len() < docs.matched).then_some(DocsStopped::Limit).or_else(lacks)
            };
        }
        if catalog.visible().is_some() {
            docs.missing = docs.missing.hidden();
        }
        view.refuse_if_gone(&catalog).await?;
        docs.duration = begun.elapsed();
        Ok(docs)
    })
}

/// Parses a query into `tsquery` form, once for each kind of text that is searched.
async fn docs_query(
    view: &View,
    words: &str,
    dictionary: Dictionary,
) -> Result<DocsQuery, DocsError> {
    let mut lease = view.store().lease().await?;
    let [english, beside, plain] = lease.docs_query(words).await?;
    lease.done();
    let queries = match dictionary {
        Dictionary::Both => [Some(english), Some(beside)],
        Dictionary::English => [Some(english), None],
        Dictionary::Plain => [None, Some(plain)],
    };
    let excludes = queries.iter().flatten().any(|(text, _)| !text.is_empty());
    let [english, plain] =
        queries.map(|query| query.filter(|(_, has_word)| *has_word).map(|(text, _)| text));
    match (&english, &plain) {
        (None, None) if excludes => Err(DocsError::Excludes),
        (None, None) => Err(DocsError::Common),
        _ => Ok(DocsQuery { english, plain }),
    }
}

/// Returns the best docs of all shards, best first.
async fn best_docs(
    view: &View,
    catalog: &Catalog,
    shards: Vec<usize>,
    search: &ShardDocsQuery,
    (limit, timeout, deadline): (usize, Option<Duration>, Option<Instant>),
    docs: &mut Docs,
) -> Result<Vec<ShardHit>, store::Error> {
    let of = shards.into_iter().map(|at| (at, &catalog.shards[at]));
    let Some(asked) = in_time(deadline, among(view, of, &search.query)).await else {
        docs.stopped = timeout.map(DocsStopped::Timeout);
        return Ok(Vec::new());
    };
    let ask = async |(at, among): (usize, Result<Among, store::Error>)| {
        let asking = async {
            let search = ShardDocsQuery { among: among?, ..search.clone() };
            if search.among.as_ref().is_some_and(Vec::is_empty) {
                return Ok(ShardDocs::default());
            }
            let mut lease = view.store().lease().await?;
            let found = lease.docs(catalog.shards[at].id, &search).await?;
            lease.done();
            Ok::<_, store::Error>(found)
        };
        (at, asking.await)
    };
    let mut answers =
        futures_util::stream::iter(asked.into_iter().map(ask)).buffer_unordered(view.parallel());
    let mut hits: Vec<ShardHit> = Vec::new();
    loop {
        match in_time(deadline, answers.next()).await {
            Some(None) => break,
            Some(Some((at, Ok(found)))) => {
                docs.matched += found.matched as usize;
                docs.ranked += found.ranked as usize;
                hits.extend(found.hits.into_iter().map(|hit| (at, hit)));
            }
            // A shard that fails degrades the answer; an unreachable database ends the search.
            Some(Some((_, Err(error @ (store::Error::Unreachable(_) | store::Error::Busy))))) => {
                return Err(error);
            }
            Some(Some((at, Err(error)))) => {
                tracing::error!("a shard could not be searched for docs: {error}");
                let mut missing = Missing::default();
                let Err(error) = missing.note(view.store(), &catalog.shards[at], error) else {
                    docs.note_missing(missing);
                    continue;
                };
                docs.stopped.get_or_insert(DocsStopped::Shards(error.to_string()));
            }
            None => {
                docs.stopped = timeout.map(DocsStopped::Timeout);
                break;
            }
        }
    }
    // The order must not depend on the speed of shards.
    let key = |(at, hit): &ShardHit| (hit.comment, *at, hit.blob);
    hits.sort_by(|a, b| b.1.rank.total_cmp(&a.1.rank).then_with(|| key(a).cmp(&key(b))));
    hits.truncate(limit);
    Ok(hits)
}

impl Docs {
    /// Adds what could not be read.
    fn note_missing(&mut self, missing: Missing) {
        if !missing.is_empty() {
            let why = "a node of the index does not answer";
            self.stopped.get_or_insert(DocsStopped::Shards(why.to_owned()));
        }
        self.missing.join(missing);
    }
}

/// Waits for some work until a deadline; returns `None` after it.
async fn in_time<T>(deadline: Option<Instant>, work: impl Future<Output = T>) -> Option<T> {
    match deadline {
        Some(deadline) => tokio::time::timeout_at(deadline.into(), work).await.ok(),
        None => Some(work.await),
    }
}

/// Returns the repositories whose names match, in order.
fn chosen(catalog: &Catalog, matchers: &[Matcher], goes_on: &dyn Fn() -> bool) -> Vec<RepoId> {
    let holds = |name: &str| matchers.iter().any(|one| one.is_match_within(name, goes_on));
    let named = catalog.repos.iter().filter(|(_, repo)| holds(&repo.name));
    let mut ids: Vec<RepoId> = named.map(|(id, _)| *id).collect();
    ids.sort_unstable();
    ids
}
