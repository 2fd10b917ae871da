//! One pass: all hosts are surveyed, what moved is fetched, what is new is cloned, what is gone is hidden and, later,
//! deleted. It can be killed at any step; the next pass goes on from there.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt;
use settings::Settings;
use store::Mirror;

use crate::event::{Event, Report};
use crate::git;
use crate::group::{Group, Kind};
use crate::http::Unanswered;
use crate::left;
use crate::listed::Listed;
use crate::mirrors::{Known, Mirrors};
use crate::plan::{Plan, Taken, Work};
use crate::survey::{Survey, of};
use crate::work::{Job, Outcome, json, now};

impl Mirrors {
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
}
