//! Decides which folders are the repositories of an ingest, and which indexed ones are gone.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use store::{RepoId, RepoMetadata, RepoRow, Root, Session, Store, TreeKind};

use super::find::{FoundRepo, FoundTree};
use super::source::FileSource;
use super::source::commit::CommitSource;
use super::source::folder::{Choice, FolderSource};
use super::trees::worktrees::{self, Asked};
use super::trees::{OtherTree, OtherTrees, refs};
use super::update::Repository;
use super::{Error, Event, Options, Progress, Report, configured, find, lock, names, notices};

/// What was found in some folders, which are brought up to date.
pub(crate) struct Search {
    /// The folders that were searched: what is indexed below them and has gone is removed.
    pub(crate) roots: Vec<PathBuf>,
    /// The repositories, each with its worktrees.
    pub(crate) found: Vec<FoundRepo>,
    /// The folders of all checkouts, which belong to no other one.
    pub(crate) all: Vec<PathBuf>,
    pub(crate) unreadable: Vec<PathBuf>,
    /// The folders of indexed checkouts that were not looked for, although they lie in one that was.
    pub(crate) unsearched: Vec<PathBuf>,
    /// The maximum bytes of a file in folders where it is not that of the options.
    pub(crate) sizes: HashMap<PathBuf, u64>,
    /// The paths in the folders of repositories and worktrees to which their lists are limited. Of a repository that is
    /// here, the worktrees that are not have not changed.
    pub(crate) parts: Parts,
    /// Whether only what is new is told, since an ingest looks at them again and again.
    pub(crate) is_quiet: bool,
}

/// By folder: the paths in it to which its list is limited, and whether nothing else can have changed there.
pub(crate) type Parts = HashMap<PathBuf, (Vec<String>, bool)>;

/// Finds the repositories below the given folders, takes the lock on ingests, and compares them with the indexed ones.
/// Returns the repositories to read and those to remove. Reports what stays unchanged.
pub(crate) async fn repositories(
    store: &Store,
    options: &Options,
    report: &mut Report,
    progress: &dyn Progress,
) -> Result<(Session, Vec<Repository>, Vec<RepoId>), Error> {
    let (mut found, mut unreadable, mut roots) = (Vec::new(), Vec::new(), Vec::new());
    // How each is searched.
    let mut ways = Vec::new();
    for path in &options.paths {
        let said = options.configured(path);
        let (depth, follows) =
            (options.depth.or(said.depth), options.follow_git || said.follow_git);
        ways.push((depth, follows));
        let below = find::repositories(path, depth, follows)?;
        notices::tell_found(path, &below, progress);
        roots.push(below.root);
        unreadable.extend(below.unreadable);
        found.extend(below.repos);
    }
    let mut session = lock(store, progress).await?;
    let known = session.repos().await?;
    for (path, root) in options.paths.iter().zip(&roots) {
        let below = |row: &&RepoRow| Path::new(&row.source).starts_with(root);
        let repos = known.iter().filter(below).count();
        if repos > 0 && find::is_empty(root) {
            return Err(Error::Emptied { path: path.clone(), repos });
        }
    }
    let searched = options.paths.iter().zip(&roots).zip(&ways);
    let remembered = searched.filter_map(|((path, root), (depth, follows))| {
        // A clone is a part of no other folder, even if a folder in it was named.
        let path = if depth.is_some() { find::canonical(path).ok()? } else { root.clone() };
        let path = path.to_str()?.to_owned();
        let (depth, follows, max_bytes) = (*depth, *follows, options.max_bytes);
        Some(Root { path, depth, follows, max_bytes })
    });
    session.remember_roots(&remembered.collect::<Vec<_>>()).await?;
    // Nothing inside of a checkout belongs to another one, wherever it belongs.
    let mut all: Vec<PathBuf> = found.iter().map(|repo| repo.folder.clone()).collect();
    let mut told = Vec::new();
    let follows = options.follow_git || ways.iter().any(|(_, follows)| *follows);
    let asked = Asked { roots: &roots, follows };
    let found = worktrees::gather(found, asked, &mut told);
    for notice in told {
        progress(Event::Notice(notice));
    }
    all.extend(found.iter().flat_map(FoundRepo::worktrees).cloned());
    all.extend(found.iter().map(|repo| repo.folder.clone()));
    let (parts, is_quiet) = (HashMap::new(), false);
    let sizes = HashMap::new();
    let unsearched = Vec::new();
    let search = Search { roots, found, all, unreadable, unsearched, sizes, parts, is_quiet };
    let (repos, gone) = plan(&mut session, known, search, options, report, progress).await?;
    Ok((session, repos, gone))
}

