//! Finds the commit that a revision names.

use std::collections::HashSet;

use gix::hash::Prefix;

use super::finder::Finder;
use super::open::Clone;
use super::refs::Peel;
use crate::checkout::Head;
use crate::{Error, Oid};

/// Maximum length of a revision in bytes.
const MAX_REVISION: usize = 1000;

/// Maximum number of generations that a revision goes back.
const MAX_GENERATIONS: usize = 1_000_000;

/// Maximum number of objects that a message names.
const MAX_CANDIDATES: usize = 5;

/// Folders in which git looks for a name, in this order, and what follows the name.
const PLACES: [(&str, &str); 6] = [
    ("", ""),
    ("refs/", ""),
    ("refs/tags/", ""),
    ("refs/heads/", ""),
    ("refs/remotes/", ""),
    ("refs/remotes/", "/HEAD"),
];

/// Why a revision names no commit. Each message is a sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum RevisionError {
    /// There is no such name.
    #[error("unknown revision {revision}{}", near(nearest))]
    Unknown {
        /// The revision.
        revision: String,
        /// Names of branches and tags that are similar.
        nearest: Vec<String>,
    },
    /// A commit has no such parent or ancestor.
    #[error("{revision} goes back too far: {at} has no such parent; use a smaller number")]
    NoAncestor {
        /// The revision.
        revision: String,
        /// The commit whose parent does not exist.
        at: Oid,
    },
    /// The beginning of a hash is that of several objects.
    #[error("{revision} is ambiguous; use more digits: {}", candidates.join(", "))]
    Ambiguous {
        /// The revision.
        revision: String,
        /// The hashes of the objects, the first ones.
        candidates: Vec<String>,
    },
    /// It names another object.
    #[error("{revision} is not a commit but a {kind}; use a branch, a tag or a commit")]
    NotACommit {
        /// The revision.
        revision: String,
        /// What it is: a `tree` or a `blob`.
        kind: String,
    },
    /// It is a form of git's that is not supported, or not a revision at all.
    #[error(
        "invalid revision {revision:?}; use a branch, a tag or a commit, or one of them with ~N or ^N"
    )]
    Invalid {
        /// The revision, shortened.
        revision: String,
    },
    /// The commit is not in the clone.
    #[error("{revision} cannot be read: {error}")]
    Missing {
        /// The revision.
        revision: String,
        /// Why.
        error: Error,
    },
    /// The commit or the clone cannot be read.
    #[error("{revision} cannot be read: {error}")]
    Broken {
        /// The revision.
        revision: String,
        /// Why.
        error: Error,
    },
}

/// Names what the user may have meant.
fn near(names: &[String]) -> String {
    match names {
        [] => "; use a branch, a tag or a commit of the repository".to_owned(),
        names => format!("; did you mean {}?", names.join(" or ")),
    }
}

/// A step from a commit to another.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// `~N`: the first parent, N times.
    Back(usize),
    /// `^N`: the parent N.
    Parent(usize),
    /// `^{}`, `^{commit}` and `^0`: the commit itself.
    Peel,
}

