//! What is done with a clone: made, fetched, hidden, shown, maintained. Each step can be killed and repeated.

use std::collections::BTreeSet;
use std::fs;
use std::hash::Hasher;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use siphasher::sip::SipHasher13;

use super::run::{Failed, Git};

/// All branches and tags: others (of merge requests, say) are not fetched.
const REFSPECS: [&str; 2] = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];

/// Number of packs from which a clone is repacked.
const MANY_PACKS: usize = 30;

/// The folder for clones that are being made.
const NEW: &str = ".new";

/// Age of a lock file from which nobody holds it: git holds one for a moment.
const STALE: Duration = Duration::from_mins(1);

/// From where a clone is fetched.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// What git clones.
    pub(crate) address: String,
    /// The default branch, if the host says it.
    pub(crate) default_branch: Option<String>,
    /// Most bytes that it may have.
    pub(crate) max_size: Option<u64>,
}

/// The branches and tags of a clone or of its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// The branch of HEAD, if there is one.
    pub(crate) head: Option<String>,
    /// A hash of them all and of HEAD.
    pub(crate) hash: String,
}

impl State {
    fn of(head: Option<&str>, refs: &BTreeSet<String>) -> Self {
        let mut hasher = SipHasher13::new();
        hasher.write(head.unwrap_or_default().as_bytes());
        for line in refs {
            hasher.write(b"\n");
            hasher.write(line.as_bytes());
        }
        Self { head: head.map(str::to_owned), hash: format!("{:016x}", hasher.finish()) }
    }
}

/// Asks an origin for its branches and tags.
///
/// # Errors
/// Git fails.
pub(crate) fn remote_state(git: &Git, source: &Source) -> Result<State, Failed> {
    let args = ["ls-remote", "--symref", "--", &source.address];
    let out = git.run(Path::new("/"), &args, None)?;
    let mut head = None;
    let mut refs = BTreeSet::new();
    for line in out.lines() {
        let Some((object, name)) = line.split_once('\t') else { continue };
        if let (Some(target), "HEAD") = (object.strip_prefix("ref: "), name) {
            head = target.strip_prefix("refs/heads/");
        } else if is_kept(name) {
            refs.insert(format!("{object} {name}"));
        }
    }
    Ok(State::of(source.default_branch.as_deref().or(head), &refs))
}

fn is_kept(name: &str) -> bool {
    (name.starts_with("refs/heads/") || name.starts_with("refs/tags/")) && !name.ends_with("^{}")
}

/// Clones or fetches. Afterwards, the clone has the branches, the tags and the HEAD of its origin. A new clone is made in
/// another folder first, so that it is there as a whole or not at all.
///
/// # Errors
/// Git fails, or the repository is too large; then a new clone is not there, and an old one is as it was.
pub(crate) fn bring_in_step(git: &Git, folder: &Path, source: &Source) -> Result<State, Failed> {
    if folder.symlink_metadata().is_ok() {
        if !folder.join("HEAD").exists() || !folder.join("objects").is_dir() {
            return Err(Failed::Said(format!(
                "{} is in the way and is no bare clone; move it elsewhere",
                folder.display()
            )));
        }
        fetch(git, folder, source)?;
        set_head(git, folder, source)?;
    } else {
        let new = new_folder(folder);
        let made = clone(git, &new, source).and_then(|()| set_head(git, &new, source));
        if let Err(error) =
            made.and_then(|()| fs::rename(&new, folder).map_err(|error| unmade(folder, &error)))
        {
            let _ = fs::remove_dir_all(&new);
            return Err(error);
        }
    }
    local_state(git, folder)
}

/// Returns a folder in which a clone is made, which no other process uses: a git whose codesearch was killed may still run,
/// and deletes its folder when it fails.
fn new_folder(folder: &Path) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let own = format!("{}-{number}-{name}", std::process::id());
    folder.parent().unwrap_or(Path::new("/")).join(NEW).join(own)
}

/// Returns the free bytes of the disk on which a folder is, or will be; `None` if they are unknown.
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    let there = folder.ancestors().find(|folder| folder.exists())?;
    let disk = nix::sys::statvfs::statvfs(there).ok()?;
    #[allow(clippy::useless_conversion, reason = "their types differ between systems")]
    Some(u64::from(disk.blocks_available()) * u64::from(disk.fragment_size()))
}

/// Deletes clones that were not finished. Nobody else makes any in this folder.
pub(crate) fn remove_unfinished(above: &Path) {
    let _ = fs::remove_dir_all(above.join(NEW));
}

fn unmade(folder: &Path, error: &std::io::Error) -> Failed {
    Failed::Said(format!("cannot make {}: {error}", folder.display()))
}

fn clone(git: &Git, new: &Path, source: &Source) -> Result<(), Failed> {
    let above = new.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(above).map_err(|error| unmade(above, &error))?;
    let target = new.to_str().ok_or_else(|| {
        Failed::Said(format!("{} is no UTF-8; choose another folder with into", new.display()))
    })?;
    let args = ["clone", "--bare", "--quiet", "--template=", "--", &source.address, target];
    git.run(above, &args, source.max_size.map(|most| (new, most)))?;
    // A clone may be small enough to have ended before it was measured.
    too_large(new, source)?;
    for refspec in REFSPECS {
        git.run(new, &["config", "--add", "remote.origin.fetch", refspec], None)?;
    }
    Ok(())
}

