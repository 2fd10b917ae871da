//! Counts the files that were left out of the index and might match, and those whose symbols are missing.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use query::Predicate;
use store::{Catalog, File, GivenUp, ShardId, Store};

use super::shards::ShardCandidate;
use super::state::Search;
use super::stats::SymbolsLeft;
use crate::cache::files::ShardFiles;
use crate::missing::Missing;

/// Maximum extra time, beyond that of the search, for the files that were left out.
pub(crate) const MOST: Duration = Duration::from_millis(50);

/// Counts the files that were left out of the index and might match, by reason.
pub(crate) async fn count(
    search: Arc<Search>,
    catalog: Arc<Catalog>,
) -> Result<BTreeMap<String, usize>, store::Error> {
    if search.selection.on_demand.is_none() {
        catalog.skipped().await?;
    }
    // A content pattern may match any unread text, so it cannot rule a file out.
    let unread = |of| {
        let is_known =
            matches!(of, Predicate::Path(_) | Predicate::Repo(_) | Predicate::Property(_));
        is_known.then_some(false)
    };
    let expr = &search.query().expr;
    if expr.is_monotone() && search.query().trees.is_empty() && expr.eval(&unread) != Some(false) {
        return Ok(catalog.skipped_by_reason().clone());
    }
    // There may be very many files.
    let counting = tokio::task::spawn_blocking(move || {
        let query = search.query();
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        let begun = Instant::now();
        let go_on = || begun.elapsed() < MOST;
        let trees = &search.selection.files.trees;
        let skipped = match &search.selection.on_demand {
            None => catalog.skipped_now(),
            Some(on_demand) => &on_demand.left_out,
        };
        for file in skipped.iter().filter(|of| trees.passes(of.repo, of.trees)) {
            let known = |of| match of {
                Predicate::Repo(_) | Predicate::Property(_) => {
                    search.selection.repo_holds(file.repo, of)
                }
                // After the time limit, files count as matching, so the count may be too high.
                Predicate::Path(term) => {
                    let matcher = &query.terms[term].matcher;
                    let found = matcher.is_match_within(&file.path, &go_on);
                    // Light matchers are fast enough without checking the clock.
                    (!matcher.is_slow() || go_on()).then_some(found)
                }
                // Content, symbols and language of these files are unknown.
                Predicate::Content(_) | Predicate::Symbol(_) | Predicate::Language(_) => None,
                Predicate::InTree(_) => search.selection.in_tree(file.repo, file.trees, of),
                Predicate::Added(_) | Predicate::Removed(_) => Some(false),
            };
            if query.expr.eval(&known) != Some(false) {
                *reasons.entry(file.reason.clone()).or_default() += 1;
            }
        }
        reasons
    });
    Ok(counting.await.expect("counting does not panic"))
}

/// Returns what a search for symbols could not find, and the shards of which nobody knows that. `found` tells whether it found
/// anything. With all symbols in memory, it queries the database only if nothing was found in given languages, or if files
/// with incomplete symbols are not in memory.
pub(crate) async fn symbols<'s>(
    search: &'s Search,
    store: &Store,
    found: bool,
) -> Result<(SymbolsLeft, Missing), store::Error> {
    let (mut left, mut missing) = (SymbolsLeft::default(), Missing::default());
    let mut asks = false;
    search.query().expr.predicates(&mut |of| asks |= matches!(of, Predicate::Symbol(_)));
    if !asks {
        return Ok((left, missing));
    }
    let selection = &search.selection;
    let stored = selection.shards.iter().filter(|of| selection.memory_at(of.shard.id).is_none());
    let unknown: Vec<_> = stored.filter(|of| of.cached.symbols.is_none()).collect();
    let languages = selection.files.languages.as_ref().filter(|_| !found);
    let kept = |of: &'s ShardCandidate| {
        let given_up = of.cached.symbols.as_ref()?.given_up();
        (!given_up.is_empty()).then_some((of, Cow::Borrowed(given_up)))
    };
    let mut given_up: Vec<OfShard<'s>> = selection.shards.iter().filter_map(kept).collect();
    if unknown.is_empty() && languages.is_none() && selection.memory().is_none() {
        left.given_up = reasons(search, store, given_up, &mut missing).await?;
        return Ok((left, missing));
    }
    let mut lease = store.lease().await?;
    let known = lease.symbols_languages().await?;
    if !unknown.is_empty() {
        let ids: Vec<ShardId> = unknown.iter().map(|of| of.shard.id).collect();
        let mut by_shard = lease.symbols_given_up_in(&ids).await?;
        for of in &unknown {
            given_up.extend(by_shard.remove(&of.shard.id).map(|all| (*of, Cow::Owned(all))));
        }
        let taken = lease.symbols_upto().await?;
        let upto = |of: &store::Shard| taken.get(&of.id).copied().unwrap_or(0);
        let shards: Vec<(&store::Shard, i32)> = unknown
            .into_iter()
            .map(|of| (&of.shard, upto(&of.shard)))
            .filter(|(shard, upto)| *upto < shard.chunks)
            .collect();
        match &selection.on_demand {
            None => {
                for group in store.in_groups(shards, |(shard, _)| shard.id) {
                    let from: Vec<_> =
                        group.iter().map(|(shard, upto)| (shard.id, *upto)).collect();
                    match lease.files_after(&from, &selection.files, &known).await {
                        Err(store::Error::Node { node, .. }) => {
                            missing.add_all(store, group.iter().map(|(shard, _)| *shard), &node);
                        }
                        files => left.pending += files?,
                    }
                }
            }
            Some(on_demand) => {
                let after = |(shard, upto): &(&store::Shard, i32)| {
                    let files = on_demand.shards.get(&shard.id)?;
                    Some(pending(search, files, *upto, &known))
                };
                left.pending = shards.iter().filter_map(after).sum();
            }
        }
    }
    lease.done();
    left.given_up = reasons(search, store, given_up, &mut missing).await?;
    // Only the clone has these texts, so no symbols of them are ever taken.
    let unread = selection.memory().map(|memory| pending(search, &memory.files, 0, &known));
    if let Some(files) = unread.filter(|files| *files > 0) {
        left.given_up.insert(NOT_INDEXED.to_owned(), files);
    }
    if let Some(languages) = languages
        && !languages.iter().any(|language| known.contains(language))
    {
        left.without.clone_from(languages);
    }
    Ok((left, missing))
}

