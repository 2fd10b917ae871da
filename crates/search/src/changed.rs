//! What an epoch changed: files as they were before and after it.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use store::{BlobId, CatalogRepos, ChangedRows, Epoch, FileVersion, RepoId, ShardId};

use crate::view::View;

/// A file that an epoch changed: it has other contents, another path or another language; or it is new or gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The file before; `None` if it is new.
    pub old: Option<FileVersion>,
    /// The file after; `None` if it is gone. If its contents are the same, its path may be another.
    pub new: Option<FileVersion>,
}

/// What an epoch changed in the visible repositories.
#[derive(Clone, Debug, Default)]
pub struct EpochChanges {
    /// The changed files of main trees, by repository and path; none of new repositories.
    pub files: Vec<FileChange>,
    /// The visible repositories, as they are now.
    pub repos: Arc<CatalogRepos>,
    /// The repositories that the epoch added.
    pub new_repos: Vec<RepoId>,
}

/// Texts by their place.
pub type TextsByPlace = HashMap<(ShardId, BlobId), String>;

impl FileChange {
    /// Returns its repository.
    pub fn repo(&self) -> RepoId {
        self.sides().next().map_or(RepoId(0), |file| file.repo)
    }

    /// Returns the file after, then the file before.
    pub fn sides(&self) -> impl Iterator<Item = &FileVersion> {
        self.new.iter().chain(&self.old)
    }
}

impl View {
    /// Returns what an epoch changed, as far as its repositories still exist; `None` if its rows may be deleted.
    ///
    /// # Errors
    /// The database query fails, or the database has no index.
    pub fn changed(
        &self,
        epoch: Epoch,
    ) -> BoxFuture<'_, Result<Option<EpochChanges>, store::Error>> {
        Box::pin(async move {
            let mut catalog = self.catalog().await?;
            if catalog.epoch < epoch {
                // The notification of the newest epoch may be on its way.
                self.searcher.refresh().await?;
                catalog = self.catalog().await?;
            }
            let Some(rows) = self.store().changed_rows(epoch).await? else { return Ok(None) };
            let is_new = |repo: RepoId| rows.new_repos.contains(&repo);
            let is_meant = |file: &FileVersion| {
                file.trees.has_main()
                    && catalog.repos.contains_key(&file.repo)
                    && !is_new(file.repo)
            };
            let new_repos: Vec<RepoId> = rows
                .new_repos
                .iter()
                .copied()
                .filter(|id| catalog.repos.contains_key(id))
                .collect();
            let ChangedRows { mut ended, mut begun, .. } = rows.clone();
            ended.retain(is_meant);
            begun.retain(is_meant);
            let repos = Arc::clone(&catalog.repos);
            Ok(Some(EpochChanges { files: paired(ended, begun), repos, new_repos }))
        })
    }

    /// Returns the texts of some versions of files, each once: from memory, or else from the database.
    ///
    /// # Errors
    /// The database query fails.
    pub fn texts_of_versions<'a>(
        &'a self,
        versions: &'a [&'a FileVersion],
    ) -> BoxFuture<'a, Result<TextsByPlace, store::Error>> {
        Box::pin(async move {
            let catalog = self.catalog().await?;
            let mut by_shard: HashMap<ShardId, Vec<BlobId>> = HashMap::new();
            let mut texts = TextsByPlace::new();
            for version in versions {
                let place = (version.shard, version.blob);
                if texts.contains_key(&place) {
                    continue;
                }
                let shard = catalog.shards.binary_search_by_key(&version.shard, |shard| shard.id);
                let bytes = version.bytes.unsigned_abs() as usize;
                let kept = shard
                    .ok()
                    .filter(|_| bytes > 0)
                    .and_then(|at| self.kept_text(&catalog.shards[at], version.blob, bytes));
                // A file without text has no chunks.
                if kept.is_none() && bytes > 0 {
                    by_shard.entry(version.shard).or_default().push(version.blob);
                }
                texts.insert(place, kept.unwrap_or_default());
            }
            if by_shard.is_empty() {
                return Ok(texts);
            }
            let mut lease = self.store().lease().await?;
            for (shard, mut blobs) in by_shard {
                blobs.sort_unstable();
                for chunk in lease.blobs(shard, &blobs).await? {
                    let text = texts.entry((shard, chunk.blob)).or_default();
                    text.push_str(&chunk.contents);
                }
            }
            lease.done();
            Ok(texts)
        })
    }
}

