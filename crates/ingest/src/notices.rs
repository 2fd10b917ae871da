//! Notices of an ingest about the folders and repositories that it found, besides those in the ledger.

use std::path::Path;

use super::find::FoundRepos;
use super::names::NamedRepo;
use super::{Event, Progress};
use files::SkipReason;
use git::checkout::Unread;

/// Reports folders that are no repositories, and settings of repositories that are invalid.
pub(super) fn tell_found(path: &Path, below: &FoundRepos, progress: &dyn Progress) {
    let tell = |notice: String| progress(Event::Notice(notice));
    if path.canonicalize().is_ok_and(|path| path != below.root) {
        tell(format!(
            "indexing the clone {}, of which {} is a part; --depth 0 treats this folder alone as a repository",
            below.root.display(),
            path.display()
        ));
    }
    for folder in &below.without_repos.first {
        tell(format!(
            "not indexed: {} contains no repository; name it as a separate path, or use --depth",
            folder.display()
        ));
    }
    if below.without_repos.more > 0 {
        tell(format!(
            "not indexed: {} more folders contain no repository",
            below.without_repos.more
        ));
    }
    for link in &below.links.first {
        tell(format!(
            "not indexed: {} is a symbolic link; name its target as a separate path",
            link.display()
        ));
    }
    for folder in &below.loose.first {
        tell(format!(
            "not indexed: files directly in {} belong to no repository; codesearch ingest --depth 0 treats a folder \
             as one",
            folder.display()
        ));
    }
    let more = below.links.more + below.loose.more;
    if more > 0 {
        tell(format!(
            "not indexed: {more} more symbolic links, or folders with files outside repositories"
        ));
    }
    for folder in &below.unranked {
        tell(format!(
            "no rank: codesearch.rank in the git configuration of {} is not a number; run git config codesearch.rank \
             N, with N from 0 to 65535",
            folder.display()
        ));
    }
    for repo in below.repos.iter().filter(|repo| repo.is_origin_odd) {
        tell(format!(
            "no name from git: the URL of origin in {} has no usable host and path",
            repo.folder.display()
        ));
    }
}

/// Reports unread git data of a repository, and a name that another one has.
pub(super) fn tell_odd(repo: &NamedRepo, progress: &dyn Progress) {
    let folder = repo.folder.display();
    for Unread { path, reason } in &repo.unread {
        progress(Event::Notice(match reason {
            SkipReason::Outside => format!(
                "no history of {folder}: its {path} leads outside the ingested folder; if you own the target, use \
                 --follow-git"
            ),
            _ => format!("not read: {folder}/{path} ({reason})"),
        }));
    }
    if let Some(taken) = &repo.taken {
        progress(Event::Notice(format!(
            "{folder} is named {}, because another repository is named {taken}",
            repo.name
        )));
    }
}
