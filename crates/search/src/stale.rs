//! Tells which files of an answer have changed on disk since they were indexed, if the folders of their repositories are
//! on this machine.
//!
//! An answer must not wait for a slow disk, so few files are checked, for a short time. Nearly always one `stat` says
//! that a file is as it was: its last change is older than the ingest. Of others, the fingerprint decides. If it differs
//! or is unknown, the contents do: a file that was only touched has not changed.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use answer::FileMatch;
use files::beneath::read_all;
use files::{Folder, RACY, SkipReason, blob_oid, fingerprint};
use futures_util::future::BoxFuture;
use store::{BlobId, Catalog, CatalogRepo, MAIN_TREE, RepoId, ShardId, Tree, TreeFilter};
use tokio::sync::Semaphore;

use crate::view::View;

/// Most files of an answer that are checked.
const MOST_FILES: usize = 200;

/// Trees of a file among which one is looked for.
const MOST_TREES: usize = 8;

/// Time for one step of the check, after which it begins no other file.
const STEP_TIME: Duration = Duration::from_millis(20);

/// Files that are checked whatever the time: a busy machine also tells of a few files.
const FEW_FILES: usize = 10;

/// Longest time to wait for a step. A network file system that hangs must not stop an answer.
const PATIENCE: Duration = Duration::from_millis(250);

/// Largest file whose contents are compared.
const MAX_BYTES: u64 = 1 << 20;

/// Checks that may run at the same time, so that a file system that hangs takes few threads.
static TURNS: Semaphore = Semaphore::const_new(4);

/// Some files of an answer, to be checked.
#[derive(Clone, Debug, Default)]
pub struct ShownFiles(Vec<ShownFile>);

#[derive(Clone, Debug)]
struct ShownFile {
    repo: RepoId,
    /// The trees that have it, among those that were searched; none for the chosen one.
    trees: Vec<String>,
    path: String,
    blob_key: (ShardId, BlobId),
}

impl ShownFiles {
    /// Adds a file, unless there are enough.
    pub fn add(&mut self, file: &FileMatch) {
        if file.blob_key != FileMatch::NOT_STORED && self.0.len() < MOST_FILES {
            let trees = &file.trees[..file.trees.len().min(MOST_TREES)];
            self.add_in(file.repo_id, trees, &file.path, file.blob_key);
        }
    }

    /// Adds a file by its repository, path and blob, unless there are enough.
    pub fn add_path(&mut self, repo: RepoId, path: &str, blob_key: (ShardId, BlobId)) {
        self.add_in(repo, &[], path, blob_key);
    }

    fn add_in(&mut self, repo: RepoId, trees: &[String], path: &str, blob_key: (ShardId, BlobId)) {
        // The results of a search for repositories have no paths.
        if self.0.len() < MOST_FILES && !path.is_empty() {
            let (trees, path) = (trees.to_vec(), path.to_owned());
            self.0.push(ShownFile { repo, trees, path, blob_key });
        }
    }
}

impl<'a> FromIterator<&'a FileMatch> for ShownFiles {
    fn from_iter<T: IntoIterator<Item = &'a FileMatch>>(files: T) -> Self {
        let mut shown = Self::default();
        files.into_iter().take(MOST_FILES).for_each(|file| shown.add(file));
        shown
    }
}

/// The files of an answer that have changed since they were indexed, by repository, ordered by name.
#[derive(Clone, Debug, Default)]
pub struct Stale {
    /// The repositories with such files.
    pub repos: Vec<StaleRepo>,
}

/// The files of a repository that have changed.
#[derive(Clone, Debug)]
pub struct StaleRepo {
    /// Its name.
    pub name: String,
    /// Its folder on this machine.
    pub folder: String,
    /// The time of its last ingest.
    pub since: SystemTime,
    /// The paths of changed files.
    pub changed: Vec<String>,
    /// The paths that no longer exist.
    pub deleted: Vec<String>,
}

/// What a look at the disk says of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is as it was indexed, or nothing is known of it.
    Same,
    /// It may have changed; with its fingerprint.
    Unsure(i64),
    /// It is no ordinary file any more.
    Changed,
    /// It does not exist.
    Deleted,
}

/// The tree in whose folder a file is looked at: its repository, and the bit of the tree; `None` for the main one.
type OnDisk = (RepoId, Option<usize>);

/// The files to check in one folder.
struct InFolder {
    folder: PathBuf,
    /// When the ingest began to list the folder.
    listed: Option<SystemTime>,
    /// The numbers of the files, and their paths.
    files: Vec<(usize, PathBuf)>,
}

