//! All changes between two revisions of a repository, for those who read them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use query::CompiledQuery;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::batches::{BATCH, Changes, Ended, MAX_BYTES, too_large};
use super::error::CompareError;
use super::file::ChangedFile;
use super::matching::Matching;
use super::revisions::{Range, Revisions};
use crate::clock::{Clock, EndClock};
use crate::stats::Stopped;
use crate::types::Error;
use crate::view::View;

/// What to compare.
#[derive(Clone, Debug)]
pub struct Comparing {
    /// The name of the repository.
    pub repo: String,
    /// The revisions.
    pub range: Range,
    /// The condition on the paths of changed files.
    pub paths: Arc<CompiledQuery>,
    /// The number of files to leave out first, and the limit of those after them.
    pub files: (usize, usize),
    /// The longest time; `None` for no limit.
    pub timeout: Option<Duration>,
}

/// What was compared.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The repository.
    pub repo: store::Repo,
    /// The hash of the older commit; `None` if a commit without a parent was compared.
    pub old: Option<String>,
    /// The hash of the newer commit.
    pub new: String,
    /// The revisions as they were typed.
    pub label: String,
    /// The number of changed files that meet the condition.
    pub files: usize,
    /// Why files are missing, if some are.
    pub stopped: Option<Stopped>,
}

impl View {
    /// Compares two revisions, and sends the changed files, by path.
    ///
    /// # Errors
    /// The repository is not in the view, or the revisions cannot be compared.
    pub fn compare<'a>(
        &'a self,
        what: &'a Comparing,
        found: mpsc::Sender<Vec<ChangedFile>>,
    ) -> BoxFuture<'a, Result<Compared, Error>> {
        async move {
            let timeout = self.time_for(what.timeout);
            let clock = Arc::new(Clock::new(Instant::now(), timeout));
            // The threads end if this future is dropped.
            let _end = EndClock(Arc::clone(&clock));
            let late = Stopped::Timeout(timeout.unwrap_or_default());
            let repos = self.compared_repos().await?;
            let Some(repo) = repos.into_iter().find(|(repo, _)| repo.name == what.repo) else {
                return Err(CompareError::NoRepo(what.repo.clone()).into());
            };
            let (range, paths, own) =
                (what.range.clone(), Arc::clone(&what.paths), Arc::clone(&clock));
            let work = spawn_blocking(move || {
                let mut changes = Changes::of(Revisions::of(repo, &range)?)?;
                let repo = changes.revisions.repo.clone();
                let of = (&*repo.name, &repo.metadata.properties);
                let (matching, go_on) = (Matching::of(&paths, of, (0, 0)), || own.goes_on());
                changes.retain(&|paths| matching.can_match(paths, &go_on));
                Ok::<_, CompareError>(changes)
            });
            let Some(changes) = clock.wait(work).await else {
                return Err(CompareError::Late(timeout.unwrap_or_default()).into());
            };
            let changes = Arc::new(changes.expect("comparing does not panic")?);
            let Revisions { repo, old, new, label, .. } = &changes.revisions;
            let mut compared = Compared {
                repo: repo.clone(),
                old: old.map(|old| old.to_string()),
                new: new.to_string(),
                label: label.clone(),
                files: changes.len(),
                stopped: None,
            };
            let (mut from, most) = what.files;
            let end = from.saturating_add(most).min(changes.len());
            let mut bytes = MAX_BYTES;
            while from < end {
                let files = from..(from + BATCH).min(end);
                from = files.end;
                let (of, own) = (Arc::clone(&changes), Arc::clone(&clock));
                let work = spawn_blocking(move || {
                    of.batch(files, bytes, &|| own.goes_on(), &|file, _| file)
                });
                let batch = work.await.expect("comparing does not panic");
                bytes -= batch.bytes;
                if clock.pause(found.send(batch.items)).await.is_err() {
                    break;
                }
                compared.stopped = match batch.ended {
                    None => continue,
                    Some(Ended::Late) => Some(late),
                    Some(Ended::Bytes) => Some(too_large()),
                    Some(Ended::Failed(error)) => return Err(error.into()),
                };
                break;
            }
            if compared.stopped.is_none() && end < changes.len() {
                compared.stopped = Some(Stopped::Limit);
            }
            Ok(compared)
        }
        .boxed()
    }
}