impl Clone {
    /// Returns the commit that is checked out; `None` if the branch has none yet.
    ///
    /// # Errors
    /// The commit is missing or damaged.
    pub fn head(&self) -> Result<Option<Oid>, RevisionError> {
        match self.resolve("HEAD") {
            Ok(commit) => Ok(Some(commit)),
            Err(RevisionError::Unknown { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the commit that a revision names: `HEAD`, a branch, a tag, a hash or at least 4 digits of one, all of
    /// them also with `~N`, `^N`, `^{}` and `^{commit}` behind. A name means what it means to git, if there are several
    /// refs of that name. Forms that need more of the clone, such as `main@{1}`, are invalid.
    ///
    /// # Errors
    /// The revision names no commit, or it cannot be read.
    pub fn resolve(&self, revision: &str) -> Result<Oid, RevisionError> {
        let named = || revision.to_owned();
        let Some((base, steps)) = parse(revision) else {
            let revision = revision[..revision.floor_char_boundary(100)].to_owned();
            return Err(RevisionError::Invalid { revision });
        };
        let finder = Finder::new(self);
        let failed = |error| match error {
            error @ Error::Missing { .. } => RevisionError::Missing { revision: named(), error },
            error => RevisionError::Broken { revision: named(), error },
        };
        let peeled = |object| match finder.commit_of(object) {
            Ok((commit, _)) => Ok(commit),
            Err(Peel::Missing(object)) => match finder.lacks(object) {
                // Of a whole clone, nobody knows whether there was such a commit.
                Error::Missing { is_shallow: false, is_partial: false, .. }
                    if Oid::from_hex(base.as_bytes()).is_ok_and(|base| base == object) =>
                {
                    Err(RevisionError::Unknown { revision: named(), nearest: Vec::new() })
                }
                error => Err(failed(error)),
            },
            Err(Peel::Error(error)) => Err(failed(error)),
            Err(Peel::Other) => {
                let kind = finder.header(&object).ok().flatten().map(|(kind, _)| kind);
                let kind = kind.map_or("object".to_owned(), |kind| kind.to_string());
                Err(RevisionError::NotACommit { revision: named(), kind })
            }
        };
        let mut at = peeled(find(&finder, base, revision)?)?;
        for step in steps {
            let (times, parent) = match step {
                Step::Back(times) => (times, 1),
                Step::Parent(parent) => (1, parent),
                Step::Peel => continue,
            };
            for _ in 0..times {
                let commit = finder.commit(at).map_err(&failed)?;
                let is_end = finder.store().shallow.binary_search(&at).is_ok();
                at = match commit.parents.get(parent - 1) {
                    Some(parent) => *parent,
                    None if is_end => return Err(failed(finder.lacks(at))),
                    None => return Err(RevisionError::NoAncestor { revision: named(), at }),
                };
            }
            at = peeled(at)?;
        }
        Ok(at)
    }
}

/// Splits a revision into a name and steps; `None` if it is not one that is supported.
fn parse(revision: &str) -> Option<(&str, Vec<Step>)> {
    let end = revision.find(['~', '^']).unwrap_or(revision.len());
    let (base, mut rest) = revision.split_at(end);
    let is_odd = |sign: char| sign.is_control() || " :?*[\\".contains(sign);
    if revision.len() > MAX_REVISION
        || base.is_empty()
        || base.starts_with('-')
        || base.contains("..")
        || base.contains("@{")
        || base.contains(is_odd)
    {
        return None;
    }
    let mut steps = Vec::new();
    let mut generations = 0;
    while let Some(sign) = rest.chars().next() {
        let after = &rest[sign.len_utf8()..];
        let peel = ["{}", "{commit}"].into_iter().find_map(|kind| after.strip_prefix(kind));
        if let Some(after) = peel.filter(|_| sign == '^') {
            steps.push(Step::Peel);
            rest = after;
            continue;
        }
        let end = after.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(after.len());
        let (number, after) = after.split_at(end);
        let number: usize = if number.is_empty() { 1 } else { number.parse().ok()? };
        generations = number.checked_add(generations)?;
        steps.push(match (sign, number) {
            ('~' | '^', 0) => Step::Peel,
            ('~', number) => Step::Back(number),
            ('^', number) => Step::Parent(number),
            _ => return None,
        });
        if generations > MAX_GENERATIONS {
            return None;
        }
        rest = after;
    }
    Some((base, steps))
}

/// Finds the object that a name or a hash means.
fn find(finder: &Finder, base: &str, revision: &str) -> Result<Oid, RevisionError> {
    let store = finder.store();
    let unknown = |nearest| RevisionError::Unknown { revision: revision.to_owned(), nearest };
    let broken = |error| RevisionError::Broken { revision: revision.to_owned(), error };
    // A whole hash is the object, whether there is a branch of this name or not.
    if let Ok(object) = Oid::from_hex(base.as_bytes())
        && object.kind() == store.hash
    {
        return Ok(object);
    }
    if store.has_reftable {
        return Err(broken(Error::Reftable));
    }
    if matches!(base, "HEAD" | "@") {
        let commit = match &store.refs.head {
            Head::Branch(name) => store.refs.find(name),
            Head::Detached(commit) => Some(*commit),
            Head::None => None,
        };
        return commit.ok_or_else(|| unknown(Vec::new()));
    }
    for (before, after) in PLACES {
        if let Some(object) = store.refs.find(format!("{before}{base}{after}").as_bytes()) {
            return Ok(object);
        }
    }
    drop(store);
    let described = described(base);
    let digits = described.unwrap_or(base);
    let Some(prefix) = prefix(digits, finder.store().hash) else {
        return Err(unknown(nearest(finder, base)));
    };
    let found = matching(finder, prefix).map_err(broken)?;
    match found.as_slice() {
        [] => Err(unknown(nearest(finder, base))),
        [one] => Ok(*one),
        many => {
            // Git, too, prefers what leads to a commit.
            let is_commit =
                |object: &&Oid| matches!(finder.commit_of(**object), Ok(_) | Err(Peel::Missing(_)));
            let commits: Vec<Oid> = many.iter().filter(is_commit).copied().collect();
            if let [one] = commits.as_slice() {
                return Ok(*one);
            }
            let all = if commits.is_empty() { many } else { &commits };
            let candidates = all.iter().take(MAX_CANDIDATES).map(ToString::to_string).collect();
            Err(RevisionError::Ambiguous { revision: revision.to_owned(), candidates })
        }
    }
}

/// Returns the digits of the output of `git describe`, such as `v1.2.0-5-gabc1234`.
fn described(base: &str) -> Option<&str> {
    let (before, digits) = base.rsplit_once("-g")?;
    let (_, number) = before.rsplit_once('-')?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some(digits)
}

/// Returns the beginning of a hash, if there are enough digits.
fn prefix(digits: &str, hash: gix::hash::Kind) -> Option<Prefix> {
    let padded = format!("{digits:0<width$}", width = hash.len_in_hex());
    let object = Oid::from_hex(padded.as_bytes()).ok().filter(|object| object.kind() == hash)?;
    Prefix::new(&object, digits.len()).ok()
}

/// Returns the objects whose hashes begin with some digits, sorted.
fn matching(finder: &Finder, prefix: Prefix) -> Result<Vec<Oid>, Error> {
    finder.attempt(prefix.as_oid(), |handle| {
        let mut all = HashSet::new();
        handle.lookup_prefix(prefix, Some(&mut all))?;
        let mut all: Vec<Oid> = all.into_iter().collect();
        all.sort_unstable();
        Ok(all)
    })
}

/// Returns the short names of at most two refs that differ from a name by a few characters.
fn nearest(finder: &Finder, name: &str) -> Vec<String> {
    let most = (name.chars().count() / 3).clamp(1, 3);
    let store = finder.store();
    let mut near: Vec<(usize, String)> = Vec::new();
    for (full, ..) in &store.refs.all {
        let Ok(full) = std::str::from_utf8(full) else { continue };
        let folders = ["refs/heads/", "refs/tags/", "refs/remotes/"];
        let Some(short) = folders.into_iter().find_map(|folder| full.strip_prefix(folder)) else {
            continue;
        };
        if short.len().abs_diff(name.len()) > 4 * most {
            continue;
        }
        let distance = strsim::osa_distance(short, name);
        if distance <= most && near.iter().all(|(_, other)| other != short) {
            near.push((distance, short.to_owned()));
            near.sort();
            near.truncate(2);
        }
    }
    near.into_iter().map(|(_, name)| name).collect()
}