/// Compares repositories that were found with the indexed ones, `known`. Returns the repositories to read and those to
/// remove. Reports what stays unchanged.
pub(crate) async fn plan(
    session: &mut Session,
    known: Vec<RepoRow>,
    search: Search,
    options: &Options,
    report: &mut Report,
    progress: &dyn Progress,
) -> Result<(Vec<Repository>, Vec<RepoId>), Error> {
    let Search { roots, mut found, all, unsearched, sizes, mut parts, is_quiet, .. } = search;
    let mut unreadable = search.unreadable;
    let trees: HashMap<PathBuf, String> = found
        .iter()
        .flat_map(|repo| {
            repo.worktrees().map(|folder| (folder.clone(), repo.folder.display().to_string()))
        })
        .collect();
    // A folder that cannot be read stays in the index unchanged. Nor does the folder around it become one large
    // repository instead.
    unreadable.retain(|folder| {
        known.iter().any(|row| Path::new(&row.source).starts_with(folder))
            || !found.iter().any(|repo| folder.starts_with(&repo.folder))
    });
    found.retain(|repo| !unreadable.iter().any(|folder| folder.starts_with(&repo.folder)));
    report.untouched = unreadable;
    found.retain(|repo| {
        let readable = repo.folder.to_str().is_some() && find::check_readable(&repo.folder).is_ok();
        if !readable {
            report.untouched.push(repo.folder.clone());
        }
        readable
    });
    for folder in &report.untouched {
        let why = format!("cannot read {}, or its name is not UTF-8", folder.display());
        progress(Event::Notice(format!("not updated: {why}")));
        report.failed.push((folder.clone(), why));
    }
    // Emptying an indexed repository, even of its `.git`, is hardly intended.
    let emptied = |repo: &find::FoundRepo| {
        let is_known = known.iter().any(|row| Path::new(&row.source) == repo.folder);
        is_known && find::is_empty(&repo.folder)
    };
    let (emptied, found): (Vec<_>, Vec<_>) = found.into_iter().partition(emptied);
    for repo in emptied {
        let why = format!(
            "{} is empty; is a disk missing? To remove a repository, run: codesearch remove NAME",
            repo.folder.display()
        );
        progress(Event::Notice(format!("not updated: {why}")));
        report.failed.push((repo.folder.clone(), why));
        report.untouched.push(repo.folder);
    }

    let of_user = Arc::new(git::user::excludes().unwrap_or_else(|(path, reason)| {
        progress(Event::Notice(format!(
            "not read: {}, your ignore file ({reason}); its rules do not apply",
            path.display()
        )));
        None
    }));
    let mut known_trees = session.other_trees().await?;
    let branches = session.branches().await?;
    let mut no_branches = refs::NoBranches::default();
    let mut repos = Vec::new();
    for repo in names::settle(found, &known) {
        let source = repo.folder.to_string_lossy().into_owned();
        if let Some(before) = &repo.known
            && (before.source != source || before.name != repo.name)
        {
            progress(Event::Notice(format!(
                "{} in {} is now {} in {source}",
                before.name, before.source, repo.name
            )));
        }
        if !is_quiet || repo.known.is_none() {
            notices::tell_odd(&repo, progress);
        }
        let id = match &repo.known {
            Some(row) => row.id,
            None => session.new_repo(&repo.name, &source).await?,
        };
        // Of a folder, its configuration is the last one to ask.
        if let Some(facts) = &repo.facts {
            session.note_metadata(id, configured::metadata(facts));
        } else if repo.kind == find::Kind::Folder {
            session.note_metadata(id, RepoMetadata::default());
        }
        let before = repo.known.as_ref();
        let said = options.configured(&repo.folder);
        let no_ignore = options.no_ignore.or(said.no_ignore);
        let no_ignore = no_ignore.or(before.map(|row| row.no_ignore)).unwrap_or_default();
        let skips_secrets = options.skip_secrets.or(said.skip_secrets);
        let skips_secrets =
            skips_secrets.or(before.map(|row| row.skips_secrets)).unwrap_or_default();
        // Whether a text is a private key is known when it is read.
        let again = skips_secrets && before.is_some_and(|row| !row.skips_secrets);
        let choice = Choice {
            no_ignore,
            skips_secrets,
            git_folders: repo.git_folders.clone(),
            of_user: Arc::clone(&of_user),
        };
        let from_commit = match repo.kind {
            find::Kind::Bare => true,
            find::Kind::Folder => false,
            find::Kind::Checkout => options
                .commit
                .or(repo.from_commit)
                .or(said.commit)
                .or(before.map(|row| row.from_commit))
                .unwrap_or_default(),
        };
        let mut trees = OtherTrees {
            known: known_trees.remove(&id).unwrap_or_default(),
            ..OtherTrees::default()
        };
        // What is left out may be other files now.
        let is_same = before
            .is_some_and(|row| (row.no_ignore, row.skips_secrets) == (no_ignore, skips_secrets));
        // What a lost node had of it must be read again, though nothing has changed.
        let is_lost = before.is_some_and(|row| row.is_lost);
        let keeps = is_same && !options.again && !is_lost;
        let is_listed = before.is_some_and(|row| row.source == source && row.languages.is_some());
        let may_be_part = keeps && is_listed && !again;
        let part = parts.remove(&repo.folder).filter(|_| may_be_part && !from_commit);
        let of_trees = part.is_some().then_some(&parts);
        add_worktrees(&mut trees, &repo, (&all, of_trees), &choice, progress);
        let remembered = branches.get(&id).cloned().unwrap_or_default();
        let globs = options.branches.clone().or_else(|| repo.branches.as_deref().map(refs::globs));
        let globs = globs.or_else(|| said.branches.clone()).unwrap_or_else(|| remembered.clone());
        let keeps_refs = (keeps, is_quiet && may_be_part);
        let unmatched = refs::add(&mut trees, &repo, &globs, &choice, keeps_refs, progress);
        match unmatched {
            Some(unmatched) if options.branches.is_some() => no_branches.note(&globs, unmatched),
            Some(unmatched) if globs != remembered => {
                refs::tell_unmatched(&repo.name, unmatched, progress);
            }
            _ => {}
        }
        if globs != remembered {
            session.remember_branches(id, globs);
        }
        let since = before.filter(|row| is_quiet && may_be_part && row.from_commit);
        let since = since.and_then(|row| row.commit.as_deref());
        let files: Arc<dyn FileSource> = match &part {
            _ if from_commit => {
                let all = CommitSource::new(&repo.folder, repo.commit.as_deref(), choice);
                Arc::new(match since {
                    Some(before) => all.since(before),
                    None => all,
                })
            }
            Some((paths, _)) => Arc::new(FolderSource::new(&repo.folder, &all, choice).only(paths)),
            None => Arc::new(FolderSource::new(&repo.folder, &all, choice)),
        };
        let languages = before.and_then(|row| row.languages);
        let names::NamedRepo { name, web, commit, rank, git_folders, unread, .. } = repo;
        let git_folders = git_folders.iter().filter_map(|folder| Some(folder.to_str()?.to_owned()));
        let git_folders = git_folders.collect();
        let row = RepoRow {
            id,
            name,
            source,
            web,
            commit,
            rank,
            git_folders,
            no_ignore,
            skips_secrets,
            from_commit,
            languages,
            is_lost,
        };
        let part = part.map(|(_, is_complete)| is_complete);
        let size = sizes.get(Path::new(&row.source)).copied();
        let max_bytes = size.unwrap_or(options.max_bytes);
        repos.push(Repository { row, files, trees, unread, again, part, max_bytes });
    }
    no_branches.tell(progress);
    let mut gone = Vec::new();
    for row in known {
        let asked = |root: &PathBuf| Path::new(&row.source).starts_with(root);
        let found = repos.iter().any(|repo| repo.row.id == row.id);
        if let (false, Some(of)) = (found, trees.get(Path::new(&row.source))) {
            progress(Event::Notice(format!(
                "{} in {} is now a worktree of {of}",
                row.name, row.source
            )));
            gone.push(row.id);
            report.merged.push(row.name);
            continue;
        }
        let (folder, is_gone) = (Path::new(&row.source), names::is_gone(&row.source));
        // A folder inside a clone that is no longer a checkout is part of the clone.
        let is_part = || {
            let around =
                |repo: &RepoRow| repo.source != row.source && folder.starts_with(&repo.source);
            repos.iter().any(|repo| around(&repo.row) && repo.row.commit.is_some())
        };
        // It was not looked for, but is there.
        let is_there = unsearched.iter().any(|other| other == folder);
        if !found && !is_there && roots.iter().any(asked) && (is_gone || is_part()) {
            // No disk is missing where the clone around it is.
            if is_gone && !is_part() && names::may_be_unmounted(&row.source) {
                let why = format!(
                    "its folder {} is empty; is a disk missing? To remove it, run: codesearch remove {}",
                    row.source, row.name
                );
                progress(Event::Notice(format!("not removed: {}; {why}", row.name)));
                report.failed.push((row.source.into(), why));
                continue;
            }
            gone.push(row.id);
            report.removed.push(row.name);
        }
    }
    Ok((repos, gone))
}

