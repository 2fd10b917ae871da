//! What is taken of a clone, compared with what git lists.

mod commits;
mod generated;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use super::FileSource;
use super::folder::{Choice, FolderSource};
use files::SkipReason;

/// A folder of a test, with a clone in `r` and the user's ignore file beside it.
struct Disk {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

type Listed = BTreeMap<String, (Option<SkipReason>, Option<String>)>;

impl Disk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("r")).unwrap();
        let disk = Self { _folder: folder, root };
        disk.git(&["init", "-q"], b"");
        disk
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join("r").join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn try_git(&self, args: &[&str], input: &[u8]) -> (bool, Vec<u8>) {
        let excludes = format!("core.excludesFile={}", self.root.join("user").display());
        let mut git = Command::new("git");
        git.arg("-C").arg(self.root.join("r")).args(["-c", &excludes]).args(args);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut git = git.spawn().unwrap();
        let mut feed = git.stdin.take().unwrap();
        let input = input.to_vec();
        let feeding = std::thread::spawn(move || {
            let _ = feed.write_all(&input);
        });
        let ran = git.wait_with_output().unwrap();
        feeding.join().unwrap();
        (ran.status.success(), ran.stdout)
    }

    fn git(&self, args: &[&str], input: &[u8]) -> Vec<u8> {
        let (good, out) = self.try_git(args, input);
        assert!(good, "git {args:?} fails");
        out
    }

    /// Lists the clone, of which some folders are repositories of their own.
    fn list(&self, inside: &[PathBuf], choice: Choice) -> (Listed, Vec<String>) {
        let user = self.root.join("user");
        let text = fs::read(&user).ok();
        let choice = Choice { of_user: Arc::new(text.map(|text| (user, text))), ..choice };
        let source = FolderSource::new(&self.root.join("r"), inside, choice);
        let listed = Mutex::new(Listed::new());
        let listing = source.list(&|entry| {
            let mut listed = listed.lock().unwrap();
            let before = listed.insert(entry.path.clone(), (entry.left_out, entry.rule));
            assert!(before.is_none() || entry.path.contains('\u{fffd}'), "{} twice", entry.path);
            ControlFlow::Continue(())
        });
        (listed.into_inner().unwrap(), listing.unwrap().notices)
    }

    /// Lists the clone with the default choice: the reasons of what is left out, with their rules.
    fn left_out(&self) -> Vec<String> {
        let (listed, _) = self.list(&[], Choice::default());
        let row = |(path, (reason, rule)): (String, (Option<SkipReason>, Option<String>))| {
            Some(
                format!("{path}: {} {}", reason?.word(), rule.unwrap_or_default())
                    .trim()
                    .to_owned(),
            )
        };
        listed.into_iter().filter_map(row).collect()
    }

    fn taken(&self) -> Vec<String> {
        let (listed, _) = self.list(&[], Choice::default());
        listed
            .into_iter()
            .filter(|(_, (reason, _))| reason.is_none())
            .map(|(path, _)| path)
            .collect()
    }

    /// Prints all ignore files.
    fn show_rules(&self) {
        let mut rest = vec![self.root.clone()];
        while let Some(folder) = rest.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                let (path, name) = (entry.path(), entry.file_name());
                if entry.file_type().unwrap().is_dir() {
                    rest.push(path);
                } else if [".gitignore", "exclude", "user"].iter().any(|one| *one == name) {
                    let text = fs::read(&path).unwrap_or_default();
                    println!("{path:?}: {:?}", String::from_utf8_lossy(&text));
                }
            }
        }
        println!("tracked: {:?}", String::from_utf8_lossy(&self.git(&["ls-files", "-z"], b"")));
    }

    /// Compares what is taken with what git lists, and each rule with the one that git names.
    fn compare(&self, inside: &[PathBuf], seed: &str) -> usize {
        let (listed, notices) = self.list(inside, Choice::default());
        assert_eq!(notices, [""; 0], "{seed}");
        let reads = |reason: &Option<SkipReason>| {
            matches!(reason, None | Some(SkipReason::Name | SkipReason::Symlink | SkipReason::Path))
        };
        let ours: BTreeSet<&str> = listed
            .iter()
            .filter(|(_, (reason, _))| reads(reason))
            .map(|(path, _)| &**path)
            .collect();
        let out = self.git(&["ls-files", "-co", "--exclude-standard", "-z"], b"");
        let root = self.root.join("r");
        let theirs: BTreeSet<String> = out
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty() && !path.ends_with(b"/"))
            .map(|path| Path::new(OsStr::from_bytes(path)))
            // What git tracks may be gone, or another checkout.
            .filter(|path| root.join(path).symlink_metadata().is_ok_and(|found| !found.is_dir()))
            .filter(|path| {
                let parents =
                    path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
                parents.map(|folder| root.join(folder)).all(|folder| {
                    folder.symlink_metadata().unwrap().is_dir() && !inside.contains(&folder)
                })
            })
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        let theirs: BTreeSet<&str> = theirs.iter().map(String::as_str).collect();
        let [more, less] = [ours.difference(&theirs), theirs.difference(&ours)];
        let (more, less): (Vec<_>, Vec<_>) = (more.collect(), less.collect());
        if !more.is_empty() || !less.is_empty() {
            self.show_rules();
            panic!("{seed}: only we take {more:?}, only git {less:?}, of {listed:#?}");
        }

        // Names that are not UTF-8 cannot be asked about.
        let ignored: Vec<(&str, &str)> = listed
            .iter()
            .filter(|(path, (reason, _))| {
                *reason == Some(SkipReason::Ignored) && !path.contains('\u{fffd}')
            })
            .map(|(path, (_, rule))| (&**path, rule.as_deref().unwrap()))
            .filter(|(_, rule)| !rule.starts_with("a submodule"))
            .collect();
        let asked = ignored.iter().flat_map(|(path, _)| [*path, "\0"]).collect::<String>();
        let (_, said) =
            self.try_git(&["check-ignore", "-z", "-v", "--no-index", "--stdin"], asked.as_bytes());
        let said = String::from_utf8_lossy(&said);
        let fields: Vec<&str> = said.split_terminator('\0').collect();
        let said: Vec<(&str, String)> = fields
            .chunks_exact(4)
            .map(|four| (four[3], format!("{}:{} ", four[0], four[1])))
            .collect();
        assert_eq!(said.len(), ignored.len(), "{seed}: {ignored:?} and git {said:?}");
        for ((path, rule), (of, from)) in ignored.iter().zip(&said) {
            assert_eq!(path, of, "{seed}");
            assert!(
                rule.starts_with(&**from),
                "{seed}: {path} is left out by {rule}, git says {from}"
            );
        }
        ignored.len()
    }
}

