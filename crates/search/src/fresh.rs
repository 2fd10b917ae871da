//! How fresh the repositories of an answer are: the one that was looked at the longest ago, and those that could not be
//! updated.

use store::{Catalog, RepoId};

/// Maximum number of repositories that could not be updated which an answer names.
const NAMED: usize = 3;

/// The freshness of the repositories that a search covers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Covered {
    /// The repository that was looked at the longest ago; `None` if the search covers none.
    pub oldest: Option<Oldest>,
    /// The first repositories that could not be updated, by name.
    pub failed: Vec<FailedRepo>,
    /// Number of those that are not listed.
    pub more_failed: usize,
    /// Number of repositories that lack files since a node of the index is lost.
    pub lost: usize,
}

/// The repository of an answer that was looked at the longest ago.
#[derive(Clone, Debug, PartialEq)]
pub struct Oldest {
    /// Its name.
    pub repo: String,
    /// When an ingest that brought it up to date began to look at it, in seconds since 1970.
    pub looked_at: f64,
    /// Whether the answer covers other repositories, too.
    pub is_one_of_several: bool,
}

/// A repository that could not be updated.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedRepo {
    /// Its name.
    pub repo: String,
    /// When an ingest that brought it up to date began to look at it, in seconds since 1970.
    pub looked_at: f64,
    /// Why it could not be updated, in one sentence.
    pub why: String,
    /// Whether it lacks files since a node of the index is lost.
    pub is_lost: bool,
}

/// Returns the sentence, without a full stop, that so many repositories lack files of a lost node; `None` for none.
pub(crate) fn lacking(repos: usize) -> Option<String> {
    let which = match repos {
        0 => return None,
        1 => "1 repository lacks".to_owned(),
        more => format!("{more} repositories lack"),
    };
    Some(format!("{which} files of a lost node until they are ingested again"))
}

impl Covered {
    /// Returns the freshness of some repositories of a catalog; `None` stands for all. Needs no database.
    pub(crate) fn of(catalog: &Catalog, among: Option<&[RepoId]>) -> Self {
        let freshness = catalog.freshness();
        let visible = if among.is_none() { catalog.visible() } else { None };
        let among = among.or(visible);
        let name = |id: RepoId| Some(catalog.repos.get(&id)?.name.clone());
        let count = among.map_or(catalog.repos.len(), <[RepoId]>::len);
        let oldest = freshness.oldest(among).and_then(|(id, of)| {
            let is_one_of_several = count > 1;
            Some(Oldest { repo: name(id)?, looked_at: of.looked_at, is_one_of_several })
        });
        let failed = freshness.failed(among).into_iter().filter_map(|(id, failed)| {
            let looked_at = freshness.get(id)?.looked_at;
            let (why, is_lost) = (failed.why.clone(), failed.is_lost);
            Some(FailedRepo { repo: name(id)?, looked_at, why, is_lost })
        });
        let mut failed: Vec<FailedRepo> = failed.collect();
        failed.sort_by(|a, b| b.is_lost.cmp(&a.is_lost).then_with(|| a.repo.cmp(&b.repo)));
        let lost = failed.iter().filter(|repo| repo.is_lost).count();
        let more_failed = failed.len().saturating_sub(NAMED);
        failed.truncate(NAMED);
        Self { oldest, failed, more_failed, lost }
    }

    /// Returns why an answer about files lacks some although all shards were searched, in one sentence without a full stop;
    /// `None` if it does not.
    pub fn lacks(&self) -> Option<String> {
        lacking(self.lost)
    }

    /// Adds the freshness of other repositories.
    pub(crate) fn join(&mut self, other: Self) {
        let older = match (self.oldest.take(), other.oldest) {
            (Some(mut one), Some(mut two)) => {
                let several =
                    one.repo != two.repo || one.is_one_of_several || two.is_one_of_several;
                (one.is_one_of_several, two.is_one_of_several) = (several, several);
                Some(if two.looked_at < one.looked_at { two } else { one })
            }
            (one, two) => one.or(two),
        };
        self.oldest = older;
        for failed in other.failed {
            if self.failed.iter().all(|known| known.repo != failed.repo) {
                self.failed.push(failed);
            }
        }
        self.more_failed = self.more_failed.max(other.more_failed);
        self.lost = self.lost.max(other.lost);
    }
}
