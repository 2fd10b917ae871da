//! The folder in which an agent works, and the tree that it lies in.

use std::path::Path;

use anyhow::{Result, bail};
use request::Here;
use search::View;

/// The description of the argument.
pub(super) const DESCRIPTION: &str = "The absolute path of the folder you work in. In a worktree of a clone, its files take the place of the main checkout's.";

/// Returns the place of the folder that a call names, or else of the one in which its client runs.
///
/// # Errors
/// The named folder is not absolute or in no indexed repository, or the database query fails.
pub(super) async fn of(view: &View, named: Option<&str>, client: Option<&str>) -> Result<Here> {
    let named = named.map(str::trim).filter(|named| !named.is_empty());
    let Some(folder) = named.or(client).map(Path::new) else { return Ok(Here::default()) };
    if named.is_some() && !folder.is_absolute() {
        bail!("folder: give an absolute path, not {}", folder.display());
    }
    let here = Here::of(view, Some(folder)).await?;
    // Above several repositories is a fine place to work, too.
    if named.is_some() && here.inside().is_none() && here.below(".")?.is_none() {
        bail!(
            "folder: {} is in no indexed repository, and has none below it; leave it out to search the main checkouts, or \
             run: codesearch ingest {}",
            folder.display(),
            request::shell::word(&folder.display().to_string())
        );
    }
    Ok(here)
}
