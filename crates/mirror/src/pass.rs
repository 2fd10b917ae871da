//! One pass: all hosts are surveyed, what moved is fetched, what is new is cloned, what is gone is hidden and, later,
//! deleted. It can be killed at any step; the next pass goes on from there.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use settings::Settings;
use store::{Change, Mirror, MirrorHost, MirrorLock, MirrorPage, Reason, Store};
use tokio::task::JoinSet;

use crate::event::{Event, Intent, Report, Verb};
use crate::git;
use crate::group::{Common, Group, Kind, names};
use crate::http::Unanswered;
use crate::left;
use crate::listed::Listed;
use crate::plan::{Plan, Taken, Work};
use crate::survey::{Survey, of, survey};
use crate::work::{Job, Outcome, Worker, json, now};

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
struct Known {
    group: Arc<Group>,
    mirrors: Vec<Mirror>,
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

    fn store(&self) -> &Store {
        &self.worker.store
    }

    fn tell(&self, event: Event) {
        (self.worker.tell)(event);
    }

    /// Makes a pass over the groups whose names are wanted.
    ///
    /// # Errors
    /// The database cannot be reached or refuses a statement.
    pub(crate) async fn pass(
        &self,
        settings: &Settings,
        wanted: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<Report, store::Error> {
        let mut report = Report::default();
        let groups = self.groups(settings, wanted, &mut report).await;
        for group in &groups {
            let (kind, url) = group.words();
            self.store().keep_mirror_host(&group.name, kind, url).await?;
            let above = group.into.clone();
            let made = tokio::task::spawn_blocking(move || {
                git::remove_unfinished(&above);
                std::fs::create_dir_all(above)
            });
            if let Ok(Err(error)) = made.await {
                let why = format!("cannot make {}: {error}", group.into.display());
                self.tell(Event::Failed { what: format!("host {}", group.name), why });
                report.failed += 1;
            }
        }
        let all = self.known(groups).await?;
        for mirror in all.iter().flat_map(|known| &known.mirrors) {
            if mirror.hidden_at.is_some() {
                // A killed pass did not finish it.
                self.put_away(mirror).await?;
            }
        }
        // Where passes are made without end, others take them at once.
        let mut hooks: HashMap<String, Vec<i64>> = HashMap::new();
        if self.options.is_impatient {
            for row in self.store().mirror_hooks().await? {
                hooks.entry(row.source).or_default().push(row.id);
            }
        }
        let mut jobs = Vec::new();
        for (known, surveyed) in self.surveys(all).await {
            match surveyed {
                Ok(survey) => {
                    jobs.extend(self.apply(&known, survey, &mut hooks, &mut report).await?);
                }
                Err(Unanswered { why, pause, refuses }) => {
                    report.failed += 1;
                    if refuses {
                        self.store().forget_visibility(&known.group.name).await?;
                    }
                    self.store().fail_listing(&known.group.name, &why, pause).await?;
                    self.tell(Event::Failed { what: format!("host {}", known.group.name), why });
                }
            }
        }
        self.work(settings, jobs, &mut report).await?;
        self.end_grace(settings, &mut report).await?;
        left::note(&self.worker, settings, self.options.is_impatient).await?;
        // An ingest that runs publishes it, too.
        self.store().publish_metadata().await?;
        Ok(report)
    }

    /// Says what a pass would do. Changes nothing.
    ///
    /// # Errors
    /// The database cannot be reached or refuses a statement.
    pub(crate) async fn intents(
        &self,
        settings: &Settings,
        wanted: &(dyn Fn(&str) -> bool + Sync),
    ) -> Result<(Vec<Intent>, Report), store::Error> {
        let mut report = Report::default();
        let mut intents = Vec::new();
        let groups = self.groups(settings, wanted, &mut report).await;
        for (known, surveyed) in self.surveys(self.known(groups).await?).await {
            let host = &known.group.name;
            let intent = |path: &str, verb, why: String| Intent {
                host: host.clone(),
                path: path.to_owned(),
                verb,
                why,
            };
            match surveyed {
                Ok(Survey { plan, missing, .. }) => {
                    report.hosts += 1;
                    if let Some(doubt) = plan.doubt {
                        self.tell(Event::Notice(doubt));
                    }
                    for Taken { listed, mirror, work } in &plan.taken {
                        let why = told(listed, mirror.as_ref(), *work);
                        intents.push(intent(&listed.path, Verb::Take, why));
                    }
                    for (listed, why) in plan.left {
                        intents.push(intent(&listed.path, Verb::Leave, why));
                    }
                    for (mirror, why) in plan.dropped {
                        intents.push(intent(&mirror.path, Verb::Drop, why));
                    }
                    for mirror in missing {
                        let why = "missing in this listing; dropped if the next one lacks it, too";
                        intents.push(intent(&mirror.path, Verb::Take, why.to_owned()));
                    }
                }
                Err(Unanswered { why, .. }) => {
                    report.failed += 1;
                    self.tell(Event::Failed { what: format!("host {host}"), why });
                }
            }
        }
        intents.extend(left::intents(&self.worker, settings).await?);
        intents.sort_by(|a, b| (&a.host, a.verb, &a.path).cmp(&(&b.host, b.verb, &b.path)));
        Ok((intents, report))
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
    async fn known(&self, groups: Vec<Arc<Group>>) -> Result<Vec<Known>, store::Error> {
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
    async fn surveys(&self, all: Vec<Known>) -> Vec<(Known, Result<Survey, Unanswered>)> {
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

    /// Records a survey, hides what is gone, and returns what is to be cloned and fetched.
    async fn apply(
        &self,
        known: &Known,
        survey: Survey,
        hooks: &mut HashMap<String, Vec<i64>>,
        report: &mut Report,
    ) -> Result<Vec<(Job, Work)>, store::Error> {
        let group = &known.group;
        let Survey { plan, listing, listed, scope, missing, lag } = survey;
        report.hosts += 1;
        let requests = listing.requests;
        self.tell(Event::Listed { host: group.name.clone(), repos: listed, requests });
        for path in &listing.unknown {
            self.tell(Event::Notice(format!(
                "host {} has no repository {path}, or the token may not see it; check take",
                group.name
            )));
        }
        self.keep_visibility(group, &plan, listing.began).await?;
        for (mirror, why) in plan.dropped {
            self.hide(mirror, &why, report).await?;
        }
        self.store().keep_mirrors(&missing.iter().collect::<Vec<_>>()).await?;
        let (mut jobs, mut kept, mut unchanged) = (Vec::new(), Vec::new(), Vec::new());
        for Taken { listed, mirror, work } in plan.taken {
            report.mirrored += 1;
            let settled = listed.pushed_at.is_some_and(|pushed| pushed + lag <= listing.began);
            let Some(mirror) = mirror else {
                jobs.extend(self.new_job(group, listed, settled, report));
                continue;
            };
            let is_renamed = mirror.path != listed.path;
            if is_renamed {
                let (from, to) = (mirror.path.clone(), listed.path.clone());
                self.tell(Event::Renamed { from, to });
            }
            // What failed by the old name may work by the new one.
            let is_due = mirror.due.is_none_or(|due| due <= now())
                || self.options.is_impatient
                || is_renamed;
            let hooks = hooks.remove(&mirror.folder).unwrap_or_default();
            let is_known = work == Work::None && !is_renamed && mirror.indexing == group.indexing;
            if !is_known || !hooks.is_empty() {
                if is_due {
                    let group = Arc::clone(group);
                    jobs.push((Job { group, mirror, listed, settled, hooks }, work));
                } else {
                    self.tell(Event::Notice(format!(
                        "not tried yet again: {} ({})",
                        mirror.path,
                        mirror.failure.as_deref().unwrap_or_default()
                    )));
                }
                continue;
            }
            unchanged.push(mirror.folder.clone());
            if of(&mirror).as_ref() != Some(&listed) || mirror.missing > 0 {
                self.worker.tell_metadata(group, &mirror.folder, &listed).await?;
                kept.push(Mirror { found: json(&listed), missing: 0, ..mirror });
            }
        }
        self.store().keep_mirrors(&kept.iter().collect::<Vec<_>>()).await?;
        let began = listing.began as f64;
        // A later push may not have been listed yet.
        let known_until = (listing.began - lag) as f64;
        self.store().note_unchanged(&unchanged, known_until.min(now())).await?;
        let name = &group.name;
        let (changed, gone) = (&listing.changed, &listing.gone);
        if let Some(doubt) = plan.doubt {
            // The number of before stays, so that the next listing is compared with that one, too.
            self.store().fail_listing(name, &doubt, None).await?;
            report.failed += 1;
            self.tell(Event::Notice(doubt));
        } else {
            self.store().keep_listing(name, (listed, &scope, began), changed, gone).await?;
        }
        Ok(jobs)
    }

    /// Records whom the host shows each repository, before anything of it is fetched.
    async fn keep_visibility(
        &self,
        group: &Arc<Group>,
        plan: &Plan,
        began: i64,
    ) -> Result<(), store::Error> {
        if !matches!(group.kind, Kind::Host { .. }) {
            return Ok(());
        }
        let mut said: Vec<(String, &str)> = Vec::new();
        for Taken { listed, mirror, .. } in &plan.taken {
            let folder = match mirror {
                Some(mirror) => mirror.folder.clone(),
                // One that cannot be cloned has nothing to show.
                None => match group.folder(listed) {
                    Ok(folder) => folder.to_string_lossy().into_owned(),
                    Err(_) => continue,
                },
            };
            said.push((folder, listed.seen_by.word()));
        }
        said.sort();
        said.dedup_by(|one, other| one.0 == other.0);
        let said: Vec<(&str, &str)> =
            said.iter().map(|(folder, word)| (&**folder, *word)).collect();
        // What a doubtful listing lacks counts until it is too old.
        let is_all = plan.doubt.is_none();
        self.store().keep_visibility(&group.name, &said, began as f64, is_all).await
    }

    /// Makes the job of a repository that is new.
    fn new_job(
        &self,
        group: &Arc<Group>,
        listed: Listed,
        settled: bool,
        report: &mut Report,
    ) -> Option<(Job, Work)> {
        let folder = match group.folder(&listed) {
            Ok(folder) => folder,
            Err(why) => {
                report.failed += 1;
                self.tell(Event::Failed { what: listed.path, why });
                return None;
            }
        };
        let mirror = Mirror {
            host: group.name.clone(),
            host_id: listed.id.clone(),
            path: listed.path.clone(),
            folder: folder.to_string_lossy().into_owned(),
            found: json(&listed),
            indexing: group.indexing.clone(),
            ..Mirror::default()
        };
        let group = Arc::clone(group);
        Some((Job { group, mirror, listed, settled, hooks: Vec::new() }, Work::Clone))
    }

    /// Clones and fetches, some at once. Fetches come first: they are short, and somebody waits for them.
    async fn work(
        &self,
        settings: &Settings,
        mut jobs: Vec<(Job, Work)>,
        report: &mut Report,
    ) -> Result<(), store::Error> {
        if jobs.is_empty() {
            return Ok(());
        }
        let clones = jobs.iter().filter(|(_, work)| *work == Work::Clone).count();
        self.tell(Event::Working { clones, fetches: jobs.len() - clones });
        jobs.sort_by_key(|(job, work)| {
            (*work == Work::Clone, job.listed.bytes.unwrap_or_default())
        });
        // No tasks of their own: when this is dropped, git has ended.
        let running = jobs.into_iter().map(|(job, _)| self.worker.bring_in_step(job));
        let mut running =
            futures_util::stream::iter(running).buffer_unordered(settings.mirror.at_once.max(1));
        while let Some(done) = running.next().await {
            match done? {
                Outcome::Cloned => report.cloned += 1,
                Outcome::Moved => report.moved += 1,
                Outcome::Unmoved => report.unmoved += 1,
                Outcome::Failed => report.failed += 1,
                Outcome::Left => {}
            }
        }
        Ok(())
    }

    /// Hides a clone: first in the database, then on disk, then from searches.
    pub(crate) async fn hide(
        &self,
        mirror: Mirror,
        why: &str,
        report: &mut Report,
    ) -> Result<(), store::Error> {
        let _taken = self.worker.take(&mirror.folder).await;
        if mirror.cloned_at.is_none() {
            // There is nothing to hide.
            return self.store().forget_mirror(&mirror.host, &mirror.host_id).await;
        }
        let mirror = Mirror { hidden_at: Some(now()), hidden: Some(why.to_owned()), ..mirror };
        self.store().keep_mirrors(&[&mirror]).await?;
        report.hidden += 1;
        self.tell(Event::Hidden { path: mirror.path.clone(), why: why.to_owned() });
        self.put_away(&mirror).await
    }

    /// Moves the folder of a hidden clone away, and has an ingest notice that. Does nothing if that was done before.
    pub(crate) async fn put_away(&self, mirror: &Mirror) -> Result<(), store::Error> {
        let folder = Path::new(&mirror.folder).to_owned();
        if !folder.exists() {
            return Ok(());
        }
        let moved = tokio::task::spawn_blocking(move || git::hide(&folder)).await;
        if let Ok(Err(error)) = &moved {
            let why = format!("cannot move {}: {error}", mirror.folder);
            self.tell(Event::Failed { what: mirror.path.clone(), why });
            return Ok(());
        }
        let source = mirror.folder.clone();
        let change = Change { source, paths: None, reason: Reason::Fetched };
        self.store().enqueue(&[change]).await.map(drop)
    }

    /// Deletes clones that were hidden for the time of grace.
    async fn end_grace(
        &self,
        settings: &Settings,
        report: &mut Report,
    ) -> Result<(), store::Error> {
        let grace = settings.mirror.grace.as_secs_f64();
        for mirror in self.store().mirrors().await? {
            if mirror.hidden_at.is_none_or(|at| at + grace > now()) {
                continue;
            }
            self.delete(mirror, report).await?;
        }
        Ok(())
    }

    /// Deletes a hidden clone, and what is known of it.
    pub(crate) async fn delete(
        &self,
        mirror: Mirror,
        report: &mut Report,
    ) -> Result<(), store::Error> {
        let _taken = self.worker.take(&mirror.folder).await;
        let folder = Path::new(&mirror.folder).to_owned();
        let deleted = tokio::task::spawn_blocking(move || git::delete_hidden(&folder)).await;
        if let Ok(Err(error)) = deleted {
            let why = format!("cannot delete its hidden clone: {error}");
            self.tell(Event::Failed { what: mirror.path, why });
            report.failed += 1;
            return Ok(());
        }
        self.store().forget_metadata(&mirror.folder).await?;
        self.store().forget_mirror(&mirror.host, &mirror.host_id).await?;
        report.deleted += 1;
        self.tell(Event::Deleted { path: mirror.path });
        Ok(())
    }
}

/// Says what a pass would do with a repository that is mirrored.
fn told(listed: &Listed, mirror: Option<&Mirror>, work: Work) -> String {
    let size = listed.bytes.map(|bytes| format!(", {}", settings::written_size(bytes)));
    let size = size.unwrap_or_default();
    let renamed = mirror.filter(|mirror| mirror.path != listed.path);
    let renamed = renamed.map(|mirror| format!(", was {}", mirror.path)).unwrap_or_default();
    let failure = mirror.and_then(|mirror| mirror.failure.as_ref());
    let failure = failure.map(|why| format!(", failed: {why}")).unwrap_or_default();
    match work {
        Work::Clone => format!("to clone{size}{renamed}{failure}"),
        Work::Fetch => format!("to fetch{renamed}{failure}"),
        Work::None => format!("in step{renamed}{failure}"),
    }
}
