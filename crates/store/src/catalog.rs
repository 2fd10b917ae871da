//! The catalog: what one epoch contains, and the lock that keeps it from being deleted.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as StdMutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use query::{Properties, TreeName};
use sqlx::postgres::PgListener;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use tokio::sync::{Mutex, OnceCell};

use crate::error::{Error, Result};
use crate::freshness::{self, FRESHNESS, Freshness, Shared};
use crate::ingest::EPOCHS;
use crate::locks::PIN_LOCKS;
use crate::metadata;
use crate::store::Store;
use crate::target::{ANSWER, answered};
use crate::trees::{self, ChosenTrees, RepoTrees, Tree, TreeFilter, TreeKind, TreeSet, Trees};
use crate::{Epoch, FileFilter, RepoId, ShardId, Switch};

/// Maximum time for the connection that pins an epoch to read the newest epoch, one row of one table. A slower
/// connection counts as lost, and is replaced.
const PIN_ANSWERS: Duration = Duration::from_secs(2);

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

/// A connection that holds the locks on the epochs of some catalogs: those that one server keeps.
#[derive(Debug)]
struct Pins {
    conn: Mutex<PgConnection>,
    /// Whether it was too slow, or failed.
    is_broken: AtomicBool,
    /// The epochs of catalogs that are gone. Their locks are freed with the next statement.
    freed: StdMutex<Vec<i32>>,
}

impl Pins {
    fn new(conn: PgConnection) -> Self {
        Self {
            conn: Mutex::new(conn),
            is_broken: AtomicBool::new(false),
            freed: StdMutex::default(),
        }
    }

    /// Frees the locks of catalogs that are gone.
    async fn free(&self, conn: &mut PgConnection) -> Result<()> {
        let freed = std::mem::take(&mut *self.freed.lock().unwrap_or_else(PoisonError::into_inner));
        if !freed.is_empty() {
            sqlx::query("select pg_advisory_unlock_shared($1, e) from unnest($2::int[]) e")
                .bind(PIN_LOCKS)
                .bind(freed)
                .execute(conn)
                .await?;
        }
        Ok(())
    }
}

/// The lock on one epoch.
#[derive(Debug)]
struct Pin {
    pins: Arc<Pins>,
    epoch: Epoch,
}

impl Pin {
    async fn lock(&self) -> tokio::sync::MutexGuard<'_, PgConnection> {
        self.pins.conn.lock().await
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.pins.freed.lock().unwrap_or_else(PoisonError::into_inner).push(self.epoch.0);
    }
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

/// A row of `shards`: the columns that the catalog reads.
type ShardRow = (i16, i64, i32, i32, i32, i32, i32, Vec<String>, Vec<i32>);

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

/// A row of `trees`: the columns that the catalog reads.
type TreeRow = (i32, i32, String, String, Option<String>, Option<String>, i64, Option<f64>);

impl Store {
    /// Reads the catalog of the current epoch and pins that epoch.
    ///
    /// # Errors
    /// [`Error::Empty`] if nothing was ever indexed; the server cannot be reached, or does not
    /// answer.
    pub async fn catalog(&self) -> Result<Catalog> {
        answered(ANSWER, self.read_catalog(None)).await
    }

    /// Like [`catalog`](Self::catalog). Shares with an earlier catalog its connection and what has not changed since, so
    /// that a server can keep hundreds.
    ///
    /// # Errors
    /// Those of [`catalog`](Self::catalog).
    pub async fn catalog_after(&self, earlier: &Catalog) -> Result<Catalog> {
        if !earlier.pin.pins.is_broken.load(Ordering::Relaxed) {
            match answered(PIN_ANSWERS, self.read_catalog(Some(earlier))).await {
                Err(Error::Unreachable(why)) => {
                    earlier.pin.pins.is_broken.store(true, Ordering::Relaxed);
                    tracing::debug!("the connection that pins epochs is replaced: {why}");
                }
                read => return read,
            }
        }
        self.catalog().await
    }