fn too_large(folder: &Path, source: &Source) -> Result<(), Failed> {
    match source.max_size {
        Some(most) if super::run::size_of(folder) > most => Err(Failed::TooLarge(most)),
        _ => Ok(()),
    }
}

fn fetch(git: &Git, folder: &Path, source: &Source) -> Result<(), Failed> {
    let origin = git.run(folder, &["config", "--get", "remote.origin.url"], None);
    if origin.is_ok_and(|origin| origin.trim() != source.address) {
        git.run(folder, &["config", "--replace-all", "remote.origin.url", &source.address], None)?;
    }
    let mut args = vec![
        "fetch",
        "--quiet",
        "--prune",
        "--force",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-recurse-submodules",
    ];
    args.extend(["--", &source.address]);
    args.extend(REFSPECS);
    let objects = folder.join("objects");
    // It may be larger than allowed already, if the bound was lowered.
    let before = super::run::size_of(&objects);
    let most = source.max_size.map(|most| (&*objects, most.max(before)));
    let mut done = git.run(folder, &args, most);
    // A fetch that was killed has left a lock.
    if matches!(&done, Err(Failed::Said(why)) if why.contains("File exists")) && unlock(folder) {
        done = git.run(folder, &args, most);
    }
    if done.is_err() {
        remove_rests(&objects.join("pack"));
    }
    done.map(drop)
}

/// Deletes the lock files of a clone that are old. Returns whether there were any.
fn unlock(folder: &Path) -> bool {
    let mut rest = vec![folder.join("refs")];
    let mut files: Vec<PathBuf> = ["HEAD.lock", "packed-refs.lock", "config.lock", "shallow.lock"]
        .map(|name| folder.join(name))
        .to_vec();
    while let Some(folder) = rest.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => rest.push(entry.path()),
                _ if entry.path().extension().is_some_and(|end| end == "lock") => {
                    files.push(entry.path());
                }
                _ => {}
            }
        }
    }
    let is_stale = |file: &PathBuf| {
        let modified = fs::metadata(file).and_then(|about| about.modified());
        modified.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > STALE))
    };
    files.iter().filter(|file| is_stale(file)).filter(|file| fs::remove_file(file).is_ok()).count()
        > 0
}

/// Deletes packs that a fetch did not finish. No other fetch of this clone runs.
fn remove_rests(packs: &Path) {
    for entry in fs::read_dir(packs).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("tmp_") {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Has HEAD name the default branch of the origin, which no fetch does.
fn set_head(git: &Git, folder: &Path, source: &Source) -> Result<(), Failed> {
    let Some(branch) = &source.default_branch else { return Ok(()) };
    if head(folder).as_ref() == Some(branch) {
        return Ok(());
    }
    let name = format!("refs/heads/{branch}");
    if git.run(folder, &["check-ref-format", &name], None).is_err() {
        return Ok(());
    }
    git.run(folder, &["symbolic-ref", "HEAD", &name], None).map(drop)
}

fn head(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join("HEAD")).ok()?;
    text.trim().strip_prefix("ref: refs/heads/").map(str::to_owned)
}

fn local_state(git: &Git, folder: &Path) -> Result<State, Failed> {
    let args = ["for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags"];
    let out = git.run(folder, &args, None)?;
    Ok(State::of(head(folder).as_deref(), &out.lines().map(str::to_owned).collect()))
}

/// Repacks a clone that has many packs, and deletes what no branch has had for two weeks.
///
/// # Errors
/// Git fails; the clone stays as it is.
pub(crate) fn maintain(git: &Git, folder: &Path) -> Result<(), Failed> {
    let packs = fs::read_dir(folder.join("objects/pack")).into_iter().flatten().flatten();
    let packs =
        packs.filter(|entry| entry.path().extension().is_some_and(|end| end == "pack")).count();
    if packs < MANY_PACKS {
        return Ok(());
    }
    git.run(folder, &["-c", "gc.bigPackThreshold=1g", "gc", "--quiet"], None).map(drop)
}

/// The name of HEAD in a hidden clone, so that no ingest takes it for a clone.
const HIDDEN_HEAD: &str = "HEAD.hidden";

/// Returns where a hidden clone is.
fn hidden_folder(folder: &Path) -> PathBuf {
    let name = folder.file_name().unwrap_or_default();
    folder.parent().unwrap_or(Path::new("/")).join(".hidden").join(name)
}

/// Moves a clone away from where an ingest finds it.
///
/// # Errors
/// The file system refuses it.
pub(crate) fn hide(folder: &Path) -> std::io::Result<()> {
    let hidden = hidden_folder(folder);
    if folder.exists() {
        fs::create_dir_all(hidden.parent().unwrap_or(Path::new("/")))?;
        fs::rename(folder, &hidden)?;
    }
    move_if_there(&hidden.join("HEAD"), &hidden.join(HIDDEN_HEAD))
}

/// Moves a hidden clone back.
///
/// # Errors
/// The file system refuses it.
pub(crate) fn show(folder: &Path) -> std::io::Result<()> {
    let hidden = hidden_folder(folder);
    move_if_there(&hidden.join(HIDDEN_HEAD), &hidden.join("HEAD"))?;
    move_if_there(&hidden, folder)
}

/// Deletes a hidden clone.
///
/// # Errors
/// The file system refuses it.
pub(crate) fn delete_hidden(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(hidden_folder(folder)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn move_if_there(from: &Path, to: &Path) -> std::io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
