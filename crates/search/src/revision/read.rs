//! Lists the files of a commit, and reads those whose contents are not stored. All of this blocks.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use files::{Encoding, MAX_PATH_BYTES, SkipReason};
use git::{Clone as GitClone, FileMode, Oid, TreeFile};
use store::SharedText;

use super::cache::Commits;
use super::commit_files::{Listing, Text};
use super::rules::CommitRules;

/// Maximum bytes of a file that is read; ingest has the same limit, unless told otherwise.
pub(crate) const MAX_FILE: u64 = 1 << 20;

/// Maximum bytes of contents that a search reads from clones.
pub(crate) const MAX_BYTES: u64 = 256 << 20;

/// Maximum number of files of a commit.
pub(crate) const MAX_FILES: usize = 500_000;

/// Number of threads that read a clone.
const THREADS: usize = 4;

/// Number of files that a thread takes at a time: neighbours often lie in one pack, near each other.
const AT_ONCE: usize = 64;

/// What git knows about files that it does not contain.
const LFS_POINTER: &str = "version https://git-lfs.github.com/spec/";

/// Maximum bytes of the stand-in for a file in LFS.
const LFS_BYTES: usize = 1024;

/// Adds a file to a list.
fn add(listing: &mut Listing, file: &TreeFile<'_>) -> ControlFlow<()> {
    if listing.files.len() + listing.left_out.len() >= MAX_FILES {
        listing.is_cut = true;
        return ControlFlow::Break(());
    }
    let reason = match (file.mode, std::str::from_utf8(file.path)) {
        (FileMode::Link, _) => Some(SkipReason::Symlink.word()),
        (FileMode::Submodule, _) => Some(SkipReason::Submodule.word()),
        (_, Err(_)) => Some(SkipReason::Name.word()),
        (_, Ok(path)) if path.len() > MAX_PATH_BYTES => Some(SkipReason::Path.word()),
        (FileMode::File | FileMode::Executable, Ok(_)) => None,
    };
    let path = String::from_utf8_lossy(file.path).into();
    match reason {
        None => listing.files.push((path, file.oid)),
        Some(reason) => listing.left_out.push((path, reason)),
    }
    ControlFlow::Continue(())
}

/// Lists the files of a commit; `None` if `go_on` returned false.
///
/// # Errors
/// A tree is missing or broken.
pub(crate) fn list(
    clone: &GitClone,
    commit: Oid,
    go_on: &dyn Fn() -> bool,
) -> Result<Option<Listing>, git::Error> {
    let (mut listing, mut seen, mut stopped) = (Listing::default(), 0_usize, false);
    clone.list(commit, &mut |file| {
        seen += 1;
        if seen.is_multiple_of(1024) && !go_on() {
            stopped = true;
            return ControlFlow::Break(());
        }
        add(&mut listing, &file)
    })?;
    listing.files.sort_by(|(a, _), (b, _)| a.cmp(b));
    listing.rules = CommitRules::read(&listing.files, &clone.reader())?;
    Ok((!stopped).then_some(listing))
}