    async fn read_catalog(&self, earlier: Option<&Catalog>) -> Result<Catalog> {
        let pins = match earlier {
            Some(earlier) => Arc::clone(&earlier.pin.pins),
            None => Arc::new(Pins::new(self.connection().await?)),
        };
        let mut guard = pins.conn.lock().await;
        let conn = &mut *guard;
        pins.free(conn).await?;
        let mut current = current_epoch(conn).await?;
        let pin = loop {
            // However this ends, its lock will be freed.
            let pin = Pin { pins: Arc::clone(&pins), epoch: current.epoch };
            sqlx::query("select pg_advisory_lock_shared($1, $2)")
                .bind(PIN_LOCKS)
                .bind(current.epoch.0)
                .execute(&mut *conn)
                .await?;
            // An ingest may have published and deleted between the reading and the locking.
            let now = current_epoch(conn).await?;
            if now == current {
                break pin;
            }
            drop(pin);
            pins.free(conn).await?;
            current = now;
        };
        // Both tables are read in one snapshot. If an epoch was published meanwhile, the epochs
        // differ, and all is read again.
        let mut tx = conn.begin_with("begin isolation level repeatable read read only").await?;
        let shards: Vec<ShardRow> = sqlx::query_as(
            "select shard, bytes, live_from, chunks, changed, filtered, worded, languages, language_chunks
             from shards where live_from <= $1 order by shard",
        )
        .bind(current.epoch.0)
        .fetch_all(&mut *tx)
        .await?;
        let mut trees = read_trees(&mut tx, current.epoch).await?;
        let repos = read_repos(&mut tx, &mut trees).await?;
        let (_, freshness) = freshness::read(&mut tx).await?;
        let history: Vec<i64> =
            sqlx::query_scalar("select number from switches").fetch_all(&mut *tx).await?;
        let history: Vec<Switch> = history.into_iter().map(Switch).collect();
        // What is told of another index, or of a state that was lost, is nothing to share.
        let earlier =
            earlier.filter(|of| of.identity == current.identity && history.contains(&of.switch));
        let same_skipped = match earlier {
            Some(of) if of.skipped.initialized() && of.visible.is_none() => {
                let changed: bool = sqlx::query_scalar(
                    "select exists (select from skipped where valid_from > $1 or valid_to > $1 and valid_to <= $2)",
                )
                .bind(of.epoch.0)
                .bind(current.epoch.0)
                .fetch_one(&mut *tx)
                .await?;
                Some(of).filter(|_| !changed)
            }
            _ => None,
        };
        let now = current_epoch(&mut tx).await?;
        tx.commit().await?;
        drop(guard);
        if now != current {
            drop(pin);
            return Box::pin(self.read_catalog(earlier)).await;
        }
        let Current { identity, epoch, switch } = current;
        let known = |id: ShardId| {
            let of = earlier?;
            of.shards.binary_search_by_key(&id, |shard| shard.id).ok().map(|at| &of.shards[at])
        };
        let mut catalog = Catalog {
            identity,
            epoch,
            switch,
            history,
            shards: shards
                .into_iter()
                .map(|(id, bytes, since, chunks, changed, filtered, worded, names, of_names)| {
                    Shard {
                        id: ShardId(id),
                        bytes,
                        since: Epoch(since),
                        chunks,
                        changed: Epoch(changed),
                        filtered,
                        worded,
                        languages: names
                            .into_iter()
                            .zip(of_names.into_iter().map(i32::unsigned_abs))
                            .collect(),
                    }
                })
                .collect(),
            repos: repos.into(),
            visible: None,
            trees: TreeFilter::Main,
            restricted: StdMutex::default(),
            freshness: Arc::new(RwLock::new(Arc::new(freshness))),
            pin: Arc::new(pin),
            was_searched: Arc::default(),
            skipped: same_skipped.map(|of| Arc::clone(&of.skipped)).unwrap_or_default(),
            by_reason: OnceLock::new(),
        };
        for shard in &mut catalog.shards {
            if let Some(known) = known(shard.id).filter(|of| of.languages == shard.languages) {
                shard.languages = Arc::clone(&known.languages);
            }
        }
        if let Some(earlier) = earlier.filter(|of| of.repos == catalog.repos) {
            catalog.repos = Arc::clone(&earlier.repos);
        }
        Ok(catalog)
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

/// Reads all repositories, to which these trees belong.
async fn read_repos(
    conn: &mut PgConnection,
    trees: &mut HashMap<RepoId, RepoTrees>,
) -> Result<CatalogRepos> {
    let sql = format!(
        "select r.id, r.name, r.rank,
                case when r.tree_shards = '{{}}' then r.shards
                     else array(select unnest(r.shards) union select unnest(r.tree_shards) order by 1) end shards,
                r.source, r.git_folders <> '{{}}' is_linked, extract(epoch from r.listed_at)::float8 listed,
                case when r.from_commit then r.commit end of_commit, m.source is not null has_metadata, {}
         from repos r left join metadata m on m.source = r.source where r.indexed_at is not null",
        metadata::COLUMNS
    );
    let rows = sqlx::query(AssertSqlSafe(sql)).fetch_all(conn).await?;
    let unknown = Arc::<Properties>::default();
    let mut repos = HashMap::with_capacity(rows.len());
    for row in &rows {
        let id = RepoId(row.try_get("id")?);
        let (mut rank, mut properties) = (row.try_get::<i32, _>("rank")? as u16, unknown.clone());
        if row.try_get("has_metadata")? {
            let metadata = metadata::read(row)?;
            rank = if rank == 0 { metadata.rank() } else { rank };
            properties = metadata.properties.into();
        }
        let shards: Vec<i16> = row.try_get("shards")?;
        let repo = CatalogRepo {
            name: row.try_get("name")?,
            rank,
            properties,
            shards: shards.into_iter().map(ShardId).collect(),
            trees: trees.remove(&id).unwrap_or_default().into(),
            commit: row.try_get("of_commit")?,
            source: row.try_get("source")?,
            is_linked: row.try_get("is_linked")?,
            listed: row.try_get("listed")?,
        };
        repos.insert(id, Arc::new(repo));
    }
    Ok(repos)
}

/// Reads the trees of all repositories in an epoch, besides the main ones.
async fn read_trees(conn: &mut PgConnection, epoch: Epoch) -> Result<HashMap<RepoId, RepoTrees>> {
    let mut all: HashMap<RepoId, RepoTrees> = HashMap::new();
    let rows: Vec<TreeRow> = sqlx::query_as(
        "select repo, bit, kind, name, source, commit, files, extract(epoch from listed_at)::float8
         from trees where valid_from <= $1 and valid_to > $1 order by kind, name",
    )
    .bind(epoch.0)
    .fetch_all(&mut *conn)
    .await?;
    if rows.is_empty() {
        return Ok(all);
    }
    for (repo, bit, kind, name, source, commit, files, listed) in rows {
        // A newer program's kind has no name here.
        let Some(kind) = TreeKind::of(&kind) else { continue };
        let bit = bit.unsigned_abs() as usize;
        let tree = Tree { bit, kind, name, source, commit, files, listed };
        all.entry(RepoId(repo)).or_default().trees.push(tree);
    }
    let rows: Vec<(i32, i32, Vec<u8>)> = sqlx::query_as(
        "select repo, id, members from tree_sets where valid_from <= $1 and valid_to > $1 order by id",
    )
    .bind(epoch.0)
    .fetch_all(conn)
    .await?;
    for (repo, id, members) in rows {
        all.entry(RepoId(repo)).or_default().sets.push(TreeSet { id, members });
    }
    Ok(all)
}

/// A connection that is notified when the index changes.
#[derive(Debug)]
pub struct Changes(PgListener);

/// What a server is notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// There is a new epoch.
    Epoch,
    /// Repositories were looked at, or that failed.
    Freshness,
}

impl Store {
    /// Opens a connection that is notified of every change of the index from now on.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn changes(&self) -> Result<Changes> {
        self.changes_on(&[EPOCHS, FRESHNESS]).await
    }

