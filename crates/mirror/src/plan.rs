//! Compares what a host lists with the clones that there are, and decides what to do. Does nothing itself.

use std::collections::HashMap;

use settings::Host;
use store::Mirror;

use crate::choose::left_out;
use crate::list::Listing;
use crate::listed::Listed;

/// Number of complete listings without a repository after which it is gone.
pub(crate) const LISTINGS: i32 = 2;

/// What to do with the repositories of a host.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Those to mirror.
    pub(crate) taken: Vec<Taken>,
    /// Those that are listed, but not mirrored, and why.
    pub(crate) left: Vec<(Listed, String)>,
    /// Clones to hide, and why.
    pub(crate) dropped: Vec<(Mirror, String)>,
    /// Clones of repositories that are not listed. The host is asked about each.
    pub(crate) absent: Vec<Mirror>,
    /// Why nothing is dropped although it is not listed.
    pub(crate) doubt: Option<String>,
}

/// A repository to mirror.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) listed: Listed,
    /// The clone, if there is one or was one.
    pub(crate) mirror: Option<Mirror>,
    pub(crate) work: Work,
}

/// What is to be done for a mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// It has no clone yet.
    Clone,
    /// Something may have been pushed to it.
    Fetch,
    /// Nothing.
    None,
}

impl Plan {
    /// Compares a complete listing with the clones of a host. `before` is the number of repositories in the last listing of
    /// the same owners; `accepts` says that a listing may have shrunk.
    pub(crate) fn of(
        host: &Host,
        listing: &mut Listing,
        mirrors: Vec<Mirror>,
        before: Option<usize>,
        accepts: bool,
    ) -> Self {
        let mut plan = Self::default();
        let mut known: HashMap<String, Mirror> =
            mirrors.into_iter().map(|mirror| (mirror.host_id.clone(), mirror)).collect();
        let visible = known.values().filter(|mirror| mirror.hidden_at.is_none()).count();
        let listed = listing.found.len();
        for found in std::mem::take(&mut listing.found) {
            let mirror = known.remove(&found.id);
            match (left_out(host, &found, listing.named.contains(&found.id)), mirror) {
                (None, mirror) => {
                    let work = work(&found, mirror.as_ref());
                    plan.taken.push(Taken { listed: found, mirror, work });
                }
                (Some(why), mirror) => {
                    plan.drop(mirror, &why);
                    plan.left.push((found, why));
                }
            }
        }
        let mut others: Vec<Mirror> =
            known.into_values().filter(|mirror| mirror.hidden_at.is_none()).collect();
        others.sort_by(|a, b| a.path.cmp(&b.path));
        for mirror in others {
            // What the configuration file no longer names is not listed either.
            let is_left = host.take.matching(&mirror.path).is_none();
            if is_left && mirror.missing == 0 && listing.unknown.is_empty() {
                plan.drop(Some(mirror), "no glob of take matches");
            } else {
                plan.absent.push(mirror);
            }
        }
        let has_shrunk = before.is_some_and(|before| listed * 2 < before);
        if !plan.absent.is_empty() && !accepts && (has_shrunk || plan.absent.len() * 2 > visible) {
            plan.doubt = Some(format!(
                "host {} lists {listed} repositories, and {} of our {visible} are not among them; nothing is dropped; if \
                 that is right, run: codesearch mirror --accept-shrunk",
                host.name,
                plan.absent.len(),
            ));
            plan.absent.clear();
        }
        plan
    }

    /// Has a clone hidden, if there is one that is not.
    pub(crate) fn drop(&mut self, mirror: Option<Mirror>, why: &str) {
        if let Some(mirror) = mirror.filter(|mirror| mirror.hidden_at.is_none()) {
            self.dropped.push((mirror, why.to_owned()));
        }
    }
}

/// Returns what is to be done for a mirror whose repository is listed.
pub(crate) fn work(listed: &Listed, mirror: Option<&Mirror>) -> Work {
    let Some(mirror) = mirror.filter(|mirror| mirror.cloned_at.is_some()) else {
        return Work::Clone;
    };
    let Ok(before) = serde_json::from_str::<Listed>(&mirror.found) else { return Work::Fetch };
    let is_same = mirror.settled
        && mirror.failures == 0
        && listed.pushed_at.is_some()
        && (listed.pushed_at, &listed.default_branch) == (before.pushed_at, &before.default_branch);
    if is_same && mirror.hidden_at.is_none() { Work::None } else { Work::Fetch }
}