impl View {
    /// Returns which of some files have changed on disk since they were indexed: some of them, if there are many. Of
    /// files that are not on this machine, or not visible, it says nothing.
    pub fn stale(&self, shown: ShownFiles) -> BoxFuture<'_, Stale> {
        Box::pin(async move {
            if shown.0.is_empty() {
                return Stale::default();
            }
            match self.read_stale(&shown.0).await {
                Ok(stale) => stale,
                Err(error) => {
                    tracing::warn!("cannot tell which files have changed: {error}");
                    Stale::default()
                }
            }
        })
    }

    /// Returns the same for one file, by the name of its repository.
    pub fn stale_file<'a>(
        &'a self,
        repo: &'a str,
        path: &'a str,
        blob_key: (ShardId, BlobId),
    ) -> BoxFuture<'a, Stale> {
        Box::pin(async move {
            let Ok(catalog) = self.catalog().await else { return Stale::default() };
            let mut shown = ShownFiles::default();
            if let Some((id, _)) = catalog.repos.iter().find(|(_, known)| known.name == repo) {
                shown.add_path(*id, path, blob_key);
            }
            self.stale(shown).await
        })
    }

    async fn read_stale(&self, shown: &[ShownFile]) -> Result<Stale, store::Error> {
        let catalog = self.catalog().await?;
        let mut folders: BTreeMap<OnDisk, InFolder> = BTreeMap::new();
        let (mut places, mut sources) = (vec![None; shown.len()], BTreeMap::new());
        for (number, file) in shown.iter().enumerate() {
            let Some(repo) = catalog.repos.get(&file.repo) else { continue };
            let Some((bit, source, listed)) = on_disk(&catalog, repo, file) else { continue };
            places[number] = Some((file.repo, bit));
            sources.insert((file.repo, bit), source);
            let of = folders.entry((file.repo, bit)).or_insert_with(|| InFolder {
                folder: PathBuf::from(source),
                listed: listed.map(time),
                files: Vec::new(),
            });
            of.files.push((number, PathBuf::from(&file.path)));
        }
        let all = shown.len();
        let folders: Vec<InFolder> = folders.into_values().collect();
        let Some((folders, mut states)) = aside(move || {
            let states = look(&folders, all);
            (folders, states)
        })
        .await
        else {
            return Ok(Stale::default());
        };
        let mut by_shard: BTreeMap<ShardId, Vec<usize>> = BTreeMap::new();
        for number in (0..all).filter(|number| states[*number] != State::Same) {
            by_shard.entry(shown[number].blob_key.0).or_default().push(number);
        }
        if by_shard.is_empty() {
            return Ok(Stale::default());
        }
        let mut lease = self.store().lease().await?;
        let mut hashes = vec![None; all];
        for (shard, numbers) in by_shard {
            let of = |number: &usize| {
                let file = &shown[*number];
                (file.repo, file.blob_key.1, file.path.as_str())
            };
            let files: Vec<_> = numbers.iter().map(of).collect();
            let recorded = lease.recorded(catalog.epoch, shard, &files).await?;
            for (number, recorded) in numbers.into_iter().zip(recorded) {
                // The fingerprint is that in the main tree.
                let is_main = places[number].is_some_and(|(_, bit)| bit.is_none());
                let recorded = recorded.map(|of| store::Recorded {
                    fingerprint: if is_main { of.fingerprint } else { 0 },
                    ..of
                });
                match (recorded, states[number]) {
                    // The index has changed, too.
                    (None, _) => states[number] = State::Same,
                    (Some(of), State::Unsure(now)) if of.fingerprint == now && now != 0 => {
                        states[number] = State::Same;
                    }
                    (Some(of), State::Unsure(_)) => hashes[number] = Some(of),
                    _ => {}
                }
            }
        }
        if hashes.iter().any(Option::is_some) {
            let before = states.clone();
            let read = aside(move || {
                let mut states = before;
                compare(&folders, &hashes, &mut states);
                states
            });
            // Without an answer, nothing is known.
            states = read.await.unwrap_or_default();
        }
        let mut stale: BTreeMap<OnDisk, (Vec<String>, Vec<String>)> = BTreeMap::new();
        for ((file, place), state) in shown.iter().zip(&places).zip(states) {
            let Some(place) = place else { continue };
            match state {
                State::Same | State::Unsure(_) => {}
                State::Changed => stale.entry(*place).or_default().0.push(file.path.clone()),
                State::Deleted => stale.entry(*place).or_default().1.push(file.path.clone()),
            }
        }
        let ids: Vec<RepoId> = stale.keys().map(|(repo, _)| *repo).collect();
        let times = if ids.is_empty() { HashMap::new() } else { lease.indexed(&ids).await? };
        lease.done();
        let of = |(place, (changed, deleted)): (OnDisk, (Vec<String>, Vec<String>))| {
            let repo = catalog.repos.get(&place.0)?;
            let (name, folder) = (repo.name.clone(), (*sources.get(&place)?).to_owned());
            let since = time(*times.get(&place.0)?);
            Some(StaleRepo { name, folder, since, changed, deleted })
        };
        let mut repos: Vec<StaleRepo> = stale.into_iter().filter_map(of).collect();
        repos.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Stale { repos })
    }
}

