//! Locates the git data of a checkout (<https://git-scm.com/docs/gitrepository-layout>).

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::{Config, GitData, MAX_SMALL};
use files::SkipReason;
use files::beneath;

/// The folders that `.git` leads to, with links resolved.
pub(super) struct Place {
    pub(super) own: PathBuf,
    pub(super) common: PathBuf,
}

/// Follows the `.git` of a checkout; `None` if it has none.
///
/// # Errors
/// The reason why it leads nowhere.
pub(super) fn of(checkout: &Path) -> Result<Option<Place>, SkipReason> {
    let git = checkout.join(".git");
    match git.symlink_metadata() {
        Err(error) if beneath::reason(&error) == SkipReason::Vanished => return Ok(None),
        Err(error) => return Err(beneath::reason(&error)),
        Ok(_) => {}
    }
    let mut own = canonical(&git)?;
    if !own.is_dir() {
        // The file of a worktree or a submodule names the folder.
        let text = beneath::read(&own, MAX_SMALL)?;
        let named = text.strip_prefix(b"gitdir:").ok_or(SkipReason::Special)?;
        own = canonical(&checkout.join(path(named)))?;
    }
    if !own.is_dir() {
        return Err(SkipReason::Special);
    }
    let common = match beneath::read(&own.join("commondir"), MAX_SMALL) {
        Ok(named) => canonical(&own.join(path(&named)))?,
        Err(SkipReason::Vanished) => own.clone(),
        Err(reason) => return Err(reason),
    };
    Ok(Some(Place { own, common }))
}

/// Returns whether the git data themselves name this checkout. Then someone with the right to write there made it a
/// worktree (`worktrees/NAME/gitdir`) or a submodule (`core.worktree`).
pub(super) fn points_back(data: &GitData, checkout: &Path) -> bool {
    let GitData { own, common, .. } = data;
    if own == common {
        let Ok(text) = beneath::read(&own.join("config"), Config::MAX_BYTES) else { return false };
        let named = Config::parse(text).and_then(|config| config.work_tree());
        return named.is_some_and(|named| is(&own.join(path(&named)), checkout));
    }
    let is_worktree = own.parent().is_some_and(|above| above == common.join("worktrees"));
    let Ok(back) = beneath::read(&own.join("gitdir"), MAX_SMALL) else { return false };
    is_worktree && is(&own.join(path(&back)), &checkout.join(".git"))
}

fn is(path: &Path, other: &Path) -> bool {
    canonical(path).is_ok_and(|path| path == other)
}

fn canonical(path: &Path) -> Result<PathBuf, SkipReason> {
    path.canonicalize().map_err(|error| beneath::reason(&error))
}

/// Returns the path in a file of one line.
pub(super) fn path(line: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(line.trim_ascii()))
}
