//! The catalog: what one epoch contains, and the lock that keeps it from being deleted.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, OnceLock, PoisonError};

use query::{Properties, TreeName};
use sqlx::{AssertSqlSafe, Connection};
use tokio::sync::OnceCell;

use self::current::{Current, current_epoch};
use self::pins::{PIN_ANSWERS, Pin};
use crate::error::{Error, Result};
use crate::freshness::{Freshness, Shared};
use crate::target::{ANSWER, answered};
use crate::trees::{self, ChosenTrees, RepoTrees, Tree, TreeFilter, TreeKind, TreeSet, Trees};
use crate::{Epoch, FileFilter, RepoId, ShardId, Switch};

mod current;
mod pins;
mod read;

/// Maximum number of restricted catalogs that a catalog keeps. With five thousand repositories each takes a quarter of a
/// megabyte.
const MAX_RESTRICTED: usize = 64;

/// Maximum number of sets of repositories for which a catalog knows what they show. Equal sets are kept once.
const MAX_SETS: usize = 1024;

/// Repositories by their keys.
pub type CatalogRepos = HashMap<RepoId, Arc<CatalogRepo>>;

/// The shards and repositories of one epoch, or those of them that may be seen ([`Catalog::only`]).
///
/// While a catalog lives, nothing of its epoch is deleted: it holds a connection with an advisory
/// lock on the epoch. The lock ends with the connection, however this program ends.
#[derive(Debug)]
pub struct Catalog {
    /// Random number of the index; another index has another number.
    pub identity: i64,
    /// The epoch that the catalog describes.
    pub epoch: Epoch,
    /// The switch of that epoch.
    pub switch: Switch,
    /// The most recent switches up to this one.
    history: Vec<Switch>,
    /// The shards that hold files of these repositories, ascending.
    pub shards: Vec<Shard>,
    /// The repositories that may be seen.
    pub repos: Arc<CatalogRepos>,
    /// The repositories that may be seen, ascending; `None` if all of the epoch may.
    visible: Option<Arc<[RepoId]>>,
    /// The trees that are searched unless a query names others.
    trees: TreeFilter,
    /// Restrictions of this catalog.
    restricted: StdMutex<Restrictions>,
    /// How fresh all repositories are.
    freshness: Shared,
    pin: Arc<Pin>,
    /// Whether a search has read it, so that others may go on from its results.
    was_searched: Arc<AtomicBool>,
    skipped: Arc<OnceCell<Vec<SkippedFile>>>,
    by_reason: OnceLock<BTreeMap<String, usize>>,
}

/// What a catalog knows of its restrictions.
#[derive(Debug, Default)]
struct Restrictions {
    /// The repositories that a set shows, ascending, by the number of the set; `None` for all.
    sets: HashMap<u64, Option<Arc<[RepoId]>>>,
    /// Restricted catalogs, the most recently used first.
    made: Vec<Restricted>,
}

/// Visible repositories, ascending, or `None` for all; the chosen trees; and the catalog with these alone.
type Restricted = (Option<Arc<[RepoId]>>, Vec<InTree>, Arc<Catalog>);

/// A tree that is searched instead of the main one of its repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InTree {
    /// Name of the repository.
    pub repo: String,
    /// Kind of the tree.
    pub kind: TreeKind,
    /// Name of the tree.
    pub tree: String,
}

/// A file that was left out.
#[derive(Clone, Debug)]
pub struct SkippedFile {
    /// Its repository.
    pub repo: RepoId,
    /// Its path in the repository.
    pub path: String,
    /// The reason, in one word.
    pub reason: String,
    /// The rule that left it out, with its file and line.
    pub rule: Option<String>,
    /// The trees that left it out.
    pub trees: Trees,
}

/// A shard with files in it.
#[derive(Clone, Debug)]
pub struct Shard {
    /// Its number.
    pub id: ShardId,
    /// Bytes of text in it.
    pub bytes: i64,
    /// The first epoch with files in it.
    pub since: Epoch,
    /// Upper bound of its chunks' numbers, exclusive.
    pub chunks: i32,
    /// The last epoch that changed its files.
    pub changed: Epoch,
    /// All chunks with smaller numbers are in its documents and filters.
    pub filtered: i32,
    /// All chunks with smaller numbers are in the word index.
    pub worded: i32,
    /// The languages of its files, in lower case, each with the approximate number of chunks.
    pub languages: Arc<[(String, u32)]>,
}