/// Runs work that may wait for a disk on a thread for such work; `None` if it takes too long, or too much of it runs.
async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let turn = TURNS.try_acquire().ok()?;
    let work = tokio::task::spawn_blocking(move || {
        // Held until the work ends, however long that takes.
        let _turn = turn;
        work()
    });
    tokio::time::timeout(PATIENCE, work).await.ok()?.ok()
}

/// Returns the tree in whose folder a file is looked at, its folder, and when that was listed; `None` if it is only in
/// commits.
fn on_disk<'c>(
    catalog: &'c Catalog,
    repo: &'c CatalogRepo,
    file: &ShownFile,
) -> Option<(Option<usize>, &'c str, Option<f64>)> {
    let main = || {
        // The files of a commit do not change.
        repo.commit.is_none().then_some((None, repo.source.as_str(), repo.listed))
    };
    let chosen = match catalog.filter().trees {
        TreeFilter::Chosen(chosen) => {
            chosen.trees.iter().find(|(id, ..)| *id == file.repo).cloned()
        }
        TreeFilter::Main | TreeFilter::All => None,
    };
    let is_meant = |tree: &&Tree| match (file.trees.is_empty(), &chosen) {
        (true, Some((_, bit, _))) => tree.bit == *bit,
        (true, None) => false,
        (false, _) => file.trees.contains(&tree.name),
    };
    let is_main = if file.trees.is_empty() {
        chosen.is_none()
    } else {
        file.trees.iter().any(|name| name == MAIN_TREE)
    };
    if is_main {
        return main();
    }
    let mut trees = repo.trees.trees.iter().filter(is_meant);
    trees.find_map(|tree| Some((Some(tree.bit), tree.source.as_deref()?, tree.listed)))
}

