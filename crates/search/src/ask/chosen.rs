//! Chooses what a question is about: the epoch, the files that its fields name, and their shards.

use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use query::{CompiledQuery, Predicate};
use rayon::prelude::*;
use store::{BlobId, Catalog, File, RepoId, Shard, Trees};

use super::kept::{Among, AskMemory};
use super::lengths::Lengths;
use super::visible::VisibleChunks;
use crate::cache::files::ShardFiles;
use crate::cache::symbols::ShardSymbols;
use crate::clock::Clock;
use crate::order;
use crate::revision::choose;
use crate::shards::Selection;
use crate::threads;
use crate::types::{Error, Request};
use crate::unmeant;
use crate::view::View;

/// What a question is about.
pub(super) struct Chosen {
    pub(super) catalog: Arc<Catalog>,
    pub(super) request: Arc<Request>,
    pub(super) selection: Selection,
    /// Sentences, without a full stop, about names of trees.
    pub(super) notes: Vec<String>,
}

/// A shard with files that a question is about.
#[derive(Clone, Debug)]
pub(super) struct AskedShard {
    pub(super) shard: Shard,
    /// Its files and symbols, if they are in memory.
    pub(super) files: Option<Arc<ShardFiles>>,
    pub(super) symbols: Option<Arc<ShardSymbols>>,
    pub(super) lengths: Arc<Lengths>,
    pub(super) visible: Arc<VisibleChunks>,
    /// The node that does not answer, if it cannot be asked for that.
    pub(super) silent: Option<Silent>,
}

/// The host and port of a node that does not answer.
pub(super) type Silent = String;

impl Chosen {
    /// Chooses files of a catalog with the visible repositories.
    ///
    /// # Errors
    /// The fields name a revision that is not indexed in any repository.
    pub(super) fn of(
        view: &View,
        catalog: Arc<Catalog>,
        request: &Arc<Request>,
        clock: &Clock,
    ) -> Result<Self, Error> {
        let (query, repos) = (request.compiled_query(), &catalog.repos);
        let go_on = || clock.goes_on();
        let mut notes = unmeant::notes(query, repos, &go_on);
        let worktree = |repo: &str| view.worktree(repo);
        if let Some(asked) = choose::asked(query, repos, &worktree, &go_on)? {
            let name = &asked.revisions[0].name;
            if asked.indexed.is_empty() {
                return Err(Error::Revision(format!(
                    "questions are answered from indexed trees, and the revision {name} is not one; name an indexed \
                     branch, tag or worktree, or search: codesearch search 'rev:{name} WORD'"
                )));
            }
            let count = asked.repos.len();
            let which = if count == 1 { "1 repository" } else { &*format!("{count} repositories") };
            notes.push(format!(
                "the revision {name} is not indexed in {which}, whose files are not asked"
            ));
        }
        let of = (catalog.filter(), &*catalog.shards);
        let cache = view.cache();
        let selection = Selection::of(of, repos, query, cache, false, &go_on);
        Ok(Self { catalog, request: Arc::clone(request), selection, notes })
    }

    fn query(&self) -> &CompiledQuery {
        self.request.compiled_query()
    }

    /// Returns whether the fields choose a file that passes [`Selection::files`].
    pub(super) fn wants(
        &self,
        (repo, trees): (RepoId, Trees),
        path: &str,
        language: Option<&str>,
        go_on: &dyn Fn() -> bool,
    ) -> bool {
        let query = self.query();
        let known = |of: Predicate| match of {
            Predicate::Path(term) => Some(query.terms[term].matcher.is_match_within(path, go_on)),
            Predicate::Repo(_) | Predicate::Property(_) => self.selection.repo_holds(repo, of),
            Predicate::InTree(_) => self.selection.in_tree(repo, trees, of),
            Predicate::Language(index) => Some(
                language.is_some_and(|name| query.languages[index].contains(&name.to_lowercase())),
            ),
            Predicate::Content(_)
            | Predicate::Symbol(_)
            | Predicate::Added(_)
            | Predicate::Removed(_) => Some(false),
        };
        self.selection.predicates.is_empty() || query.expr.eval(&known) == Some(true)
    }

    /// Returns what determines the files.
    fn among(&self) -> Among {
        Among {
            query: order::hash(self.query()),
            repos: self.selection.files.repos.clone(),
            trees: self.selection.files.trees.clone(),
            meant: self.selection.meant_trees(),
        }
    }

