//! Prepares the search of a commit: chooses repositories, resolves the revision, and loads the commits.

use std::sync::Arc;

use query::CompiledQuery;
use store::{CatalogRepos, RepoId};

use super::choose::{self, Notes};
use super::load::Sources;
use super::on_demand::OnDemand;
use crate::clock::Clock;
use crate::types::{Error, Resume};

/// What a query means: among some repositories, and in worktrees.
#[derive(Clone, Copy)]
pub(crate) struct Meant<'a> {
    pub(crate) repos: &'a CatalogRepos,
    pub(crate) query: &'a CompiledQuery,
    /// Names the worktree of a repository whose `HEAD` is meant, unless it is that of the main checkout.
    pub(crate) worktree: &'a (dyn Fn(&str) -> Option<String> + Sync),
}

/// Returns what a query searches on demand among some repositories; `None` if that is nothing, or if the clock ran out.
///
/// # Errors
/// A statement failed; no repository has the revision, or it cannot be read; or the commits are not those of `resume`.
pub(crate) async fn prepare(
    from: Sources<'_>,
    Meant { repos, query, worktree }: Meant<'_>,
    resume: Option<Resume>,
    clock: &Arc<Clock>,
    notes: &mut Notes,
) -> Result<Option<Arc<OnDemand>>, Error> {
    let earlier = resume.map(|from| from.commits).filter(|commits| *commits != 0);
    let asked = choose::asked(query, repos, worktree, &|| clock.goes_on())?;
    let Some(asked) = asked else { return earlier.map_or(Ok(None), |_| Err(Error::Gone)) };
    if let Some(why) = asked.are_too_many() {
        if asked.indexed.is_empty() {
            return Err(Error::Revision(why));
        }
        notes.cut(why);
        return Ok(None);
    }
    let ids: Vec<RepoId> = asked.repos.iter().map(|(id, _)| *id).collect();
    let mut lease = from.store.lease().await?;
    let places = lease.clone_places(&ids).await?;
    lease.done();
    let resolving = {
        let clock = Arc::clone(clock);
        move || {
            let mut notes = Notes::default();
            let chosen = asked.resolve(places, &mut notes, &|| clock.goes_on());
            chosen.map(|chosen| (asked, chosen, notes))
        }
    };
    let resolved = tokio::task::spawn_blocking(resolving).await;
    let (asked, chosen, found) = resolved.expect("resolving does not panic")?;
    *notes = found;
    if !clock.goes_on() {
        return Ok(None);
    }
    if chosen.is_empty() {
        return earlier.map_or(Ok(None), |_| Err(Error::Gone));
    }
    let on_demand = OnDemand::load(from, asked, &chosen, clock, notes).await?;
    // A branch may have moved since, or its commits were deleted.
    if let (Some(on_demand), Some(earlier)) = (&on_demand, earlier)
        && on_demand.commits != earlier
    {
        return Err(Error::Gone);
    }
    Ok(on_demand)
}