#[test]
fn what_is_taken_of_a_real_tree_is_what_git_lists() {
    // The checkout of this repository, if it is one: its folder `target` is not tracked.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    if !root.join(".git").exists() {
        println!("left out: {} is no checkout", root.display());
        return;
    }
    let temporary = tempfile::tempdir().unwrap();
    let copy = Disk::new();
    // A clone, so that the files do not change meanwhile.
    fs::remove_dir_all(copy.at("")).unwrap();
    let cloned = Command::new("git")
        .args(["clone", "-q", "--no-hardlinks"])
        .arg(&root)
        .arg(copy.at(""))
        .status();
    if !cloned.unwrap().success() {
        println!("left out: {} cannot be cloned", root.display());
        return;
    }
    drop(temporary);
    let tracked = copy.taken();
    assert!(copy.left_out().iter().all(|row| !row.contains(": ignored")), "{:?}", copy.left_out());
    copy.write("target/debug/x", "built");
    copy.write("new.rs", "new");
    assert_eq!(copy.compare(&[], "real"), 1);
    assert_eq!(copy.taken().len(), tracked.len() + 1);
}

#[test]
fn a_folder_is_named_once_with_its_rule() {
    let disk = Disk::new();
    disk.write(".gitignore", "*.log\n\nnode_modules/\n/build/\n");
    for path in [
        "a.log",
        "deep/b.log",
        "node_modules/x/index.js",
        "web/node_modules/y",
        "build/out",
        "build/in/x",
        "src/a",
    ] {
        disk.write(path, "text");
    }
    disk.write("build/kept", "tracked");
    disk.write("build/in/kept", "tracked");
    disk.git(&["add", "-f", "build/kept", "build/in/kept", ".gitignore"], b"");
    assert_eq!(
        disk.left_out(),
        [
            "a.log: ignored .gitignore:1 *.log",
            "build/: ignored .gitignore:4 /build/",
            "deep/b.log: ignored .gitignore:1 *.log",
            "node_modules/: ignored .gitignore:3 node_modules/",
            "web/node_modules/: ignored .gitignore:3 node_modules/",
        ]
    );
    assert_eq!(disk.taken(), [".gitignore", "build/in/kept", "build/kept", "src/a"]);
    // A folder of tracked files only is not named.
    fs::remove_file(disk.at("build/out")).unwrap();
    fs::remove_file(disk.at("build/in/x")).unwrap();
    assert!(!disk.left_out().iter().any(|row| row.starts_with("build/")));
    disk.compare(&[], "written");
}

