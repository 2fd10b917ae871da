//! What is granted, and to whom.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::pattern::is_match;
use crate::{Principal, Who};

/// Grants of one source, by whom they are for. Equal globs are stored once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants(HashMap<Who, Vec<Arc<str>>>);

impl Grants {
    /// Collects grants: to whom, and a glob of repositories' names.
    pub fn new<G: AsRef<str>>(grants: impl IntoIterator<Item = (Who, G)>) -> Self {
        let mut known: HashSet<Arc<str>> = HashSet::new();
        let mut all: HashMap<Who, Vec<Arc<str>>> = HashMap::new();
        for (who, glob) in grants {
            let glob = match known.get(glob.as_ref()) {
                Some(known) => Arc::clone(known),
                None => {
                    let glob: Arc<str> = glob.as_ref().into();
                    known.insert(Arc::clone(&glob));
                    glob
                }
            };
            all.entry(who).or_default().push(glob);
        }
        for globs in all.values_mut() {
            globs.sort_unstable();
            globs.dedup();
            globs.shrink_to_fit();
        }
        all.shrink_to_fit();
        Self(all)
    }

    /// Returns whether nothing is granted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the globs that are granted to a principal.
    pub fn of(&self, principal: &Principal) -> Vec<Arc<str>> {
        let all = Who::all_of(principal);
        all.iter().filter_map(|who| self.0.get(who)).flatten().cloned().collect()
    }

    /// Returns the first grant that shows a principal the repository with a name.
    pub fn shows(&self, principal: &Principal, name: &str) -> Option<(Who, Arc<str>)> {
        Who::all_of(principal).into_iter().find_map(|who| {
            let glob = self.0.get(&who)?.iter().find(|glob| is_match(glob, name))?.clone();
            Some((who, glob))
        })
    }

    /// Returns all grants, ordered.
    pub fn all(&self) -> BTreeMap<&Who, &[Arc<str>]> {
        self.0.iter().map(|(who, globs)| (who, &**globs)).collect()
    }
}

/// Whom a host shows a repository that it listed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum HostShows {
    /// Everybody.
    Everybody,
    /// Everybody who has an account there.
    Users,
    /// Its members, whom a listing does not tell.
    Members,
}

impl HostShows {
    /// Returns whether a principal may see a repository because of this.
    pub fn shows(self, principal: &Principal) -> bool {
        match self {
            Self::Everybody => true,
            Self::Users => matches!(principal, Principal::Named(_)),
            Self::Members => false,
        }
    }
}