/// The reason why a text that is read from a clone has no symbols.
const NOT_INDEXED: &str = "not-indexed";

/// Returns the number of files of a shard that the query may mean, with blobs from a number on, and in some languages.
fn pending(search: &Search, files: &ShardFiles, from: i32, languages: &[String]) -> usize {
    let begun = Instant::now();
    let go_on = || begun.elapsed() < MOST;
    let files = files.of(None, &search.selection.files);
    let is_pending = |file: &&File| {
        let language = file.language.as_ref().map(|language| language.to_lowercase());
        file.blob.0 >= from
            && language.is_some_and(|language| languages.contains(&language))
            && may_mean(search, file, &go_on)
    };
    files.iter().filter(is_pending).count()
}

/// A shard, and its blobs with incomplete symbols.
type OfShard<'s> = (&'s ShardCandidate, Cow<'s, [GivenUp]>);

/// Counts the files that the query may mean and whose symbols are incomplete, by reason; not those of shards that are missing.
async fn reasons(
    search: &Search,
    store: &Store,
    given_up: Vec<OfShard<'_>>,
    missing: &mut Missing,
) -> Result<BTreeMap<String, usize>, store::Error> {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let begun = Instant::now();
    let go_on = || begun.elapsed() < MOST;
    for (of, given_up) in given_up {
        let blobs: Vec<_> = given_up.iter().map(|one| one.blob).collect();
        let files = match &of.cached.files {
            Some(files) => files.of(Some(&blobs), &search.selection.files),
            None => {
                let mut lease = store.lease().await?;
                let read = lease.files(of.shard.id, Some(&blobs), &search.selection.files);
                let files = match read.await {
                    Err(error @ store::Error::Node { .. }) => {
                        missing.note(store, &of.shard, error)?;
                        continue;
                    }
                    files => files?,
                };
                lease.done();
                files
            }
        };
        for file in files.iter().filter(|file| may_mean(search, file, &go_on)) {
            if let Ok(at) = given_up.binary_search_by_key(&file.blob, |one| one.blob) {
                let reason = &given_up[at].reason;
                match reasons.get_mut(reason) {
                    Some(count) => *count += 1,
                    None => drop(reasons.insert(reason.clone(), 1)),
                }
            }
        }
    }
    Ok(reasons)
}

/// Returns whether a query may mean a file, whatever its text and symbols are. Once `go_on` returns false, it may mean
/// any file.
fn may_mean(search: &Search, file: &File, go_on: &dyn Fn() -> bool) -> bool {
    let query = search.query();
    let known = |of| match of {
        Predicate::Repo(_) | Predicate::Property(_) => search.selection.repo_holds(file.repo, of),
        Predicate::Path(term) => {
            let matcher = &query.terms[term].matcher;
            let found = matcher.is_match_within(&file.path, go_on);
            (!matcher.is_slow() || go_on()).then_some(found)
        }
        Predicate::Language(index) => {
            let wanted = &query.languages[index];
            let language = file.language.as_ref().map(|language| language.to_lowercase());
            Some(language.is_some_and(|language| wanted.contains(&language)))
        }
        Predicate::Content(_) | Predicate::Symbol(_) => None,
        Predicate::InTree(_) => search.selection.in_tree(file.repo, file.trees, of),
        Predicate::Added(_) | Predicate::Removed(_) => Some(false),
    };
    query.expr.eval(&known) != Some(false)
}
