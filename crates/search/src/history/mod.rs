//! Searches of the history of lines: `history:PATTERN`.
//!
//! | step | where |
//! |---|---|
//! | the lines and paths that match, by the trigram index, and the commits that changed them | [`lines`] |
//! | the candidates among the commits by time; reading them some at a time, until the limit | here |
//! | whether a changed file of a commit matches, and which of its lines | [`decide`] |
//!
//! A search holds one bit for each line, path and commit of a batch in memory, and a time for each candidate.

mod bits;
mod decide;
mod lines;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use answer::{Commit, FileMatch, Line, LineChange, apart};
use query::{Predicate, Select, language_of};
use store::{
    BlobId, Catalog, HistoryBatch, HistoryCommit, HistorySnapshot, RepoId, ShardId, unpack_changes,
};
use tokio::sync::mpsc;

use crate::changes::CompareError;
use crate::clock::{Clock, EndClock};
use crate::order;
use crate::stats::{Stats, Stopped};
use crate::types::{AnswerProgress, Error, Request};
use crate::verify::Scratches;
use crate::view::View;
use decide::Decided;
use lines::{Batch, damaged};

/// Number of commits to read at once, at first and at most.
const COMMITS: (usize, usize) = (64, 1024);

/// Number of rows of lines that results may need before they are sent, and that are kept: 16 MB.
const ROWS: usize = 512;

/// Most names of repositories in a note.
const MOST_NAMES: usize = 3;

/// Number of results after which they are sent.
const RESULTS: usize = 100;

/// The shard of results: no shard has this number. Their blobs are the numbers of commits.
const NO_SHARD: ShardId = ShardId(i16::MAX);

/// A commit that may match.
struct Candidate {
    time: i64,
    number: i32,
    /// The number of its batch among those that are searched.
    batch: usize,
}

/// A result whose lines are not read yet.
struct Pending {
    batch: usize,
    decided: Decided,
    commit: Arc<Commit>,
    number: i32,
    lines: Vec<(u32, LineChange, Vec<usize>)>,
}

impl View {
    /// Searches the history of lines. Sends changed files of commits, the newest commit first, or the oldest if
    /// [requested](Request::oldest_first).
    ///
    /// # Errors
    /// The operator disabled histories; the database query fails; or the position to resume from belongs to another query, or its commit is gone.
    pub(crate) async fn search_history(
        &self,
        request: &Arc<Request>,
        found: mpsc::Sender<Vec<FileMatch>>,
    ) -> Result<Stats, Error> {
        if !self.reads_clones() {
            return Err(CompareError::Disabled.into());
        }
        let begun = Instant::now();
        let of_clock = begun.checked_sub(request.compiling).unwrap_or(begun);
        let clock = Arc::new(Clock::new(of_clock, request.timeout));
        let _end = EndClock(Arc::clone(&clock));
        let mut done = Stats {
            query: order::hash(request.compiled_query()) ^ u64::from(request.oldest_first),
            progress: AnswerProgress::of(request),
            ..Stats::default()
        };
        if request.resume.is_some_and(|from| from.query != done.query) {
            return Err(Error::OtherQuery);
        }
        let choosing = async {
            let catalog = self.catalog().await?;
            let snapshot = self.store().histories().await?;
            Ok::<_, Error>((catalog, snapshot))
        };
        let timeout = Stopped::Timeout(request.timeout.unwrap_or_default());
        let Some(chosen) = clock.wait(choosing).await else {
            done.stopped = Some(timeout);
            return Ok(done);
        };
        let (catalog, snapshot) = chosen?;
        done.switch = catalog.switch;
        let mut search = Search {
            request,
            clock: &clock,
            catalog,
            snapshot,
            batches: Vec::new(),
            texts: HashMap::new(),
            pending: Vec::new(),
            scratches: request.compiled_query().terms.iter().map(|_| None).collect(),
            rows: BTreeSet::new(),
            left: request.limit,
            repos: HashSet::new(),
            found,
            done,
        };
        let choosing = async {
            search.find().await?;
            search.candidates().await
        };
        let candidates = clock.wait(choosing).await;
        let is_over = clock.is_over();
        match candidates.filter(|_| !is_over) {
            None => search.stop(timeout),
            Some(candidates) => {
                let from = search.begin(candidates?)?;
                search.run(from).await?;
            }
        }
        let Search { snapshot, mut done, .. } = search;
        // Whatever ran into the timeout is cancelled.
        if done.stopped.as_ref().is_none_or(|why| *why == Stopped::Limit) {
            snapshot.done().await?;
        }
        done.duration = begun.elapsed();
        Ok(done)
    }
}

