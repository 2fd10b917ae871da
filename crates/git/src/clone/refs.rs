//! Lists branches and tags.

use std::cmp::Reverse;
use std::collections::HashMap;

use gix::objs::{CommitRefIter, Kind, TagRefIter};

use super::finder::{Finder, Found, MAX_OBJECT};
use super::open::Clone;
use crate::checkout::Head;
use crate::{Error, Oid};

/// Maximum number of tags of tags.
const MAX_TAGS: usize = 32;

/// What a ref is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefKind {
    /// A branch of the clone, in `refs/heads/`.
    Branch,
    /// A tag, in `refs/tags/`.
    Tag,
    /// A branch of another clone when it was fetched last, in `refs/remotes/`.
    Remote,
}

impl RefKind {
    /// Returns the kind and the short name of a ref.
    fn of(name: &str) -> Option<(Self, &str)> {
        let kinds = [
            (Self::Branch, "refs/heads/"),
            (Self::Tag, "refs/tags/"),
            (Self::Remote, "refs/remotes/"),
        ];
        kinds.into_iter().find_map(|(kind, folder)| Some((kind, name.strip_prefix(folder)?)))
    }
}

/// A branch or a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitRef {
    /// Its full name, such as `refs/heads/main`. Bytes that are not UTF-8 are replaced.
    pub name: String,
    /// What it is.
    pub kind: RefKind,
    /// Its name without its folder, such as `main`.
    pub short: String,
    /// The commit that it leads to.
    pub commit: Oid,
    /// When that commit was made, in seconds since 1970.
    pub time: i64,
}

impl Clone {
    /// Returns all branches and tags, the newest commit first, then by name. A tag of something else than a commit, and
    /// a ref whose commit the clone does not have, are left out; so is the default branch of a remote
    /// (`origin/HEAD`), which is another name of one of its branches.
    ///
    /// # Errors
    /// The clone cannot be read any more, or none of its refs can.
    pub fn refs(&self) -> Result<Vec<GitRef>, Error> {
        let finder = Finder::new(self);
        let store = finder.store();
        if store.has_reftable {
            return Err(Error::Reftable);
        }
        let mut known: HashMap<Oid, Option<(Oid, i64)>> = HashMap::new();
        let (mut found, mut broken) = (Vec::new(), None);
        for (full, object, is_symbolic) in &store.refs.all {
            let name = String::from_utf8_lossy(full);
            let Some((kind, short)) = RefKind::of(&name) else { continue };
            if kind == RefKind::Remote && *is_symbolic && short.ends_with("/HEAD") {
                continue;
            }
            let leads = match known.get(object) {
                Some(leads) => *leads,
                None => {
                    let leads = match finder.commit_of(*object) {
                        Ok(leads) => Some(leads),
                        Err(Peel::Error(error @ (Error::Damaged(_) | Error::Huge))) => {
                            broken = Some(error);
                            None
                        }
                        Err(Peel::Error(error)) => return Err(error),
                        Err(Peel::Missing(_) | Peel::Other) => None,
                    };
                    known.insert(*object, leads);
                    leads
                }
            };
            if let Some((commit, time)) = leads {
                let short = short.to_owned();
                found.push(GitRef { name: name.into_owned(), kind, short, commit, time });
            }
        }
        if let Some(error) = broken.filter(|_| found.is_empty()) {
            return Err(error);
        }
        found.sort_by(|a, b| (Reverse(a.time), &a.name).cmp(&(Reverse(b.time), &b.name)));
        Ok(found)
    }

    /// Returns the name of the branch that is checked out; `None` if a commit is.
    pub fn head_branch(&self) -> Option<String> {
        let store = self.store();
        let Head::Branch(name) = &store.refs.head else { return None };
        std::str::from_utf8(name).ok()?.strip_prefix("refs/heads/").map(str::to_owned)
    }
}

/// Why an object does not lead to a commit.
#[derive(Debug)]
pub(super) enum Peel {
    /// The clone does not have it.
    Missing(Oid),
    /// It is something else, or a tag of something else.
    Other,
    Error(Error),
}

impl Finder {
    /// Returns the commit that an object is or, if it is a tag, leads to, and when that was made.
    pub(super) fn commit_of(&self, object: Oid) -> Result<(Oid, i64), Peel> {
        let mut at = object;
        for _ in 0..MAX_TAGS {
            let hash = at.kind();
            match self.read(&at, MAX_OBJECT).map_err(Peel::Error)? {
                Found::Object(Kind::Commit, bytes) => {
                    return Ok((at, time_of(CommitRefIter::from_bytes(&bytes, hash))));
                }
                Found::Object(Kind::Tag, bytes) => {
                    let target = TagRefIter::from_bytes(&bytes, hash).target_id();
                    at = target.map_err(|_| Peel::Error(Error::Damaged(at)))?;
                }
                Found::Object(..) => return Err(Peel::Other),
                Found::Large(_) => return Err(Peel::Error(Error::Huge)),
                Found::Missing => return Err(Peel::Missing(at)),
            }
        }
        Err(Peel::Other)
    }
}

/// Returns when a commit was made; 0 if it does not say that, like git.
pub(super) fn time_of(commit: CommitRefIter<'_>) -> i64 {
    commit.committer().map_or(0, |committer| committer.seconds())
}
