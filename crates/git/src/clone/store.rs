//! The objects of a clone, opened by gix.
//!
//! gix sees a private folder with links to folders of objects that were checked ([`crate::checkout::Objects`]), so it
//! reads nothing that the clone says of itself: no configuration, no list of borrowed objects, no replacements. As the
//! clone may change at any time, each object that was read is passed on only if the folders that it can come from are
//! as they were when they were checked.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gix::hash::Kind;
use gix::odb;
use tempfile::TempDir;

use crate::checkout::{Config, GitData, Head, Objects, Refs, Stamp, Trust, Unread};
use crate::{Error, Oid};
use files::SkipReason;
use files::beneath::Folder;

/// Maximum size in bytes of one allocation for an object and what it is made of. Git keeps larger objects whole, and
/// does not compare them, either.
const MAX_ALLOCATION: usize = 512 << 20;

/// An opened clone.
pub(super) struct Store {
    /// What gix sees.
    _folder: TempDir,
    sources: Vec<Source>,
    objects: Arc<odb::Store>,
    pub(super) refs: Refs,
    /// The commits at which a shallow clone ends, sorted.
    pub(super) shallow: Vec<Oid>,
    /// Whether objects may be missing that the origin has.
    pub(super) is_partial: bool,
    pub(super) hash: Kind,
    /// Whether branches and tags are where gix cannot read them.
    pub(super) has_reftable: bool,
}

/// A folder of objects.
struct Source {
    /// Its open handle, so that no other folder can take its place.
    folder: Folder,
    /// The folder itself and its parts that can have an object, with their state when they were checked. The first two
    /// are the folder and its packs, the others are the folders of objects whose hash begins with 00 to ff.
    parts: Vec<(OsString, Option<Stamp>)>,
}

impl Store {
    /// Opens a clone; `None` if it has no objects.
    ///
    /// # Errors
    /// The part whose reading is not allowed, or fails.
    pub(super) fn open(data: &GitData, trust: &mut Trust) -> Result<Option<Self>, Unread> {
        let config = data.config(trust)?;
        let is_sha256 = config.as_ref().is_some_and(|config| config.hash_bytes() == 32);
        let hash = if is_sha256 { Kind::Sha256 } else { Kind::Sha1 };
        let has_reftable = config.as_ref().is_some_and(Config::has_reftable);
        let refs = if has_reftable {
            Refs { head: Head::None, all: Vec::new() }
        } else {
            data.refs(trust)?
        };
        let Some(checked) = data.objects(trust)? else { return Ok(None) };
        let unread = |reason| Unread { path: ".git/objects".to_owned(), reason };
        let folder = link(&checked).map_err(|error| unread(files::beneath::reason(&error)))?;
        let sources = folder.1;
        if !sources.iter().all(Source::is_unchanged) {
            return Err(unread(SkipReason::Vanished));
        }
        let options = odb::store::init::Options {
            alloc_limit_bytes: Some(MAX_ALLOCATION),
            current_dir: Some(PathBuf::from("/")),
            ..odb::store::init::Options::default()
        };
        let path = folder.0.path().join("objects");
        let objects = odb::Store::at_opts(path, hash, &mut std::iter::empty(), options);
        let objects = objects.map_err(|_| unread(SkipReason::Unreadable))?;
        let mut shallow: Vec<Oid> = checked
            .shallow
            .split(|byte| *byte == b'\n')
            .filter_map(|line| Oid::from_hex(line.trim_ascii()).ok())
            .collect();
        shallow.sort_unstable();
        Ok(Some(Self {
            _folder: folder.0,
            sources,
            objects: Arc::new(objects),
            refs,
            shallow,
            is_partial: config.as_ref().is_some_and(Config::is_partial),
            hash,
            has_reftable,
        }))
    }

    /// Returns a handle for one thread.
    pub(super) fn handle(&self) -> odb::HandleArc {
        let mut handle = self.objects.to_cache_arc();
        // If an object is missing, the clone is opened again, which checks it.
        handle.refresh_never();
        handle.ignore_replacements = true;
        handle
    }

    /// Returns the error for a missing object.
    pub(super) fn lacks(&self, object: Oid) -> Error {
        let (is_shallow, is_partial) = (!self.shallow.is_empty(), self.is_partial);
        Error::Missing { object, is_shallow, is_partial }
    }

    /// Returns whether an object that was just read comes from files that were checked, or if it is missing, still is.
    pub(super) fn is_unchanged(&self, object: &gix::oid) -> bool {
        self.sources.iter().all(|source| source.is_unchanged_for(object))
    }
}

impl Source {
    fn new(folder: &Path, seen: &HashMap<&Path, Option<Stamp>>) -> io::Result<Self> {
        let before = |path: &Path| seen.get(path).copied().flatten();
        let part = |name: &str| (OsString::from(name), before(&folder.join(name)));
        let loose = (0..=u8::MAX).map(|byte| part(&format!("{byte:02x}")));
        let top = (OsString::from("."), before(folder));
        let parts = [top, part("pack")].into_iter().chain(loose).collect();
        Ok(Self { folder: Folder::open(folder)?, parts })
    }

    /// Makes a folder at `to` that leads to the objects.
    fn link(&self, path: &Path, to: &Path) -> io::Result<()> {
        let path = self.folder.path().unwrap_or_else(|| path.to_owned());
        let mut exist = self.parts[1..].iter().filter(|(_, before)| before.is_some());
        exist.try_for_each(|(name, _)| symlink(path.join(name), to.join(name)))
    }

    fn is_unchanged_for(&self, object: &gix::oid) -> bool {
        let loose = 2 + usize::from(object.first_byte());
        [0, 1, loose].into_iter().all(|part| self.is_same(&self.parts[part]))
    }

    fn is_unchanged(&self) -> bool {
        self.parts.iter().all(|part| self.is_same(part))
    }

    fn is_same(&self, (name, before): &(OsString, Option<Stamp>)) -> bool {
        self.folder.state(name) == *before
    }
}

/// Makes the folder that gix sees.
fn link(checked: &Objects) -> io::Result<(TempDir, Vec<Source>)> {
    let folder = tempfile::Builder::new().prefix("codesearch-git-").tempdir()?;
    let seen = checked.seen().iter().map(|(path, stamp)| (path.as_path(), *stamp)).collect();
    let objects = folder.path().join("objects");
    fs::create_dir_all(objects.join("info"))?;
    let own = Source::new(&checked.folder, &seen)?;
    own.link(&checked.folder, &objects)?;
    let mut sources = vec![own];
    let mut list = String::new();
    for (number, borrowed) in checked.borrowed.iter().enumerate() {
        let name = format!("borrowed-{number}");
        let source = Source::new(borrowed, &seen)?;
        let at = folder.path().join(&name);
        fs::create_dir(&at)?;
        source.link(borrowed, &at)?;
        sources.push(source);
        // gix joins each path to the folder of the objects.
        list.push_str(&format!("../{name}\n"));
    }
    if !list.is_empty() {
        fs::write(objects.join("info/alternates"), list)?;
    }
    Ok((folder, sources))
}
