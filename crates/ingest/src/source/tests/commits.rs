//! A commit as a source, compared with what git lists, and with the clean tree of a folder.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use fastrand::Rng;

use super::super::commit::CommitSource;
use super::super::folder::{Choice, FolderSource};
use super::super::{Entry, FileSource, Listing};
use super::Disk;
use files::SkipReason;

/// What is said of a file: path, reason, rule, language, and its bytes if it is read.
type Said = (String, Option<SkipReason>, Option<String>, Option<String>, Option<Vec<u8>>);

fn entries(source: &dyn FileSource) -> Result<(Vec<Entry>, Listing), String> {
    let all = Mutex::new(Vec::new());
    let listing = source.list(&|entry| {
        all.lock().unwrap().push(entry);
        ControlFlow::Continue(())
    })?;
    // Several threads list.
    let mut all = all.into_inner().unwrap();
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok((all, listing))
}

fn said(source: &dyn FileSource) -> (Vec<Said>, Vec<u8>) {
    let (entries, listing) = entries(source).unwrap();
    assert_eq!(listing.notices, [""; 0]);
    let reader = source.open(1 << 20).unwrap();
    let said = entries.into_iter().map(|entry| {
        let bytes = entry.left_out.is_none().then(|| {
            let read = reader(&entry.path, entry.oid).unwrap();
            assert_eq!(read.bytes.len() as u64, entry.bytes);
            read.bytes
        });
        (entry.path, entry.left_out, entry.rule, entry.language, bytes)
    });
    // Several names that are not UTF-8 may be shown alike.
    let mut said: Vec<Said> = said.collect();
    said.sort();
    (said, listing.languages)
}

impl Disk {
    fn commit(&self) -> String {
        self.git(&["add", "--all", "--force"], b"");
        let user = ["-c", "user.name=a", "-c", "user.email=a@b"];
        self.git(&[&user[..], &["commit", "-q", "--allow-empty", "-m", "all"]].concat(), b"");
        self.head()
    }

    fn head(&self) -> String {
        String::from_utf8(self.git(&["rev-parse", "HEAD"], b"")).unwrap().trim().to_owned()
    }

    fn committed(&self, commit: &str) -> CommitSource {
        CommitSource::new(&self.root.join("r"), Some(commit), Choice::default())
    }

    fn folder(&self) -> FolderSource {
        FolderSource::new(&self.root.join("r"), &[], Choice::default())
    }

    /// Git's names of the files of a commit, by path.
    fn tree(&self, commit: &str) -> BTreeMap<Vec<u8>, String> {
        let listed = self.git(&["ls-tree", "-r", "-z", commit], b"");
        let rows = listed.split(|byte| *byte == 0).filter(|row| !row.is_empty());
        rows.map(|row| {
            let tab = row.iter().position(|byte| *byte == b'\t').unwrap();
            let words = std::str::from_utf8(&row[..tab]).unwrap();
            (row[tab + 1..].to_vec(), words.rsplit(' ').next().unwrap().to_owned())
        })
        .collect()
    }

    /// Makes the index look as if it had been written long after the files.
    fn age(&self) {
        let index = fs::File::options().append(true).open(self.at(".git/index")).unwrap();
        index.set_modified(SystemTime::now() + Duration::from_mins(1)).unwrap();
    }
}

/// Returns a name of any bytes that git allows.
fn name(rng: &mut Rng) -> Vec<u8> {
    const USUAL: [&[u8]; 10] = [
        b"a",
        b"b.h",
        b"c.rs",
        b".ignore",
        b".codesearchignore",
        b".gitattributes",
        b"\x01",
        b"a.b",
        b"a-b",
        b"lib",
    ];
    if rng.u8(..4) > 0 {
        return USUAL[rng.usize(..USUAL.len())].to_vec();
    }
    let bytes = (0..rng.usize(1..5)).map(|_| rng.u8(1..=255)).filter(|byte| *byte != b'/');
    let name: Vec<u8> = bytes.collect();
    if name.is_empty() || name == b"." || name == b".." { b"x".to_vec() } else { name }
}

fn text(name: &[u8], rng: &mut Rng) -> Vec<u8> {
    const RULES: [&str; 8] = ["a", "*.h", "!c.rs", "/lib", "lib/", "b*", "\\!", "!a"];
    const LANGUAGES: [&str; 7] = [
        "*.h linguist-language=C++",
        "a linguist-language=rust",
        "/lib/* linguist-language=Python",
        "c.rs -linguist-language",
        "* text=auto",
        "*.h linguist-language=Klingon",
        "b* linguist-language=Vim-script linguist-generated",
    ];
    let lines: &[&str] = match name {
        b".ignore" | b".codesearchignore" => &RULES,
        b".gitattributes" => &LANGUAGES,
        _ => {
            return (0..rng.usize(..50))
                .map(|_| rng.u8(..))
                .filter(|byte| *byte != b'\r')
                .collect();
        }
    };
    let lines = (0..rng.usize(1..4)).map(|_| lines[rng.usize(..lines.len())].to_owned() + "\n");
    lines.collect::<String>().into_bytes()
}

