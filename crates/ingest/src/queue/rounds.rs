//! One round of the ingester: what is due is looked at, and published.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use git::checkout::Trust;
use store::{PendingRow, RepoId, RepoRow, Root, Session, Store, Tree};

use super::targets::{Index, Target, resolved};
use crate::find::{self, FoundRepo};
use crate::folders::{self, Search};
use crate::trees::worktrees::{self, Asked};
use crate::update::{self, Repository, Taken};
use crate::{Error, Event, Options, Progress, Report, history, lock, notices};

/// Takes all that is due. Returns `None` if nothing is. If it fails, takes one folder after another, so that nothing of
/// others delays them; and has what fails wait.
pub(super) async fn take_due(
    store: &Store,
    mut session: Session,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Option<Report>, Error> {
    let rows = due(&mut session).await?;
    if rows.is_empty() {
        session.close().await?;
        return Ok(None);
    }
    let error = match store.watched(Box::pin(round(store, session, &rows, options, progress))).await
    {
        Ok(report) => return Ok(Some(report)),
        Err(error) => error,
    };
    if matches!(error, Error::Store(store::Error::Unreachable(_) | store::Error::Node { .. })) {
        return Err(error);
    }
    let mut sources: Vec<String> = rows.iter().map(|row| row.change.source.clone()).collect();
    sources.sort();
    sources.dedup();
    let is_one = sources.len() == 1;
    let mut all = Report::default();
    for source in sources {
        let rows: Vec<PendingRow> =
            rows.iter().filter(|row| row.change.source == source).cloned().collect();
        let why = if is_one {
            error.to_string()
        } else {
            let session = lock(store, progress).await?;
            let work = Box::pin(round(store, session, &rows, options, progress));
            match store.watched(work).await {
                Ok(report) => {
                    all.add(report);
                    continue;
                }
                Err(
                    error @ Error::Store(store::Error::Unreachable(_) | store::Error::Node { .. }),
                ) => return Err(error),
                Err(error) => error.to_string(),
            }
        };
        progress(Event::Notice(format!("not updated: {source}: {why}")));
        let mut session = lock(store, progress).await?;
        let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
        let folder = resolved(Path::new(&source));
        let folders = [source, folder.to_string_lossy().into_owned()];
        session.fail(&ids, &folders, &why).await?;
        session.close().await?;
        all.failed.push((folder, why));
    }
    Ok(Some(all))
}

/// Returns the rows that are due, and those of the same folders that are not.
async fn due(session: &mut Session) -> Result<Vec<PendingRow>, Error> {
    let mut rows = session.due(true).await?;
    let due: HashSet<String> =
        rows.iter().filter(|row| row.is_due()).map(|row| row.change.source.clone()).collect();
    rows.retain(|row| due.contains(&row.change.source));
    Ok(rows)
}

impl Report {
    /// Adds the report of another round.
    fn add(&mut self, other: Self) {
        self.repos.extend(other.repos);
        self.removed.extend(other.removed);
        self.untouched.extend(other.untouched);
        self.failed.extend(other.failed);
        self.merged.extend(other.merged);
        self.seen += other.seen;
        self.read += other.read;
        self.stored += other.stored;
        self.new_files += other.new_files;
        self.retired_files += other.retired_files;
    }
}

async fn round(
    store: &Store,
    mut session: Session,
    rows: &[PendingRow],
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    session.be_quick();
    let mut report = Report::default();
    let begun = std::time::Instant::now();
    let known = session.repos().await?;
    let trees = session.other_trees().await?;
    remember_configured(&mut session, rows, &known, options).await?;
    let roots = session.roots().await?;
    let index = Index { repos: &known, trees: &trees, roots: &roots, max_bytes: options.max_bytes };
    let targets = index.targets(rows);
    let search = search(&index, &targets, &mut report, progress);
    let taken = targets
        .iter()
        .flat_map(|target| target.rows.iter().map(|row| (*row, target.folder.clone())));
    let rows: Vec<(i64, PathBuf)> = taken.collect();
    let taken = Taken { rows: rows.clone(), is_queue: true };
    for target in targets.iter().filter(|target| !target.is_repo && !target.has_root) {
        if find::check_readable(&target.folder).is_ok() {
            session.remember_roots(std::slice::from_ref(&target.root)).await?;
        }
    }
    let (repos, gone) =
        folders::plan(&mut session, known.clone(), search, options, &mut report, progress).await?;
    report.walk = begun.elapsed();
    // The commits of a repository of which only files have changed are the same.
    let has_commits = |repo: &&Repository| {
        let before = known.iter().find(|row| row.id == repo.row.id);
        repo.part.is_none() || before.is_some_and(|before| before.commit != repo.row.commit)
    };
    let whole: Vec<RepoId> = repos.iter().filter(has_commits).map(|repo| repo.row.id).collect();
    update::update(store, &mut session, repos, &gone, (options, taken), &mut report, progress)
        .await?;
    if !whole.is_empty() {
        report.history = history::update(store, &mut session, &whole, options, progress).await?;
    }
    // What is told of repositories is noted already.
    let mut failed: HashMap<&str, Vec<i64>> = HashMap::new();
    for (row, folder) in &rows {
        if let Some(why) = report.failure_in(folder) {
            failed.entry(why).or_default().push(*row);
        }
    }
    for (why, rows) in failed {
        session.fail(&rows, &[], why).await?;
    }
    session.close().await?;
    report.repos.sort();
    Ok(report)
}

/// Notes how the configuration file has folders searched that are in the queue themselves, as an ingest of them would.
async fn remember_configured(
    session: &mut Session,
    rows: &[PendingRow],
    known: &[RepoRow],
    options: &Options,
) -> Result<(), Error> {
    let roots = session.roots().await?;
    let root = |row: &PendingRow| {
        let folder = resolved(Path::new(&row.change.source));
        let is_part =
            |repo: &RepoRow| folder.starts_with(&repo.source) && folder != Path::new(&repo.source);
        let said = options.configured_at(&folder)?;
        if !folder.is_dir() || known.iter().any(is_part) {
            return None;
        }
        let path = folder.to_str()?.to_owned();
        let before = roots.iter().find(|root| root.path == path);
        let max_bytes = before.map_or(options.max_bytes, |root| root.max_bytes);
        Some(Root { path, depth: said.depth, follows: said.follow_git, max_bytes })
    };
    let said: Vec<Root> = rows.iter().filter_map(root).collect();
    Ok(session.remember_roots(&said).await?)
}

/// Finds what is in the targets.
fn search(
    index: &Index<'_>,
    targets: &[Target],
    report: &mut Report,
    progress: &dyn Progress,
) -> Search {
    let mut search = Search {
        roots: targets.iter().map(|target| target.folder.clone()).collect(),
        found: Vec::new(),
        all: Vec::new(),
        unreadable: Vec::new(),
        unsearched: Vec::new(),
        sizes: HashMap::new(),
        parts: HashMap::new(),
        is_quiet: true,
    };
    let mut told = Vec::new();
    for follows in [false, true] {
        let of_kind: Vec<&Target> =
            targets.iter().filter(|target| target.root.follows == follows).collect();
        let (mut found, mut roots) = (Vec::new(), Vec::new());
        for target in of_kind {
            roots.push(PathBuf::from(&target.root.path));
            roots.push(target.folder.clone());
            let below = match repositories(index, target) {
                Ok(below) => below,
                Err(why) => {
                    progress(Event::Notice(format!("not updated: {why}")));
                    report.failed.push((target.folder.clone(), why));
                    continue;
                }
            };
            if !target.is_repo {
                notices::tell_found(&target.folder, &below, progress);
            }
            for repo in &below.repos {
                search.sizes.insert(repo.folder.clone(), target.root.max_bytes);
            }
            search.unreadable.extend(below.unreadable);
            found.extend(below.repos);
            for (folder, part) in parts_of(target, index).unwrap_or_default() {
                search.parts.insert(folder.to_owned(), (part, target.is_complete));
            }
        }
        search.all.extend(found.iter().map(|repo| repo.folder.clone()));
        let asked = Asked { roots: &roots, follows };
        search.found.extend(worktrees::gather(found, asked, &mut told));
    }
    let mut seen = HashSet::new();
    search.found.retain(|repo| seen.insert(repo.folder.clone()));
    for repo in &search.found {
        if let Some(size) = index.size_of(&repo.folder) {
            search.sizes.entry(repo.folder.clone()).or_insert(size);
        }
        search.all.extend(repo.worktrees().cloned());
        search.all.push(repo.folder.clone());
    }
    for notice in told {
        progress(Event::Notice(notice));
    }
    // Checkouts inside of them that were not looked for.
    let inside = index.checkouts().filter(|folder| {
        let is_inside = |of: &PathBuf| *folder != of && folder.starts_with(of);
        let mut found = search.found.iter();
        found.any(|repo| is_inside(&repo.folder) || repo.worktrees().any(is_inside))
            && find::is_repository(folder)
    });
    let inside: Vec<PathBuf> = inside.map(Path::to_owned).collect();
    search.all.extend_from_slice(&inside);
    let searched = |folder: &PathBuf| {
        let is_whole = |of: &Target| !search.parts.contains_key(&of.folder);
        targets.iter().any(|of| is_whole(of) && folder.starts_with(&of.folder))
    };
    search.unsearched = inside.into_iter().filter(|folder| !searched(folder)).collect();
    search
}

/// Returns the folders of a target of which only a part is listed, with their paths; `None` if all is listed. A new or
/// former checkout in one changes what belongs to the repository around it.
fn parts_of<'t>(target: &'t Target, index: &Index<'_>) -> Option<Vec<(&'t Path, Vec<String>)>> {
    let parts = target.parts()?;
    let paths = parts.iter().flat_map(|(folder, part)| part.iter().map(move |of| (*folder, of)));
    let has_checkout = paths.clone().any(|(checkout, path)| {
        let at = checkout.join(path);
        let is_former = |folder: &Path| {
            let is_near = folder.starts_with(&at) || at.starts_with(folder);
            is_near
                && folder != checkout
                && folder.starts_with(checkout)
                && !find::is_repository(folder)
        };
        index.checkouts().any(is_former)
            || (at.symlink_metadata().is_ok_and(|found| found.is_dir())
                && find::checkouts_in(&at)
                    .into_iter()
                    .chain(Some(at).filter(|at| find::is_repository(at)))
                    .any(|found| index.checkouts().all(|known| known != found)))
    });
    (!has_checkout).then_some(parts)
}

