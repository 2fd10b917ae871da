//! Looks at one epoch after the other for all monitors, and writes what they found.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use request::human::count;
use search::{EpochChanges, Searcher, View, Visible};
use store::{CatalogRepo, Epoch, Monitor, NewNews, Store};

use crate::find::{Asked, Found, Most, find_all};
use crate::rights::Rights;
use crate::standing::Standing;

/// Matches of an epoch that are kept for each monitor.
const MAX_HITS: usize = 200;

/// Most names in a note.
const MAX_NAMES: usize = 5;

/// The changes of an epoch are no longer kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unkept {
    /// The first epoch whose changes are kept.
    pub first: Epoch,
}

/// Looks at epochs. Keeps the monitors' compiled queries.
#[derive(Debug)]
pub struct Looker {
    store: Store,
    view: View,
    rights: Rights,
    compiled: HashMap<i32, Arc<Compiled>>,
}

/// A monitor that is ready to look.
#[derive(Debug)]
struct Compiled {
    monitor: Monitor,
    standing: Standing,
    sees: Visible,
}

impl Looker {
    /// Makes one. Its searcher is that of the server, or a new one that is dropped soon: the newest catalog that it keeps
    /// prevents rows from being deleted.
    pub fn new(store: Store, searcher: Arc<Searcher>) -> Self {
        let view = View::new(searcher, Visible::ALL);
        Self { store, view, rights: Rights::default(), compiled: HashMap::new() }
    }

    /// Checks the rights of owners before each look.
    #[must_use]
    pub fn with_rights(self, rights: Rights) -> Self {
        Self { rights, ..self }
    }

    /// Looks at all epochs that monitors have not looked at yet. Returns the number of monitors that found something, each
    /// counted for each epoch.
    ///
    /// # Errors
    /// The database cannot be reached. What was looked at before is written.
    pub async fn look(&mut self) -> Result<usize, store::Error> {
        let mut told = 0;
        loop {
            let at = self.store.monitor_epoch().await?;
            if at.looked > at.newest {
                self.store.reset_monitor_epoch().await?;
                continue;
            }
            if !at.is_needed || at.looked == at.newest {
                return Ok(told);
            }
            let (epoch, begun) = (Epoch(at.looked.0 + 1), Instant::now());
            let monitors = self.compiled(epoch).await?;
            let news = match self.view.changed(epoch).await? {
                Some(changes) => self.news(&monitors, &changes).await?,
                None => missed(&monitors, epoch),
            };
            if self.store.publish_news(epoch, &news).await? {
                told += news.len();
            }
            let (all, took) = (count(monitors.len(), "monitor"), begun.elapsed());
            tracing::debug!("{all} looked at epoch {} in {took:?}", epoch.0);
        }
    }

    /// Returns the monitors that look at an epoch. One whose owner has lost the right, or whose query this version cannot
    /// compile, is paused.
    async fn compiled(&mut self, epoch: Epoch) -> Result<Vec<Arc<Compiled>>, store::Error> {
        let mut compiled = HashMap::new();
        for monitor in self.store.monitors().await?.into_iter().filter(|of| !of.paused) {
            let id = monitor.id;
            if let Some(why) = self.rights.refuse(monitor.owner.as_deref(), &monitor.repos) {
                self.store.pause_monitor(id, true, Some(&why)).await?;
                continue;
            }
            let known = self.compiled.remove(&id).filter(|known| known.monitor == monitor);
            let ready = match known {
                Some(known) => known,
                None => match Compiled::new(monitor) {
                    Ok(ready) => Arc::new(ready),
                    Err(why) => {
                        self.store.pause_monitor(id, true, Some(&why)).await?;
                        continue;
                    }
                },
            };
            compiled.insert(id, ready);
        }
        self.compiled = compiled;
        let looks = self.compiled.values().filter(|of| of.monitor.since_epoch < epoch.0);
        let mut looks: Vec<_> = looks.cloned().collect();
        looks.sort_unstable_by_key(|of| of.monitor.id);
        Ok(looks)
    }