/// A running search.
struct Search<'s> {
    request: &'s Arc<Request>,
    clock: &'s Arc<Clock>,
    catalog: Arc<Catalog>,
    snapshot: HistorySnapshot,
    batches: Vec<Batch>,
    /// Lines that were read: those of a row, by batch and first line.
    texts: HashMap<(i32, i32), Arc<str>>,
    pending: Vec<Pending>,
    scratches: Scratches,
    /// The rows that pending results need.
    rows: BTreeSet<(i32, i32)>,
    /// Results that the limit leaves.
    left: Option<usize>,
    /// Repositories in the answer, if these are the results.
    repos: HashSet<RepoId>,
    found: mpsc::Sender<Vec<FileMatch>>,
    done: Stats,
}

/// The commits that are read, and how many results of the first one an earlier answer had.
struct From {
    candidates: Vec<Candidate>,
    skip: usize,
}

impl Search<'_> {
    fn stop(&mut self, why: Stopped) {
        self.done.stopped.get_or_insert(why);
    }

    /// Finds the lines and paths that match.
    async fn find(&mut self) -> Result<(), Error> {
        let query = self.request.compiled_query();
        let mut exprs = HashMap::new();
        for (id, repo) in &*self.catalog.repos {
            let known = |of: Predicate| match of {
                Predicate::InTree(_) | Predicate::Symbol(_) => Some(false),
                _ => query.of_repo(of, &repo.name, &repo.properties, &|| true),
            };
            let expr = query.expr.resolve(&known);
            if expr != query::Expr::Const(false) {
                exprs.insert(*id, Arc::new(expr));
            }
        }
        let asked: Vec<RepoId> = exprs.keys().copied().collect();
        self.done.note_covered(&self.catalog, Some(&asked));
        let complete = self.snapshot.complete(&asked).await?;
        let without = asked.iter().filter(|repo| complete.binary_search(repo).is_err());
        let mut names: Vec<String> =
            without.map(|repo| self.catalog.repos[repo].name.clone()).collect();
        names.sort_unstable();
        self.done.notes.extend(without_history(&names));
        let batches: Vec<HistoryBatch> = self.snapshot.batches(&complete).await?;
        self.batches =
            batches.into_iter().map(|of| Batch::new(of, &exprs[&of.repo], query)).collect();
        lines::find(
            &mut self.snapshot,
            &mut self.batches,
            self.request,
            self.clock,
            &mut self.done,
        )
        .await?;
        for batch in &mut self.batches {
            batch.find_paths(&mut self.snapshot, self.request, self.clock).await?;
        }
        Ok(())
    }

    /// Returns the commits that may match, in order.
    async fn candidates(&mut self) -> Result<Vec<Candidate>, Error> {
        let mut all = Vec::new();
        for (at, batch) in self.batches.iter().enumerate() {
            let some = batch.candidates(&batch.expr);
            let number = |number: usize| batch.of.first + number as i32;
            let times = match &some {
                Some(bits) if bits.count() as i64 * 4 < batch.of.commits => {
                    let numbers: Vec<i32> = bits.iter().map(number).collect();
                    if numbers.is_empty() {
                        continue;
                    }
                    self.snapshot.times(&numbers).await?
                }
                _ => self.snapshot.all_times(&batch.of).await?,
            };
            let is_one = |number: i32| {
                let at = usize::try_from(number - batch.of.first).unwrap_or(usize::MAX);
                some.as_ref().is_none_or(|bits| bits.contains(at))
            };
            let times = times.into_iter().filter(|(_, number)| is_one(*number));
            all.extend(times.map(|(time, number)| Candidate { time, number, batch: at }));
        }
        // Of two commits of the same second, that with the higher number is the newer one.
        all.sort_unstable_by_key(|candidate| (candidate.time, candidate.number));
        if !self.request.oldest_first {
            all.reverse();
        }
        Ok(all)
    }

    /// Returns where the search begins.
    fn begin(&self, mut candidates: Vec<Candidate>) -> Result<From, Error> {
        let Some(from) = self.request.resume else { return Ok(From { candidates, skip: 0 }) };
        if self.request.compiled_query().select == Select::Repos {
            return Ok(From { candidates, skip: from.results });
        }
        let Some(last) = from.last else { return Ok(From { candidates, skip: 0 }) };
        let is_last = |candidate: &Candidate| candidate.number == last.blob.0;
        let at = candidates.iter().position(is_last).ok_or(Error::Gone)?;
        candidates.drain(..at);
        Ok(From { candidates, skip: last.files as usize })
    }

    /// Reads commits until the end, the limit or the deadline, and sends the results.
    async fn run(&mut self, From { candidates, mut skip }: From) -> Result<(), Error> {
        let timeout = Stopped::Timeout(self.request.timeout.unwrap_or_default());
        let of_repos = self.request.compiled_query().select == Select::Repos;
        let (mut at, mut page) = (0, COMMITS.0);
        while at < candidates.len() {
            let next = (at + page).min(candidates.len());
            let mut asked: Vec<&Candidate> = candidates[at..next].iter().collect();
            asked.retain(|of| !self.repos.contains(&self.batches[of.batch].of.repo));
            (at, page) = (next, (page * 2).min(COMMITS.1));
            let numbers: Vec<i32> = asked.iter().map(|candidate| candidate.number).collect();
            if numbers.is_empty() {
                continue;
            }
            let clock = Arc::clone(self.clock);
            let Some(commits) = clock.wait(self.snapshot.commits(&numbers)).await else {
                self.stop(timeout);
                return Ok(());
            };
            let mut commits: HashMap<i32, HistoryCommit> =
                commits?.into_iter().map(|commit| (commit.number, commit)).collect();
            for candidate in asked {
                let Some(commit) = commits.remove(&candidate.number) else { continue };
                if of_repos && self.repos.contains(&self.batches[candidate.batch].of.repo) {
                    continue;
                }
                for pending in self.decide(candidate, commit)? {
                    if skip > 0 {
                        skip -= 1;
                        continue;
                    }
                    if self.left == Some(0) {
                        self.stop(Stopped::Limit);
                        self.send().await?;
                        return Ok(());
                    }
                    self.left = self.left.map(|left| left - 1);
                    self.push(pending);
                    if (self.pending.len() >= RESULTS || self.rows.len() >= ROWS)
                        && !self.send().await?
                    {
                        return Ok(());
                    }
                }
                // Results of an earlier answer are counted in its last commit only.
                skip = if of_repos { skip } else { 0 };
                if !self.clock.goes_on() {
                    self.stop(timeout);
                    self.send().await?;
                    return Ok(());
                }
            }
            if !self.send().await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the changed files of a commit that match. If repositories are the results, one is enough.
    fn decide(
        &mut self,
        candidate: &Candidate,
        commit: HistoryCommit,
    ) -> Result<Vec<Pending>, Error> {
        let query = self.request.compiled_query();
        let batch = &self.batches[candidate.batch];
        let files = unpack_changes(&commit.changes).ok_or_else(damaged)?;
        self.done.files_considered += files.len();
        let mut matching = Vec::new();
        for file in files {
            if let Some(decided) = decide::decide(batch, file, query) {
                matching.push(decided);
                if query.select == Select::Repos {
                    self.repos.insert(batch.of.repo);
                    break;
                }
            }
        }
        if matching.is_empty() {
            return Ok(Vec::new());
        }
        let number = commit.number;
        let commit = Arc::new(Commit {
            hash: hex(&commit.oid),
            author: commit.author,
            time: commit.time,
            summary: commit.summary,
        });
        let pending = |decided: Decided| Pending {
            batch: candidate.batch,
            lines: decided.lines(batch),
            decided,
            commit: Arc::clone(&commit),
            number,
        };
        Ok(matching.into_iter().map(pending).collect())
    }

    fn push(&mut self, pending: Pending) {
        let batch = &self.batches[pending.batch];
        let rows = pending.lines.iter().filter_map(|(line, ..)| row_of(batch, *line));
        self.rows.extend(rows);
        self.pending.push(pending);
    }

    /// Reads the lines of pending results, and sends these. Returns false if nobody receives them.
    async fn send(&mut self) -> Result<bool, Error> {
        let pending = std::mem::take(&mut self.pending);
        let rows = std::mem::take(&mut self.rows);
        if pending.is_empty() {
            return Ok(!self.found.is_closed());
        }
        let missing: Vec<(i32, i32)> =
            rows.into_iter().filter(|row| !self.texts.contains_key(row)).collect();
        if self.texts.len() + missing.len() > ROWS * 2 {
            self.texts.clear();
        }
        for keys in missing.chunks(ROWS) {
            let read = self.snapshot.rows(keys).await?;
            self.texts
                .extend(read.into_iter().map(|row| ((row.batch, row.first), row.lines.into())));
        }
        let mut files = Vec::with_capacity(pending.len());
        for pending in pending {
            let file = self.file(pending).await?;
            self.done.files += 1;
            self.done.matches += file.matches();
            self.done.progress.note(&file);
            files.push(file);
        }
        Ok(self.clock.pause(self.found.send(files)).await.is_ok())
    }

    async fn file(&mut self, pending: Pending) -> Result<FileMatch, Error> {
        let Pending { batch: at, decided, commit, number, lines } = pending;
        let names = self.batches[at].names(&mut self.snapshot).await?;
        let batch = &self.batches[at];
        let query = self.request.compiled_query();
        let name = |path: Option<u32>| Some(names.paths.get(path? as usize)?.clone());
        let (old, new) = (name(decided.file.old_path), name(decided.file.new_path));
        let renamed_from = old.clone().filter(|old| new.as_ref().is_some_and(|new| new != old));
        let path = new.or(old).unwrap_or_default();
        let repo = self.catalog.repos.get(&batch.of.repo);
        let mut shown = Vec::with_capacity(lines.len());
        for (line, change, terms) in lines {
            let row = row_of(batch, line).ok_or_else(damaged)?;
            let text = match self.texts.get(&row) {
                Some(text) => Arc::clone(text),
                // The rows of very many results are dropped early.
                None => {
                    let read = self.snapshot.rows(&[row]).await?;
                    let read = read.into_iter().next().ok_or_else(damaged)?;
                    let text: Arc<str> = read.lines.into();
                    self.texts.insert(row, Arc::clone(&text));
                    text
                }
            };
            let place = line as usize - row.1 as usize;
            // Without its line feed, an empty line is none.
            let line = text.split_inclusive('\n').nth(place).unwrap_or_default();
            let mut ranges = Vec::new();
            for term in terms {
                let matcher = &query.terms[term].matcher;
                let scratch = self.scratches[term].get_or_insert_with(|| matcher.scratch());
                let found = matcher.first_line(scratch, line.as_bytes(), &|| true);
                ranges.extend(found.into_iter().flat_map(|found| found.ranges));
            }
            let text = line.strip_suffix('\n').unwrap_or(line).to_owned();
            let (ranges, change) = (apart(ranges), Some(change));
            shown.push(Line { text, ended: true, ranges, change, ..Line::default() });
        }
        Ok(FileMatch {
            repo_id: batch.of.repo,
            blob_key: (NO_SHARD, BlobId(number)),
            repo: repo.map_or_else(String::new, |repo| repo.name.clone()),
            rank: repo.map_or(0, |repo| repo.rank),
            path_ranges: decided.path_ranges(&path, query),
            language: language_of(&path, b"").map(str::to_owned),
            path,
            bytes: 0,
            lines: shown,
            trees: Vec::new(),
            commit: Some(commit),
            renamed_from,
            copies: Vec::new(),
        })
    }
}

/// Returns a sentence without a full stop about repositories without an index of their history; `None` if all have one.
fn without_history(names: &[String]) -> Option<String> {
    let of_them = match names {
        [] => return None,
        [one] => format!("{one} has"),
        some if some.len() <= MOST_NAMES => format!("{} have", some.join(", ")),
        many => {
            format!("{} and {} more have", many[..MOST_NAMES].join(", "), many.len() - MOST_NAMES)
        }
    };
    Some(format!(
        "{of_them} no index of the history of lines; to make it, run: codesearch ingest --history FOLDER"
    ))
}

/// Returns the key of the row that has a matching line.
fn row_of(batch: &Batch, line: u32) -> Option<(i32, i32)> {
    let after = batch.rows.partition_point(|first| *first as u32 <= line);
    Some((batch.of.first, *batch.rows.get(after.checked_sub(1)?)?))
}

/// Returns bytes in hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
