//! What the owners of monitors may see now: news were found earlier, perhaps by other grants.

use std::fmt;
use std::sync::Arc;

use access::{Named, Principal};
use search::{Gate, Searcher, View, Visible};
use settings::Watched;
use store::{Monitor, News};

/// What decides what owners see.
#[derive(Clone)]
pub struct Sight {
    gate: Arc<Gate>,
    configuration: Arc<Watched>,
    groups: Option<Arc<GroupsOf>>,
}

/// Returns the groups that a user has now; `None` for those of the user's last request.
type GroupsOf = dyn Fn(&str) -> Option<Vec<String>> + Send + Sync;

impl fmt::Debug for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sight").finish_non_exhaustive()
    }
}

impl Sight {
    /// Makes one of a server's.
    pub fn new(gate: Arc<Gate>, configuration: Arc<Watched>) -> Self {
        Self { gate, configuration, groups: None }
    }

    /// Has owners be in the groups that `groups` tells, if it does, and not in those of their last requests.
    #[must_use]
    pub fn with_groups(
        self,
        groups: impl Fn(&str) -> Option<Vec<String>> + Send + Sync + 'static,
    ) -> Self {
        Self { groups: Some(Arc::new(groups)), ..self }
    }

    /// Returns the repositories that the owner of a monitor may see now, of those that the monitor is about. The operator's
    /// monitors see all of these.
    ///
    /// # Errors
    /// The database does not say what is granted.
    pub(crate) async fn visible(
        &self,
        monitor: &Monitor,
        among: &Visible,
    ) -> Result<Visible, store::Error> {
        let configured = self.configuration.get().access.clone();
        self.gate.among(among, &self.owner(monitor), configured.as_ref()).await
    }

    /// Returns who made a monitor.
    fn owner(&self, monitor: &Monitor) -> Principal {
        let Some(name) = &monitor.owner else { return Principal::Owner };
        let known = self.groups.as_ref().and_then(|groups| groups(name));
        let groups = known.unwrap_or_else(|| monitor.owner_groups.clone());
        let repos = monitor.owner_repos.clone();
        Principal::Named(Arc::new(Named { repos, ..Named::new(name.clone(), groups) }))
    }
}

/// Takes away what a view does not show of news, and news of which nothing is left.
///
/// # Errors
/// The database cannot be reached.
pub async fn cover(view: &View, news: &mut Vec<News>) -> Result<(), store::Error> {
    let catalog = match view.catalog().await {
        // Before the first epoch there are no news.
        Err(store::Error::Empty) => return Ok(()),
        read => read?,
    };
    if catalog.visible().is_none() {
        return Ok(());
    }
    for one in news.iter_mut() {
        let before = one.hits.len();
        one.hits.retain(|hit| catalog.repos.get(&hit.repo).is_some_and(|of| of.name == hit.name));
        if one.hits.len() < before || one.appeared + one.disappeared > before {
            // Nobody knows of which repositories the others were.
            let appeared = one.hits.iter().filter(|hit| hit.appeared).count();
            (one.appeared, one.disappeared) = (appeared, one.hits.len() - appeared);
        }
        // It names repositories.
        one.note = None;
    }
    news.retain(|one| !one.hits.is_empty());
    Ok(())
}

/// Makes the view of the owner of a monitor.
pub(crate) async fn view_of(
    sight: &Sight,
    searcher: &Arc<Searcher>,
    monitor: &Monitor,
) -> Result<View, store::Error> {
    // A monitor with patterns that this version cannot read sees nothing.
    let among = Visible::of(&monitor.repos);
    let among = among.unwrap_or_else(|_| Visible::ALL.allowed(access::Rules::nothing()));
    Ok(View::new(Arc::clone(searcher), sight.visible(monitor, &among).await?))
}
