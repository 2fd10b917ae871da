//! One search of a [`View`], from its request to the last file.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use answer::FileMatch;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use query::Changes;
use rank::boost::BoostWords;
use store::{Catalog, Switch};
use tokio::sync::mpsc;

use crate::clock::Clock;
use crate::merge::Merge;
use crate::missing::Missing;
use crate::plans::PlanCache;
use crate::revision::choose::Notes;
use crate::revision::load::Sources;
use crate::revision::prepare::{Meant, prepare};
use crate::shards::Selection;
use crate::state::{EndOnDrop, Search, SearchState};
use crate::types::{Error, Request};
use crate::view::View;
use crate::{Stats, Stopped, best, left_out, order, unmeant};

impl View {
    /// Searches, and sends each file as soon as its place in the order of results is certain.
    ///
    /// When the receiver of `found` closes, the search ends, and running statements finish. When the returned future is
    /// dropped, they are cancelled in Postgres.
    ///
    /// # Errors
    /// The database query fails; or [`Request::resume`] belongs to another query ([`Error::OtherQuery`]) or to an epoch
    /// that is gone ([`Error::Gone`]).
    pub fn search<'a>(
        &'a self,
        request: &'a Arc<Request>,
        found: mpsc::Sender<Vec<FileMatch>>,
    ) -> BoxFuture<'a, Result<Stats, Error>> {
        Box::pin(async move {
            let timeout = self.time_for(request.timeout);
            // A cursor goes on only for those who see the same repositories.
            let seen = if self.visible.is_all() {
                0
            } else {
                let catalog = self.snapshot(request.resume.as_ref()).await?;
                self.visible_of(&catalog).visible_hash()
            };
            let is_bound = seen != 0 && request.resume.is_some();
            let changed = (timeout != request.timeout || is_bound).then(|| {
                let mut changed = Request::clone(request);
                changed.timeout = timeout;
                if let Some(resume) = &mut changed.resume {
                    resume.query ^= seen;
                }
                Arc::new(changed)
            });
            let request = changed.as_ref().unwrap_or(request);
            let mut stats = self.search_in_any_way(request, found).await?;
            stats.is_restricted |= seen != 0;
            stats.query ^= seen;
            stats.notes.extend(request.notes.iter().cloned());
            Ok(stats)
        })
    }

    /// Searches changes, the history of lines, or files, for ranking or as they are found.
    async fn search_in_any_way(
        &self,
        request: &Arc<Request>,
        found: mpsc::Sender<Vec<FileMatch>>,
    ) -> Result<Stats, Error> {
        match &request.query().changes {
            Some(Changes::Between(comparison)) => {
                return self.search_changes(request, comparison, found).await;
            }
            Some(Changes::History) => return self.search_history(request, found).await,
            None => {}
        }
        if request.best {
            let plain = |request, found| self.plain(request, found);
            let switch = match request.resume {
                Some(from) => from.switch,
                None => self.catalog().await?.switch,
            };
            let by_words = |words: BoostWords, timeout| {
                async move {
                    let among = request.query().with(words.files);
                    self.texts_with(&words.text, words.all, &among, (switch, timeout)).await
                }
                .boxed()
            };
            let mut stats = best::search((&plain, &by_words), switch, request, found).await?;
            // If only files are shown, their lines serve ranking.
            if !request.query().settings.select.has_lines() {
                stats.matches = 0;
            }
            return Ok(stats);
        }
        self.search_plain(request, found).await
    }

    /// Finds near definitions: a qualified name in a query (`json.Unmarshal`) is defined where nobody writes the
    /// qualifier. Returns the best few files that define the name in a folder or file that the qualifier names, but do
    /// not match the query, with the lines of the definitions; and what could not be searched for them. `switch` identifies
    /// the epoch in which the query was searched.
    ///
    /// # Errors
    /// The errors of [`search`](Self::search).
    pub fn near_definitions<'a>(
        &'a self,
        request: &'a Request,
        switch: Switch,
    ) -> BoxFuture<'a, Result<(Vec<FileMatch>, Missing), Error>> {
        Box::pin(async move {
            best::near_definitions(&|request, found| self.plain(request, found), switch, request)
                .await
        })
    }

    fn plain(
        &self,
        request: Arc<Request>,
        found: mpsc::Sender<Vec<FileMatch>>,
    ) -> BoxFuture<'_, Result<Stats, Error>> {
        async move { self.search_plain(&request, found).await }.boxed()
    }

    /// Like [`search`](Self::search), in the order in which files are found, whatever their use.
    pub(crate) fn search_plain<'a>(
        &'a self,
        request: &'a Arc<Request>,
        found: mpsc::Sender<Vec<FileMatch>>,
    ) -> BoxFuture<'a, Result<Stats, Error>> {
        Box::pin(async move {
            let begun = Instant::now();
            let of_clock = begun.checked_sub(request.compiling).unwrap_or(begun);
            let state = Arc::new(SearchState::new(request, Clock::new(of_clock, request.timeout)));
            let end = EndOnDrop(Arc::clone(&state));
            let mut done =
                Stats { query: order::hash(request.compiled_query()), ..Stats::default() };
            if request.resume.is_some_and(|from| from.query != done.query) {
                return Err(Error::OtherQuery);
            }
            let searched = self.search_shards(request, &state, &mut done, found).await?;
            drop(end);
            if let Some((search, _)) = searched.as_ref().filter(|_| !request.is_auxiliary) {
                let left = Box::pin(left_out::symbols(search, self.store(), done.files > 0));
                if let Some(left) = state.clock.wait_at_least(left_out::MOST, left).await {
                    let (left, missing) = left?;
                    done.symbols = left;
                    done.note_missing(missing);
                }
            }
            if let Some((search, catalog)) = searched.filter(|_| request.skipped) {
                // Boxed: searches store this in their own state.
                let counting = Box::pin(left_out::count(search, catalog));
                match state.clock.wait_at_least(left_out::MOST, counting).await {
                    Some(skipped) => done.skipped = skipped?,
                    None => {
                        let timeout = request.timeout.unwrap_or_default();
                        done.stopped.get_or_insert(Stopped::Timeout(timeout));
                    }
                }
            }
            done.note_lost();
            state.counters.read(&mut done);
            done.duration = begun.elapsed();
            Ok(done)
        })
    }

    /// Searches until the end, the limit or the deadline. Returns the search and its catalog; `None` if the deadline
    /// passed before its shards were chosen.
    async fn search_shards(
        &self,
        request: &Arc<Request>,
        state: &Arc<SearchState>,
        done: &mut Stats,
        found: mpsc::Sender<Vec<FileMatch>>,
    ) -> Result<Option<(Arc<Search>, Arc<Catalog>)>, Error> {
        let (mut plans, mut notes) = (PlanCache::default(), Notes::default());
        let choosing = async {
            let all = self.snapshot(request.resume.as_ref()).await?;
            let catalog = self.visible_of(&all);
            let (query, cache) = (request.compiled_query(), self.searcher.cache().map(Arc::as_ref));
            let (of, repos) = ((catalog.filter(), &*catalog.shards), &catalog.repos);
            let from = self.sources(&all);
            let (resume, clock) = (request.resume, &state.clock);
            let worktree = |repo: &str| self.worktree(repo);
            let meant = Meant { repos, query, worktree: &worktree };
            let on_demand = prepare(from, meant, resume, clock, &mut notes).await?;
            let go_on = || state.clock.goes_on();
            if !request.is_auxiliary {
                notes.notes.extend(unmeant::notes(query, repos, &go_on));
            }
            let mut selection = Selection::of(of, repos, query, cache, request.brute, &go_on);
            if let Some(texts) = &request.texts {
                selection.shards.retain(|one| texts.contains_key(&one.shard.id));
            }
            if let Some(on_demand) = &on_demand {
                selection.demand(on_demand, &all.shards, repos, cache);
            }
            let reads = (self.store(), self.parallel());
            order::sort(&mut selection, query, &mut plans, reads).await?;
            selection.add_memory();
            Ok::<_, Error>((catalog, selection))
        };
        let chosen = state.clock.wait(choosing).await;
        let Some(chosen) = chosen.filter(|_| !state.clock.is_over()) else {
            done.stopped = Some(Stopped::Timeout(request.timeout.unwrap_or_default()));
            return Ok(None);
        };
        let (catalog, selection) = chosen?;
        done.switch = catalog.switch;
        done.is_restricted = catalog.visible().is_some();
        done.order = selection.shards.iter().map(|candidate| candidate.shard.id).collect();
        // A commit may have contents in shards of other repositories, and in memory.
        done.shards = catalog.shards.len().max(selection.shards.len());
        done.shards_pruned = done.shards - selection.shards.len();
        done.commits = selection.on_demand.as_ref().map_or(0, |on_demand| on_demand.commits);
        done.notes = notes.notes;
        done.note_covered(&catalog, selection.files.repos.as_deref());
        let (request, state) = (Arc::clone(request), Arc::clone(state));
        let repos = Arc::clone(&catalog.repos);
        let search = Arc::new(Search { request, repos, selection, state });
        let merge = Merge::new(&search, self.store(), self.searcher.cache(), self.parallel());
        done.note_missing(notes.missing);
        merge.run(&mut plans, self.searcher.threads(), done, found).await?;
        if let Some(why) = notes.cut {
            done.stopped.get_or_insert(Stopped::Revision(why));
        }
        if let Err(error) = self.refuse_if_gone(&catalog).await {
            // Without a cursor, repeating the same search finds the newest epoch.
            return Err(if search.request.resume.is_some() { Error::Gone } else { error.into() });
        }
        Ok(Some((search, catalog)))
    }

    /// Returns what commits are loaded from.
    pub(crate) fn sources<'a>(&'a self, catalog: &'a Catalog) -> Sources<'a> {
        Sources {
            store: self.store(),
            cache: self.searcher.cache().map(Arc::as_ref),
            commits: self.searcher.commits(),
            catalog,
        }
    }

    /// Returns how many files that might match a request were left out of the index, by reason.
    ///
    /// # Errors
    /// The database query fails.
    pub fn left_out<'a>(
        &'a self,
        request: &'a Arc<Request>,
    ) -> BoxFuture<'a, Result<BTreeMap<String, usize>, Error>> {
        Box::pin(async move {
            let state =
                Arc::new(SearchState::new(request, Clock::new(Instant::now(), request.timeout)));
            let _end = EndOnDrop(Arc::clone(&state));
            let catalog = self.catalog().await?;
            let go_on = || state.clock.goes_on();
            let of = (catalog.filter(), &*catalog.shards);
            let query = request.compiled_query();
            let selection = Selection::of(of, &catalog.repos, query, None, false, &go_on);
            let (request, repos) = (Arc::clone(request), Arc::clone(&catalog.repos));
            let search = Arc::new(Search { request, repos, selection, state: Arc::clone(&state) });
            Ok(left_out::count(search, catalog).await?)
        })
    }
}
