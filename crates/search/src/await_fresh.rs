//! Waits for changes that are not indexed yet, before a search that wants to see them.

use std::time::Duration;

use query::{CompiledQuery, Predicate};
use store::{Catalog, RepoId, Waited};

use crate::types::Request;
use crate::view::View;

/// Time to wait for changes if a search has no timeout, and the most in any case: a server gives up an answer that does
/// not begin for longer.
const USUAL: Duration = Duration::from_secs(10);
const MOST: Duration = Duration::from_secs(20);

/// Whether a search holds something that others need while it waits for changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Nothing.
    Nothing,
    /// A turn of the server.
    ATurn,
}

impl View {
    /// Waits until the changes in the queue are indexed, as far as they concern repositories that a request covers, but
    /// no longer than its timeout. Returns a sentence without a full stop if some are not, for the answer. A search that
    /// follows sees the changes that were waited for.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn await_fresh(
        &self,
        request: &Request,
        holds: Holds,
    ) -> Result<Option<String>, store::Error> {
        let turns = &self.searcher.waiting_in_turn;
        let turn = if holds == Holds::ATurn { Some(turns.try_acquire()) } else { None };
        let must_not_wait = matches!(turn, Some(Err(_)));
        let within = if must_not_wait {
            Duration::ZERO
        } else {
            self.time_for(request.timeout).unwrap_or(USUAL).min(MOST)
        };
        // Before the first ingest, all that is in the queue may concern it.
        let among = match self.catalog().await {
            Ok(catalog) => covered(&catalog, request.compiled_query()),
            Err(store::Error::Empty) if self.visible.is_all() => None,
            Err(store::Error::Empty) => Some(Vec::new()),
            Err(error) => return Err(error),
        };
        let waited = self.store().await_fresh(among.as_deref(), within).await?;
        self.searcher.hear().await?;
        Ok(match waited {
            Waited::Fresh => None,
            Waited::StillPending(count) => {
                let (changes, are) = if count == 1 { ("change", "is") } else { ("changes", "are") };
                let after = if must_not_wait {
                    "too many searches wait already".to_owned()
                } else {
                    format!("waited for {within:?}")
                };
                Some(format!("{count} {changes} {are} not indexed yet ({after})"))
            }
            // What failed may concern a folder with other repositories. Each repository tells its own failure.
            Waited::Failed(_) if among.is_some() => {
                Some("a change could not be indexed yet; it is tried again".to_owned())
            }
            Waited::Failed(why) => {
                let why = why.trim_end_matches('.');
                Some(format!("a change could not be indexed yet; it is tried again: {why}"))
            }
        })
    }
}

/// Returns the repositories that a query does not rule out by name, ascending; `None` if these are all of the index.
fn covered(catalog: &Catalog, query: &CompiledQuery) -> Option<Vec<RepoId>> {
    let mut names_repos = false;
    query.expr.predicates(&mut |predicate| names_repos |= matches!(predicate, Predicate::Repo(_)));
    if !names_repos {
        return catalog.visible().map(<[RepoId]>::to_vec);
    }
    let may_be = |name: &str| {
        let known = |of: Predicate| match of {
            Predicate::Repo(term) => Some(query.terms[term].matcher.is_match(name)),
            _ => None,
        };
        query.expr.eval(&known) != Some(false)
    };
    let wanted = catalog.repos.iter().filter(|(_, repo)| may_be(&repo.name));
    let mut ids: Vec<RepoId> = wanted.map(|(id, _)| *id).collect();
    ids.sort_unstable();
    Some(ids)
}
