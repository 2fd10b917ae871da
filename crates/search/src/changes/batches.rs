//! Goes through the changed files of a repository in order, a batch at a time, on all processors.

use std::ops::Range;

use git::TreeChange;
use rayon::prelude::*;

use super::error::CompareError;
use super::file::{ChangedFile, bytes_of, read, shown_path};
use super::revisions::Revisions;
use crate::stats::Stopped;
use crate::verify::Scratches;

/// Most bytes of texts that one comparison reads.
pub const MAX_BYTES: u64 = 256 << 20;

/// Files of a batch. A client gets results after each.
pub(super) const BATCH: usize = 64;

/// The changed files of a repository.
pub(super) struct Changes {
    pub(super) revisions: Revisions,
    files: Vec<TreeChange>,
}

/// What a batch has found.
pub(super) struct Batch<T> {
    /// What each file gave, in order, up to the one before which the batch ended.
    pub(super) items: Vec<T>,
    /// Why it ended early.
    pub(super) ended: Option<Ended>,
    /// Bytes of the texts.
    pub(super) bytes: u64,
}

/// Why a batch ended early.
#[derive(Debug)]
pub(super) enum Ended {
    /// The time was over, or the client has left.
    Late,
    /// Further texts exceed [`MAX_BYTES`].
    Bytes,
    /// The clone is broken.
    Failed(CompareError),
}

/// Returns why a comparison with too much text is incomplete.
pub(super) fn too_large() -> Stopped {
    Stopped::Revision(format!(
        "the changed files have more than {} MB of text; narrow them with file: or lang:",
        MAX_BYTES >> 20
    ))
}

impl Changes {
    /// Lists the changed files, by path.
    ///
    /// # Errors
    /// The clone is broken.
    pub(super) fn of(revisions: Revisions) -> Result<Self, CompareError> {
        let changes = revisions.clone.changes(revisions.old, Some(revisions.new));
        let mut files = changes
            .map_err(|error| CompareError::Clone { repo: revisions.repo.name.clone(), error })?;
        files.sort_by_cached_key(|file| {
            let path = file.new.as_ref().or(file.old.as_ref());
            let path = path.map_or_else(String::new, |of| shown_path(&of.path));
            rank::walked("", &path).collect::<Vec<u8>>()
        });
        Ok(Self { revisions, files })
    }

    /// Returns the number of changed files.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Keeps the files of which one of the paths is wanted.
    pub(super) fn retain(&mut self, wanted: &(dyn Fn(&[&str]) -> bool + Sync)) {
        let files = std::mem::take(&mut self.files);
        self.files = files.into_par_iter().filter(|file| is_wanted(file, wanted)).collect();
    }

    /// Reads and compares some files, as long as `go_on` returns true and the texts have no more than `most` bytes.
    pub(super) fn batch<T: Send>(
        &self,
        files: Range<usize>,
        most: u64,
        go_on: &(dyn Fn() -> bool + Sync),
        each: &(dyn Fn(ChangedFile, &mut Scratches) -> T + Sync),
    ) -> Batch<T> {
        let files = &self.files[files];
        let clone = &self.revisions.clone;
        let sizes =
            files.par_iter().map_init(|| clone.reader(), |reader, file| bytes_of(file, reader));
        let sizes: Vec<u64> = sizes.collect();
        let mut bytes = 0;
        let fits = |size: &&u64| {
            let fits = bytes + **size <= most;
            bytes += if fits { **size } else { 0 };
            fits
        };
        let count = sizes.iter().take_while(fits).count();
        let work = files[..count].par_iter().map_init(
            || (clone.reader(), Scratches::new()),
            |(reader, scratches), file| {
                if !go_on() {
                    return None;
                }
                let item = read(file, reader).map(|file| each(file, scratches));
                // A match that was interrupted is none.
                go_on().then_some(item)
            },
        );
        let work: Vec<Option<Result<T, git::Error>>> = work.collect();
        let mut batch = Batch { items: Vec::with_capacity(count), ended: None, bytes };
        for item in work {
            match item {
                Some(Ok(item)) => batch.items.push(item),
                Some(Err(error)) => {
                    let repo = self.revisions.repo.name.clone();
                    batch.ended = Some(Ended::Failed(CompareError::Clone { repo, error }));
                    return batch;
                }
                None => {
                    batch.ended = Some(Ended::Late);
                    return batch;
                }
            }
        }
        if count < files.len() {
            batch.ended = Some(Ended::Bytes);
        }
        batch
    }
}

fn is_wanted(file: &TreeChange, wanted: &(dyn Fn(&[&str]) -> bool + Sync)) -> bool {
    let sides = [&file.new, &file.old].into_iter().flatten();
    let mut paths: Vec<String> = sides.map(|side| shown_path(&side.path)).collect();
    paths.dedup();
    wanted(&paths.iter().map(String::as_str).collect::<Vec<_>>())
}
