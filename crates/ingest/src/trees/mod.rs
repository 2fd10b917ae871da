//! The trees of a repository besides its main one: worktrees, and the commits of branches and tags.
//!
//! After the main tree is compared and loaded, the others are listed ([`delta`]), mostly without reading a file: git's
//! index and git's trees name contents. What no tree had before is read and loaded. Then [`members`] says which trees have
//! which rows, and the session writes what changed.

mod delta;
mod members;
pub(crate) mod refs;
pub(crate) mod worktrees;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use git::checkout::Unread;
use rayon::prelude::*;
use store::{
    FileTodo, RepoId, Session, Store, Totals, Tree, TreeContents, TreeFile, TreeKind, TreeState,
};

use super::load::{self, Group, Plan, Queue, Sources};
use super::room::Room;
use super::source::FileSource;
use super::{Error, Event, Progress};
use delta::{Known, Listed, Name, What};
use files::SkipReason;
use members::Members;

/// A tree of a repository besides its main one.
pub(crate) struct OtherTree {
    pub(crate) kind: TreeKind,
    /// Name of the worktree, branch or tag.
    pub(crate) name: String,
    /// The folder of a worktree.
    pub(crate) source: Option<String>,
    /// The commit that is checked out, or that the branch or tag names.
    pub(crate) commit: Option<String>,
    /// Where its files come from; `None` if what the index has of it stays.
    pub(crate) files: Option<Arc<dyn FileSource>>,
    /// A source of those that may have changed, if what the index has of the others holds.
    pub(crate) part: Option<Arc<dyn FileSource>>,
    /// Parts of its git data that are not read.
    pub(crate) unread: Vec<Unread>,
    /// Whether its files are those that the index has, if they are left out for the same reasons.
    pub(crate) is_unchanged: bool,
}

impl OtherTree {
    /// Makes one that stays as the index has it.
    pub(crate) fn kept(known: &Tree) -> Self {
        let Tree { kind, name, source, commit, .. } = known.clone();
        let (files, part, unread) = (None, None, Vec::new());
        Self { kind, name, source, commit, files, part, unread, is_unchanged: true }
    }
}

/// The trees of a repository, as they are and as the index has them.
#[derive(Default)]
pub(crate) struct OtherTrees {
    pub(crate) now: Vec<OtherTree>,
    pub(crate) known: Vec<Tree>,
}

impl OtherTrees {
    /// Returns whether there are none, and were none.
    pub(crate) fn is_empty(&self) -> bool {
        self.now.is_empty() && self.known.is_empty()
    }
}

/// What an ingest of trees shares.
pub(crate) struct Shared<'a> {
    pub(crate) store: &'a Store,
    pub(crate) room: &'a Room<'a>,
    pub(crate) max_bytes: u64,
    /// Bytes of text at which a shard is full.
    pub(crate) full: i64,
    pub(crate) progress: &'a dyn Progress,
}

/// Bytes to read below which they go into a live shard.
const SMALL: i64 = 16 << 20;

/// The fingerprint of rows that the main tree lacks. It differs if a newer program might recognise another language.
pub(crate) fn format() -> i64 {
    files::fingerprint_of([])
}

