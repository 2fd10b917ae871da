//! How fresh repositories are: when an ingest last looked at each, what failed since, and its place in the queue.
//!
//! A catalog has this in memory, since every answer tells of it. It changes without a new epoch: servers are notified,
//! and read it again for the catalog that they have.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use sqlx::PgConnection;

use crate::error::Result;
use crate::ingest::session::FOREVER;
use crate::store::Store;
use crate::{RepoId, Switch};

/// The channel on which servers are notified that the freshness of repositories has changed: migration 27.
pub(crate) const FRESHNESS: &str = "codesearch_freshness";

/// The freshness of a repository.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RepoFreshness {
    /// When the last ingest that brought it up to date began to look at it, in seconds since 1970. What changed before
    /// that is indexed.
    pub looked_at: f64,
    /// What failed since.
    pub failed: Option<FailedUpdate>,
}

/// An ingest of a repository, or a fetch of its clone, that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedUpdate {
    /// When it failed the last time, in seconds since 1970.
    pub at: f64,
    /// Why, in one sentence.
    pub why: String,
    /// How often it failed in a row.
    pub times: i32,
    /// Whether the repository lacks files since a node is lost.
    pub is_lost: bool,
}

/// The freshness of all repositories.
#[derive(Clone, Debug, Default)]
pub struct Freshness {
    repos: HashMap<RepoId, RepoFreshness>,
    /// The repository that was looked at the longest ago.
    oldest: Option<RepoId>,
    /// The repositories that could not be updated, ascending.
    failed: Vec<RepoId>,
}

/// The freshness that the restrictions of a catalog share with it.
pub(crate) type Shared = Arc<RwLock<Arc<Freshness>>>;

/// The place of a repository in the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuePlace {
    /// Its place, from 1.
    pub place: usize,
    /// When its first change was noticed, in seconds since 1970.
    pub since: f64,
    /// The time before which an ingest does not look at it, in seconds since 1970: in the future after a failure.
    pub due: f64,
}

/// A row: repository, when it was looked at, when that failed, why, how often, whether it lacks files, and the switch of the
/// epoch.
type Row = (i32, f64, Option<f64>, Option<String>, i32, bool, Option<i64>);

impl Freshness {
    fn of(rows: Vec<Row>) -> Self {
        let mut all = Self::default();
        let mut least = f64::INFINITY;
        for (id, looked_at, failed_at, why, times, is_lost, _) in rows {
            let id = RepoId(id);
            if looked_at < least {
                (all.oldest, least) = (Some(id), looked_at);
            }
            let failed = failed_at.map(|at| FailedUpdate {
                at,
                why: why.unwrap_or_default(),
                times,
                is_lost,
            });
            if failed.is_some() {
                all.failed.push(id);
            }
            all.repos.insert(id, RepoFreshness { looked_at, failed });
        }
        all
    }

    /// Returns the freshness of a repository.
    pub fn get(&self, repo: RepoId) -> Option<&RepoFreshness> {
        self.repos.get(&repo)
    }

    /// Returns the repository that was looked at the longest ago, of some repositories; `None` stands for all.
    pub fn oldest(&self, among: Option<&[RepoId]>) -> Option<(RepoId, &RepoFreshness)> {
        let id = match among {
            None => self.oldest?,
            Some(some) => {
                let known = some.iter().filter_map(|id| Some((*id, self.get(*id)?.looked_at)));
                known.min_by(|(a, x), (b, y)| x.total_cmp(y).then(a.0.cmp(&b.0)))?.0
            }
        };
        Some((id, self.get(id)?))
    }

    /// Returns those of some repositories that could not be updated, ascending; `None` stands for all.
    pub fn failed(&self, among: Option<&[RepoId]>) -> Vec<(RepoId, &FailedUpdate)> {
        // Usually none.
        let failed = self.failed.iter().filter(|id| among.is_none_or(|some| some.contains(id)));
        failed.filter_map(|id| Some((*id, self.get(*id)?.failed.as_ref()?))).collect()
    }
}

/// Reads the freshness of all repositories, with the switch of the newest epoch.
pub(crate) async fn read(conn: &mut PgConnection) -> Result<(Switch, Freshness)> {
    let rows: Vec<Row> = sqlx::query_as(
        "select id, extract(epoch from coalesce(looked_at, listed_at, indexed_at))::float8,
                extract(epoch from failed_at)::float8, failure, failures, lost is not null,
                (select w.number from switches w join state s on s.epoch = w.epoch)
         from repos where indexed_at is not null order by id",
    )
    .fetch_all(conn)
    .await?;
    let switch = rows.first().and_then(|row| row.6).unwrap_or_default();
    Ok((Switch(switch), Freshness::of(rows)))
}

impl Store {
    /// Reads the freshness of all repositories, and the switch of the epoch that it describes.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn freshness(&self) -> Result<(Switch, Freshness)> {
        let mut conn = self.control().acquire().await?;
        read(&mut conn).await
    }

    /// Returns the places in the queue of the repositories that are in it. A folder in which there may be new
    /// repositories stands for those in it, and a worktree for its repository.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn queue_places(&self) -> Result<HashMap<RepoId, QueuePlace>> {
        let rows: Vec<(i32, i64, f64, f64)> = sqlx::query_as(
            "select r.id, min(q.place), extract(epoch from min(q.since))::float8,
                    extract(epoch from min(q.due))::float8
             from (select source, since, due, row_number() over (order by due, id) place from pending) q
             join repos r on r.indexed_at is not null
                 and (r.source = q.source or starts_with(r.source, rtrim(q.source, '/') || '/')
                      or exists (select from trees t
                                 where t.repo = r.id and t.source = q.source and t.valid_to = $1))
             group by r.id",
        )
        .bind(FOREVER)
        .fetch_all(self.control())
        .await?;
        let place = |(id, place, since, due): (i32, i64, f64, f64)| {
            (RepoId(id), QueuePlace { place: place.unsigned_abs() as usize, since, due })
        };
        Ok(rows.into_iter().map(place).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: i32, looked_at: f64, failed: Option<(f64, &str)>) -> Row {
        let (at, why) = failed.unzip();
        (id, looked_at, at, why.map(str::to_owned), i32::from(failed.is_some()), false, None)
    }

    #[test]
    fn the_oldest_is_that_of_the_repositories_asked() {
        let all = Freshness::of(vec![
            row(1, 50.0, None),
            row(2, 10.0, Some((60.0, "its folder is gone"))),
            row(3, 20.0, None),
            row(4, 20.0, None),
        ]);
        let oldest = |among: Option<&[i32]>| {
            let ids: Option<Vec<RepoId>> =
                among.map(|ids| ids.iter().map(|id| RepoId(*id)).collect());
            all.oldest(ids.as_deref()).map(|(id, of)| (id.0, of.looked_at))
        };
        assert_eq!(oldest(None), Some((2, 10.0)));
        assert_eq!(oldest(Some(&[1])), Some((1, 50.0)));
        assert_eq!(oldest(Some(&[4, 3, 1])), Some((3, 20.0)));
        assert_eq!(oldest(Some(&[9])), None);
        assert_eq!(oldest(Some(&[])), None);
        assert_eq!(all.failed(None).len(), 1);
        assert_eq!(all.failed(Some(&[RepoId(2)]))[0].1.why, "its folder is gone");
        assert!(all.failed(Some(&[RepoId(1), RepoId(3)])).is_empty());
        assert!(Freshness::default().oldest(None).is_none());
    }
}
