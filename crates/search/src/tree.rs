//! The files of one epoch, in order.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use store::{BlobId, Catalog, Epoch, Error, RepoId, Shard, ShardId};

use super::entry::FileEntry;
use super::missing::Missing;
use crate::cache::files::ShardFiles;
use crate::fresh;
use fuzzy::{PathIndex, fold};

/// Least time for which a tree is kept that lacks the files of some shards; or so many times as long as its files were read.
const KEPT_IN_PART: Duration = Duration::from_secs(1);
const KEPT_TIMES: u32 = 4;

/// All files of an epoch, by repository and path, as far as their shards could be read.
#[derive(Debug)]
pub struct Tree {
    catalog: Arc<Catalog>,
    shards: Vec<(Shard, Arc<ShardFiles>)>,
    /// Index of each file's shard in `shards`, and of the file in that shard.
    files: Vec<(u16, u32)>,
    /// Repositories, by name.
    repos: Vec<RepoTree>,
    /// Languages with their numbers of files, most frequent first.
    languages: Vec<(String, usize)>,
    /// Index of all paths, built on first use.
    path_index: OnceLock<PathIndex>,
    /// The shards that could not be read.
    missing: Missing,
    /// Until when it is kept if it lacks some.
    kept_until: Instant,
}

/// A repository in a tree.
#[derive(Clone, Debug)]
pub struct RepoTree {
    /// Key in the index.
    pub id: RepoId,
    /// Its name.
    pub name: String,
    /// Name, folded for comparison with a query.
    pub folded: String,
    files: Range<usize>,
}

/// A file or folder directly inside a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderItem {
    /// Its name.
    pub name: String,
    /// Number of files in it, for a folder.
    pub files: Option<usize>,
    /// Bytes of text in it.
    pub bytes: usize,
    /// Language of a file, if recognised.
    pub language: Option<String>,
}

/// The number of some files and the size of their texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTotals {
    /// Number of files.
    pub files: usize,
    /// Bytes of their texts.
    pub bytes: usize,
}

impl Tree {
    /// Creates the tree from the files of all shards but the missing ones, whose reading began at `begun`. Sorts all paths,
    /// so it should run on a separate thread.
    pub(crate) fn new(
        catalog: Arc<Catalog>,
        shards: Vec<(Shard, Arc<ShardFiles>)>,
        missing: Missing,
        begun: Instant,
    ) -> Self {
        let mut repos: Vec<(&str, RepoId)> =
            catalog.repos.iter().map(|(id, repo)| (repo.name.as_str(), *id)).collect();
        repos.sort_unstable();
        let order: HashMap<RepoId, usize> =
            repos.iter().enumerate().map(|(at, (_, id))| (*id, at)).collect();
        let mut files: Vec<(u16, u32)> = Vec::new();
        for (at, (_, shard)) in shards.iter().enumerate() {
            files.extend((0..shard.len() as u32).map(|row| (at as u16, row)));
        }
        let entry = |(at, row): (u16, u32)| shards[usize::from(at)].1.entry(row as usize);
        let trees = catalog.filter().trees;
        files.retain(|(at, row)| shards[usize::from(*at)].1.passes(*row as usize, &trees));
        // A repository that the catalog lacks has no files in its epoch.
        files.retain(|file| order.contains_key(&entry(*file).repo));
        files.sort_by_cached_key(|file| {
            let entry = entry(*file);
            (order[&entry.repo], entry.path)
        });
        let mut from = 0;
        let repos = repos
            .iter()
            .enumerate()
            .map(|(at, (name, id))| {
                let here = |file: &(u16, u32)| order[&entry(*file).repo] <= at;
                let upto = from + files[from..].partition_point(here);
                RepoTree {
                    id: *id,
                    name: (*name).to_owned(),
                    folded: name.chars().map(fold).collect(),
                    files: std::mem::replace(&mut from, upto)..upto,
                }
            })
            .collect();
        let (languages, path_index) = (Vec::new(), OnceLock::new());
        let kept_until = Instant::now() + KEPT_IN_PART.max(begun.elapsed() * KEPT_TIMES);
        let mut tree =
            Self { catalog, shards, files, repos, languages, path_index, missing, kept_until };
        tree.languages = tree.count_languages();
        tree
    }

    /// Returns the epoch that the tree lists.
    pub fn epoch(&self) -> Epoch {
        self.catalog.epoch
    }

    pub(crate) fn is_of(&self, catalog: &Catalog) -> bool {
        self.catalog.is_same(catalog) && self.catalog.shows_same(catalog)
    }

    /// Returns what it lacks, as far as whoever sees these repositories is told.
    pub fn missing(&self) -> Missing {
        if self.catalog.visible().is_some() { self.missing.hidden() } else { self.missing.clone() }
    }

    /// Returns whether somebody may look at it: one that lacks shards may soon lack them no more.
    pub(crate) fn is_fresh(&self) -> bool {
        self.missing.is_empty() || Instant::now() < self.kept_until
    }

