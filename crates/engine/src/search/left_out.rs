//! Files that are not in the index and might match.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use query::Predicate;
use store::Catalog;

use super::state::Search;

/// How long files that are not in the index are looked at, beyond the time of the search.
const MOST: Duration = Duration::from_millis(50);

/// How many files that are not in the index might match, by the reason why they are not.
pub(crate) async fn count(
    search: Arc<Search>,
    catalog: Arc<Catalog>,
) -> Result<BTreeMap<String, usize>, store::Error> {
    catalog.skipped().await?;
    // A pattern may be anywhere in what nobody has read.
    let unread = |of| matches!(of, Predicate::Path(_) | Predicate::Repo(_)).then_some(false);
    let expr = &search.query().expr;
    if expr.is_monotone() && expr.eval(&unread) != Some(false) {
        return Ok(catalog.skipped_by_reason().clone());
    }
    // There may be very many of them.
    let counting = tokio::task::spawn_blocking(move || {
        let query = search.query();
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        let begun = Instant::now();
        let go_on = || begun.elapsed() < MOST;
        for file in catalog.skipped_now() {
            let known = |of| match of {
                Predicate::Repo(_) => search.selection.repo_holds(file.repo, of),
                // Who gave up is told of more than there may be.
                Predicate::Path(term) => {
                    let matcher = &query.terms[term].matcher;
                    let found = matcher.is_match_within(&file.path, &go_on);
                    // The others are asked without a look at the clock.
                    (!matcher.is_heavy() || go_on()).then_some(found)
                }
                // Nobody knows what is in it.
                Predicate::Content(_) | Predicate::Language(_) => None,
            };
            if query.expr.eval(&known) != Some(false) {
                *reasons.entry(file.reason.clone()).or_default() += 1;
            }
        }
        reasons
    });
    Ok(counting.await.expect("counting does not panic"))
}