    /// Opens a connection that is notified on some channels from now on.
    pub(crate) async fn changes_on(&self, channels: &[&str]) -> Result<Changes> {
        let mut listener = self.listener().await?;
        listener.listen_all(channels.iter().copied()).await?;
        Ok(Changes(listener))
    }
}

impl Changes {
    /// Waits for the next epoch.
    ///
    /// # Errors
    /// The connection broke, so changes may be missed.
    pub async fn next(&mut self) -> Result<()> {
        while self.told().await? != Told::Epoch {}
        Ok(())
    }

    /// Waits for the next notification.
    ///
    /// # Errors
    /// The connection broke, so notifications may be missed.
    pub async fn told(&mut self) -> Result<Told> {
        match self.0.try_recv().await? {
            Some(told) if told.channel() == FRESHNESS => Ok(Told::Freshness),
            Some(_) => Ok(Told::Epoch),
            None => Err(Error::Unreachable("the connection broke".to_owned())),
        }
    }
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

/// The current state of the index.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Current {
    identity: i64,
    epoch: Epoch,
    switch: Switch,
}

async fn current_epoch(conn: &mut PgConnection) -> Result<Current> {
    let (identity, epoch, switch): (i64, i32, Option<i64>) = sqlx::query_as(
        "select identity, epoch, (select number from switches where epoch = state.epoch) from state",
    )
    .fetch_one(conn)
    .await?;
    let switch = Switch(switch.unwrap_or_default());
    if epoch == 0 {
        Err(Error::Empty)
    } else {
        Ok(Current { identity, epoch: Epoch(epoch), switch })
    }
}

