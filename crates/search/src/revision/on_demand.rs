//! What a search on demand searches: for each shard the files of the chosen commits, and the shard in memory.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hasher;
use std::sync::Arc;

use git::Oid;
use store::{BlobId, Catalog, File, FileFilter, RepoId, Shard, ShardId, SharedText, SkippedFile};
use store::{Store, TreeFilter, Trees};

use super::choose::{Asked, Chosen, MOST_REVISIONS, Notes, Revision};
use super::commit_files::{CommitFiles, RecentShard};
use super::load::{Sources, load};
use super::memory::MemoryShard;
use super::read::MAX_BYTES;
use crate::cache::files::ShardFiles;
use crate::cache::{CachedShard, ShardCache};
use crate::clock::Clock;
use crate::missing::Missing;
use crate::types::Error;

/// The files that a search on demand searches.
#[derive(Debug)]
pub(crate) struct OnDemand {
    /// The revisions.
    revisions: Vec<Revision>,
    /// The repositories of the commits, by name.
    pub(crate) repos: Vec<RepoId>,
    /// The files in each shard: those of the commits, and those of repositories of which an indexed tree is meant.
    pub(crate) shards: BTreeMap<ShardId, Arc<ShardFiles>>,
    /// The texts that are not stored.
    pub(crate) memory: Option<Arc<MemoryShard>>,
    /// The files that were left out.
    pub(crate) left_out: Vec<SkippedFile>,
    /// A hash of the repositories and commits, to be valid in a cursor; never 0.
    pub(crate) commits: u64,
}

/// Sets of revisions stand for sets of trees: revision n is bit n, and the set is this number less the bits. No stored set
/// has such a number.
const SETS: i32 = i32::MAX;

/// Returns the trees of a file that the revisions with some bits have.
fn trees_of(bits: i32) -> Trees {
    Trees(-(SETS - bits))
}

/// Returns the bits of the revisions that have a file; `None` if it is of an indexed tree.
fn bits_of(trees: Trees) -> Option<i32> {
    let bits = SETS - trees.set()?;
    (0..1 << MOST_REVISIONS).contains(&bits).then_some(bits)
}

impl OnDemand {
    /// Loads the chosen commits, and the files of repositories of which indexed trees are meant. `None` if the clock ran
    /// out.
    ///
    /// # Errors
    /// A statement failed, or a clone cannot be read and no other has the revision.
    pub(crate) async fn load(
        from: Sources<'_>,
        asked: Asked,
        chosen: &[Chosen],
        clock: &Arc<Clock>,
        notes: &mut Notes,
    ) -> Result<Option<Arc<Self>>, Error> {
        let mut left = MAX_BYTES;
        let mut loaded: Vec<(&Chosen, Arc<CommitFiles>)> = Vec::with_capacity(chosen.len());
        let name_of: HashMap<RepoId, &str> =
            asked.repos.iter().map(|(id, name)| (*id, name.as_str())).collect();
        for one in chosen {
            let repo = name_of.get(&one.place.repo).copied().unwrap_or_default();
            let files = match load(from, one, left, clock).await {
                Ok(Some(files)) => files,
                Ok(None) => return Ok(None),
                Err(Error::Revision(why)) if chosen.len() > 1 || !asked.indexed.is_empty() => {
                    notes.cut(format!("{repo}: {why}"));
                    continue;
                }
                Err(Error::Revision(why)) => return Err(Error::Revision(format!("{repo}: {why}"))),
                Err(error) => return Err(error),
            };
            if let Some(why) = &files.cut {
                notes.cut(format!("{repo}: {why}"));
            }
            left = left.saturating_sub(files.bytes_read());
            loaded.push((one, files));
        }
        let commits = hash(loaded.iter().map(|(one, _)| (one.place.repo, one.commit)));
        let mut shards: BTreeMap<ShardId, ShardRows> = BTreeMap::new();
        for (one, files) in &loaded {
            for (shard, files) in &files.stored {
                let rows = shards.entry(*shard).or_default();
                rows.ends.extend(files.iter().map(|file| file.end));
                rows.files.extend(files.iter().map(|file| File {
                    blob: file.blob,
                    bytes: file.bytes,
                    repo: one.place.repo,
                    path: file.path.to_string(),
                    language: file.language.as_deref().map(str::to_owned),
                    trees: trees_of(1 << one.revision),
                }));
            }
        }
        if !asked.indexed.is_empty() {
            add_indexed(from, &asked.indexed, &mut shards, &mut notes.missing).await?;
        }
        let left_out = |(one, files): &(&Chosen, Arc<CommitFiles>)| {
            let repo = one.place.repo;
            let all = files.left_out.iter().map(move |(path, reason)| SkippedFile {
                repo,
                path: path.to_string(),
                reason: (*reason).to_owned(),
                rule: None,
                trees: trees_of(1 << one.revision),
            });
            all.collect::<Vec<_>>()
        };
        let memory = memory(&loaded);
        if let Some(memory) = &memory {
            from.commits.add_recent(RecentShard::new(from.catalog.switch, memory));
        }
        Ok(Some(Arc::new(Self {
            revisions: asked.revisions,
            repos: loaded.iter().map(|(one, _)| one.place.repo).collect(),
            shards: shards.into_iter().map(|(id, rows)| (id, rows.into_files())).collect(),
            memory,
            left_out: loaded.iter().flat_map(left_out).collect(),
            commits,
        })))
    }