    /// Returns the shards with files that the question is about, given the lengths of the chunks of each shard, or the node that
    /// does not tell. Which chunks
    /// are visible is kept in `memory`, which comes with the number of its generation before the lengths were read.
    ///
    /// # Errors
    /// The database query fails.
    pub(super) async fn shards(
        self: &Arc<Self>,
        view: &View,
        lengths: Vec<(Arc<Lengths>, Option<Silent>)>,
        memory: Option<(&AskMemory, u64)>,
        clock: &Arc<Clock>,
    ) -> Result<Vec<AskedShard>, store::Error> {
        let all: Vec<AskedShard> = self
            .selection
            .shards
            .iter()
            .zip(lengths)
            .map(|(candidate, (lengths, silent))| AskedShard {
                shard: candidate.shard.clone(),
                files: candidate.cached.files.clone(),
                symbols: candidate.cached.symbols.clone(),
                lengths,
                visible: Arc::default(),
                silent,
            })
            .collect();
        let among = self.among();
        let asked: Vec<(&Shard, i32)> =
            all.iter().map(|one| (&one.shard, one.lengths.upto())).collect();
        let known = match memory {
            Some((memory, _)) => memory.visible(&among, &asked),
            None => vec![None; all.len()],
        };
        let is_new: Vec<bool> = known.iter().map(Option::is_none).collect();
        let known = self.visible_in_memory(&all, known, clock).await;
        let make = all.iter().zip(known).map(|(one, known)| async move {
            let visible = match known {
                _ if one.silent.is_some() => return Ok(one.clone()),
                Some(visible) => visible,
                None => match self.read_visible(view, one, clock).await {
                    Err(store::Error::Node { node, .. }) => {
                        return Ok(AskedShard { silent: Some(node), ..one.clone() });
                    }
                    read => Arc::new(read?),
                },
            };
            Ok::<_, store::Error>(AskedShard { visible, ..one.clone() })
        });
        let making: Vec<_> = make.collect();
        let done: Vec<AskedShard> =
            stream::iter(making).buffered(view.parallel()).try_collect().await?;
        // If the time was over, some files were not looked at.
        if let Some((memory, generation)) = memory.filter(|_| clock.goes_on()) {
            let new = done.iter().zip(is_new);
            let new = new.filter(|(one, is_new)| *is_new && one.silent.is_none());
            let new: Vec<_> = new
                .map(|(one, _)| (&one.shard, one.lengths.upto(), Arc::clone(&one.visible)))
                .collect();
            if !new.is_empty() {
                memory.keep_visible(generation, &among, &new);
            }
        }
        Ok(done)
    }

    /// Adds the visible chunks of shards whose files are in memory to those that are known. Many threads match the paths.
    async fn visible_in_memory(
        self: &Arc<Self>,
        all: &[AskedShard],
        mut known: Vec<Option<Arc<VisibleChunks>>>,
        clock: &Arc<Clock>,
    ) -> Vec<Option<Arc<VisibleChunks>>> {
        let unknown = all.iter().zip(&known).enumerate().filter(|(_, (_, known))| known.is_none());
        let unknown: Vec<(usize, Arc<ShardFiles>, Arc<Lengths>)> = unknown
            .filter_map(|(at, (one, _))| {
                Some((at, Arc::clone(one.files.as_ref()?), Arc::clone(&one.lengths)))
            })
            .collect();
        if unknown.is_empty() {
            return known;
        }
        let (this, clock) = (Arc::clone(self), Arc::clone(clock));
        let work = tokio::task::spawn_blocking(move || {
            let go_on = || clock.goes_on();
            let visible = |(at, files, lengths): (usize, Arc<ShardFiles>, Arc<Lengths>)| {
                let wanted = files.passing(&this.selection.files).filter(|(file, trees)| {
                    this.wants((file.repo, *trees), file.path, file.language, &go_on)
                });
                (at, VisibleChunks::of(wanted.map(|(file, _)| file.blob), &lengths))
            };
            threads::matching().install(|| {
                unknown.into_par_iter().map(visible).collect::<Vec<(usize, VisibleChunks)>>()
            })
        });
        for (at, visible) in work.await.expect("matching paths does not panic") {
            known[at] = Some(Arc::new(visible));
        }
        known
    }

    /// Reads the files of a shard, and returns their chunks.
    async fn read_visible(
        &self,
        view: &View,
        one: &AskedShard,
        clock: &Arc<Clock>,
    ) -> Result<VisibleChunks, store::Error> {
        let mut lease = view.store().lease().await?;
        let files = lease.files(one.shard.id, None, &self.selection.files).await?;
        lease.done();
        let go_on = || clock.goes_on();
        let wanted = files.iter().filter(|file| self.has(file, &go_on));
        Ok(VisibleChunks::of(wanted.map(|file| file.blob), &one.lengths))
    }

    fn has(&self, file: &File, go_on: &dyn Fn() -> bool) -> bool {
        self.wants((file.repo, file.trees), &file.path, file.language.as_deref(), go_on)
    }

    /// Returns the files with some blobs of a shard, by blob, repository and path; from memory if they are there.
    pub(super) fn files_in_memory(
        &self,
        one: &AskedShard,
        blobs: &[BlobId],
        go_on: &dyn Fn() -> bool,
    ) -> Option<Vec<File>> {
        let files = one.files.as_ref()?.of(Some(blobs), &self.selection.files);
        Some(self.retain(files, go_on))
    }

    /// Keeps the files that the fields choose.
    pub(super) fn retain(&self, mut files: Vec<File>, go_on: &dyn Fn() -> bool) -> Vec<File> {
        let repos = &self.catalog.repos;
        files.retain(|file| repos.contains_key(&file.repo) && self.has(file, go_on));
        files
    }

    /// Returns the repositories among which the files are; `None` for all.
    pub(super) fn repos(&self) -> Option<&[RepoId]> {
        self.selection.files.repos.as_deref()
    }
}