/// The properties of a repository that a search needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CatalogRepo {
    /// Its name.
    pub name: String,
    /// Its rank among the repositories: the operator's, or else that of its stars; 0 for none.
    pub rank: u16,
    /// What else is known of it.
    pub properties: Arc<Properties>,
    /// The shards that hold its files, in any tree.
    pub shards: Vec<ShardId>,
    /// Its trees besides the main one.
    pub trees: Arc<RepoTrees>,
    /// The commit of its main tree, if that is a commit and no folder.
    pub commit: Option<String>,
    /// The folder it was read from.
    pub source: String,
    /// Whether git data outside of its folder belong to it: it is a worktree or a submodule, say.
    pub is_linked: bool,
    /// When an ingest began to list its files, in seconds since 1970; no later than the last one that changed the
    /// index. `None` if an older version did.
    pub listed: Option<f64>,
}

/// The name of the main tree of each repository.
pub const MAIN_TREE: &str = "main";

impl CatalogRepo {
    /// Returns the name of its main tree for a query.
    pub fn main_tree(&self) -> TreeName<'_> {
        let kind = query::TreeKind::Main;
        TreeName { kind, name: MAIN_TREE, commit: self.commit.as_deref() }
    }
}

/// Returns the filter for some trees instead of the main ones of their repositories.
fn chosen(repos: &CatalogRepos, trees: &[InTree]) -> TreeFilter {
    let mut chosen = ChosenTrees::default();
    for (id, repo) in repos {
        let is_meant = |tree: &&Tree| {
            let is_one =
                |of: &InTree| of.repo == repo.name && of.kind == tree.kind && of.tree == tree.name;
            trees.iter().any(is_one)
        };
        let meant: Vec<&Tree> = repo.trees.trees.iter().filter(is_meant).collect();
        if !meant.is_empty() {
            chosen.replaced.push(*id);
            let has = |set: &&TreeSet| meant.iter().any(|tree| set.has(tree.bit));
            chosen.trees.extend(meant.iter().map(|tree| (*id, tree.bit, tree.name.clone())));
            chosen.sets.extend(repo.trees.sets.iter().filter(has).map(|set| set.id));
        }
    }
    chosen.replaced.sort_unstable();
    chosen.sets.sort_unstable();
    if chosen.replaced.is_empty() { TreeFilter::Main } else { TreeFilter::Chosen(chosen.into()) }
}

impl Catalog {
    /// Returns whether this is still the newest state of the index.
    ///
    /// # Errors
    /// The server cannot be reached, refuses a statement, or does not answer in time.
    pub async fn is_current(&self) -> Result<bool> {
        let Self { identity, epoch, switch, .. } = *self;
        let asking = async {
            let mut conn = self.pin.lock().await;
            self.pin.pins.free(&mut conn).await?;
            current_epoch(&mut conn).await
        };
        let now = tokio::time::timeout(PIN_ANSWERS, asking).await.unwrap_or_else(|_| {
            Err(Error::Unreachable(format!("it does not answer within {PIN_ANSWERS:?}")))
        });
        if now.is_err() {
            self.pin.pins.is_broken.store(true, Ordering::Relaxed);
        }
        Ok(now? == Current { identity, epoch, switch })
    }

    /// Returns whether its epoch is still pinned: its connection lives, and so the lock holds.
    pub async fn is_held(&self) -> bool {
        let asking = async { self.pin.lock().await.ping().await.is_ok() };
        tokio::time::timeout(PIN_ANSWERS, asking).await.unwrap_or(false)
    }

    /// Notes that a search reads it.
    pub fn note_search(&self) {
        self.was_searched.store(true, Ordering::Relaxed);
    }

    /// Returns whether a search has read it.
    pub fn was_searched(&self) -> bool {
        self.was_searched.load(Ordering::Relaxed)
    }

    /// Returns whether this is the given state of the same index or a later one. Facts about that state which did not
    /// change since then also hold for this one.
    pub fn follows(&self, identity: i64, switch: Switch) -> bool {
        self.identity == identity && self.history.contains(&switch)
    }

    /// Returns whether two catalogs describe the same state.
    pub fn is_same(&self, other: &Self) -> bool {
        (self.identity, self.switch) == (other.identity, other.switch)
    }

    /// Returns the same state with only the repositories of a set, and with some trees instead of main ones; trees that do not
    /// exist are left out. `set` is a number that stands for the same set always; what it shows is found out once. Restrictions
    /// are kept with this catalog, so equal sets and trees give the same catalog.
    pub fn only<F: Fn(&CatalogRepo) -> bool>(
        self: &Arc<Self>,
        set: u64,
        may_see: impl FnOnce() -> F,
        trees: &[InTree],
    ) -> Arc<Self> {
        let known = self.restrictions().sets.get(&set).cloned();
        let visible = known.unwrap_or_else(|| self.find_out(set, &may_see()));
        self.with_only(visible, trees)
    }