    /// Refuses to say that a repository has no more files, if it has some in a missing shard, or lacks those of a lost node.
    fn refuse_if_lacking(&self, repo: &RepoTree) -> Result<(), Error> {
        if self.catalog.is_lost(repo.id) {
            return Err(Error::Lost(repo.name.clone()));
        }
        let shards = self.catalog.repos.get(&repo.id).into_iter().flat_map(|repo| &repo.shards);
        self.missing.refuse(shards.copied())
    }

    /// Returns the sentence that repositories whose names have this part lack files since a node of the index was lost; `None`
    /// if none does.
    pub fn lacking(&self, part: Option<&str>) -> Option<String> {
        let part = part.map(str::to_lowercase);
        let is_asked =
            |of: &&RepoTree| part.as_ref().is_none_or(|part| of.name.to_lowercase().contains(part));
        let lost = self.repos.iter().filter(|repo| self.catalog.is_lost(repo.id));
        fresh::lacking(lost.filter(is_asked).count())
    }

    /// Returns the sentence that this repository does.
    pub fn lacking_in(&self, repo: &str) -> Option<String> {
        let is_lost = self.repo(repo).is_some_and(|repo| self.catalog.is_lost(repo.id));
        fresh::lacking(usize::from(is_lost))
    }

    /// Returns whether it lists files of the state of a catalog.
    pub(crate) fn is_of_epoch(&self, catalog: &Catalog) -> bool {
        self.catalog.is_same(catalog)
    }

    /// Returns whether it lists files of the state of another tree.
    pub(crate) fn is_of_state(&self, other: &Self) -> bool {
        self.catalog.is_same(&other.catalog)
    }

    /// Returns the tree of the repositories of a catalog of the same state, which are among those of this one. The order of the
    /// files stays, so this takes no sorting.
    pub(crate) fn only(&self, catalog: Arc<Catalog>) -> Self {
        let mut files = Vec::new();
        let mut repos = Vec::with_capacity(catalog.repos.len());
        for repo in self.repos.iter().filter(|repo| catalog.repos.contains_key(&repo.id)) {
            let from = files.len();
            files.extend_from_slice(&self.files[repo.files.clone()]);
            repos.push(RepoTree { files: from..files.len(), ..repo.clone() });
        }
        let shards = self.shards.clone();
        let mut tree = Self {
            catalog,
            shards,
            files,
            repos,
            languages: Vec::new(),
            path_index: OnceLock::new(),
            missing: self.missing.clone(),
            kept_until: self.kept_until,
        };
        tree.languages = tree.count_languages();
        tree
    }

    fn count_languages(&self) -> Vec<(String, usize)> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for file in &self.files {
            if let Some(language) = self.entry(*file).language {
                *counts.entry(language).or_default() += 1;
            }
        }
        let mut languages: Vec<(String, usize)> =
            counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
        languages.sort_by(|(a, x), (b, y)| (y, a).cmp(&(x, b)));
        languages
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the repositories, by name.
    pub fn repos(&self) -> &[RepoTree] {
        &self.repos
    }

    /// Returns the languages of all files with their numbers of files, most frequent first.
    pub fn all_languages(&self) -> &[(String, usize)] {
        &self.languages
    }

    /// Returns the total size of all texts in bytes; equal contents count once.
    pub(crate) fn stored_bytes(&self) -> usize {
        let texts: HashMap<(u16, BlobId), usize> = self
            .files
            .iter()
            .map(|file| (file.0, self.entry(*file)))
            .map(|(shard, entry)| ((shard, entry.blob), entry.bytes))
            .collect();
        texts.values().sum()
    }

    /// Returns a repository by name.
    pub fn repo(&self, name: &str) -> Option<&RepoTree> {
        let at = self.repos.binary_search_by(|repo| repo.name.as_str().cmp(name)).ok()?;
        Some(&self.repos[at])
    }