fn is_equal(one: Option<&Arc<[RepoId]>>, other: Option<&Arc<[RepoId]>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one == other,
        (one, other) => one.is_none() && other.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ingest, on_index, value};

    #[test]
    fn there_is_none_before_the_first_epoch() {
        on_index(2, async |store| {
            assert!(matches!(store.catalog().await, Err(Error::Empty)));
            ingest(store, "r", &[]).await;
            let catalog = store.catalog().await.unwrap();
            assert_eq!(
                (catalog.epoch, catalog.shards.len(), catalog.repos.len()),
                (Epoch(1), 0, 1)
            );
        });
    }

    #[test]
    fn it_says_what_there_is_and_what_is_left_out() {
        on_index(2, async |store| {
            ingest(store, "r", &[("a", 1, "one"), ("b", 2, "two")]).await;
            let catalog = store.catalog().await.unwrap();
            let shard = &catalog.shards[0];
            assert_eq!(
                (shard.id, shard.bytes, shard.chunks, shard.filtered),
                (ShardId(0), 6, 2, 2)
            );
            assert_eq!((shard.since, shard.changed), (Epoch(1), Epoch(1)));
            let repo = catalog.repos.values().next().unwrap();
            assert_eq!((&*repo.name, repo.rank, &*repo.shards), ("r", 0, &[ShardId(0)][..]));
            assert!(catalog.skipped().await.unwrap().is_empty());
        });
    }

    #[test]
    fn an_epoch_that_is_held_is_kept_and_a_new_one_is_told() {
        on_index(2, async |store| {
            ingest(store, "r", &[("a", 1, "one")]).await;
            let catalog = store.catalog().await.unwrap();
            let mut changes = store.changes().await.unwrap();
            assert!(catalog.is_current().await.unwrap());
            ingest(store, "r", &[("b", 2, "two")]).await;
            changes.next().await.unwrap();
            assert!(!catalog.is_current().await.unwrap());
            let chunks = "select count(*) from chunks";
            assert_eq!(value::<i64>(store, chunks).await, 2);
            let newest = store.catalog().await.unwrap();
            assert_eq!(newest.epoch, Epoch(2));
            // Closes the connection and waits until its lock is gone, before garbage is collected.
            let pins = Arc::clone(&catalog.pin.pins);
            drop(catalog);
            Arc::into_inner(pins).unwrap().conn.into_inner().close().await.unwrap();
            let held = format!(
                "select count(*) from pg_locks where locktype = 'advisory' and classid::bigint = {PIN_LOCKS}
                     and objid = 1 and objsubid = 2
                     and database = (select oid from pg_database where datname = current_database())"
            );
            while value::<i64>(store, &held).await > 0 {}
            let mut session = crate::testing::session(store).await;
            session.collect_garbage(&[]).await.unwrap();
            session.close().await.unwrap();
            assert_eq!(value::<i64>(store, chunks).await, 1);
        });
    }

    /// A server keeps the catalogs of hundreds of epochs with one connection, and frees each.
    #[test]
    fn catalogs_of_later_epochs_share_a_connection() {
        on_index(2, async |store| {
            ingest(store, "r", &[("a", 1, "one")]).await;
            let pinned = format!(
                "select coalesce(string_agg(objid::text || ':' || pid, ' ' order by objid::bigint), '')
                 from pg_locks where locktype = 'advisory' and classid::bigint = {PIN_LOCKS} and objsubid = 2
                   and database = (select oid from pg_database where datname = current_database())"
            );
            let first = store.catalog().await.unwrap();
            ingest(store, "r", &[("a", 2, "two")]).await;
            let second = store.catalog_after(&first).await.unwrap();
            ingest(store, "r", &[("a", 3, "three")]).await;
            let third = store.catalog_after(&second).await.unwrap();
            let held = value::<String>(store, &pinned).await;
            let (one, pid) = held.split_once(' ').unwrap().0.split_once(':').unwrap();
            assert_eq!((one, held.clone()), ("1", format!("1:{pid} 2:{pid} 3:{pid}")));
            assert!(Arc::ptr_eq(&second.pin.pins, &third.pin.pins));
            assert!(first.is_held().await && !first.is_current().await.unwrap());
            drop(second);
            assert!(third.is_current().await.unwrap());
            assert_eq!(value::<String>(store, &pinned).await, format!("1:{pid} 3:{pid}"));
            // A broken connection is replaced.
            value::<bool>(store, &format!("select pg_terminate_backend({pid}, 10000)")).await;
            assert!(third.is_current().await.is_err() && !first.is_held().await);
            let fourth = store.catalog_after(&third).await.unwrap();
            assert_eq!(fourth.epoch, Epoch(3));
            assert!(fourth.is_held().await);
        });
    }
}
