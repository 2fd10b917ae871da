//! What passes need: the groups of the configuration file, what is known of them, and their surveys.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use settings::Settings;
use store::{Mirror, MirrorHost, MirrorLock, MirrorPage, Store};
use tokio::task::JoinSet;

use crate::event::{Event, Report};
use crate::group::{Common, Group, names};
use crate::http::Unanswered;
use crate::survey::{Survey, survey};
use crate::work::Worker;

/// How a pass is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder that has a folder of clones for each host, if the configuration file names none.
    pub into: std::path::PathBuf,
    /// Longest time that a host may be silent.
    pub patience: Duration,
    /// Whether a listing is believed that has less than half of the repositories of the last one.
    pub accepts_shrunk: bool,
    /// Whether hosts and repositories that failed are tried again before their time.
    pub is_impatient: bool,
}

/// The reason why a pass ended early.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another program mirrors into the index.
    #[error(
        "another codesearch mirrors hosts into this index; it takes what is new, or stop it (codesearch serve or codesearch \
         mirror)"
    )]
    Busy,
    /// A statement failed, or the database could not be reached.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Makes passes.
pub(crate) struct Mirrors {
    pub(crate) worker: Worker,
    pub(crate) common: Common,
    pub(crate) options: Options,
}

/// A group with what is known of it.
pub(crate) struct Known {
    pub(crate) group: Arc<Group>,
    pub(crate) mirrors: Vec<Mirror>,
    host: Option<MirrorHost>,
    pages: Vec<MirrorPage>,
}

impl Mirrors {
    pub(crate) fn new(
        store: Store,
        options: Options,
        tell: Arc<dyn Fn(Event) + Send + Sync>,
    ) -> Self {
        let common = Common { usual: options.into.clone(), patience: options.patience };
        Self { worker: Worker::new(store, tell), common, options }
    }

    /// Takes the lock on mirroring into the index, which the caller closes.
    ///
    /// # Errors
    /// Another program mirrors into the index, or the database fails.
    pub(crate) async fn alone(
        store: &Store,
        options: &Options,
        tell: Arc<dyn Fn(Event) + Send + Sync>,
    ) -> Result<(MirrorLock, Self), Error> {
        let lock = store.try_mirror_lock().await?.ok_or(Error::Busy)?;
        Ok((lock, Self::new(store.clone(), options.clone(), tell)))
    }

    pub(crate) fn store(&self) -> &Store {
        &self.worker.store
    }

    pub(crate) fn tell(&self, event: Event) {
        (self.worker.tell)(event);
    }

    /// Prepares the groups of the configuration file.
    pub(crate) async fn groups(
        &self,
        settings: &Settings,
        wanted: &(dyn Fn(&str) -> bool + Sync),
        report: &mut Report,
    ) -> Vec<Arc<Group>> {
        let names: Vec<String> = names(settings).filter(|name| wanted(name)).collect();
        let (common, settings) = (self.common.clone(), settings.clone());
        // A token may be read from a command.
        let made = tokio::task::spawn_blocking(move || {
            let hosts = settings.hosts.iter().filter(|host| names.contains(&host.name));
            let lists = settings.git.iter().filter(|list| names.contains(&list.name));
            let hosts =
                hosts.map(|host| (host.name.clone(), Group::of_host(host, &settings, &common)));
            let lists =
                lists.map(|list| (list.name.clone(), Group::of_list(list, &settings, &common)));
            hosts.chain(lists).collect::<Vec<_>>()
        });
        let mut groups = Vec::new();
        for (name, group) in made.await.unwrap_or_default() {
            match group {
                Ok(group) => groups.push(Arc::new(group)),
                Err(why) => {
                    report.failed += 1;
                    // Fails if the host was never listed, which is as good.
                    let _ = self.store().fail_listing(&name, &why, None).await;
                    self.tell(Event::Failed { what: format!("host {name}"), why });
                }
            }
        }
        groups
    }

    /// Reads what is known of groups.
    pub(crate) async fn known(&self, groups: Vec<Arc<Group>>) -> Result<Vec<Known>, store::Error> {
        let hosts = self.store().mirror_hosts().await?;
        let mut mirrors: HashMap<String, Vec<Mirror>> = HashMap::new();
        for mirror in self.store().mirrors().await? {
            mirrors.entry(mirror.host.clone()).or_default().push(mirror);
        }
        let mut all = Vec::new();
        for group in groups {
            let host = hosts.iter().find(|host| host.name == group.name).cloned();
            let pages = self.store().mirror_pages(&group.name).await?;
            let mirrors = mirrors.remove(&group.name).unwrap_or_default();
            all.push(Known { group, mirrors, host, pages });
        }
        Ok(all)
    }

    /// Surveys the groups, all at once: each host gets one request at a time.
    pub(crate) async fn surveys(
        &self,
        all: Vec<Known>,
    ) -> Vec<(Known, Result<Survey, Unanswered>)> {
        let mut running = JoinSet::new();
        for known in all {
            let paused = known.host.as_ref().and_then(|host| host.paused);
            if let Some(seconds) = paused.filter(|_| !self.options.is_impatient) {
                self.tell(Event::Notice(format!(
                    "host {} is asked again in {}: it said so",
                    known.group.name,
                    settings::written_duration(Duration::from_secs(seconds as u64 + 1))
                )));
                continue;
            }
            let accepts = self.options.accepts_shrunk;
            running.spawn(async move {
                let Known { group, mirrors, host, pages } = known;
                let done = survey(&group, mirrors.clone(), host.as_ref(), pages, accepts).await;
                (Known { group, mirrors, host, pages: Vec::new() }, done)
            });
        }
        let mut done = running.join_all().await;
        done.sort_by(|(a, _), (b, _)| a.group.name.cmp(&b.group.name));
        done
    }
}
