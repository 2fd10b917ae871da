//! Lists trees, and notes where they differ from the main tree.

use std::collections::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use git::checkout::Unread;
use store::{TreeContents, TreeFile, TreeState, Trees};

use crate::source::{Entry, FileSource, Listing, Part};
use files::SkipReason;

/// What some tree has at a path, where it differs from the main tree.
#[derive(Debug)]
pub(super) struct Other {
    pub(super) path: String,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// A row that is known, by its place.
    Known(usize),
    /// Contents by their name in git, and the language that `.gitattributes` gives it.
    Named(Name, Option<String>),
    /// Contents that must be read, about how many bytes, and the language.
    Unknown(u64, Option<String>),
    /// A file that is left out.
    LeftOut { reason: &'static str, rule: Option<String>, bytes: u64 },
}

/// Git's name of the contents of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub(super) oid: git::Oid,
    /// The size of the file in bytes.
    pub(super) bytes: u64,
    /// Whether git may have written other contents to the file. If so, their size differs.
    pub(super) may_differ: bool,
}

impl Name {
    /// Returns whether a row has these contents.
    fn is_of(self, file: &TreeFile) -> bool {
        let is_size = || match &file.contents {
            TreeContents::Text { bytes, .. } => i64::from(*bytes) == self.bytes as i64,
            TreeContents::LeftOut { reason, .. } => reason == SkipReason::Binary.word(),
        };
        file.oids.iter().any(|known| known == self.oid.as_bytes())
            && (!self.may_differ || is_size())
    }
}

/// A tree, compared with the main one.
#[derive(Debug, Default)]
pub(super) struct Listed {
    /// The rows of the main tree that it has, too: a bit for each row.
    pub(super) equal: Vec<u64>,
    pub(super) others: Vec<Other>,
    pub(super) notices: Vec<String>,
}

impl Listed {
    pub(super) fn set(&mut self, at: usize) {
        self.equal[at / 64] |= 1 << (at % 64);
    }
}

/// The rows of a repository, by path.
pub(super) struct Known<'s> {
    state: &'s TreeState,
    by_path: HashMap<&'s str, Range<usize>>,
}

impl<'s> Known<'s> {
    pub(super) fn new(state: &'s TreeState) -> Self {
        let mut by_path = HashMap::with_capacity(state.files.len());
        let mut start = 0;
        for same in state.files.chunk_by(|one, next| one.path == next.path) {
            by_path.insert(&*same[0].path, start..start + same.len());
            start += same.len();
        }
        Self { state, by_path }
    }

    /// Returns the places of the rows of a path.
    pub(super) fn at(&self, path: &str) -> Range<usize> {
        self.by_path.get(path).cloned().unwrap_or_default()
    }

    /// Returns the rows and their places at a path.
    pub(super) fn rows(&self, path: &str) -> impl Iterator<Item = (usize, &'s TreeFile)> {
        self.at(path).map(|at| (at, &self.state.files[at]))
    }

    /// Returns the row of a path with these contents, by their name in git.
    pub(super) fn named(&self, path: &str, name: Name) -> Option<(usize, &'s TreeFile)> {
        self.rows(path).find(|(_, file)| name.is_of(file))
    }

    /// Returns the row of a path with the same contents.
    pub(super) fn same(&self, path: &str, what: &TreeContents) -> Option<(usize, &'s TreeFile)> {
        self.rows(path).find(|(_, file)| file.contents.is_same(what))
    }

    fn none(&self) -> Listed {
        Listed { equal: vec![0; self.state.files.len().div_ceil(64)], ..Listed::default() }
    }

