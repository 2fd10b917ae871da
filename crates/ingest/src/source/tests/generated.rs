//! Random trees, of which git tracks some files, with random ignore files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use fastrand::Rng;

use super::Disk;

/// Names of files and folders; several rules match each.
const NAMES: &[&[u8]] = &[
    b"a",
    b"b",
    b"c",
    b"ab",
    b"abc",
    b"a.log",
    b"b.log",
    b"x.o",
    b"build",
    b"Build",
    b"x y",
    b"x ",
    b"\xc3\xa9",
    b"[a]",
    b"a*b",
    b"!x",
    b"#y",
    b"\\z",
    b"-",
    b"a\xff",
    b"a?c",
    b"lib",
    b"tab\t",
    b"1",
    b"z-",
];

/// Parts of rules.
const PARTS: &[&str] = &[
    "a",
    "b",
    "c",
    "*",
    "**",
    "?",
    "/",
    "/",
    "[a-c]",
    "[!a]",
    "[^b]",
    "[[:alpha:]]",
    "[]a]",
    "[a",
    "\\",
    "\\*",
    "\\ ",
    " ",
    ".log",
    ".o",
    "build",
    "lib",
    "x",
    "é",
    "!",
    "#",
    "\\!",
    "\\#",
    "z",
    "\\\\",
    "[a\\]]",
    "[-a]",
    "[[:bogus:]]",
    "[a-]",
    "\t",
    "-",
    "[[:digit:][:space:]]",
    "[\\a-c]",
    "[!]]",
    "[b-a]",
    "ab",
];

/// Rules that people write.
const RULES: &[&str] = &[
    "*.log", "!b.log", "build/", "/build", "build/*", "!build/a", "**/lib", "lib/**", "a/**/b",
    "/*", "!/a", "*/", "!*/", "x y", "x\\ ", "\\#y", "\\!x", "[[]a]", "a\\*b", "*", "!a", "a",
    "a/", "a/b", "/a/b/", "**", "**/", "/**/b", "a**/b", "?", "??", "*.[ol]*", "Build", "\\\\z",
    "  ", "!", "/", "//", "é", "a?c", "*b*", "**/a/**", "a/*/c", "!a/b/c", "lib\r",
];

/// Makes an ignore file. If capitals are folded, only of usual rules: the library that matches them takes a range like
/// `[b-a]` for `[a-b]` then.
fn rules(rng: &mut Rng, folds_case: bool) -> Vec<u8> {
    let mut text = if rng.u8(..20) == 0 { b"\xef\xbb\xbf".to_vec() } else { Vec::new() };
    for _ in 0..rng.usize(1..6) {
        if folds_case || rng.bool() {
            text.extend(RULES[rng.usize(..RULES.len())].as_bytes());
        } else {
            if rng.u8(..4) == 0 {
                text.push(b'!');
            }
            for _ in 0..rng.usize(1..6) {
                text.extend(PARTS[rng.usize(..PARTS.len())].as_bytes());
            }
        }
        match rng.u8(..12) {
            0 => text.extend(b"\r\n"),
            1 => text.extend(b"  \n"),
            2 => text.extend(b"\0x\n"),
            _ => text.push(b'\n'),
        }
    }
    if rng.bool() {
        text.pop();
    }
    text
}

fn path(rng: &mut Rng) -> PathBuf {
    let depth = [1, 1, 2, 2, 3, 3, 4, 5][rng.usize(..8)];
    (0..depth).map(|_| OsStr::from_bytes(NAMES[rng.usize(..NAMES.len())])).collect()
}

/// Makes a random tree, of which git tracks some files. Returns the checkouts inside it.
fn grow(disk: &Disk, rng: &mut Rng) -> Vec<PathBuf> {
    let root = disk.root.join("r");
    let folds_case = rng.u8(..8) == 0;
    if folds_case {
        disk.git(&["config", "core.ignoreCase", "true"], b"");
    }
    let put = |path: &Path, text: &[u8]| {
        let _ = fs::create_dir_all(path.parent().unwrap());
        let _ = fs::write(path, text);
    };
    let mut paths: Vec<PathBuf> = (0..rng.usize(5..60)).map(|_| path(rng)).collect();
    // Git then takes `Build` and `build` for one.
    paths.retain(|path| !folds_case || !path.iter().any(|name| name == "Build"));
    for path in &paths {
        put(&root.join(path), b"text");
    }
    paths.retain(|path| root.join(path).symlink_metadata().is_ok());
    rng.shuffle(&mut paths);
    let tracked: Vec<u8> = paths[..rng.usize(..=paths.len() / 2)]
        .iter()
        .flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat())
        .collect();
    disk.try_git(
        &["--literal-pathspecs", "add", "-f", "--pathspec-from-file=-", "--pathspec-file-nul"],
        &tracked,
    );
    if rng.u8(..4) == 0 {
        disk.git(&["update-index", "--index-version", "4"], b"");
    }
    // What was tracked may become something else.
    for path in &paths {
        match rng.u8(..30) {
            0 => drop(fs::remove_file(root.join(path))),
            1 => {
                drop(fs::remove_file(root.join(path)));
                put(&root.join(path).join("inside"), b"new");
            }
            2 => {
                drop(fs::remove_file(root.join(path)));
                drop(std::os::unix::fs::symlink("a", root.join(path)));
            }
            _ => {}
        }
    }
    let mut folders: Vec<PathBuf> = vec![root.clone()];
    for path in &paths {
        folders.extend(path.ancestors().skip(1).map(|folder| root.join(folder)));
    }
    folders.retain(|folder| folder.symlink_metadata().is_ok_and(|found| found.is_dir()));
    folders.sort();
    folders.dedup();
    for folder in &folders {
        if rng.u8(..3) == 0 || *folder == root {
            put(&folder.join(".gitignore"), &rules(rng, folds_case));
        }
    }
    if rng.bool() {
        put(&root.join(".git/info/exclude"), &rules(rng, folds_case));
    }
    if rng.bool() {
        put(&disk.root.join("user"), &rules(rng, folds_case));
    }
    if rng.u8(..8) == 0 {
        let link = folders[rng.usize(..folders.len())].join(".gitignore");
        drop(fs::remove_file(&link));
        drop(std::os::unix::fs::symlink("a", link));
    }
    let mut inside = Vec::new();
    if rng.u8(..4) == 0 {
        let folder = folders[rng.usize(..folders.len())].join("nested");
        if Command::new("git").args(["init", "-q"]).arg(&folder).status().unwrap().success() {
            put(&folder.join("a"), b"nested");
            inside.push(folder);
        }
    }
    inside
}

#[test]
fn what_is_taken_of_generated_trees_is_what_git_lists() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let trees = number("CODESEARCH_TREES").unwrap_or(60);
    let first = number("CODESEARCH_SEED").unwrap_or_else(|| fastrand::u64(..1 << 32));
    println!("seeds from {first}; repeat one with CODESEARCH_SEED=N CODESEARCH_TREES=1");
    let mut ignored = 0;
    for seed in first..first + trees {
        let disk = Disk::new();
        let inside = grow(&disk, &mut Rng::with_seed(seed));
        ignored += disk.compare(&inside, &format!("seed {seed}"));
    }
    assert!(trees < 60 || ignored > 60, "{ignored}");
}