/// Adds the worktrees of a repository. `all` are the folders of all checkouts. If `parts` are given, nothing but these
/// has to be looked at in the worktrees that the index has.
fn add_worktrees(
    trees: &mut OtherTrees,
    repo: &names::NamedRepo,
    (all, parts): (&[PathBuf], Option<&Parts>),
    choice: &Choice,
    progress: &dyn Progress,
) {
    let is_worktree = |tree: &&store::Tree| tree.kind == TreeKind::Worktree;
    let is_closed = repo.data.is_none() && !repo.unread.is_empty();
    if repo.keeps_trees || is_closed {
        let kept = trees.known.iter().filter(is_worktree).map(OtherTree::kept).collect::<Vec<_>>();
        trees.now.extend(kept);
    }
    for FoundTree { name, found } in &repo.trees {
        let found = match found {
            Ok(found) => found,
            Err(why) => {
                // A copy of a clone lists the worktrees of the original, which nobody misses.
                let known = trees.known.iter().filter(is_worktree).find(|tree| tree.name == *name);
                if let Some(known) = known {
                    progress(Event::Notice(why.clone()));
                    let kept = OtherTree::kept(known);
                    trees.now.push(kept);
                }
                continue;
            }
        };
        let choice = Choice { git_folders: found.git_folders.clone(), ..choice.clone() };
        let folder = found.folder.to_string_lossy().into_owned();
        let is_known = |tree: &&store::Tree| {
            tree.name == *name
                && tree.source.as_ref() == Some(&folder)
                && tree.commit == found.commit
        };
        let is_known = trees.known.iter().filter(is_worktree).any(|tree| is_known(&tree));
        let parts = parts.filter(|_| is_known && found.unread.is_empty());
        let paths = parts.and_then(|parts| parts.get(&found.folder));
        let source = || FolderSource::new(&found.folder, all, choice.clone());
        let part = paths.map(|(paths, _)| Arc::new(source().only(paths)) as Arc<dyn FileSource>);
        trees.now.push(OtherTree {
            kind: TreeKind::Worktree,
            name: name.clone(),
            source: Some(folder),
            commit: found.commit.clone(),
            files: Some(Arc::new(source())),
            is_unchanged: parts.is_some() && part.is_none(),
            part,
            unread: found.unread.clone(),
        });
    }
}
