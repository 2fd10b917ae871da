//! Searches for changes between two revisions: `diff:A..B`.

use std::sync::Arc;
use std::time::Instant;

use answer::FileMatch;
use query::{Comparison, Select};
use store::RepoId;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::batches::{BATCH, Batch, Changes, Ended, MAX_BYTES, too_large};
use super::error::CompareError;
use super::file::{ChangedFile, Contents};
use super::matching::Matching;
use super::revisions::{self, InWorktree, Range, Revisions};
use crate::clock::{Clock, EndClock};
use crate::fresh::Covered;
use crate::order;
use crate::stats::{Stats, Stopped};
use crate::types::{AnswerProgress, Error, Request};
use crate::verify::Scratches;
use crate::view::View;

/// The result of a changed file.
struct Outcome {
    file: Option<FileMatch>,
    /// The reason why its contents were not searched, if they might match.
    left_out: Option<&'static str>,
    /// Whether its texts were compared.
    is_text: bool,
}

impl View {
    /// Searches the changes between two revisions, in each repository that the query's names leave. Sends the files by
    /// repository and path.
    ///
    /// # Errors
    /// The revisions cannot be compared; the database query fails; or the position to resume from belongs to another
    /// query, or to commits that the revisions no longer name.
    pub(crate) async fn search_changes(
        &self,
        request: &Arc<Request>,
        comparison: &Comparison,
        found: mpsc::Sender<Vec<FileMatch>>,
    ) -> Result<Stats, Error> {
        let begun = Instant::now();
        let of_clock = begun.checked_sub(request.compiling).unwrap_or(begun);
        let clock = Arc::new(Clock::new(of_clock, request.timeout));
        // The threads end if this future is dropped.
        let _end = EndClock(Arc::clone(&clock));
        let mut search = Search {
            request,
            clock: &clock,
            found,
            left: request.limit,
            // The earlier results are found again and left out.
            skip: request.resume.map_or(0, |from| from.results),
            results: 0,
            bytes: MAX_BYTES,
            done: Stats {
                query: order::hash(request.compiled_query()),
                progress: AnswerProgress::of(request),
                ..Stats::default()
            },
        };
        if request.resume.is_some_and(|from| from.query != search.done.query) {
            return Err(Error::OtherQuery);
        }
        let range = Range::Between(comparison.clone());
        let compiled = request.compiled_query();
        let choosing = async {
            let repos = revisions::named(self.compared_repos().await?, compiled)?;
            let ids: Vec<RepoId> = repos.iter().map(|(repo, _)| repo.id).collect();
            let catalog = self.catalog().await?;
            Ok::<_, Error>((Covered::of(&catalog, Some(&ids)), in_each(repos, range).await?))
        };
        match clock.wait(choosing).await {
            Some(chosen) => {
                let (covered, compared) = chosen?;
                search.done.covered = covered;
                search.run(compared).await?;
            }
            None => search.stop(Stopped::Timeout(request.timeout.unwrap_or_default())),
        }
        search.done.duration = begun.elapsed();
        Ok(search.done)
    }

    /// Returns the repositories whose clones may be read, and the worktrees of them that take the place of main trees.
    ///
    /// # Errors
    /// The operator disabled reading clones, or the database query fails.
    pub(super) async fn compared_repos(&self) -> Result<Vec<InWorktree>, Error> {
        if !self.reads_clones() {
            return Err(CompareError::Disabled.into());
        }
        let in_worktree = |repo: store::Repo| {
            let worktree = self.worktree(&repo.name);
            (repo, worktree)
        };
        Ok(self.repos().await?.into_iter().map(in_worktree).collect())
    }
}

async fn in_each(repos: Vec<InWorktree>, range: Range) -> Result<Vec<Revisions>, CompareError> {
    let work = spawn_blocking(move || revisions::in_each(repos, &range));
    work.await.expect("reading a clone does not panic")
}

/// A running search.
struct Search<'a> {
    request: &'a Arc<Request>,
    clock: &'a Arc<Clock>,
    found: mpsc::Sender<Vec<FileMatch>>,
    /// Results that the limit leaves.
    left: Option<usize>,
    /// Results that were found, and those to leave out.
    results: usize,
    skip: usize,
    /// Bytes of texts that may still be read.
    bytes: u64,
    done: Stats,
}