    /// Returns the same state with some trees instead of main ones; trees that do not exist are left out.
    pub fn in_trees(self: &Arc<Self>, trees: &[InTree]) -> Arc<Self> {
        self.with_only(None, trees)
    }

    /// Returns the same state with only a visible repository, and with some trees instead of its main one.
    pub fn of_repo(self: &Arc<Self>, repo: RepoId, trees: &[InTree]) -> Arc<Self> {
        let one = self.repos.len() == 1 && self.repos.contains_key(&repo);
        self.with_only((!one).then(|| [repo].into()), trees)
    }

    /// Finds out what a set shows.
    fn find_out(&self, set: u64, may_see: &impl Fn(&CatalogRepo) -> bool) -> Option<Arc<[RepoId]>> {
        let seen = self.repos.iter().filter(|(_, repo)| may_see(repo));
        let mut ids: Vec<RepoId> = seen.map(|(id, _)| *id).collect();
        ids.sort_unstable();
        let is_all = ids.len() == self.repos.len();
        let mut kept = self.restrictions();
        let equal = |of: &&Option<Arc<[RepoId]>>| of.as_deref() == Some(&ids[..]);
        let visible =
            match kept.made.iter().map(|(of, ..)| of).chain(kept.sets.values()).find(equal) {
                _ if is_all => None,
                Some(known) => known.clone(),
                None => Some(ids.into()),
            };
        if kept.sets.len() >= MAX_SETS {
            kept.sets.clear();
        }
        kept.sets.insert(set, visible.clone());
        visible
    }

    fn with_only(self: &Arc<Self>, visible: Option<Arc<[RepoId]>>, trees: &[InTree]) -> Arc<Self> {
        if visible.is_none() && trees.is_empty() {
            return Arc::clone(self);
        }
        let mut kept = self.restrictions();
        let is_same = |(of, chosen, _): &Restricted| {
            is_equal(of.as_ref(), visible.as_ref()) && *chosen == trees
        };
        if let Some(at) = kept.made.iter().position(is_same) {
            kept.made[..=at].rotate_right(1);
            return Arc::clone(&kept.made[0].2);
        }
        let repos = match &visible {
            None => Arc::clone(&self.repos),
            Some(ids) => {
                Arc::new(ids.iter().map(|id| (*id, Arc::clone(&self.repos[id]))).collect())
            }
        };
        let filter = chosen(&repos, trees);
        let holding: HashSet<ShardId> =
            repos.values().flat_map(|repo| repo.shards.iter().copied()).collect();
        let only = Arc::new(Self {
            identity: self.identity,
            epoch: self.epoch,
            switch: self.switch,
            history: self.history.clone(),
            shards: self.shards.iter().filter(|of| holding.contains(&of.id)).cloned().collect(),
            visible: visible.clone().or_else(|| self.visible.clone()),
            repos,
            trees: filter,
            restricted: StdMutex::default(),
            freshness: Arc::clone(&self.freshness),
            pin: Arc::clone(&self.pin),
            was_searched: Arc::clone(&self.was_searched),
            skipped: Arc::default(),
            by_reason: OnceLock::new(),
        });
        kept.made.insert(0, (visible, trees.to_vec(), Arc::clone(&only)));
        kept.made.truncate(MAX_RESTRICTED);
        only
    }

    fn restrictions(&self) -> std::sync::MutexGuard<'_, Restrictions> {
        self.restricted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a repository lacks files since a node of the index was lost.
    pub fn is_lost(&self, repo: RepoId) -> bool {
        let freshness = self.freshness();
        let failed = freshness.get(repo).and_then(|of| of.failed.as_ref());
        failed.is_some_and(|failed| failed.is_lost)
    }

    /// Returns the repositories that may be seen, ascending; `None` if all of the epoch may.
    pub fn visible(&self) -> Option<&[RepoId]> {
        self.visible.as_deref()
    }

    /// Returns a number that stands for the repositories that may be seen; 0 if all of the epoch may.
    pub fn visible_hash(&self) -> u64 {
        let Some(ids) = &self.visible else { return 0 };
        // FNV-1a.
        let step = |hash: u64, id: &RepoId| {
            (hash ^ u64::from(id.0.cast_unsigned())).wrapping_mul(0x0100_0000_01b3)
        };
        ids.iter().fold(0xcbf2_9ce4_8422_2325, step) | 1
    }