/// Finds the repositories in a target.
fn repositories(index: &Index<'_>, target: &Target) -> Result<find::FoundRepos, String> {
    let (root, folder) = (Path::new(&target.root.path), &target.folder);
    let is_known = |repo: &&RepoRow| Path::new(&repo.source).starts_with(folder);
    if matches!(folder.try_exists(), Ok(false)) {
        return Ok(find::FoundRepos { root: folder.clone(), ..find::FoundRepos::default() });
    }
    if !target.is_repo {
        if find::is_empty(folder) && index.repos.iter().any(|repo| is_known(&repo)) {
            return Err(format!(
                "{} is empty, but repositories below it are indexed; is a disk missing? To remove one, run: codesearch \
                 remove NAME",
                folder.display()
            ));
        }
        let root = Some(&target.root).filter(|_| target.has_root);
        return find::below(folder, root).map_err(|error| error.to_string());
    }
    let mut found = find::FoundRepos { root: folder.clone(), ..find::FoundRepos::default() };
    if find::check_readable(folder).is_err() {
        found.unreadable.push(folder.clone());
        return Ok(found);
    }
    let is_repo = find::is_repository(folder)
        || root == folder
        || target.root.depth.is_some()
        || find::is_empty(folder);
    if !is_repo {
        // Nobody who ingests the folder around it finds it.
        return Ok(found);
    }
    let known = index.repo(folder).filter(|_| !target.has_root);
    let trust = || {
        let folders = known.map(|repo| repo.git_folders.iter().map(PathBuf::from).collect());
        Trust::of_ingest(root, target.root.follows).with(folders.unwrap_or_default())
    };
    let mut read = |at: PathBuf| find::named(root, at, trust(), &mut found.unranked);
    let mut repos: Vec<FoundRepo> = vec![read(folder.clone())];
    if parts_of(target, index).is_none() {
        repos.extend(find::checkouts_in(folder).into_iter().map(read));
    }
    found.repos = repos;
    Ok(found)
}

impl Index<'_> {
    /// Returns the folders of all indexed checkouts.
    fn checkouts(&self) -> impl Iterator<Item = &Path> {
        let trees = self.trees.values().flatten().filter_map(|tree: &Tree| tree.source.as_deref());
        self.repos.iter().map(|repo| repo.source.as_str()).chain(trees).map(Path::new)
    }

    /// Returns the maximum bytes of a file in a folder that was ingested.
    fn size_of(&self, folder: &Path) -> Option<u64> {
        let around = self.roots.iter().filter(|root| folder.starts_with(&root.path));
        around.max_by_key(|root| root.path.len()).map(|root| root.max_bytes)
    }
}
