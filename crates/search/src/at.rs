//! The files of one repository in another tree than the main one: an indexed worktree, branch or tag, or any commit.

use std::sync::Arc;
use std::time::{Duration, Instant};

use files::Encoding;
use futures_util::future::BoxFuture;
use store::{BlobId, Catalog, CatalogRepo, File, InTree, RepoId, Shard, ShardId, Trees};

use crate::cache::files::ShardFiles;
use crate::cache::read_files;
use crate::clock::Clock;
use crate::missing::Missing;
use crate::named_tree::order;
use crate::revision::choose::{self, Chosen};
use crate::revision::commit_files::Listing;
use crate::revision::load::{self, listing};
use crate::revision::memory::MEMORY_SHARD;
use crate::revision::read::{self, Contents};
use crate::tree::Tree;
use crate::types::Error;
use crate::view::View;

/// Longest time to list the files of a commit.
const LISTING: Duration = Duration::from_secs(10);

/// The files of a repository in another tree than the main one.
#[derive(Debug)]
pub struct TreeAt {
    tree: Arc<Tree>,
    /// The commit, unless the tree is indexed.
    commit: Option<CommitAt>,
}

#[derive(Debug)]
struct CommitAt {
    chosen: Chosen,
    listing: Arc<Listing>,
    /// The catalog with all repositories, in whose epoch stored contents are looked up.
    catalog: Arc<Catalog>,
}

/// The contents of a file in such a tree.
#[derive(Clone, Debug)]
pub enum ContentsAt {
    /// They are stored.
    Stored {
        /// The shard.
        shard: Shard,
        /// The number in the shard.
        blob: BlobId,
        /// Bytes of the text.
        bytes: usize,
        /// The language, if it was recognised.
        language: Option<String>,
    },
    /// They were read from the clone.
    Read {
        /// Git's hash of them, in hexadecimal.
        hash: String,
        /// The text.
        text: String,
        /// The encoding of the file.
        encoding: Encoding,
    },
    /// They are left out, for this reason in a word.
    LeftOut(&'static str),
}

impl TreeAt {
    /// Returns the files. Those of a commit that is not indexed have no sizes, and only the languages that their paths tell.
    pub fn tree(&self) -> &Arc<Tree> {
        &self.tree
    }

    /// Returns whether the tree is indexed.
    pub fn is_indexed(&self) -> bool {
        self.commit.is_none()
    }

    /// Returns the commit in hexadecimal, unless the tree is indexed.
    pub fn commit(&self) -> Option<String> {
        self.commit.as_ref().map(|commit| commit.chosen.commit.to_string())
    }

    /// Returns the contents of a file; `None` if there is no such file.
    ///
    /// # Errors
    /// A statement failed, or the clone cannot be read.
    pub fn contents<'a>(
        &'a self,
        view: &'a View,
        repo: &'a str,
        path: &'a str,
    ) -> BoxFuture<'a, Result<Option<ContentsAt>, Error>> {
        Box::pin(async move {
            let Some(at) = &self.commit else {
                let found = self.tree.locate(repo, path)?;
                return Ok(found.map(|(shard, file)| ContentsAt::Stored {
                    shard: shard.clone(),
                    blob: file.blob,
                    bytes: file.bytes,
                    language: file.language.map(str::to_owned),
                }));
            };
            let left_out = || at.listing.left_out.iter().find(|(known, _)| **known == *path);
            let Some(name) = at.listing.get(path) else {
                return Ok(left_out().map(|(_, reason)| ContentsAt::LeftOut(reason)));
            };
            if at.chosen.place.skips_secrets && files::looks_secret(path) {
                return Ok(Some(ContentsAt::LeftOut(files::SkipReason::Secret.word())));
            }
            if !at.chosen.place.no_ignore && at.listing.rules.exclude(path) {
                return Ok(Some(ContentsAt::LeftOut(files::SkipReason::Excluded.word())));
            }
            let only = Listing { files: vec![(path.into(), name)], ..Listing::default() };
            let stored = load::stored_file(view.sources(&at.catalog), &only).await?;
            if let Some((shard, file)) = stored {
                return Ok(Some(ContentsAt::Stored {
                    shard,
                    blob: file.blob,
                    bytes: file.bytes as usize,
                    language: file.language.as_deref().map(str::to_owned),
                }));
            }
            let (clone, commits) = (at.chosen.clone.clone(), Arc::clone(view.searcher.commits()));
            let reading = move || match commits.text(&name) {
                Some(Some(text)) => Ok(Contents::Text(text)),
                _ => read::read(&clone.reader(), &name, &commits),
            };
            let read = tokio::task::spawn_blocking(reading).await.expect("reading does not panic");
            match read.map_err(|error| Error::Revision(error.to_string()))? {
                Contents::Missing(why) => Err(Error::Revision(why)),
                Contents::LeftOut(reason) => Ok(Some(ContentsAt::LeftOut(reason))),
                Contents::Text(text) => {
                    let unwanted = load::unwanted(path, &text.text, at.chosen.place.skips_secrets);
                    Ok(Some(unwanted.map_or_else(
                        || ContentsAt::Read {
                            hash: name.to_string(),
                            text: text.text.to_string(),
                            encoding: text.encoding,
                        },
                        ContentsAt::LeftOut,
                    )))
                }
            }
        })
    }
}