/// Compares the trees of a repository with its main tree, which is loaded, loads what they have besides, and plans their
/// publishing. Returns what was loaded, and whether all trees could be read: others stay as they were.
pub(crate) async fn settle(
    session: &mut Session,
    repo: RepoId,
    mut trees: OtherTrees,
    shared: &Shared<'_>,
) -> Result<(Group, bool), Error> {
    let state = session.tree_state(repo, format()).await?;
    let max_bytes = shared.max_bytes;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let comparing = tokio::task::spawn_blocking(move || {
        let mut all = Comparison::of(state, &mut trees, max_bytes);
        all.resolve();
        (all, trees)
    });
    let (mut all, trees) = session.await_other(comparing).await.expect("comparing does not panic");
    for notice in std::mem::take(&mut all.notices) {
        (shared.progress)(Event::Notice(notice));
    }
    all.leave_out_odd(session).await?;
    let group = all.load(session, repo, &trees, shared).await?;
    let bits = bits(&trees);
    let Comparison { state, listed, others, .. } = all;
    let equal: Vec<&[u64]> = listed.iter().map(|listed| &*listed.equal).collect();
    let counted = Members::of(&state.files, &bits, &equal, &others);
    let mut files = vec![0; bits.len()];
    let texts = texts(&state.files);
    for (files, equal) in files.iter_mut().zip(&equal) {
        let both = equal.iter().zip(&texts).map(|(equal, texts)| (equal & texts).count_ones());
        *files = both.map(i64::from).sum();
    }
    for (at, tree) in &others {
        files[*tree] += i64::from(is_text(&state.files[*at]));
    }
    let are_read = trees.now.iter().all(|tree| tree.files.is_some());
    let rows = trees.now.into_iter().zip(bits).zip(files).map(|((tree, bit), files)| {
        // Of a worktree of which only a part was looked at, the rest may be older.
        let is_listed = tree.files.is_some()
            && (tree.kind != TreeKind::Worktree || !tree.is_unchanged && tree.part.is_none());
        let OtherTree { kind, name, source, commit, .. } = tree;
        let known = trees.known.iter().find(|known| (known.kind, &known.name) == (kind, &name));
        let listed = Some(now.as_secs_f64()).filter(|_| is_listed);
        let listed = listed.or(known.and_then(|known| known.listed));
        Tree { bit, kind, name, source, commit, files, listed }
    });
    let rows = rows.collect();
    session.plan_trees(state, rows, counted.members, &counted.of, format()).await?;
    Ok((group, are_read))
}

/// Returns the bit of each tree: the one that it had, or the lowest that is free.
fn bits(trees: &OtherTrees) -> Vec<usize> {
    let before = |tree: &OtherTree| {
        let is_same = |known: &&Tree| (known.kind, &known.name) == (tree.kind, &tree.name);
        trees.known.iter().find(is_same).map(|known| known.bit)
    };
    let used: HashSet<usize> = trees.now.iter().filter_map(before).collect();
    let mut free = (0..).filter(|bit| !used.contains(bit));
    let bits = trees.now.iter().map(|tree| before(tree).or_else(|| free.next()));
    bits.map(|bit| bit.expect("numbers do not end")).collect()
}

fn is_text(file: &TreeFile) -> bool {
    matches!(file.contents, TreeContents::Text { .. })
}

/// Returns a bit for each row that is a text.
fn texts(files: &[TreeFile]) -> Vec<u64> {
    let of = |files: &[TreeFile]| {
        files.iter().enumerate().map(|(at, file)| u64::from(is_text(file)) << at).sum()
    };
    files.chunks(64).map(of).collect()
}

/// A file to read, of one tree for all that have the same.
struct Wanted {
    path: String,
    bytes: u64,
    name: Option<Name>,
    /// The language that `.gitattributes` gives it.
    language: Option<String>,
    /// The trees that have it, by their places.
    trees: Vec<usize>,
}

/// Trees compared with the main one.
struct Comparison {
    state: TreeState,
    listed: Vec<Listed>,
    notices: Vec<String>,
    /// Rows that the main tree lacks, each with a tree that has it.
    others: Vec<(usize, usize)>,
    wanted: Vec<Wanted>,
}

impl Comparison {
    /// Lists all trees. Those that cannot be listed stay as they were, or are left out.
    fn of(state: TreeState, trees: &mut OtherTrees, max_bytes: u64) -> Self {
        let mut now = std::mem::take(&mut trees.now);
        let known = Known::new(&state);
        let list = |tree: &mut OtherTree| {
            let is_same = |known: &&Tree| (known.kind, &known.name) == (tree.kind, &tree.name);
            let before = trees.known.iter().find(is_same);
            let is_wanted = tree.is_unchanged || tree.part.is_some();
            let holds = before.filter(|of| is_wanted && known.holds(of.bit, max_bytes));
            let stays = holds.filter(|_| tree.is_unchanged);
            let Some(files) = tree.files.as_ref().filter(|_| stays.is_none()) else {
                return before.map(|before| known.as_before(before.bit)).ok_or_else(Vec::new);
            };
            let (files, bit) = match (&tree.part, holds) {
                (Some(part), Some(before)) => (part, Some(before.bit)),
                _ => (files, None),
            };
            known.list(&**files, bit, &tree.unread, max_bytes).or_else(|why| {
                let notice = format!("not updated: the {} {}: {why}", tree.kind.word(), tree.name);
                // The last good state stays.
                let Some(before) = before else { return Err(vec![notice]) };
                *tree = OtherTree::kept(before);
                let mut listed = known.as_before(before.bit);
                listed.notices.push(notice);
                Ok(listed)
            })
        };
        let outcomes: Vec<Result<Listed, Vec<String>>> = now.par_iter_mut().map(list).collect();
        let (mut notices, mut all) = (Vec::new(), Vec::new());
        let mut outcomes = outcomes.into_iter();
        now.retain(|_| match outcomes.next() {
            Some(Ok(mut listed)) => {
                notices.append(&mut listed.notices);
                all.push(listed);
                true
            }
            Some(Err(why)) => {
                notices.extend(why);
                false
            }
            None => false,
        });
        trees.now = now;
        Self { state, listed: all, notices, others: Vec::new(), wanted: Vec::new() }
    }