#[test]
fn a_commit_and_its_clean_tree_are_the_same_files() {
    let first = std::env::var("CODESEARCH_SEED").ok().and_then(|text| text.parse().ok());
    let first = first.unwrap_or_else(|| fastrand::u64(..1 << 32));
    println!("seeds from {first}; repeat one with CODESEARCH_SEED=N");
    let (mut excluded, mut languages, mut trusted) = (0, 0, 0);
    for seed in first..first + 40 {
        let mut rng = Rng::with_seed(seed);
        let disk = Disk::new();
        for name in [".gitattributes", ".codesearchignore"] {
            if rng.bool() {
                fs::write(disk.at(name), text(name.as_bytes(), &mut rng)).unwrap();
            }
        }
        for _ in 0..rng.usize(..40) {
            let depth = rng.usize(1..4);
            let names: Vec<Vec<u8>> = (0..depth).map(|_| name(&mut rng)).collect();
            let path: PathBuf = names.iter().map(|name| OsStr::from_bytes(name)).collect();
            let path = disk.root.join("r").join(path);
            // A link that leads nowhere does not exist, and is there.
            let is_free = || path.symlink_metadata().is_err();
            if fs::create_dir_all(path.parent().unwrap()).is_err() || !is_free() {
                continue;
            }
            if rng.u8(..12) == 0 {
                symlink("a", &path).unwrap();
                continue;
            }
            fs::write(&path, text(names.last().unwrap(), &mut rng)).unwrap();
            if rng.u8(..4) == 0 {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        let commit = disk.commit();
        let of_commit = said(&disk.committed(&commit));
        assert_eq!(of_commit, said(&disk.folder()), "seed {seed}");
        let tree = disk.tree(&commit);
        assert_eq!(of_commit.0.len(), tree.len(), "seed {seed}");
        excluded += of_commit.0.iter().filter(|said| said.1 == Some(SkipReason::Excluded)).count();
        languages += of_commit.0.iter().filter(|said| said.3.is_some()).count();
        // Both say which name git has for the contents.
        disk.age();
        for (source, all) in
            [(&disk.committed(&commit) as &dyn FileSource, true), (&disk.folder(), false)]
        {
            for entry in entries(source).unwrap().0 {
                let Some(expected) = tree.get(entry.path.as_bytes()) else { continue };
                assert!(
                    entry.oid.is_some() || !all || entry.left_out.is_some(),
                    "seed {seed}: {}",
                    entry.path
                );
                if let Some(oid) = entry.oid {
                    assert_eq!(oid.to_string(), *expected, "seed {seed}: {}", entry.path);
                    trusted += usize::from(!all);
                }
            }
        }
    }
    assert!(excluded > 5 && languages > 5 && trusted > 50, "{excluded} {languages} {trusted}");
}

#[test]
fn submodules_and_links_are_told() {
    let disk = Disk::new();
    disk.write("a", "text");
    symlink("a", disk.at("link")).unwrap();
    disk.git(&["add", "."], b"");
    let submodule = "0123456789abcdef0123456789abcdef01234567";
    disk.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{submodule},sub")], b"");
    let tree = String::from_utf8(disk.git(&["write-tree"], b"")).unwrap();
    let user = ["-c", "user.name=a", "-c", "user.email=a@b"];
    let commit = disk.git(&[&user[..], &["commit-tree", "-m", "x", tree.trim()]].concat(), b"");
    let commit = String::from_utf8(commit).unwrap();
    let listed = entries(&disk.committed(commit.trim())).unwrap().0;
    let mut rows: Vec<String> = listed
        .iter()
        .map(|entry| {
            let reason = entry.left_out.map(SkipReason::word).unwrap_or_default();
            format!("{} {reason} {}", entry.path, entry.rule.as_deref().unwrap_or_default())
        })
        .collect();
    rows.sort();
    assert_eq!(rows.join("|"), format!("a  |link symlink |sub submodule commit {submodule}"));
}

#[test]
fn the_index_is_believed_only_as_far_as_it_knows() {
    let disk = Disk::new();
    let paths = ["same", "changed", "touched", "filtered/x", "racy", "lf"];
    for path in paths {
        disk.write(path, "one\n");
    }
    disk.write("filtered/.gitattributes", "x working-tree-encoding=UTF-8\n");
    disk.commit();
    let known = || -> Vec<String> {
        let listed = entries(&disk.folder()).unwrap().0;
        let mut known: Vec<String> = listed
            .into_iter()
            .filter(|entry| entry.oid.is_some())
            .map(|entry| entry.path)
            .collect();
        known.sort();
        known
    };
    disk.age();
    assert_eq!(known(), ["changed", "lf", "racy", "same", "touched"]);
    // Another text of the same size and with the same time of change.
    let at = fs::metadata(disk.at("changed")).unwrap().modified().unwrap();
    disk.write("changed", "two\n");
    let file = fs::File::options().append(true).open(disk.at("changed")).unwrap();
    file.set_modified(at).unwrap();
    let touched = fs::File::options().append(true).open(disk.at("touched")).unwrap();
    touched.set_modified(SystemTime::now() - Duration::from_secs(9)).unwrap();
    assert_eq!(known(), ["lf", "racy", "same"]);
    // Files that may have changed since the index was written.
    let index = fs::File::options().append(true).open(disk.at(".git/index")).unwrap();
    index.set_modified(fs::metadata(disk.at("racy")).unwrap().modified().unwrap()).unwrap();
    assert!(!known().contains(&"racy".to_owned()));
    disk.age();
    disk.write(".git/info/attributes", "*.x filter=y\n");
    assert!(known().is_empty());
    disk.write(".git/info/attributes", "*.x text\n");
    assert_eq!(known(), ["lf", "racy", "same"]);
    // The attributes that git tracks hold where they are not checked out.
    disk.write(".gitattributes", "* text\n");
    disk.git(&["add", ".gitattributes"], b"");
    disk.age();
    assert_eq!(known().len(), 4);
    fs::remove_file(disk.at(".gitattributes")).unwrap();
    assert!(known().is_empty());
    disk.git(&["update-index", "--split-index"], b"");
    disk.git(&["checkout", ".gitattributes"], b"");
    disk.age();
    assert!(known().is_empty());
}

#[test]
fn a_clone_may_be_repacked_between_listing_and_reading() {
    let disk = Disk::new();
    for number in 0..100 {
        disk.write(&format!("{number}"), &format!("text {number}\n"));
    }
    let commit = disk.commit();
    let source = disk.committed(&commit);
    let listed = entries(&source).unwrap().0;
    let reader = source.open(1000).unwrap();
    for (at, entry) in listed.iter().enumerate() {
        if at % 25 == 10 {
            disk.git(&["repack", "-q", "-a", "-d", "-f"], b"");
            disk.git(&["prune-packed"], b"");
        }
        let read = reader(&entry.path, entry.oid).unwrap();
        assert_eq!(read.bytes, format!("text {}\n", entry.path).into_bytes());
    }
    assert_eq!(listed.len(), 100);
}

#[test]
fn what_is_missing_or_damaged_is_told() {
    let disk = Disk::new();
    for path in ["a", "b", "sub/c"] {
        disk.write(path, path);
    }
    let commit = disk.commit();
    let object = |name: &str| {
        let name = String::from_utf8(disk.git(&["rev-parse", name], b"")).unwrap();
        let name = name.trim().to_owned();
        (disk.at(&format!(".git/objects/{}/{}", &name[..2], &name[2..])), name)
    };
    let (missing, missing_name) = object("HEAD:a");
    let (damaged, damaged_name) = object("HEAD:b");
    fs::remove_file(missing).unwrap();
    fs::set_permissions(&damaged, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&damaged, "garbage").unwrap();
    let source = disk.committed(&commit);
    let listed = entries(&source).unwrap().0;
    let reader = source.open(1000).unwrap();
    let read: Vec<String> = listed
        .iter()
        .map(|entry| match reader(&entry.path, entry.oid) {
            Ok(read) => String::from_utf8(read.bytes).unwrap(),
            Err(skipped) => format!("{}: {}", skipped.reason.word(), skipped.rule.unwrap()),
        })
        .collect();
    assert!(
        read[0].starts_with(&format!("unreadable: the clone does not have {missing_name}")),
        "{read:?}"
    );
    assert!(read[1].starts_with("unreadable: ") && read[1].contains(&damaged_name), "{read:?}");
    assert_eq!(read[2], "sub/c");
    // Without a folder, nobody knows which files there are.
    fs::remove_file(object("HEAD:sub").0).unwrap();
    assert!(entries(&disk.committed(&commit)).unwrap_err().contains("the clone does not have"));
    let gone = entries(&disk.committed(&"1".repeat(40))).unwrap_err();
    assert!(gone.contains("the clone does not have 1111"), "{gone}");
    disk.git(&["symbolic-ref", "HEAD", "refs/heads/none"], b"");
    let unborn = CommitSource::new(&disk.root.join("r"), None, Choice::default());
    let told = entries(&unborn).unwrap_err();
    assert!(
        told.contains("names none, which does not exist") && told.contains("symbolic-ref"),
        "{told}"
    );
    let empty = Disk::new();
    let empty = CommitSource::new(&empty.root.join("r"), None, Choice::default());
    assert!(entries(&empty).unwrap_err().contains("has no commits; commit or fetch some"));
}