#[test]
fn other_ignore_files_also_name_tracked_files() {
    let disk = Disk::new();
    disk.write(".gitignore", "generated/\n*.tmp\n");
    disk.write(".ignore", "vendor/\n!generated/\n!keep.tmp\n*.min.js\n");
    disk.write("web/.codesearchignore", "!a.min.js\n/big\n");
    for path in [
        "vendor/a",
        "vendor/b",
        "generated/a",
        "keep.tmp",
        "a.tmp",
        "web/a.min.js",
        "web/b.min.js",
        "web/big/x",
    ] {
        disk.write(path, "text");
    }
    disk.git(&["add", "-f", "vendor/a", "web/b.min.js", "web/big"], b"");
    assert_eq!(
        disk.left_out(),
        [
            "a.tmp: ignored .gitignore:2 *.tmp",
            "vendor/: ignored .ignore:1 vendor/",
            "vendor/a: excluded .ignore:1 vendor/",
            "web/b.min.js: excluded .ignore:4 *.min.js",
            "web/big/x: excluded web/.codesearchignore:2 /big",
        ]
    );
    let rules = [".gitignore", ".ignore"];
    let taken = ["generated/a", "keep.tmp", "web/.codesearchignore", "web/a.min.js"];
    assert_eq!(disk.taken(), [&rules[..], &taken].concat());
    // All of it, if the user says so.
    let (listed, _) = disk.list(&[], Choice { no_ignore: true, ..Choice::default() });
    assert_eq!(listed.len(), 11);
    assert!(listed.values().all(|(reason, _)| reason.is_none()));
}

#[test]
fn a_folder_that_is_no_clone_has_no_rules_of_git() {
    let disk = Disk::new();
    disk.write(".gitignore", "a\n");
    disk.write(".ignore", "b\n");
    for path in ["a", "b", "c"] {
        disk.write(path, "text");
    }
    fs::write(disk.root.join("user"), "c\n").unwrap();
    assert_eq!(disk.taken(), [".gitignore", ".ignore"]);
    fs::remove_file(disk.at(".git/HEAD")).unwrap();
    assert_eq!(disk.taken(), [".gitignore", ".ignore", "a", "c"]);
    assert_eq!(disk.left_out(), ["b: ignored .ignore:1 b"]);
}

#[test]
fn a_damaged_index_is_told_and_everything_is_taken() {
    let disk = Disk::new();
    disk.write(".gitignore", "a\n");
    disk.write("a", "text");
    fs::write(disk.at(".git/index"), "garbage").unwrap();
    let (listed, notices) = disk.list(&[], Choice::default());
    assert_eq!(notices.len(), 1);
    assert!(notices[0].contains("/r/.git/index cannot be read (unreadable)"), "{notices:?}");
    assert_eq!(listed["a"], (None, None));
    assert_eq!(listed[".git/index"].0, Some(SkipReason::Unreadable));
}

#[test]
fn unreadable_rules_leave_out_what_is_not_tracked() {
    let disk = Disk::new();
    for path in ["sub/tracked", "sub/new", "sub/deep/new", "other/new"] {
        disk.write(path, "text");
    }
    disk.git(&["add", "sub/tracked"], b"");
    let made = Command::new("mkfifo").arg(disk.at("sub/.gitignore")).status();
    assert!(made.unwrap().success());
    assert_eq!(disk.taken(), ["other/new", "sub/tracked"]);
    assert_eq!(
        disk.left_out(),
        ["sub/.gitignore: special untracked files in its folder are left out, too"]
    );
    fs::remove_file(disk.at("sub/.gitignore")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", disk.at(".git/info/exclude.link")).unwrap();
    fs::rename(disk.at(".git/info/exclude.link"), disk.at(".git/info/exclude")).unwrap();
    let (listed, notices) = disk.list(&[], Choice::default());
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_eq!(listed.keys().collect::<Vec<_>>(), [".git/info/exclude", "sub/tracked"]);
}

#[test]
fn a_submodule_that_is_not_checked_out_is_named() {
    let disk = Disk::new();
    let commit = "0123456789abcdef0123456789abcdef01234567";
    disk.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},sub")], b"");
    fs::create_dir(disk.at("sub")).unwrap();
    assert!(disk.left_out().is_empty());
    disk.write("sub/a", "text");
    assert_eq!(disk.left_out(), ["sub/: ignored a submodule that is not checked out"]);
    disk.compare(&[], "submodule");
}

#[test]
fn files_that_look_like_secrets_are_left_out_on_request() {
    let disk = Disk::new();
    let key = "-----BEGIN PRIVATE KEY-----\nMIIE\n";
    for (path, text) in
        [(".env", "A=1"), (".env.example", "A="), ("key.pem", key), ("src/a", "text")]
    {
        disk.write(path, text);
    }
    disk.git(&["add", "."], b"");
    let choice = Choice { skips_secrets: true, ..Choice::default() };
    let (listed, _) = disk.list(&[], choice.clone());
    assert_eq!(listed[".env"], (Some(SkipReason::Secret), Some("--secrets skip".to_owned())));
    assert!(listed[".env.example"].0.is_none() && listed["key.pem"].0.is_none());
    let source = FolderSource::new(&disk.root.join("r"), &[], choice);
    let reader = source.open(1000).unwrap();
    assert_eq!(reader("key.pem", None).unwrap_err().reason, SkipReason::Secret);
    reader("src/a", None).unwrap();
    let source = FolderSource::new(&disk.root.join("r"), &[], Choice::default());
    assert_eq!(source.open(1000).unwrap()("key.pem", None).unwrap().bytes, key.as_bytes());
}
