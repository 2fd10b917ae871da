//! The history of lines: brings the commits of chosen repositories into the index, after an ingest has published their
//! files.
//!
//! A first build stores batch after batch, and is visible when it is complete; a killed one goes on where it ended. An
//! update reads only commits that are not stored. It is one transaction, so a killed one has changed nothing.

mod builder;
mod diff;
mod merge;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use git::{Clone as GitClone, Oid};
use store::{HistoryCommit, HistoryState, HistoryUpdate, RepoId, RepoRow, Session, Store};

use crate::{Error, Event, Options, Progress, cores};
use builder::Builder;
use diff::{Changes, Found};
use merge::merged;

/// The result for all repositories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Commits read.
    pub commits: i64,
    /// Lines that they added or removed.
    pub lines: i64,
    /// Commits removed because nothing leads to them any more.
    pub removed: i64,
}

/// Brings the histories of some repositories up to date, as far as they are chosen.
pub(crate) async fn update(
    store: &Store,
    session: &mut Session,
    repos: &[RepoId],
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let rows: Vec<RepoRow> =
        session.repos().await?.into_iter().filter(|row| repos.contains(&row.id)).collect();
    choose(session, &rows, options, progress).await?;
    let mut report = Report::default();
    let mut has_changed = false;
    for row in &rows {
        let Some(state) = session.history(row.id).await? else { continue };
        if !has_changed {
            session.drop_empty_history_index().await?;
        }
        let folders = folders(row);
        let source = PathBuf::from(&row.source);
        let opened = session.await_other(blocking(move || GitClone::open(&source, &folders))).await;
        let done = match opened {
            Ok(clone) => {
                let mut work = Work {
                    store,
                    session: &mut *session,
                    clone,
                    repo: row.id,
                    options,
                    progress,
                    report: &mut report,
                };
                work.bring_up_to_date(state).await
            }
            Err(error) => Err(error.into()),
        };
        match done {
            Ok(changed) => has_changed |= changed,
            Err(Failure::NoClone) => {
                session.choose_histories(&[row.id], false).await?;
                let name = &row.name;
                progress(Event::Notice(format!("no history of {name}: it is not a git clone")));
            }
            Err(Failure::Clone(why)) => {
                let name = &row.name;
                progress(Event::Notice(format!("the history of {name} is not updated: {why}")));
                has_changed = true;
            }
            Err(Failure::Ingest(error)) => return Err(error),
        }
        tell(session, row, progress).await?;
    }
    if has_changed || session.lacks_history_index().await? {
        session.build_history_index(store.index_memory_kb(1).await?).await?;
    }
    Ok(report)
}

/// Notes which repositories are to have a history: an option overrides the configuration of a clone, and this what was
/// chosen before.
async fn choose(
    session: &mut Session,
    rows: &[RepoRow],
    options: &Options,
    progress: &dyn Progress,
) -> Result<(), Error> {
    let (mut wanted, mut unwanted) = (Vec::new(), Vec::new());
    for row in rows {
        let configured = || git::wants_history(&PathBuf::from(&row.source), folders(row));
        let said = || options.configured(&PathBuf::from(&row.source)).history;
        match options.history.or_else(configured).or_else(said) {
            Some(true) => wanted.push(row.id),
            Some(false) => unwanted.push(row.id),
            None => {}
        }
    }
    let known = progress_names(session, rows, &unwanted).await?;
    session.choose_histories(&wanted, true).await?;
    session.choose_histories(&unwanted, false).await?;
    for name in known {
        progress(Event::Notice(format!("the history of {name} is removed")));
    }
    Ok(())
}

/// Returns the names of those repositories that have a history until now.
async fn progress_names(
    session: &mut Session,
    rows: &[RepoRow],
    repos: &[RepoId],
) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for row in rows.iter().filter(|row| repos.contains(&row.id)) {
        if session.history(row.id).await?.is_some() {
            names.push(row.name.clone());
        }
    }
    Ok(names)
}

/// Tells what the history of a repository lacks.
async fn tell(session: &mut Session, row: &RepoRow, progress: &dyn Progress) -> Result<(), Error> {
    let Some(state) = session.history(row.id).await?.filter(|state| state.is_complete) else {
        return Ok(());
    };
    let name = &row.name;
    if !state.shallow.is_empty() {
        progress(Event::Notice(format!(
            "the history of {name} is incomplete, as it is a shallow clone; fetch all of it with: git fetch --unshallow"
        )));
    }
    if state.missing > 0 {
        progress(Event::Notice(format!(
            "the history of {name} lacks {} changed files, as it is a partial clone; fetch all of it with: git fetch \
             --refetch --no-filter, then ingest it with --no-history and again with --history",
            state.missing
        )));
    }
    Ok(())
}

fn folders(row: &RepoRow) -> Vec<PathBuf> {
    row.git_folders.iter().map(PathBuf::from).collect()
}

/// Runs work that reads a clone.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, git::Error> + Send + 'static,
) -> Result<T, git::Error> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(git::Error::Failed))
}