    /// Returns, for each of the query's terms with a revision, the sets of trees that have it.
    pub(crate) fn sets(&self) -> impl Iterator<Item = (usize, i32)> {
        let of_revision = |(n, revision): (usize, &Revision)| {
            let with = (0..1 << MOST_REVISIONS).filter(move |bits| bits & (1 << n) != 0);
            let terms = revision.terms.clone();
            with.flat_map(move |bits| {
                terms.clone().into_iter().map(move |term| (term, SETS - bits))
            })
        };
        self.revisions.iter().enumerate().flat_map(of_revision)
    }

    /// Returns the revisions that have a file, as typed; `None` if it is of an indexed tree.
    pub(crate) fn names(&self, trees: Trees) -> Option<Vec<String>> {
        let bits = bits_of(trees)?;
        let has = |(n, _): &(usize, &Revision)| bits & (1 << n) != 0;
        let all = self.revisions.iter().enumerate().filter(has);
        Some(all.map(|(_, revision)| revision.name.clone()).collect())
    }

    /// Returns the stored shards with files, each with what is in memory of it.
    pub(crate) fn shards<'a>(
        &'a self,
        all: &'a [Shard],
        cache: Option<&'a ShardCache>,
    ) -> impl Iterator<Item = (Shard, CachedShard)> + 'a {
        let view = cache.map(ShardCache::view);
        all.iter().filter_map(move |shard| {
            let files = self.shards.get(&shard.id)?;
            let cached = view.as_ref().map_or_else(CachedShard::default, |view| view.of(shard));
            Some((shard.clone(), CachedShard { files: Some(Arc::clone(files)), ..cached }))
        })
    }
}

/// The files of a shard, and the ends of known blobs.
#[derive(Default)]
struct ShardRows {
    files: Vec<File>,
    ends: Vec<i32>,
}

impl ShardRows {
    fn into_files(mut self) -> Arc<ShardFiles> {
        let files = &mut self.files;
        sort(files);
        Arc::new(ShardFiles::sparse(self.files, self.ends))
    }
}

/// Adds the files of repositories of which indexed trees are meant.
async fn add_indexed(
    from: Sources<'_>,
    repos: &[RepoId],
    shards: &mut BTreeMap<ShardId, ShardRows>,
    missing: &mut Missing,
) -> Result<(), store::Error> {
    let Sources { store, cache, catalog, .. } = from;
    let filter = FileFilter {
        epoch: catalog.epoch,
        repos: Some(repos.to_vec()),
        languages: None,
        trees: TreeFilter::All,
    };
    for shard in holding(catalog, repos) {
        let kept = cache.and_then(|cache| cache.view().of(shard).files);
        let files = match kept {
            Some(files) => files.of(None, &filter),
            None => match stored(store, shard, &filter).await {
                Ok(files) => files,
                Err(error) => {
                    missing.note(store, shard, error)?;
                    continue;
                }
            },
        };
        if !files.is_empty() {
            shards.entry(shard.id).or_default().files.extend(files);
        }
    }
    Ok(())
}

/// Returns the shards that hold files of some repositories.
fn holding<'c>(catalog: &'c Catalog, repos: &[RepoId]) -> impl Iterator<Item = &'c Shard> {
    let repos: Vec<_> = repos.iter().filter_map(|repo| catalog.repos.get(repo)).collect();
    catalog.shards.iter().filter(move |shard| repos.iter().any(|of| of.shards.contains(&shard.id)))
}

async fn stored(
    store: &Store,
    shard: &Shard,
    filter: &FileFilter,
) -> Result<Vec<File>, store::Error> {
    let mut lease = store.lease().await?;
    let files = lease.files(shard.id, None, filter).await?;
    lease.done();
    Ok(files)
}

/// Makes the shard in memory of the texts that are not stored; `None` if there are none. Equal contents are one blob.
fn memory(loaded: &[(&Chosen, Arc<CommitFiles>)]) -> Option<Arc<MemoryShard>> {
    let mut blobs: HashMap<Oid, BlobId> = HashMap::new();
    let (mut texts, mut files): (Vec<SharedText>, Vec<File>) = (Vec::new(), Vec::new());
    let mut names = Vec::new();
    for (one, of_commit) in loaded {
        for file in &of_commit.read {
            let blob = *blobs.entry(file.name).or_insert_with(|| {
                texts.push(file.text.text.clone());
                names.push(file.name);
                BlobId(texts.len() as i32 - 1)
            });
            files.push(File {
                blob,
                bytes: file.text.text.len() as i32,
                repo: one.place.repo,
                path: file.path.to_string(),
                language: file.language.as_deref().map(str::to_owned),
                trees: trees_of(1 << one.revision),
            });
        }
    }
    if files.is_empty() {
        return None;
    }
    sort(&mut files);
    let clones = loaded.iter().map(|(one, _)| (one.place.repo, one.clone.clone())).collect();
    let files = Arc::new(ShardFiles::new(files));
    Some(Arc::new(MemoryShard { files, texts, names: names.into(), clones }))
}

/// Sorts files by blob, repository and path, and joins those that several revisions have.
fn sort(files: &mut Vec<File>) {
    fn key(file: &File) -> (BlobId, RepoId, &str) {
        (file.blob, file.repo, &file.path)
    }
    files.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
    files.dedup_by(|other, kept| {
        let both = key(other) == key(kept);
        let bits = bits_of(other.trees).zip(bits_of(kept.trees)).filter(|_| both);
        if let Some((one, two)) = bits {
            kept.trees = trees_of(one | two);
        }
        bits.is_some()
    });
}

/// Hashes the commits that are searched.
fn hash(commits: impl Iterator<Item = (RepoId, Oid)>) -> u64 {
    let mut hasher = siphasher::sip::SipHasher13::new();
    for (repo, commit) in commits {
        hasher.write(&repo.0.to_le_bytes());
        hasher.write(commit.as_slice());
    }
    hasher.finish().max(1)
}
