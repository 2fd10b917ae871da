//! The files that git tracks: the index of a checkout (<https://git-scm.com/docs/index-format>), versions 2 to 4, also
//! split or sparse.
//!
//! Anybody may have written it. So of its extensions only those that change the list are read: others nest without
//! limit, and a library that decodes them all can be made to overflow the stack.

use std::fmt::Write;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;

use gix_bitmap::ewah;

use super::{Config, GitData, Trust, Unread};
use files::SkipReason;

/// Maximum size of an index in bytes: that of about 2,500,000 files.
const MAX_BYTES: u64 = 256 << 20;

/// Maximum bytes of all its paths, which may be longer than the index that abbreviates them.
const MAX_PATHS: usize = 512 << 20;

/// Bytes of an entry before its hash: times, device, mode, owner, size.
const STAT_BYTES: usize = 40;

/// Place of the mode in an entry.
const MODE: usize = 24;

/// The paths that git tracks in a checkout, sorted by their bytes. Each is relative to the checkout.
#[derive(Debug, Default)]
pub struct Tracked {
    paths: Vec<u8>,
    entries: Vec<Entry>,
    stats: Vec<Stat>,
    /// When the index was written.
    written: (u32, u32),
}

/// A tracked path.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    bytes: u32,
    kind: Kind,
    /// Number of what `stat` said of it; [`NONE`] if that is not known.
    stat: u32,
}

/// The number of no [`Stat`].
const NONE: u32 = u32::MAX;

/// What `stat` said of a file when git read or wrote it, and git's name of its contents. Times are in seconds and
/// nanoseconds; git keeps 32 bits of each number.
#[derive(Clone, Copy, Debug)]
struct Stat {
    ctime: (u32, u32),
    mtime: (u32, u32),
    inode: u32,
    size: u32,
    oid: [u8; 20],
}

impl Stat {
    /// Reads the beginning of an entry.
    fn parse(entry: &[u8]) -> Option<Self> {
        let number = |at: usize| u32_of(entry.get(4 * at..)?).map(|(number, _)| number);
        Some(Self {
            ctime: (number(0)?, number(1)?),
            mtime: (number(2)?, number(3)?),
            inode: number(5)?,
            size: number(9)?,
            oid: *entry.get(STAT_BYTES..)?.first_chunk()?,
        })
    }

    /// Returns whether `stat` still says the same of the file, of which all was written before `written`. Git calls a
    /// file that changed later racily clean: another change might have left the same times.
    fn is_of(&self, found: &Metadata, written: (u32, u32)) -> bool {
        let mtime = (found.mtime() as u32, found.mtime_nsec() as u32);
        let ctime = (found.ctime() as u32, found.ctime_nsec() as u32);
        (self.mtime, self.ctime) == (mtime, ctime)
            && mtime < written
            && ctime < written
            && self.inode == found.ino() as u32
            && u64::from(self.size) == found.len()
    }
}

/// What git tracks at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    /// The commit of a submodule.
    Submodule,
    /// A folder of a sparse index. Its path ends with a slash, and git's objects list its files.
    Folder,
}

impl GitData {
    /// Reads the index; without one, git tracks nothing.
    ///
    /// # Errors
    /// Reading it is not allowed or fails, or it is damaged.
    pub fn tracked(&self, config: Option<&Config>, trust: &mut Trust) -> Result<Tracked, Unread> {
        let hash = config.map_or(20, Config::hash_bytes);
        // Before it is read: if it is replaced meanwhile, it is taken for older than it is.
        let written = match self.resolve(&self.own, "index", trust)?.map(|path| path.metadata()) {
            Some(Ok(found)) => (found.mtime() as u32, found.mtime_nsec() as u32),
            _ => (0, 0),
        };
        let Some(index) = self.read(&self.own, "index", MAX_BYTES, trust)? else {
            return Ok(Tracked::default());
        };
        let damaged = |name: &str| {
            let path = self.shown(&self.own, name);
            move || Unread { path, reason: SkipReason::Unreadable }
        };
        let (mut tracked, link) = parse(&index, hash).ok_or_else(damaged("index"))?;
        if let Some(link) = link {
            let mut name = "sharedindex.".to_owned();
            for byte in &link.base {
                let _ = write!(name, "{byte:02x}");
            }
            let Some(shared) = self.read(&self.own, &name, MAX_BYTES, trust)? else {
                return Err(damaged(&name)());
            };
            let (mut base, _) = parse(&shared, hash).ok_or_else(damaged(&name))?;
            base.change(&tracked, &link).ok_or_else(damaged("index"))?;
            tracked = base;
            // Which entries of the shared index were replaced is not read.
            tracked.entries.iter_mut().for_each(|entry| entry.stat = NONE);
            tracked.stats = Vec::new();
        }
        tracked.written = written;
        tracked.sort();
        Ok(tracked)
    }