    /// Returns the files of a repository, by path, as far as they are in shards that could be read.
    pub fn files(&self, repo: &RepoTree) -> impl Iterator<Item = FileEntry<'_>> {
        self.files[repo.files.clone()].iter().map(|file| self.entry(*file))
    }

    /// Returns a file by repository and path.
    ///
    /// # Errors
    /// It may be in a shard of the repository that could not be read, or was lost.
    pub fn file(&self, repo: &str, path: &str) -> Result<Option<FileEntry<'_>>, Error> {
        Ok(self.locate(repo, path)?.map(|(_, entry)| entry))
    }

    /// Returns eight bytes that identify the contents of a file: within this epoch, they are equal exactly if the
    /// contents are.
    pub fn contents(&self, repo: &str, path: &str) -> Option<[u8; 8]> {
        let (shard, entry) = self.found(self.repo(repo)?, path)?;
        let blob = u64::from(entry.blob.0.cast_unsigned());
        Some((u64::from(shard.id.0.cast_unsigned()) << 32 | blob).to_be_bytes())
    }

    /// Returns a file by repository and path, and the shard that contains it.
    ///
    /// # Errors
    /// It may be in a shard of the repository that could not be read, or was lost.
    pub fn locate(&self, repo: &str, path: &str) -> Result<Option<(&Shard, FileEntry<'_>)>, Error> {
        let Some(repo) = self.repo(repo) else { return Ok(None) };
        match self.found(repo, path) {
            Some(found) => Ok(Some(found)),
            None => self.refuse_if_lacking(repo).map(|()| None),
        }
    }

    fn found(&self, repo: &RepoTree, path: &str) -> Option<(&Shard, FileEntry<'_>)> {
        let files = &self.files[repo.files.clone()];
        let at = files.binary_search_by(|file| self.entry(*file).path.cmp(path)).ok()?;
        Some((&self.shards[usize::from(files[at].0)].0, self.entry(files[at])))
    }

    /// Returns the items of a folder of a repository, folders first; `None` if there is no such folder.
    /// `folder` has no slash at its ends, and is empty for the root of the repository.
    ///
    /// # Errors
    /// A shard of the repository could not be read, or was lost.
    pub fn folder(&self, repo: &RepoTree, folder: &str) -> Result<Option<Vec<FolderItem>>, Error> {
        self.refuse_if_lacking(repo)?;
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let files = &self.files[repo.files.clone()];
        let from = files.partition_point(|file| self.entry(*file).path < prefix.as_str());
        let inside = files[from..]
            .iter()
            .map(|file| self.entry(*file))
            .take_while(|entry| entry.path.starts_with(&prefix));
        let mut folders: BTreeMap<&str, FileTotals> = BTreeMap::new();
        let mut children = Vec::new();
        for entry in inside {
            match entry.path[prefix.len()..].split_once('/') {
                Some((name, _)) => folders.entry(name).or_default().add(&entry),
                None => children.push(FolderItem {
                    name: entry.path[prefix.len()..].to_owned(),
                    files: None,
                    bytes: entry.bytes,
                    language: entry.language.map(str::to_owned),
                }),
            }
        }
        let folders = folders.into_iter().map(|(name, counted)| FolderItem {
            name: name.to_owned(),
            files: Some(counted.files),
            bytes: counted.bytes,
            language: None,
        });
        let all: Vec<FolderItem> = folders.chain(children).collect();
        Ok((!all.is_empty() || folder.is_empty()).then_some(all))
    }

    /// Returns the languages of a repository with their totals, largest first.
    ///
    /// # Errors
    /// A shard of the repository could not be read, or was lost.
    pub fn languages(&self, repo: &RepoTree) -> Result<Vec<(String, FileTotals)>, Error> {
        self.refuse_if_lacking(repo)?;
        let mut languages: HashMap<&str, FileTotals> = HashMap::new();
        for entry in self.files(repo) {
            languages.entry(entry.language.unwrap_or("other")).or_default().add(&entry);
        }
        let mut all: Vec<(String, FileTotals)> =
            languages.into_iter().map(|(name, counted)| (name.to_owned(), counted)).collect();
        all.sort_by(|(a, x), (b, y)| (y.bytes, a).cmp(&(x.bytes, b)));
        Ok(all)
    }

    /// Returns up to `most` other files with the contents of a file, by repository and path.
    pub fn copies(
        &self,
        shard: ShardId,
        blob: BlobId,
        of: (&str, &str),
        most: usize,
    ) -> Vec<(String, String)> {
        let Some((_, files)) = self.shards.iter().find(|(here, _)| here.id == shard) else {
            return Vec::new();
        };
        let name = |id: RepoId| self.catalog.repos.get(&id).map(|repo| repo.name.clone());
        let mut copies: Vec<(String, String)> = files
            .of_blob(blob)
            .filter_map(|entry| Some((name(entry.repo)?, entry.path.to_owned())))
            .filter(|(repo, path)| (repo.as_str(), path.as_str()) != of)
            .collect();
        copies.sort_unstable();
        copies.truncate(most);
        copies
    }

    pub(crate) fn entry(&self, (shard, row): (u16, u32)) -> FileEntry<'_> {
        self.shards[usize::from(shard)].1.entry(row as usize)
    }

    /// Returns the index of the paths. The first call builds it.
    pub fn path_index(&self) -> &PathIndex {
        self.path_index.get_or_init(|| PathIndex::new(self.len(), |file| self.nth(file).path))
    }

    /// Returns a file by its number among all files.
    pub fn nth(&self, at: u32) -> FileEntry<'_> {
        self.entry(self.files[at as usize])
    }
}

impl RepoTree {
    /// Returns the number of its files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns whether it has no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the numbers of its files among all files.
    pub fn numbers(&self) -> Range<u32> {
        self.files.start as u32..self.files.end as u32
    }
}

impl FileTotals {
    fn add(&mut self, entry: &FileEntry<'_>) {
        self.files += 1;
        self.bytes += entry.bytes;
    }
}
