//! Reads the names of commits: branches, tags and the like, and `HEAD`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bstr::BStr;
use gix::ObjectId;

use super::{GitData, MAX_SMALL, Trust, Unread};
use files::SkipReason;
use files::beneath::{self, Folder};

/// Maximum number of refs of a clone. A mirror with all pull requests of a large project has some 100,000.
const MAX_REFS: usize = 1 << 20;

/// Maximum size of `packed-refs` in bytes.
const MAX_PACKED: u64 = 256 << 20;

/// Maximum length of the name of a ref in bytes.
const MAX_NAME: usize = 1000;

/// Maximum depth of folders of refs.
const MAX_DEPTH: usize = 64;

/// Maximum number of symbolic refs that lead to one another, as in git.
const MAX_STEPS: usize = 5;

/// What `HEAD` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// The full name of a branch, which may not exist.
    Branch(Vec<u8>),
    /// A commit.
    Detached(ObjectId),
    /// Nothing that git understands.
    None,
}

/// The refs of a clone.
#[derive(Clone, Debug)]
pub(crate) struct Refs {
    pub(crate) head: Head,
    /// Full names, sorted, with the object that each one leads to, and whether by another ref.
    pub(crate) all: Vec<(Vec<u8>, ObjectId, bool)>,
}

impl Refs {
    /// Returns the object that a full name leads to.
    pub(crate) fn find(&self, name: &[u8]) -> Option<ObjectId> {
        let at = self.all.binary_search_by(|(other, ..)| other.as_slice().cmp(name)).ok()?;
        Some(self.all[at].1)
    }
}

enum Target {
    Object(ObjectId),
    Ref(Vec<u8>),
}

impl GitData {
    /// Reads all refs, and `HEAD`. Refs with names that git forbids, refs that are no hash, and refs that lead to no
    /// other are left out.
    ///
    /// # Errors
    /// The file whose reading is not allowed, or fails.
    pub(crate) fn refs(&self, trust: &mut Trust) -> Result<Refs, Unread> {
        let mut found = BTreeMap::new();
        if let Some(path) = self.resolve(&self.common, "packed-refs", trust)? {
            let read = beneath::file(&path).and_then(|file| packed(file, &mut found));
            if let Err(reason) = read
                && reason != SkipReason::Vanished
            {
                return Err(Unread { path: self.shown(&self.common, "packed-refs"), reason });
            }
        }
        if let Some(path) = self.resolve(&self.common, "refs", trust)? {
            let unread = |reason| Unread { path: self.shown(&self.common, "refs"), reason };
            let root = Folder::open(&path).map_err(|error| unread(beneath::reason(&error)))?;
            loose(&root, &path, &mut found).map_err(unread)?;
        }
        let head = self.read(&self.own, "HEAD", MAX_SMALL, trust)?.unwrap_or_default();
        let head = match target(&head) {
            Some(Target::Object(commit)) => Head::Detached(commit),
            Some(Target::Ref(name)) => Head::Branch(name),
            None => Head::None,
        };
        let mut all = Vec::with_capacity(found.len());
        for (name, target) in &found {
            if let Some(object) = follow(target, &found) {
                all.push((name.clone(), object, matches!(target, Target::Ref(_))));
            }
        }
        Ok(Refs { head, all })
    }
}

/// Returns the object that a ref leads to.
fn follow(target: &Target, all: &BTreeMap<Vec<u8>, Target>) -> Option<ObjectId> {
    let mut at = target;
    for _ in 0..MAX_STEPS {
        match at {
            Target::Object(object) => return Some(*object),
            Target::Ref(name) => at = all.get(name)?,
        }
    }
    None
}

/// Parses the contents of a ref.
fn target(text: &[u8]) -> Option<Target> {
    let text = text.trim_ascii();
    match text.strip_prefix(b"ref:") {
        Some(name) => {
            let name = name.trim_ascii();
            is_name(name).then(|| Target::Ref(name.to_owned()))
        }
        None => object(text).map(Target::Object),
    }
}

/// Parses a whole hash. Git gives the zeros a meaning: no object.
fn object(text: &[u8]) -> Option<ObjectId> {
    ObjectId::from_hex(text).ok().filter(|object| !object.is_null())
}

/// Returns whether git allows the full name of a ref. `refs/replace/` is none: nothing replaces an object here.
fn is_name(name: &[u8]) -> bool {
    name.len() <= MAX_NAME
        && name.starts_with(b"refs/")
        && !name.starts_with(b"refs/replace/")
        && gix::validate::reference::name(BStr::new(name)).is_ok()
}

fn add(
    name: Vec<u8>,
    target: Target,
    found: &mut BTreeMap<Vec<u8>, Target>,
) -> Result<(), SkipReason> {
    found.insert(name, target);
    if found.len() > MAX_REFS { Err(SkipReason::TooLarge) } else { Ok(()) }
}

/// Reads `packed-refs`.
fn packed(file: File, found: &mut BTreeMap<Vec<u8>, Target>) -> Result<(), SkipReason> {
    let mut file = BufReader::new(file.take(MAX_PACKED + 1));
    let mut line = Vec::new();
    let mut read = 0;
    loop {
        line.clear();
        // If the line is longer, the rest is not one of git's lines either.
        let bytes = (&mut file).take(MAX_SMALL).read_until(b'\n', &mut line);
        let bytes = bytes.map_err(|error| beneath::reason(&error))?;
        read += bytes as u64;
        if bytes == 0 {
            return Ok(());
        } else if read > MAX_PACKED {
            return Err(SkipReason::TooLarge);
        }
        // A line with `^` has what a tag leads to, which the tag says itself.
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let mut words = line.splitn(2, |byte| *byte == b' ');
        if let (Some(hash), Some(name)) = (words.next(), words.next())
            && let Some(object) = object(hash)
            && is_name(name)
        {
            add(name.to_owned(), Target::Object(object), found)?;
        }
    }
}

/// Reads the refs that are files, which override packed ones.
fn loose(
    root: &Folder,
    path: &Path,
    found: &mut BTreeMap<Vec<u8>, Target>,
) -> Result<(), SkipReason> {
    let mut folders = vec![(PathBuf::new(), 0)];
    let mut entries = 0;
    while let Some((below, depth)) = folders.pop() {
        let listed = match path.join(&below).read_dir() {
            Ok(listed) => listed,
            Err(error) => match beneath::reason(&error) {
                SkipReason::Vanished => continue,
                reason => return Err(reason),
            },
        };
        for entry in listed {
            let kind = entry.and_then(|entry| Ok((entry.file_type()?, entry.file_name())));
            let Ok((kind, name)) = kind else { continue };
            entries += 1;
            if entries > MAX_REFS {
                return Err(SkipReason::TooLarge);
            }
            let below = below.join(name);
            if kind.is_dir() && depth < MAX_DEPTH {
                folders.push((below, depth + 1));
            } else if kind.is_file() {
                let name = [b"refs/", below.as_os_str().as_bytes()].concat();
                if !is_name(&name) {
                    continue;
                }
                let text =
                    match root.file(&below).and_then(|file| beneath::read_all(file, MAX_SMALL)) {
                        Ok(text) => text,
                        // It was deleted or packed meanwhile, or became a link, or is none of git's.
                        Err(SkipReason::Unreadable) => return Err(SkipReason::Unreadable),
                        Err(_) => continue,
                    };
                if let Some(target) = target(&text) {
                    add(name, target, found)?;
                } else {
                    // Git does not fall back to a packed ref.
                    found.remove(&name);
                }
            }
        }
    }
    Ok(())
}