    /// Returns whether what the index has of the tree with a bit holds as long as the tree does: no limit on sizes and no
    /// newer version of the program makes a difference.
    pub(super) fn holds(&self, bit: usize, max_bytes: u64) -> bool {
        let sets = self.sets_with(bit);
        self.state.files.iter().all(|file| {
            if !file.was.and_then(Trees::set).is_some_and(|set| sets.contains(&set)) {
                return true;
            }
            match &file.contents {
                TreeContents::Text { bytes, .. } => {
                    i64::from(*bytes) <= max_bytes as i64 && file.is_current
                }
                TreeContents::LeftOut { reason, bytes, .. } => {
                    reason != SkipReason::TooLarge.word() || *bytes > max_bytes as i64
                }
            }
        })
    }

    fn sets_with(&self, bit: usize) -> HashSet<i32> {
        let sets = self.state.sets.values().filter(|set| set.has(bit));
        sets.map(|set| set.id).collect()
    }

    /// Returns what the index has of the tree with a bit, as if it was listed.
    pub(super) fn as_before(&self, bit: usize) -> Listed {
        let mut listed = self.none();
        self.add_before(bit, &Part::default(), &mut listed);
        listed
    }

    /// Adds what the index has of the tree with a bit, except for a part.
    fn add_before(&self, bit: usize, except: &Part, listed: &mut Listed) {
        let sets = self.sets_with(bit);
        for (at, file) in self.state.files.iter().enumerate() {
            let had = file.was.and_then(Trees::set).is_some_and(|set| sets.contains(&set));
            if !had || except.has(&file.path) {
                continue;
            }
            if file.in_main {
                listed.set(at);
            } else {
                listed.others.push(Other { path: file.path.clone(), what: What::Known(at) });
            }
        }
    }

    /// Lists a tree. Files of more than `max_bytes` are left out. If the source lists only a part, the others are those
    /// that the index has of the tree with a bit.
    pub(super) fn list(
        &self,
        source: &dyn FileSource,
        bit: Option<usize>,
        unread: &[Unread],
        max_bytes: u64,
    ) -> Result<Listed, String> {
        let mut listed = self.none();
        let equal: Vec<AtomicU64> = listed.equal.iter().map(|_| AtomicU64::new(0)).collect();
        let others = Mutex::new(Vec::new());
        let seen = |entry: Entry| {
            let Entry { path, bytes, left_out, rule, oid, may_differ, language, .. } = entry;
            let name = oid.map(|oid| Name { oid, bytes, may_differ });
            let reason = left_out.or((bytes > max_bytes).then_some(SkipReason::TooLarge));
            let main = self.rows(&path).find(|(_, file)| {
                file.in_main
                    && match (&file.contents, reason, name) {
                        (
                            TreeContents::LeftOut { reason: other, rule: other_rule, .. },
                            Some(reason),
                            _,
                        ) => other == reason.word() && *other_rule == rule,
                        (_, None, Some(name)) => name.is_of(file),
                        (_, Some(_), _) | (_, None, None) => false,
                    }
            });
            if let Some((at, _)) = main {
                equal[at / 64].fetch_or(1 << (at % 64), Ordering::Relaxed);
                return ControlFlow::Continue(());
            }
            let what = match (reason, name) {
                (Some(reason), _) => What::LeftOut { reason: reason.word(), rule, bytes },
                (None, Some(name)) => What::Named(name, language),
                (None, None) => What::Unknown(bytes, language),
            };
            let mut others = others.lock().unwrap_or_else(PoisonError::into_inner);
            others.push(Other { path, what });
            ControlFlow::Continue(())
        };
        for Unread { path, reason } in unread {
            let _ = seen(Entry::unknown(Path::new(path), *reason));
        }
        let Listing { notices, part, .. } = source.list(&seen)?;
        listed.notices = notices;
        listed.others = others.into_inner().unwrap_or_else(PoisonError::into_inner);
        listed.equal = equal.into_iter().map(AtomicU64::into_inner).collect();
        if let Some((part, bit)) = part.zip(bit) {
            self.add_before(bit, &part, &mut listed);
        }
        // Threads come in any order.
        listed.others.sort_by(|one, two| one.path.cmp(&two.path));
        Ok(listed)
    }
}