    /// Returns what monitors find in the changes of an epoch; nothing of those that find nothing.
    async fn news(
        &self,
        monitors: &[Arc<Compiled>],
        changes: &EpochChanges,
    ) -> Result<Vec<NewNews>, store::Error> {
        let mut sees = Vec::with_capacity(monitors.len());
        for of in monitors {
            sees.push(self.rights.visible(&of.monitor, &of.sees).await?);
        }
        let asked: Vec<Asked<'_>> = monitors
            .iter()
            .zip(&sees)
            .map(|(of, sees)| Asked {
                standing: &of.standing,
                sees: {
                    let sees = sees.ready();
                    Box::new(move |repo: &CatalogRepo| sees.shows(&repo.name, &repo.source))
                },
            })
            .collect();
        let first = Most::First(MAX_HITS);
        let found = find_all(&self.view, changes, &asked, first, &mut |_| true).await?;
        let news = monitors.iter().zip(&sees).zip(found).filter_map(|((of, sees), found)| {
            let note = of.note(changes, sees, &found);
            let Found { appeared, disappeared, hits, .. } = found;
            let is_news = appeared + disappeared > 0 || note.is_some();
            is_news.then_some(NewNews { monitor: of.monitor.id, appeared, disappeared, note, hits })
        });
        Ok(news.collect())
    }
}

impl Compiled {
    fn new(monitor: Monitor) -> Result<Self, String> {
        let standing = Standing::new(&monitor.query).map_err(|why| first_line(&why.to_string()))?;
        let sees = Visible::of(&monitor.repos).map_err(|why| first_line(&why.to_string()))?;
        Ok(Self { monitor, standing, sees })
    }

    /// Returns what else it noticed, in one sentence.
    fn note(&self, changes: &EpochChanges, sees: &Visible, found: &Found) -> Option<String> {
        let mut notes = Vec::new();
        let new = changes.new_repos.iter().filter_map(|id| changes.repos.get(id));
        let sees = sees.ready();
        let concerns = |repo: &&Arc<CatalogRepo>| {
            sees.shows(&repo.name, &repo.source) && self.standing.may_match_in(repo)
        };
        let mut new: Vec<&str> = new.filter(concerns).map(|repo| repo.name.as_str()).collect();
        if !new.is_empty() {
            new.sort_unstable();
            let more = new.len().saturating_sub(MAX_NAMES);
            let mut names = new[..new.len() - more].join(", ");
            if more > 0 {
                names = format!("{names} and {more} more");
            }
            let what = count(new.len(), "new repository");
            notes.push(format!("{what}, whose matches are no news: {names}"));
        }
        if found.late > 0 {
            notes.push(format!(
                "the query takes too long: {} not looked at; make it simpler",
                count(found.late, "changed file")
            ));
        }
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

/// Returns the news that the changes of an epoch are no longer kept.
fn missed(monitors: &[Arc<Compiled>], epoch: Epoch) -> Vec<NewNews> {
    let note = format!("the changes of epoch {} were deleted before they were looked at", epoch.0);
    let news = |of: &Arc<Compiled>| NewNews {
        monitor: of.monitor.id,
        note: Some(note.clone()),
        ..NewNews::default()
    };
    monitors.iter().map(news).collect()
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Returns what an epoch changed in the repositories of a view, or which epochs' changes are still kept.
///
/// # Errors
/// The database query fails.
pub async fn changes_of(
    view: &View,
    store: &Store,
    epoch: Epoch,
) -> Result<Result<EpochChanges, Unkept>, store::Error> {
    match view.changed(epoch).await? {
        Some(changes) => Ok(Ok(changes)),
        None => Ok(Err(Unkept { first: Epoch(store.kept_from().await?.0 + 1) })),
    }
}