impl Search<'_> {
    fn stop(&mut self, why: Stopped) {
        self.done.stopped.get_or_insert(why);
    }

    async fn run(&mut self, compared: Vec<Revisions>) -> Result<(), Error> {
        self.done.switch = revisions::switch(&compared);
        if self.request.resume.is_some_and(|from| from.switch != self.done.switch) {
            return Err(Error::Gone);
        }
        for revisions in compared {
            if !self.run_in(revisions).await? {
                break;
            }
        }
        Ok(())
    }

    /// Searches one repository. Returns whether the search goes on.
    async fn run_in(&mut self, revisions: Revisions) -> Result<bool, Error> {
        let timeout = Stopped::Timeout(self.request.timeout.unwrap_or_default());
        let (request, clock) = (Arc::clone(self.request), Arc::clone(self.clock));
        let listing = spawn_blocking(move || {
            let mut changes = Changes::of(revisions)?;
            let go_on = || clock.goes_on();
            let repo = changes.revisions.repo.clone();
            let of = (&*repo.name, &repo.metadata.properties);
            let matching = Matching::of(request.compiled_query(), of, (0, 0));
            changes.retain(&|paths| matching.can_match(paths, &go_on));
            Ok::<_, CompareError>(changes)
        });
        let Some(changes) = self.clock.wait(listing).await else {
            self.stop(timeout);
            return Ok(false);
        };
        let changes = Arc::new(changes.expect("comparing does not panic")?);
        if self.clock.is_over() {
            self.stop(timeout);
            return Ok(false);
        }
        self.done.files_considered += changes.len();
        let (mut from, before) = (0, self.results);
        while from < changes.len() {
            let files = from..(from + BATCH).min(changes.len());
            from = files.end;
            let (request, clock, bytes) =
                (Arc::clone(self.request), Arc::clone(self.clock), self.bytes);
            let of = Arc::clone(&changes);
            let work = spawn_blocking(move || batch(&request, &of, files, bytes, &clock));
            let batch = work.await.expect("comparing does not panic");
            self.bytes -= batch.bytes;
            self.done.bytes += batch.bytes as usize;
            let more = self.take(batch.items).await;
            match batch.ended {
                None if !more => return Ok(false),
                None => {}
                // A client that has left ends the search, too; nobody reads why.
                Some(Ended::Late) => {
                    self.stop(timeout);
                    return Ok(false);
                }
                Some(Ended::Bytes) => {
                    self.stop(too_large());
                    return Ok(false);
                }
                Some(Ended::Failed(error)) => return Err(error.into()),
            }
            let finds_repos = self.request.compiled_query().select == Select::Repos;
            if finds_repos && self.results > before {
                // One file is enough to find a repository.
                break;
            }
        }
        Ok(true)
    }

    /// Sends the results of a batch. Returns whether the search goes on.
    async fn take(&mut self, outcomes: Vec<Outcome>) -> bool {
        let finds_repos = self.request.compiled_query().select == Select::Repos;
        let (mut files, mut goes_on) = (Vec::new(), true);
        for outcome in outcomes {
            if let Some(why) = outcome.left_out.filter(|_| self.request.skipped) {
                *self.done.skipped.entry(why.to_owned()).or_default() += 1;
            }
            self.done.rechecks += usize::from(outcome.is_text);
            let Some(file) = outcome.file else { continue };
            if self.left == Some(0) {
                self.stop(Stopped::Limit);
                goes_on = false;
                break;
            }
            self.results += 1;
            if self.results > self.skip {
                self.left = self.left.map(|left| left - 1);
                self.done.files += 1;
                self.done.matches += file.matches();
                self.done.progress.note(&file);
                files.push(file);
            }
            if finds_repos {
                break;
            }
        }
        if files.is_empty() {
            return goes_on && !self.found.is_closed();
        }
        self.clock.pause(self.found.send(files)).await.is_ok() && goes_on
    }
}

/// Searches some changed files of a repository.
fn batch(
    request: &Request,
    changes: &Changes,
    files: std::ops::Range<usize>,
    bytes: u64,
    clock: &Clock,
) -> Batch<Outcome> {
    let Revisions { repo, label, .. } = &changes.revisions;
    let query = request.compiled_query();
    let of = (&*repo.name, &repo.metadata.properties);
    let matching = Matching::of(query, of, request.context);
    let go_on = || clock.goes_on();
    let each = |file: ChangedFile, scratches: &mut Scratches| {
        let language = file.language();
        let found = matching.find(&file, language.as_deref(), scratches, &go_on);
        let left_out = match &file.contents {
            Contents::LeftOut(why) if matching.might_match(&file, &go_on) => Some(*why),
            _ => None,
        };
        let bytes = match &file.contents {
            Contents::Texts(texts) if file.new.is_some() => texts.new.len(),
            Contents::Texts(texts) => texts.old.len(),
            Contents::LeftOut(_) => 0,
        };
        let is_text = matches!(file.contents, Contents::Texts(_));
        let file = found.map(|found| FileMatch {
            repo_id: repo.id,
            blob_key: FileMatch::NOT_STORED,
            repo: repo.name.clone(),
            rank: repo.rank,
            path: file.path().to_owned(),
            path_ranges: found.path_ranges,
            language,
            bytes,
            lines: found.lines,
            trees: vec![label.clone()],
            commit: None,
            renamed_from: file.renamed_from().map(str::to_owned),
            copies: Vec::new(),
        });
        Outcome { file, left_out, is_text }
    };
    changes.batch(files, bytes, &go_on, &each)
}