    /// Finds the rows of what differs from the main tree, and notes what must be read.
    fn resolve(&mut self) {
        let known = Known::new(&self.state);
        let mut added: Vec<TreeFile> = Vec::new();
        let mut new: HashMap<(String, String, Option<String>), usize> = HashMap::new();
        let mut wanted: HashMap<(String, Name), usize> = HashMap::new();
        for (tree, listed) in self.listed.iter_mut().enumerate() {
            for delta::Other { path, what } in std::mem::take(&mut listed.others) {
                let mut has = |at: usize, in_main: bool| {
                    if in_main { listed.set(at) } else { self.others.push((at, tree)) }
                };
                match what {
                    What::Known(at) => has(at, false),
                    What::LeftOut { reason, rule, bytes } => {
                        let (reason, bytes) = (reason.to_owned(), bytes as i64);
                        let key = (path.clone(), reason.clone(), rule.clone());
                        let what = TreeContents::LeftOut { reason, rule, bytes, fingerprint: 0 };
                        if let Some((at, file)) = known.same(&path, &what) {
                            has(at, file.in_main);
                            continue;
                        }
                        let at = *new.entry(key).or_insert_with(|| {
                            added.push(TreeFile::new(path, what));
                            self.state.files.len() + added.len() - 1
                        });
                        has(at, false);
                    }
                    What::Named(name, language) => {
                        let row = known.named(&path, name);
                        if let Some((at, file)) = row.filter(|(_, file)| file.is_current) {
                            has(at, file.in_main);
                            continue;
                        }
                        let at = *wanted.entry((path.clone(), name)).or_insert_with(|| {
                            let (bytes, trees) = (name.bytes, Vec::new());
                            self.wanted.push(Wanted {
                                path,
                                bytes,
                                name: Some(name),
                                language,
                                trees,
                            });
                            self.wanted.len() - 1
                        });
                        self.wanted[at].trees.push(tree);
                    }
                    What::Unknown(bytes, language) => {
                        let trees = vec![tree];
                        self.wanted.push(Wanted { path, bytes, name: None, language, trees });
                    }
                }
            }
        }
        self.state.files.extend(added);
    }

    /// Notes that a tree has a row.
    fn has(&mut self, at: usize, tree: usize) {
        if self.state.files[at].in_main {
            self.listed[tree].set(at);
        } else {
            self.others.push((at, tree));
        }
    }

    /// Notes that trees have something at a path, which may be new. `rows` are the places of all rows of the path.
    fn add(
        &mut self,
        rows: &mut HashMap<String, Vec<usize>>,
        path: String,
        contents: TreeContents,
        trees: &[usize],
    ) {
        let rows = rows.entry(path.clone()).or_default();
        let same = rows.iter().find(|at| self.state.files[**at].contents.is_same(&contents));
        let at = match same {
            Some(at) => *at,
            None => {
                self.state.files.push(TreeFile::new(path, contents.clone()));
                rows.push(self.state.files.len() - 1);
                self.state.files.len() - 1
            }
        };
        let file = &mut self.state.files[at];
        if !file.in_main && !file.is_current {
            // It was read again.
            (file.contents, file.is_new, file.is_current) = (contents, true, true);
        }
        // The bitmaps have no place for rows that were added, which the main tree lacks.
        for tree in trees {
            self.has(at, *tree);
        }
    }