fn time(seconds: f64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

/// Ends a step after a number of files and a time.
struct Budget {
    begun: Instant,
    files: usize,
}

impl Budget {
    fn new() -> Self {
        Self { begun: Instant::now(), files: 0 }
    }

    /// Counts a file; returns whether it may still be checked.
    fn allows_another(&mut self) -> bool {
        self.files += 1;
        self.files <= FEW_FILES || self.begun.elapsed() < STEP_TIME
    }
}

/// Looks at the files in some folders, of which `all` are shown.
fn look(folders: &[InFolder], all: usize) -> Vec<State> {
    let mut states = vec![State::Same; all];
    let mut budget = Budget::new();
    for of in folders {
        // A folder that does not exist may be on another machine.
        let Ok(folder) = Folder::open(&of.folder) else { continue };
        // Files of one folder follow each other, so that it is opened once.
        let mut files: Vec<&(usize, PathBuf)> = of.files.iter().collect();
        files.sort_unstable_by_key(|(_, path)| path.parent());
        let same_folder =
            |(_, a): &&(usize, PathBuf), (_, b): &&(usize, PathBuf)| a.parent() == b.parent();
        for files in files.chunk_by(same_folder) {
            let within = files[0].1.parent().unwrap_or(Path::new(""));
            let own = (!within.as_os_str().is_empty()).then(|| folder.folder(within));
            for (number, path) in files {
                if !budget.allows_another() {
                    return states;
                }
                states[*number] = match &own {
                    None => look_at((&folder, path), &folder, of.listed),
                    Some(Ok(own)) => look_at((&folder, path), own, of.listed),
                    Some(Err(reason)) => unreached(*reason),
                };
            }
        }
    }
    states
}

/// Looks at a path in a repository's folder; `own` is the folder in which the file lies.
fn look_at((folder, path): (&Folder, &Path), own: &Folder, listed: Option<SystemTime>) -> State {
    let Some(name) = path.file_name() else { return State::Same };
    match (own.last_change(name), listed) {
        (Err(reason), _) => unreached(reason),
        (Ok((false, _)), _) => State::Changed,
        (Ok((true, change)), Some(listed)) if change + RACY < listed => State::Same,
        _ => match folder.stat(path) {
            Ok(found) if found.is_file() => State::Unsure(fingerprint(&found)),
            Ok(_) => State::Changed,
            Err(reason) => unreached(reason),
        },
    }
}

/// Returns what it means that a file cannot be reached.
fn unreached(reason: SkipReason) -> State {
    match reason {
        SkipReason::Vanished => State::Deleted,
        SkipReason::Symlink => State::Changed,
        _ => State::Same,
    }
}

/// Decides on files whose fingerprints differ, or are not known, by their contents.
fn compare(folders: &[InFolder], recorded: &[Option<store::Recorded>], states: &mut [State]) {
    let mut budget = Budget::new();
    for of in folders {
        let Ok(folder) = Folder::open(&of.folder) else { continue };
        for (number, path) in &of.files {
            let Some(recorded) = &recorded[*number] else { continue };
            // A fingerprint that was known and differs is reason enough if the contents cannot be compared.
            let unread = if recorded.fingerprint == 0 { State::Same } else { State::Changed };
            states[*number] = if budget.allows_another() {
                match folder.file(path).and_then(|file| read_all(file, MAX_BYTES)) {
                    Ok(bytes) if blob_oid(&bytes) == Some(recorded.oid) => State::Same,
                    Err(SkipReason::Vanished) => State::Deleted,
                    Err(SkipReason::TooLarge | SkipReason::Unreadable) => unread,
                    Ok(_) | Err(_) => State::Changed,
                }
            } else {
                unread
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_look_tells_what_certainly_is_the_same() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        for path in ["a", "sub/b"] {
            fs::write(root.join(path), path).unwrap();
        }
        std::os::unix::fs::symlink("a", root.join("link")).unwrap();
        let paths = ["a", "sub/b", "gone", "sub/gone", "a/b", "sub", "link"];
        let folder = |folder: PathBuf, listed: Option<SystemTime>| InFolder {
            folder,
            listed,
            files: paths.iter().map(PathBuf::from).enumerate().collect(),
        };
        let now = SystemTime::now();
        let states = look(&[folder(root.clone(), Some(now + 2 * RACY))], paths.len());
        let (gone, odd) = (State::Deleted, State::Changed);
        assert_eq!(states, [State::Same, State::Same, gone, gone, gone, odd, odd]);
        // Files that changed about the time of the ingest have to be compared.
        for listed in [Some(now), None] {
            let states = look(&[folder(root.clone(), listed)], paths.len());
            assert!(states[..2].iter().all(|state| matches!(state, State::Unsure(_))));
            assert_eq!(states[2..], [gone, gone, gone, odd, odd]);
        }
        // A folder that is not there may be on another machine.
        let states = look(&[folder(root.join("none"), None)], paths.len());
        assert_eq!(states, [State::Same; 7]);
    }

    #[test]
    fn contents_decide_where_fingerprints_do_not() {
        let temporary = tempfile::tempdir().unwrap();
        let root = temporary.path().canonicalize().unwrap();
        let large = "x".repeat(MAX_BYTES as usize + 1);
        for (path, text) in [("same", "same"), ("other", "another"), ("large", &large)] {
            fs::write(root.join(path), text).unwrap();
        }
        let paths = ["same", "other", "gone", "large"];
        let files = paths.iter().map(PathBuf::from).enumerate().collect();
        let folders = [InFolder { folder: root, listed: None, files }];
        for (fingerprint, of_large) in [(0, State::Same), (7, State::Changed)] {
            let of = |path: &&str| {
                let oid = blob_oid(path.as_bytes()).unwrap();
                Some(store::Recorded { fingerprint, oid })
            };
            let mut recorded: Vec<_> = paths.iter().map(of).collect();
            let mut states = vec![State::Unsure(1); 4];
            compare(&folders, &recorded, &mut states);
            assert_eq!(states, [State::Same, State::Changed, State::Deleted, of_large]);
            recorded.fill(None);
            let mut states = vec![State::Deleted; 4];
            compare(&folders, &recorded, &mut states);
            assert_eq!(states, [State::Deleted; 4]);
        }
    }
}
