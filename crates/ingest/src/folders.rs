//! Decides which folders are the repositories of an ingest, and which indexed ones are gone.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use store::{RepoId, RepoRow, Session, Store, TreeKind};

use super::find::{FoundRepo, FoundTree};
use super::source::FileSource;
use super::source::commit::CommitSource;
use super::source::folder::{Choice, FolderSource};
use super::trees::worktrees::{self, Asked};
use super::trees::{OtherTree, OtherTrees, refs};
use super::update::Repository;
use super::{Error, Event, Options, Progress, Report, find, lock, names, notices};

/// Finds the repositories below the given folders, takes the lock on ingests, and compares them with the indexed ones.
/// Returns the repositories to read and those to remove. Reports what stays unchanged.
pub(crate) async fn repositories(
    store: &Store,
    options: &Options,
    report: &mut Report,
    progress: &dyn Progress,
) -> Result<(Session, Vec<Repository>, Vec<RepoId>), Error> {
    let (mut found, mut unreadable, mut roots) = (Vec::new(), Vec::new(), Vec::new());
    for path in &options.paths {
        let below = find::repositories(path, options.depth, options.follow_git)?;
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
    // Nothing inside of a checkout belongs to another one, wherever it belongs.
    let mut all: Vec<PathBuf> = found.iter().map(|repo| repo.folder.clone()).collect();
    let mut told = Vec::new();
    let asked = Asked { roots: &roots, follows: options.follow_git };
    let mut found = worktrees::gather(found, asked, &mut told);
    for notice in told {
        progress(Event::Notice(notice));
    }
    all.extend(found.iter().flat_map(FoundRepo::worktrees).cloned());
    all.extend(found.iter().map(|repo| repo.folder.clone()));
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
        progress(Event::Notice(format!(
            "not updated: cannot read {}, or its name is not UTF-8",
            folder.display()
        )));
    }
    // Emptying an indexed repository, even of its `.git`, is hardly intended.
    let emptied = |repo: &find::FoundRepo| {
        let is_known = known.iter().any(|row| Path::new(&row.source) == repo.folder);
        is_known && find::is_empty(&repo.folder)
    };
    let (emptied, found): (Vec<_>, Vec<_>) = found.into_iter().partition(emptied);
    for repo in emptied {
        progress(Event::Notice(format!(
            "not updated: {} is empty; is a disk missing? To remove a repository, run: codesearch remove NAME",
            repo.folder.display()
        )));
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
        notices::tell_odd(&repo, progress);
        let id = match &repo.known {
            Some(row) => row.id,
            None => session.new_repo(&repo.name, &source).await?,
        };
        let before = repo.known.as_ref();
        let no_ignore = options.no_ignore.or(before.map(|row| row.no_ignore)).unwrap_or_default();
        let skips_secrets =
            options.skip_secrets.or(before.map(|row| row.skips_secrets)).unwrap_or_default();
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
                .or(before.map(|row| row.from_commit))
                .unwrap_or_default(),
        };
        let mut trees = OtherTrees {
            known: known_trees.remove(&id).unwrap_or_default(),
            ..OtherTrees::default()
        };
        add_worktrees(&mut trees, &repo, &all, &choice, progress);
        let remembered = branches.get(&id).cloned().unwrap_or_default();
        let globs = options.branches.clone().or_else(|| repo.branches.as_deref().map(refs::globs));
        let globs = globs.unwrap_or_else(|| remembered.clone());
        // What is left out of commits may be other files now.
        let is_same = before
            .is_some_and(|row| (row.no_ignore, row.skips_secrets) == (no_ignore, skips_secrets));
        let keeps = is_same && !options.again;
        let unmatched = refs::add(&mut trees, &repo, &globs, &choice, keeps, progress);
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
        let files: Arc<dyn FileSource> = if from_commit {
            Arc::new(CommitSource::new(&repo.folder, repo.commit.as_deref(), choice))
        } else {
            Arc::new(FolderSource::new(&repo.folder, &all, choice))
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
        };
        repos.push(Repository { row, files, trees, unread, again });
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
        if !found && roots.iter().any(asked) && (is_gone || is_part()) {
            if is_gone && names::may_be_unmounted(&row.source) {
                progress(Event::Notice(format!(
                    "not removed: {}; its folder {} is empty; is a disk missing? To remove it, run: codesearch remove \
                     {}",
                    row.name, row.source, row.name
                )));
                continue;
            }
            gone.push(row.id);
            report.removed.push(row.name);
        }
    }
    Ok((session, repos, gone))
}

/// Adds the worktrees of a repository. `all` are the folders of all checkouts.
fn add_worktrees(
    trees: &mut OtherTrees,
    repo: &names::NamedRepo,
    all: &[PathBuf],
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
        trees.now.push(OtherTree {
            kind: TreeKind::Worktree,
            name: name.clone(),
            source: Some(found.folder.to_string_lossy().into_owned()),
            commit: found.commit.clone(),
            files: Some(Arc::new(FolderSource::new(&found.folder, all, choice))),
            unread: found.unread.clone(),
            is_unchanged: false,
        });
    }
}