impl View {
    /// Returns the files of a repository in the indexed worktree, branch or tag with this name, or else in the commit that
    /// the name is for in the clone. `None` if there is no such repository.
    ///
    /// # Errors
    /// A statement failed; the name is unknown; or the clone cannot be read.
    pub fn tree_at<'a>(
        &'a self,
        repo: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<TreeAt>, Error>> {
        Box::pin(async move {
            let all = self.whole().await?;
            all.note_search();
            let catalog = self.catalog().await?;
            let Some((&id, known)) = catalog.repos.iter().find(|(_, known)| known.name == repo)
            else {
                return Ok(None);
            };
            if let Some(&store::Tree { kind, .. }) = indexed(known, name) {
                let tree = InTree { repo: repo.to_owned(), kind, tree: name.to_owned() };
                let only = catalog.of_repo(id, &[tree]);
                let tree = self.tree_of(only).await?;
                return Ok(Some(TreeAt { tree, commit: None }));
            }
            let Some(chosen) = self.resolved((id, repo), name).await? else { return Ok(None) };
            let clock = Arc::new(Clock::new(Instant::now(), Some(LISTING)));
            let Some(listing) = listing(self.searcher.commits(), &chosen, &clock).await? else {
                let why =
                    format!("{repo}: listing the files of the commit took too long; try again");
                return Err(Error::Revision(why));
            };
            let only = catalog.of_repo(id, &[]);
            let epoch = only.epoch;
            let work = {
                let listing = Arc::clone(&listing);
                move || {
                    let language = |path: &str| files::language_of(path, "");
                    let file = |(n, (path, _)): (usize, &(Box<str>, _))| File {
                        blob: BlobId(n as i32),
                        bytes: 0,
                        repo: id,
                        path: path.to_string(),
                        language: language(path),
                        trees: Trees::default(),
                    };
                    let rows = listing.files.iter().enumerate().map(file).collect();
                    let shard = Shard {
                        id: MEMORY_SHARD,
                        bytes: 0,
                        since: epoch,
                        chunks: listing.files.len() as i32,
                        changed: epoch,
                        filtered: 0,
                        worded: 0,
                        languages: Arc::default(),
                    };
                    let shards = vec![(shard, Arc::new(ShardFiles::new(rows)))];
                    Arc::new(Tree::new(only, shards, Missing::default(), Instant::now()))
                }
            };
            let tree = tokio::task::spawn_blocking(work).await.expect("listing does not panic");
            Ok(Some(TreeAt { tree, commit: Some(CommitAt { chosen, listing, catalog: all }) }))
        })
    }

    /// Returns the commit in hexadecimal of the indexed tree with a name, or else the one that the name is for in the
    /// clone. `None` if there is no such repository, or the worktree has no commit.
    ///
    /// # Errors
    /// A statement failed; the name is unknown; or the clone cannot be read.
    pub fn commit_at<'a>(
        &'a self,
        repo: &'a str,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Option<String>, Error>> {
        Box::pin(async move {
            let catalog = self.catalog().await?;
            let known = catalog.repos.iter().find(|(_, known)| known.name == repo);
            let Some((&id, known)) = known else { return Ok(None) };
            if let Some(tree) = indexed(known, name) {
                return Ok(tree.commit.clone());
            }
            let chosen = self.resolved((id, repo), name).await?;
            Ok(chosen.map(|chosen| chosen.commit.to_string()))
        })
    }

    /// Resolves a revision in the clone of a repository; `None` if the repository was removed.
    async fn resolved(
        &self,
        (id, repo): (RepoId, &str),
        revision: &str,
    ) -> Result<Option<Chosen>, Error> {
        let mut lease = self.store().lease().await?;
        let place = lease.clone_places(&[id]).await?.pop();
        lease.done();
        let Some(place) = place else { return Ok(None) };
        let (revision, of) = (revision.to_owned(), repo.to_owned());
        let worktree = self.worktree(repo);
        let resolving = move || {
            let failed = |why: String| Error::Revision(format!("{of}: {why}"));
            let clone = choose::open(&place, worktree.as_deref())
                .map_err(|error| failed(error.to_string()))?;
            let commit = clone.resolve(&revision).map_err(|error| failed(error.to_string()))?;
            Ok::<_, Error>(Chosen { place, clone, commit, revision: 0 })
        };
        let resolved = tokio::task::spawn_blocking(resolving).await;
        Ok(Some(resolved.expect("resolving does not panic")?))
    }

    /// Returns the files of a catalog, without keeping them.
    async fn tree_of(&self, catalog: Arc<Catalog>) -> Result<Arc<Tree>, store::Error> {
        let (begun, mut read) = (Instant::now(), Vec::with_capacity(catalog.shards.len()));
        for shard in &catalog.shards {
            let known = self.searcher.cache().and_then(|cache| cache.view().of(shard).files);
            let files = match known {
                Some(files) => Ok(files),
                None => read_files(self.store(), catalog.epoch, shard).await,
            };
            read.push((shard.clone(), files));
        }
        self.tree_of_read(catalog, read, begun).await
    }

    /// Returns a shard by its number, whether files of visible repositories lie in it or not.
    ///
    /// # Errors
    /// The database query fails.
    pub async fn shard(&self, id: ShardId) -> Result<Option<Shard>, store::Error> {
        let catalog = self.whole().await?;
        catalog.note_search();
        Ok(catalog.shards.iter().find(|shard| shard.id == id).cloned())
    }
}

/// Returns the indexed tree with a name: a worktree before a branch, and a branch before a tag.
fn indexed<'r>(repo: &'r CatalogRepo, name: &str) -> Option<&'r store::Tree> {
    let is_one = |tree: &&store::Tree| tree.name == name;
    repo.trees.trees.iter().filter(is_one).min_by_key(|tree| order(tree.kind))
}