/// Pairs the rows that ended with those that began: by path, then by contents. A pair of which nothing changed but the
/// trees is left out.
fn paired(ended: Vec<FileVersion>, begun: Vec<FileVersion>) -> Vec<FileChange> {
    let mut before: HashMap<(RepoId, String), FileVersion> =
        ended.into_iter().map(|file| ((file.repo, file.path.clone()), file)).collect();
    let (mut changes, mut new) = (Vec::new(), Vec::new());
    for file in begun {
        match before.remove(&(file.repo, file.path.clone())) {
            Some(old) if is_same(&old, &file) => {}
            Some(old) => changes.push(FileChange { old: Some(old), new: Some(file) }),
            None => new.push(file),
        }
    }
    let mut gone: Vec<FileVersion> = before.into_values().collect();
    gone.sort_unstable_by(|one, other| (one.repo, &other.path).cmp(&(other.repo, &one.path)));
    let mut moved: HashMap<(RepoId, ShardId, BlobId), Vec<FileVersion>> = HashMap::new();
    for file in gone {
        moved.entry((file.repo, file.shard, file.blob)).or_default().push(file);
    }
    new.sort_unstable_by(|one, other| (one.repo, &one.path).cmp(&(other.repo, &other.path)));
    for file in new {
        let old = moved.get_mut(&(file.repo, file.shard, file.blob)).and_then(Vec::pop);
        changes.push(FileChange { old, new: Some(file) });
    }
    let gone = moved.into_values().flatten();
    changes.extend(gone.map(|old| FileChange { old: Some(old), new: None }));
    changes.sort_by_cached_key(|change| {
        change.sides().next().map(|file| (file.repo, file.path.clone()))
    });
    changes
}

fn is_same(old: &FileVersion, new: &FileVersion) -> bool {
    (old.shard, old.blob, &old.language) == (new.shard, new.blob, &new.language)
}

#[cfg(test)]
mod tests {
    use store::Trees;

    use super::*;

    fn file(path: &str, blob: i32) -> FileVersion {
        FileVersion {
            repo: RepoId(1),
            path: path.to_owned(),
            shard: ShardId(0),
            blob: BlobId(blob),
            bytes: 1,
            language: None,
            trees: Trees(0),
        }
    }

    /// Returns the changes as `old:blob>new:blob`.
    fn told(ended: &[(&str, i32)], begun: &[(&str, i32)]) -> Vec<String> {
        let files =
            |all: &[(&str, i32)]| all.iter().map(|(path, blob)| file(path, *blob)).collect();
        let side = |of: &Option<FileVersion>| {
            of.as_ref().map_or(String::new(), |file| format!("{}:{}", file.path, file.blob.0))
        };
        let changes = paired(files(ended), files(begun));
        changes.iter().map(|of| format!("{}>{}", side(&of.old), side(&of.new))).collect()
    }

    #[test]
    fn files_are_paired_by_path_then_by_contents() {
        assert_eq!(told(&[("a", 1)], &[("a", 2)]), ["a:1>a:2"]);
        // Only its trees changed.
        assert!(told(&[("a", 1)], &[("a", 1)]).is_empty());
        assert_eq!(told(&[("a", 1)], &[("b", 1), ("c", 1)]), ["a:1>b:1", ">c:1"]);
        assert_eq!(told(&[("a", 1), ("b", 1), ("x", 3)], &[("c", 1)]), ["b:1>", "a:1>c:1", "x:3>"]);
        // Two files that swap their contents.
        assert_eq!(told(&[("a", 1), ("b", 2)], &[("a", 2), ("b", 1)]), ["a:1>a:2", "b:2>b:1"]);
        let mut other = file("b", 1);
        other.repo = RepoId(2);
        let apart = paired(vec![file("a", 1)], vec![other]);
        assert_eq!(apart.len(), 2);
    }
}
