//! Clones of what a host no longer lists: they are hidden, and later deleted.

use std::path::Path;

use settings::Settings;
use store::{Change, Mirror, Reason};

use crate::event::{Event, Report};
use crate::git;
use crate::mirrors::Mirrors;
use crate::work::now;

impl Mirrors {
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
    pub(crate) async fn end_grace(
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