    /// Returns whether two catalogs of one state show the same repositories and trees.
    pub fn shows_same(&self, other: &Self) -> bool {
        is_equal(self.visible.as_ref(), other.visible.as_ref()) && self.trees == other.trees
    }

    /// Returns how fresh all repositories are, also those that may not be seen.
    pub fn freshness(&self) -> Arc<Freshness> {
        Arc::clone(&self.freshness.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces what is known of the freshness of repositories, also in the restrictions of this catalog, unless it
    /// describes another epoch.
    pub fn set_freshness(&self, (of, freshness): (Switch, Freshness)) {
        if of == self.switch {
            *self.freshness.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(freshness);
        }
    }

    /// Returns the filter of the files that may be seen.
    pub fn filter(&self) -> FileFilter {
        let trees = self.trees.clone();
        FileFilter {
            epoch: self.epoch,
            repos: self.visible().map(<[RepoId]>::to_vec),
            languages: None,
            trees,
        }
    }

    /// Returns every file that was left out of any tree and might be wanted: not those that git does not track and an ignore file
    /// names. The first call reads them.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn skipped(&self) -> Result<&[SkippedFile]> {
        let read = async || {
            let mut pin = self.pin.lock().await;
            let rows: Vec<SkippedRow> = sqlx::query_as(
                "select repo, path, reason, rule, trees from skipped
                 where valid_from <= $1 and valid_to > $1 and ($2::int[] is null or repo = any($2))
                   and reason <> 'ignored'",
            )
            .bind(self.epoch.0)
            .bind(self.visible_ids())
            .fetch_all(&mut *pin)
            .await?;
            Ok::<_, Error>(rows.into_iter().map(SkippedFile::of).collect())
        };
        let read = async || answered(ANSWER, read()).await;
        self.skipped.get_or_try_init(read).await.map(Vec::as_slice)
    }

    /// Returns files and folders that git does not track and an ignore file names: those with one of these paths, and
    /// those whose path ends with `end` after a slash; at most 100.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn ignored(&self, paths: &[&str], end: &str) -> Result<Vec<SkippedFile>> {
        let read = async {
            let mut pin = self.pin.lock().await;
            let (sets, replaced) = self.trees.parameters();
            let rows: Vec<SkippedRow> = sqlx::query_as(AssertSqlSafe(format!(
                "select repo, path, reason, rule, trees from skipped
                 where valid_from <= $1 and valid_to > $1 and ($2::int[] is null or repo = any($2))
                   and reason = 'ignored' and {}
                   and (path = any($5) or right(path, length($6) + 1) = '/' || $6)
                 order by repo, path limit 100",
                trees::condition("", 3, 4)
            )))
            .bind(self.epoch.0)
            .bind(self.visible_ids())
            .bind(sets)
            .bind(replaced)
            .bind(paths)
            .bind(end)
            .fetch_all(&mut *pin)
            .await?;
            Ok::<_, Error>(rows.into_iter().map(SkippedFile::of).collect())
        };
        answered(ANSWER, read).await
    }

    /// Returns the keys of the visible repositories; `None` if all are.
    fn visible_ids(&self) -> Option<Vec<i32>> {
        self.visible().map(|ids| ids.iter().map(|id| id.0).collect())
    }

    /// Returns the files that were left out, if [`skipped`](Self::skipped) has read them; else none.
    pub fn skipped_now(&self) -> &[SkippedFile] {
        self.skipped.get().map_or(&[], Vec::as_slice)
    }

    /// Returns the number of [`skipped_now`](Self::skipped_now) files of the chosen trees for each reason.
    pub fn skipped_by_reason(&self) -> &BTreeMap<String, usize> {
        self.by_reason.get_or_init(|| {
            let mut reasons = BTreeMap::new();
            let chosen = self.skipped_now().iter();
            for file in chosen.filter(|file| self.trees.passes(file.repo, file.trees)) {
                *reasons.entry(file.reason.clone()).or_default() += 1;
            }
            reasons
        })
    }
}

/// A row of `skipped`: repository, path, reason, rule, trees.
type SkippedRow = (i32, String, String, Option<String>, i32);

impl SkippedFile {
    fn of((repo, path, reason, rule, trees): SkippedRow) -> Self {
        Self { repo: RepoId(repo), path, reason, rule, trees: Trees(trees) }
    }
}

fn is_equal(one: Option<&Arc<[RepoId]>>, other: Option<&Arc<[RepoId]>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one == other,
        (one, other) => one.is_none() && other.is_none(),
    }
}

#[cfg(test)]
mod tests;