/// The contents of a file, or why there are none.
#[derive(Clone, Debug)]
pub(crate) enum Contents {
    Text(Arc<Text>),
    /// The reason's word.
    LeftOut(&'static str),
    /// The clone does not have them: it is partial, or shallow; a sentence.
    Missing(String),
}

/// Reads the contents with some names from a clone, several at a time. Returns them in order; fewer if all together have
/// more than `most` bytes, or if `go_on` returned false.
///
/// # Errors
/// An object is broken.
pub(crate) fn read_all(
    clone: &GitClone,
    names: &[Oid],
    most: u64,
    commits: &Commits,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<Contents>, git::Error> {
    let (next, bytes, over) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let work = || {
        let reader = clone.reader();
        let mut parts: Vec<(usize, Vec<Contents>)> = Vec::new();
        loop {
            // Whoever has taken some files reads all of them, so that those that are read are the first.
            if over.load(Ordering::Relaxed) {
                return Ok(parts);
            }
            let from = next.fetch_add(AT_ONCE, Ordering::Relaxed);
            if from >= names.len() {
                return Ok(parts);
            }
            let mut part = Vec::with_capacity(AT_ONCE);
            for name in &names[from..names.len().min(from + AT_ONCE)] {
                if !go_on() {
                    over.store(true, Ordering::Relaxed);
                    return Ok(parts);
                }
                let contents = match commits.text(name) {
                    Some(Some(text)) => Contents::Text(text),
                    Some(None) => Contents::LeftOut(SkipReason::Binary.word()),
                    None => read(&reader, name, commits)?,
                };
                let size = contents.bytes();
                if bytes.fetch_add(size, Ordering::Relaxed) + size > most {
                    over.store(true, Ordering::Relaxed);
                }
                part.push(contents);
            }
            parts.push((from, part));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    let threads = threads.min(names.len().div_ceil(AT_ONCE)).max(1);
    let mut parts = Vec::new();
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = vec![work()];
        all.extend(others.into_iter().map(|one| one.join().unwrap_or(Err(git::Error::Failed))));
        for one in all {
            parts.extend(one?);
        }
        Ok::<_, git::Error>(())
    })?;
    parts.sort_by_key(|(from, _)| *from);
    let (mut all, mut sum) = (Vec::with_capacity(names.len()), 0);
    for (from, part) in parts {
        // A part is missing if a thread stopped in the middle.
        if from != all.len() {
            break;
        }
        for contents in part {
            sum += contents.bytes();
            if sum > most {
                return Ok(all);
            }
            all.push(contents);
        }
    }
    Ok(all)
}

/// Reads contents from a clone.
///
/// # Errors
/// The object is broken.
pub(crate) fn read(
    reader: &git::BlobReader,
    name: &Oid,
    commits: &Commits,
) -> Result<Contents, git::Error> {
    let bytes = match reader.read(*name, MAX_FILE) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return Ok(Contents::LeftOut(SkipReason::TooLarge.word())),
        Err(error @ git::Error::Missing { .. }) => return Ok(Contents::Missing(error.to_string())),
        Err(error) => return Err(error),
    };
    let text = Encoding::decode(bytes).map(|(text, encoding)| {
        let text = SharedText::from(Arc::<str>::from(text));
        Arc::new(Text { text, encoding })
    });
    commits.add_text(*name, text.clone());
    Ok(text.map_or(Contents::LeftOut(SkipReason::Binary.word()), Contents::Text))
}

impl Contents {
    fn bytes(&self) -> u64 {
        match self {
            Self::Text(text) => text.text.len() as u64,
            Self::LeftOut(_) | Self::Missing(_) => 0,
        }
    }
}

/// Returns whether a text stands in for a file in LFS.
pub(crate) fn is_lfs_pointer(text: &str) -> bool {
    text.len() <= LFS_BYTES && text.starts_with(LFS_POINTER)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    fn git(folder: &Path, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b"]);
        let done = command.args(args).current_dir(folder).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    #[test]
    fn reading_ends_at_the_bound_of_bytes_with_the_first_files() {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..200 {
            std::fs::write(folder.path().join(format!("{n:03}.txt")), format!("{n:0999}\n"))
                .unwrap();
        }
        git(folder.path(), &["init", "--quiet"]);
        git(folder.path(), &["add", "--all"]);
        git(folder.path(), &["commit", "--quiet", "--message", "x"]);
        let listed = git(folder.path(), &["ls-tree", "--format=%(objectname)", "HEAD"]);
        let names: Vec<Oid> =
            listed.lines().map(|hash| Oid::from_hex(hash.as_bytes()).unwrap()).collect();
        let clone = GitClone::open(folder.path(), &[]).unwrap();
        for (most, expected) in
            [(0, 0), (999, 0), (1000, 1), (64_500, 64), (130_000, 130), (1 << 20, 200)]
        {
            let read = read_all(&clone, &names, most, &Commits::default(), &|| true).unwrap();
            assert_eq!(read.len(), expected, "{most}");
            for (n, contents) in read.iter().enumerate() {
                let Contents::Text(text) = contents else { panic!("{n} is no text") };
                assert_eq!(&*text.text, format!("{n:0999}\n"));
            }
        }
        let none = read_all(&clone, &names, 1 << 20, &Commits::default(), &|| false).unwrap();
        assert!(none.is_empty());
    }
}
