//! Random changes, each told as an event of the system tells it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use fastrand::Rng;

use super::{check, take};
use crate::harness::Fixture;

const FOLDERS: [&str; 6] = ["", "src", "src/deep", "docs", "build", "src/build"];
const NAMES: [&str; 8] =
    ["main.rs", "lib.c", "README.md", "x.log", "data", "é b.py", "kept.log", "Makefile"];
const RULES: [&str; 6] = ["*.log\n", "build/\n", "!kept.log\n", "deep\n", "/data\n", "*.c\n"];

/// Makes a change in a clone, and notes the paths of which the system would tell.
fn change(fixture: &Fixture, rng: &mut Rng, repo: &str, told: &mut BTreeSet<String>) {
    let root = fixture.path().join(repo);
    let folder = FOLDERS[rng.usize(..FOLDERS.len())];
    let name = NAMES[rng.usize(..NAMES.len())];
    let path = Path::new(folder).join(name);
    let at = root.join(&path);
    // The outermost new folder is what a watcher of the folder around it sees.
    let mut note = |path: &Path| {
        let existing = path.ancestors().skip(1).find(|folder| root.join(folder).is_dir());
        let depth = existing.map_or(0, |folder| folder.components().count());
        let first: PathBuf = path.iter().take(depth + 1).collect();
        told.insert(first.to_str().unwrap().to_owned());
    };
    match rng.u8(0..13) {
        0..5 => {
            note(&path);
            if at.is_dir() {
                fs::remove_dir_all(&at).unwrap();
            }
            if fs::create_dir_all(at.parent().unwrap()).is_ok() {
                let text = match rng.u8(0..6) {
                    0 => "binary\0\n".to_owned(),
                    number => format!("text {} of {number}\n", rng.u16(..)),
                };
                let _ = fs::remove_file(&at);
                fs::write(&at, text).unwrap();
            }
        }
        5 | 6 => {
            note(&path);
            let _ = fs::remove_file(&at);
        }
        7 if !folder.is_empty() => {
            note(Path::new(folder));
            let _ = fs::remove_dir_all(root.join(folder));
        }
        8 if !folder.is_empty() => {
            let to = FOLDERS[rng.usize(1..FOLDERS.len())];
            if root.join(folder).is_dir() && !root.join(to).exists() && !to.starts_with(folder) {
                note(Path::new(folder));
                note(Path::new(to));
                fs::create_dir_all(root.join(to).parent().unwrap()).unwrap();
                fs::rename(root.join(folder), root.join(to)).unwrap();
            }
        }
        9 | 10 => {
            let kind = [".gitignore", ".ignore", ".codesearchignore"][rng.usize(..3)];
            let rules = Path::new(folder).join(kind);
            if root.join(folder).is_dir() {
                note(&rules);
                if rng.bool() {
                    fs::write(root.join(&rules), RULES[rng.usize(..RULES.len())]).unwrap();
                } else {
                    let _ = fs::remove_file(root.join(&rules));
                }
            }
        }
        11 => {
            fixture.git(repo, &["add", "--all"]);
            told.insert(".git/index".to_owned());
        }
        _ => {
            if root.join(folder).is_dir() && !at.is_dir() {
                note(&path);
                let _ = fs::remove_file(&at);
                std::os::unix::fs::symlink("main.rs", &at).unwrap();
            }
        }
    }
}

/// What has changed is found by looking at what is told alone.
#[test]
fn an_index_of_changes_is_as_a_new_one() {
    let seeds = if std::env::var_os("CODESEARCH_PROPERTY").is_some() { 10 } else { 1 };
    for seed in 1..=seeds {
        let mut rng = Rng::with_seed(seed);
        let fixture = Fixture::new();
        for repo in ["one", "two"] {
            fixture.write(&format!("{repo}/always.txt"), "always\n");
            fixture.commit(repo, "first");
            for _ in 0..12 {
                change(&fixture, &mut rng, repo, &mut BTreeSet::new());
            }
            fixture.commit(repo, "second");
        }
        fixture.run(&["ingest", "--shards", "4", "--no-symbols", "."]).code(0);
        for round in 0..5 {
            let mut all = Vec::new();
            for repo in ["one", "two"] {
                let mut told = BTreeSet::new();
                for _ in 0..rng.usize(1..5) {
                    change(&fixture, &mut rng, repo, &mut told);
                }
                all.push((repo, told));
            }
            let paths: Vec<Vec<&str>> =
                all.iter().map(|(_, told)| told.iter().map(String::as_str).collect()).collect();
            let changes: Vec<(&str, &[&str])> =
                all.iter().zip(&paths).map(|((repo, _), paths)| (*repo, &**paths)).collect();
            // None at all would mean that everything may have changed.
            let changes: Vec<_> =
                changes.into_iter().filter(|(_, paths)| !paths.is_empty()).collect();
            take(&fixture, &changes);
            check(&fixture, &[], &format!("seed {seed}, round {round}, {changes:?}"));
        }
        fixture.check_invariants();
    }
}