    /// Notes in `trust` where the index and the ignore rules of the clone lie, if they may be read.
    pub fn note_rules(&self, trust: &mut Trust) {
        // Whoever reads them tells why not.
        let _ = self.resolve(&self.own, "index", trust);
        let _ = self.exclude(trust);
    }
}

impl Tracked {
    /// Returns the range of all paths.
    pub fn all(&self) -> Range<usize> {
        0..self.entries.len()
    }

    /// Returns the paths, in the order of their bytes. That of a folder of a sparse index ends with a slash.
    pub fn paths(&self) -> impl Iterator<Item = &[u8]> {
        self.entries.iter().map(|entry| self.path(entry))
    }

    /// Returns a hash of the paths and of git's names of their contents, as far as these are read: the same while git has
    /// checked out nothing else. Only this program has the same hash of them.
    pub fn contents(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        for entry in &self.entries {
            self.path(entry).hash(&mut hash);
            self.stats.get(entry.stat as usize).map(|stat| stat.oid).hash(&mut hash);
        }
        hash.finish()
    }

    /// Returns the paths below a folder, given those around it.
    pub fn below(&self, folder: &[u8], around: &Range<usize>) -> Range<usize> {
        let part = &self.entries[around.clone()];
        let rest = |entry: &Entry| self.path(entry).strip_prefix(folder);
        // What follows the slash is larger, and `0` is the character after it.
        let start = part.partition_point(|entry| match rest(entry) {
            Some(rest) => rest < b"/".as_slice(),
            None => self.path(entry) < folder,
        });
        let end = start
            + part[start..]
                .partition_point(|entry| rest(entry).is_some_and(|rest| rest < b"0".as_slice()));
        around.start + start..around.start + end
    }

    /// Returns whether git tracks a file at this path, which is among those of a range.
    pub fn has(&self, path: &[u8], range: &Range<usize>) -> bool {
        self.kind(path, range) == Some(Kind::File)
    }

    /// Returns git's name of the contents of a file whose path is among those of a range, if the file did not change since
    /// git read or wrote it, by what `stat` says now. Git may have converted the contents, so that those in the file are
    /// others.
    pub fn oid(&self, path: &[u8], range: &Range<usize>, found: &Metadata) -> Option<crate::Oid> {
        let stat = self.stats.get(self.entry(path, range)?.stat as usize)?;
        stat.is_of(found, self.written).then(|| crate::Oid::from(stat.oid))
    }

    /// Returns whether git tracks a submodule at this path, which is among those of a range.
    pub fn has_submodule(&self, path: &[u8], range: &Range<usize>) -> bool {
        self.kind(path, range) == Some(Kind::Submodule)
    }

    /// Returns whether git tracks a folder without listing its files, whose paths would be those of a range.
    pub fn is_sparse(&self, range: &Range<usize>) -> bool {
        range.len() == 1 && self.entries[range.start].kind == Kind::Folder
    }

    fn kind(&self, path: &[u8], range: &Range<usize>) -> Option<Kind> {
        Some(self.entry(path, range)?.kind)
    }

    fn entry(&self, path: &[u8], range: &Range<usize>) -> Option<&Entry> {
        let part = &self.entries[range.clone()];
        let at = part.binary_search_by(|entry| self.path(entry).cmp(path)).ok()?;
        Some(&part[at])
    }

    fn path(&self, entry: &Entry) -> &[u8] {
        &self.paths[entry.start as usize..][..entry.bytes as usize]
    }

    /// Adds a path that continues the first `keep` bytes of the one before.
    fn push(&mut self, keep: usize, rest: &[u8], kind: Kind, stat: Option<Stat>) -> Option<()> {
        let at = self.paths.len();
        if at + keep + rest.len() > MAX_PATHS {
            return None;
        }
        if keep > 0 {
            let before = self.entries.last().filter(|before| before.bytes as usize >= keep)?;
            let from = before.start as usize;
            self.paths.extend_from_within(from..from + keep);
        }
        self.paths.extend_from_slice(rest);
        let bytes = (keep + rest.len()) as u32;
        let number = stat.map_or(NONE, |_| self.stats.len() as u32);
        self.stats.extend(stat);
        self.entries.push(Entry { start: u32::try_from(at).ok()?, bytes, kind, stat: number });
        Some(())
    }

    /// Applies the changes of a split index to the entries that it shares. Its entries without a path replace some of
    /// them, which keeps the path.
    fn change(&mut self, split: &Self, link: &Link) -> Option<()> {
        let mut deleted = vec![false; self.entries.len()];
        if let Some(bitmap) = &link.deleted {
            bitmap.for_each_set_bit(|at| {
                *deleted.get_mut(at)? = true;
                Some(())
            })?;
        }
        let mut deleted = deleted.into_iter();
        self.entries.retain(|_| deleted.next() != Some(true));
        for entry in split.entries.iter().filter(|entry| entry.bytes > 0) {
            self.push(0, split.path(entry), entry.kind, None)?;
        }
        Some(())
    }