    /// Takes contents from what is wanted that are known not to be texts.
    async fn leave_out_odd(&mut self, session: &mut Session) -> Result<(), Error> {
        let named = self.wanted.iter().filter_map(|wanted| wanted.name);
        let oids: Vec<Vec<u8>> = named.map(|name| name.oid.as_bytes().to_vec()).collect();
        let odd = session.odd_blobs(&oids).await?;
        if odd.is_empty() {
            return Ok(());
        }
        let mut rows = self.rows();
        for wanted in std::mem::take(&mut self.wanted) {
            // A binary file stays one however git writes its lines.
            let reason = wanted.name.and_then(|name| {
                let reason = odd.get(name.oid.as_bytes());
                reason.filter(|reason| !name.may_differ || *reason == SkipReason::Binary.word())
            });
            let Some(reason) = reason else {
                self.wanted.push(wanted);
                continue;
            };
            let (reason, rule, bytes) = (reason.clone(), None, wanted.bytes as i64);
            let what = TreeContents::LeftOut { reason, rule, bytes, fingerprint: 0 };
            self.add(&mut rows, wanted.path, what, &wanted.trees);
        }
        Ok(())
    }

    /// Returns the places of all rows of the paths that are wanted.
    fn rows(&self) -> HashMap<String, Vec<usize>> {
        let paths: HashSet<&str> = self.wanted.iter().map(|wanted| &*wanted.path).collect();
        let mut rows: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, file) in self.state.files.iter().enumerate() {
            if paths.contains(&*file.path) {
                rows.entry(file.path.clone()).or_default().push(at);
            }
        }
        rows
    }

    /// Reads and loads what is wanted.
    async fn load(
        &mut self,
        session: &mut Session,
        repo: RepoId,
        trees: &OtherTrees,
        shared: &Shared<'_>,
    ) -> Result<Group, Error> {
        if self.wanted.is_empty() {
            return Ok(Group::default());
        }
        self.wanted.sort_by(|one, two| (one.trees[0], &one.path).cmp(&(two.trees[0], &two.path)));
        let bytes = self.wanted.iter().map(|wanted| wanted.bytes as i64).sum();
        let read = Totals { files: self.wanted.len() as i64, bytes };
        (shared.progress)(Event::Reading(read));
        let todo = self.wanted.iter().zip(1..).map(|(wanted, number)| {
            let (path, bytes) = (wanted.path.clone(), wanted.bytes as i64);
            let oid = wanted.name.map(|name| name.oid.as_bytes().to_vec());
            FileTodo { number, repo, path, bytes, oid, language: wanted.language.clone() }
        });
        let queue = Queue::Given(todo.collect());
        let sources = trees.now.iter().map(|tree| tree.files.clone()).collect();
        let places = self.wanted.iter().map(|wanted| wanted.trees[0]).collect();
        let plan = Plan {
            sources: Arc::new(Sources::OfTrees(sources, places)),
            max_bytes: shared.max_bytes,
            full: shared.full,
            small: bytes < SMALL,
            group: i64::MAX,
        };
        let Shared { store, room, progress, .. } = shared;
        let mut group = load::load(store, session, &plan, &queue, room, 0, *progress).await?;
        let mut rows = self.rows();
        let mut odd = Vec::new();
        for (number, outcome) in std::mem::take(&mut group.read) {
            let wanted = &mut self.wanted[number as usize - 1];
            let (path, trees) =
                (std::mem::take(&mut wanted.path), std::mem::take(&mut wanted.trees));
            let contents = match outcome {
                Ok(file) => TreeContents::Text {
                    shard: file.shard,
                    blob: file.blob,
                    bytes: file.bytes,
                    language: file.language,
                },
                Err(skipped) => {
                    let (reason, bytes) = (skipped.reason.to_owned(), skipped.bytes);
                    let rule = skipped.rule.clone();
                    odd.push(skipped);
                    TreeContents::LeftOut { reason, rule, bytes, fingerprint: 0 }
                }
            };
            self.add(&mut rows, path, contents, &trees);
        }
        session.note_odd(&odd).await?;
        Ok(group)
    }
}