/// Why the history of one repository is not brought up to date.
enum Failure {
    /// There is no clone.
    NoClone,
    /// The clone cannot be read, for this reason. Other repositories go on.
    Clone(String),
    Ingest(Error),
}

impl From<git::Error> for Failure {
    fn from(error: git::Error) -> Self {
        match error {
            git::Error::NoClone => Self::NoClone,
            error => Self::Clone(error.to_string()),
        }
    }
}

impl From<git::RevisionError> for Failure {
    fn from(error: git::RevisionError) -> Self {
        Self::Clone(error.to_string())
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        Self::Ingest(error.into())
    }
}

/// Bringing the history of one repository up to date.
struct Work<'w> {
    store: &'w Store,
    session: &'w mut Session,
    clone: GitClone,
    repo: RepoId,
    options: &'w Options,
    progress: &'w dyn Progress,
    report: &'w mut Report,
}

/// What is to be done with a complete history.
struct Difference {
    /// The commits that are not stored, the newest first.
    new: Vec<Oid>,
    /// The numbers of the stored ones to which nothing leads any more.
    gone: Vec<i32>,
}

impl Work<'_> {
    /// Returns the bytes at which a batch is full.
    fn full(&self) -> u64 {
        self.options.shard_bytes.unwrap_or(builder::FULL_BYTES)
    }

    /// Returns whether anything was stored or deleted.
    async fn bring_up_to_date(&mut self, state: HistoryState) -> Result<bool, Failure> {
        let tips = self.tips().await?;
        let shallow: Vec<Vec<u8>> = bytes(&self.clone.shallow());
        let is_as_before = state.shallow == shallow;
        if state.is_complete && is_as_before && state.tips == bytes(&tips) {
            return Ok(false);
        }
        if state.is_complete && is_as_before {
            self.add_new(&state, &tips).await?;
            return Ok(true);
        }
        let begun: Vec<Oid> = oids(&state.tips);
        let is_begun = !state.is_complete && is_as_before && !state.batches.is_empty();
        let known = if is_begun { self.walk(&begun, &[]).await.ok() } else { None };
        if let Some(all) = known {
            // A killed build goes on with its own tips. What is new since then is added afterwards.
            self.build(&state, all, &begun).await?;
        } else {
            let all = self.walk(&tips, &[]).await?;
            let mut update = self.store.update_history(self.repo).await?;
            update.restart(&bytes(&tips), &shallow).await?;
            drop(update);
            self.build(&HistoryState::default(), all, &tips).await?;
        }
        let state = self.session.history(self.repo).await?.unwrap_or_default();
        if state.tips != bytes(&tips) {
            self.add_new(&state, &tips).await?;
        }
        Ok(true)
    }

    /// Returns the commits of HEAD, and of all indexed branches, tags and worktrees.
    async fn tips(&mut self) -> Result<Vec<Oid>, Failure> {
        let others = self.session.tree_commits(self.repo).await?;
        let clone = self.clone.clone();
        let read = blocking(move || {
            let head = match clone.head() {
                Ok(head) => head,
                Err(error) => return Ok(Err(error)),
            };
            let mut tips: Vec<Oid> = head.into_iter().collect();
            for other in others {
                // A branch that was deleted since its files were listed is left out.
                tips.extend(clone.resolve(&other).ok());
            }
            tips.sort_unstable();
            tips.dedup();
            Ok(Ok(tips))
        });
        Ok(self.session.await_other(read).await??)
    }

    /// Returns the commits that lead to some tips and not to others, the newest first.
    async fn walk(&mut self, tips: &[Oid], hidden: &[Oid]) -> Result<Vec<Oid>, git::Error> {
        let (clone, tips, hidden) = (self.clone.clone(), tips.to_vec(), hidden.to_vec());
        let read = blocking(move || {
            clone
                .commits(&tips, &hidden)
                .map(|commit| Ok(commit?.id))
                .collect::<Result<Vec<Oid>, _>>()
        });
        self.session.await_other(read).await
    }

    /// Stores all commits of a repository that are not stored yet, batch by batch.
    async fn build(
        &mut self,
        state: &HistoryState,
        mut all: Vec<Oid>,
        tips: &[Oid],
    ) -> Result<(), Failure> {
        let known: HashMap<Vec<u8>, i32> =
            self.session.history_commits(self.repo).await?.into_iter().collect();
        all.retain(|commit| !known.contains_key(commit.as_bytes()));
        drop(known);
        // The newest were stored first, and have the highest numbers.
        let first = match state.batches.first() {
            Some(oldest) => oldest.first - all.len() as i32,
            None => self.session.reserve_history_numbers(all.len() as i32).await?,
        };
        let mut update = self.store.update_history(self.repo).await?;
        let builder = self.read(&mut update, Builder::new(self.full()), all, first, true).await?;
        self.store_batch(&mut update, builder).await?;
        Ok(update.finish(&bytes(tips)).await?)
    }

    /// Brings a complete history to other tips.
    async fn add_new(&mut self, state: &HistoryState, tips: &[Oid]) -> Result<(), Failure> {
        let Difference { new, gone } = self.difference(state, tips).await?;
        self.report.removed += gone.len() as i64;
        let first = match new.len() {
            0 => 0,
            count => self.session.reserve_history_numbers(count as i32).await?,
        };
        let mut update = self.store.update_history(self.repo).await?;
        update.forget(&gone).await?;
        if !new.is_empty() {
            let merged = merged(state, &gone, new.len(), self.full());
            let mut builder =
                self.read(&mut update, Builder::new(self.full()), new, first, false).await?;
            for batch in state.batches[merged..].iter().rev() {
                builder = self.merge(&mut update, builder, batch.first, batch.upto).await?;
            }
            self.store_batch(&mut update, builder).await?;
        }
        Ok(update.finish(&bytes(tips)).await?)
    }

    /// Compares the stored commits with those of some tips.
    async fn difference(
        &mut self,
        state: &HistoryState,
        tips: &[Oid],
    ) -> Result<Difference, Failure> {
        let before = oids(&state.tips);
        let new = self.walk(tips, &before).await;
        let gone = self.walk(&before, tips).await;
        let (new, gone) = match (new, gone) {
            (Ok(new), Ok(gone)) if gone.is_empty() => {
                return Ok(Difference { new, gone: Vec::new() });
            }
            (Ok(new), Ok(gone)) => (new, Some(gone)),
            // Git deletes commits to which nothing leads, some time after a forced push.
            (_, Err(git::Error::Missing { .. })) | (Err(git::Error::Missing { .. }), _) => {
                (self.walk(tips, &[]).await?, None)
            }
            (Err(error), _) | (_, Err(error)) => return Err(error.into()),
        };
        let mut known: HashMap<Vec<u8>, i32> =
            self.session.history_commits(self.repo).await?.into_iter().collect();
        if let Some(gone) = gone {
            let gone = gone.iter().filter_map(|commit| known.remove(commit.as_bytes())).collect();
            return Ok(Difference { new, gone });
        }
        let (mut all, mut kept) = (new, HashMap::new());
        all.retain(|commit| match known.remove_entry(commit.as_bytes()) {
            Some((name, number)) => kept.insert(name, number).is_some(),
            None => true,
        });
        Ok(Difference { new: all, gone: known.into_values().collect() })
    }

    /// Reads commits into a batch, and stores each batch that is full.
    async fn read(
        &mut self,
        update: &mut HistoryUpdate,
        mut builder: Builder,
        commits: Vec<Oid>,
        first: i32,
        saves: bool,
    ) -> Result<Builder, Failure> {
        let all = commits.len();
        (self.progress)(Event::History(all as i64));
        let mut changes =
            Changes::of(&self.clone, &Arc::new(commits), self.options.max_bytes, cores());
        let mut read = 0;
        let mut missing = 0;
        let number = |read: usize| first + (all - 1 - read) as i32;
        while read < all {
            builder.begin(number(read));
            loop {
                let found = self.session.await_other(changes.next()).await;
                match found {
                    Some(Found::Files(files)) => {
                        for file in &files {
                            missing += i64::from(file.is_missing);
                            self.report.lines += file.signs.len() as i64;
                            if !file.signs.is_empty() {
                                let paths = (file.old.as_deref(), file.new.as_deref());
                                builder.add(paths, file.lines());
                            }
                        }
                    }
                    Some(Found::Commit(commit)) => {
                        builder.end(HistoryCommit {
                            number: number(read),
                            oid: commit.id.as_bytes().to_vec(),
                            author: without_nul(commit.author),
                            time: commit.time,
                            summary: without_nul(commit.summary),
                            changes: Vec::new(),
                        });
                        break;
                    }
                    Some(Found::Failed(error)) => return Err(error.into()),
                    Some(Found::Block) => {}
                    // A thread ended early, or could not be started.
                    None => return Err(git::Error::Failed.into()),
                }
            }
            read += 1;
            self.report.commits += 1;
            if read.is_multiple_of(64) || read == all {
                (self.progress)(Event::HistoryRead(read as i64));
            }
            if builder.is_full() {
                self.store_batch(update, builder).await?;
                update.add_missing(std::mem::take(&mut missing)).await?;
                if saves {
                    update.save().await?;
                }
                builder = Builder::new(self.full());
            }
        }
        update.add_missing(missing).await?;
        Ok(builder)
    }

    async fn store_batch(
        &mut self,
        update: &mut HistoryUpdate,
        builder: Builder,
    ) -> Result<(), Failure> {
        if builder.overflowed {
            (self.progress)(Event::Notice(
                "the history lacks lines of a commit that changed more than 3 GB of lines"
                    .to_owned(),
            ));
        }
        if builder.commits() > 0 {
            let (batch, lines) = builder.finish();
            update.add(&batch, lines).await?;
        }
        Ok(())
    }
}

fn bytes(oids: &[Oid]) -> Vec<Vec<u8>> {
    oids.iter().map(|oid| oid.as_bytes().to_vec()).collect()
}

fn oids(bytes: &[Vec<u8>]) -> Vec<Oid> {
    bytes.iter().filter_map(|bytes| Oid::try_from(bytes.as_slice()).ok()).collect()
}

/// Postgres stores no NUL.
fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{FFFD}") } else { text }
}