    /// Sorts the paths. Of a file with a conflict, git lists several.
    fn sort(&mut self) {
        let Self { paths, entries, .. } = self;
        let path = |entry: &Entry| &paths[entry.start as usize..][..entry.bytes as usize];
        if !entries.is_sorted_by(|one, two| path(one) < path(two)) {
            entries.sort_by(|one, two| path(one).cmp(path(two)));
            entries.dedup_by(|one, two| path(one) == path(two));
        }
    }
}

/// What makes an index a split one.
struct Link {
    /// Hash of the index that it shares.
    base: Vec<u8>,
    /// The entries of that index that are no longer there.
    deleted: Option<ewah::Vec>,
}

/// Reads the entries of an index with hashes of `hash` bytes; `None` if it is damaged, or of another kind.
fn parse(index: &[u8], hash: usize) -> Option<(Tracked, Option<Link>)> {
    let (data, _checksum) = index.split_at_checked(index.len().checked_sub(hash)?)?;
    let data = data.strip_prefix(b"DIRC")?;
    let (version, data) = u32_of(data)?;
    let (count, mut data) = u32_of(data)?;
    if !(2..=4).contains(&version) || count as usize > data.len() / (STAT_BYTES + hash + 2) {
        return None;
    }
    let mut tracked = Tracked::default();
    tracked.entries.reserve_exact(count as usize);
    tracked.paths.reserve(data.len() / 2);
    for _ in 0..count {
        data = entry(data, hash, version, &mut tracked)?;
    }
    let mut link = None;
    extensions(data, hash, &mut link)?;
    Some((tracked, link))
}

/// Reads one entry, and returns what follows it.
fn entry<'d>(data: &'d [u8], hash: usize, version: u32, tracked: &mut Tracked) -> Option<&'d [u8]> {
    let (mode, _) = u32_of(data.get(MODE..)?)?;
    let kind = match mode >> 12 {
        0o16 => Kind::Submodule,
        0o04 => Kind::Folder,
        _ => Kind::File,
    };
    let (flags, mut rest) = u16_of(data.get(STAT_BYTES + hash..)?)?;
    let mut extended = 0;
    if flags & 0x4000 != 0 {
        if version < 3 {
            return None;
        }
        (extended, rest) = u16_of(rest)?;
    }
    // Not of a file in a conflict, or that is only going to be added.
    let is_settled = flags & 0x3000 == 0 && extended & 0x2000 == 0;
    let stat =
        (is_settled && hash == 20 && mode >> 12 == 0o10).then(|| Stat::parse(data)).flatten();
    if version == 4 {
        let (strip, rest) = offset_of(rest)?;
        let before = tracked.entries.last().map_or(0, |before| before.bytes as usize);
        let end = rest.iter().position(|byte| *byte == 0)?;
        tracked.push(before.checked_sub(strip)?, &rest[..end], kind, stat)?;
        return Some(&rest[end + 1..]);
    }
    let bytes = match usize::from(flags & 0xfff) {
        0xfff => rest.iter().position(|byte| *byte == 0)?,
        bytes => bytes,
    };
    tracked.push(0, rest.get(..bytes)?, kind, stat)?;
    let used = data.len() - rest.len() + bytes;
    // One to eight zeros.
    data.get(used + 8 - used % 8..)
}

/// Reads the extensions, of which one may be a link; `None` if one of them is required and unknown.
fn extensions(mut data: &[u8], hash: usize, link: &mut Option<Link>) -> Option<()> {
    while !data.is_empty() {
        let (name, rest) = data.split_at_checked(4)?;
        let (bytes, rest) = u32_of(rest)?;
        let (extension, rest) = rest.split_at_checked(bytes as usize)?;
        data = rest;
        match name {
            b"link" => {
                let (base, bitmaps) = extension.split_at_checked(hash)?;
                let deleted = match bitmaps {
                    [] => None,
                    bitmaps => Some(ewah::decode(bitmaps).ok()?.0),
                };
                let base = base.to_vec();
                *link = base.iter().any(|byte| *byte != 0).then_some(Link { base, deleted });
            }
            b"sdir" => {}
            _ if name[0].is_ascii_lowercase() => return None,
            _ => {}
        }
    }
    Some(())
}

fn u16_of(data: &[u8]) -> Option<(u16, &[u8])> {
    let (number, rest) = data.split_first_chunk()?;
    Some((u16::from_be_bytes(*number), rest))
}

fn u32_of(data: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = data.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), rest))
}

/// Reads a number as git writes offsets: seven bits a byte, each continued number being one larger.
fn offset_of(data: &[u8]) -> Option<(usize, &[u8])> {
    let mut number = 0_usize;
    for (at, byte) in data.iter().enumerate().take(8) {
        number = (number << 7) | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((number, &data[at + 1..]));
        }
        number += 1;
    }
    None
}

#[cfg(test)]
mod tests;
