//! Changes of repositories with worktrees and branches, and of commits: only what is told is looked at.

use std::collections::BTreeMap;
use std::fs;

use fastrand::Rng;

use super::{check, take};
use crate::harness::Fixture;

const BRANCHES: [&str; 2] = ["--branches", "b*"];

/// A clone with two worktrees, one inside of it, and a mirror.
fn trees() -> Fixture {
    let fixture = Fixture::new();
    for file in 0..12 {
        fixture.write(&format!("r/d{}/{file}.txt", file % 3), format!("text {file}\n"));
    }
    fixture.write("r/data.bin", "binary\0\n");
    fixture.commit("r", "first");
    fixture.git("r", &["branch", "--move", "main"]);
    // Else git would take the checkout in it for a submodule.
    fixture.write("r/.git/info/exclude", ".worktrees/\n");
    fixture.git("r", &["branch", "b1"]);
    fixture.git("r", &["worktree", "add", "--quiet", "../w", "-b", "work"]);
    fixture.git("r", &["worktree", "add", "--quiet", ".worktrees/v", "-b", "b2"]);
    fixture.git(".", &["clone", "--quiet", "--bare", "r", "m.git"]);
    fixture
        .run(&["ingest", "--shards", "4", "--no-symbols", BRANCHES[0], BRANCHES[1], "."])
        .code(0);
    fixture
}

/// Commits everything in a clone, and has the mirror fetch it.
fn fetched(fixture: &Fixture) {
    fixture.commit("r", "more");
    let all = "+refs/heads/*:refs/heads/*";
    fixture.git("m.git", &["fetch", "--quiet", "--prune", "../r", all]);
}

#[test]
fn of_trees_and_commits_only_what_is_told_is_looked_at() {
    let fixture = trees();
    let of_tree = |name: &str| fixture.tree("r", Some(("worktree", name)));
    fixture.write("w/d1/1.txt", "told\n");
    fixture.write("w/d2/2.txt", "not told\n");
    let report = take(&fixture, &[("w", &["d1/1.txt"])]);
    assert_eq!((report.seen.files, report.new_files), (0, 1), "nothing of the main tree");
    let indexed = of_tree("w");
    assert_eq!((&*indexed["d1/1.txt"], &*indexed["d2/2.txt"]), ("told\n", "text 2\n"));
    take(&fixture, &[("w", &["d2"])]);
    check(&fixture, &BRANCHES, "a worktree");
    // Files in place of folders, and the other way round, of which only one is named.
    fs::remove_file(fixture.path().join("w/d1/4.txt")).unwrap();
    fixture.write("w/d1/4.txt/inside.txt", "in a folder\n");
    fs::remove_dir_all(fixture.path().join("w/d0")).unwrap();
    fixture.write("w/d0", "a file\n");
    take(&fixture, &[("w", &["d1/4.txt/inside.txt", "d0/3.txt"])]);
    check(&fixture, &BRANCHES, "files in place of folders");
    // One inside of the main tree, named by its path there, and what is left out in one of them.
    fixture.write("r/.worktrees/v/d0/0.txt", "inside\n");
    fixture.write("r/d0/3.txt", "of the main tree\n");
    fs::remove_file(fixture.path().join("w/data.bin")).unwrap();
    let paths: &[&str] = &[".worktrees/v/d0/0.txt", "d0/3.txt"];
    let report = take(&fixture, &[("r", paths), ("w", &["data.bin"])]);
    assert_eq!(report.seen.files, 1);
    check(&fixture, &BRANCHES, "three trees at once");
    fs::remove_file(fixture.path().join("r/data.bin")).unwrap();
    take(&fixture, &[("r", &["data.bin"])]);
    check(&fixture, &BRANCHES, "a file that one tree leaves out");
    // The mirror: a difference of two commits, one without any, and rules that decide about all.
    fixture.write("r/d1/new.txt", "a new file\n");
    fs::remove_file(fixture.path().join("r/d1/4.txt")).unwrap();
    take(&fixture, &[("r", &["d1"])]);
    fetched(&fixture);
    let seen = |what: &str| {
        let seen = take(&fixture, &[("m.git", &[])]).seen.files;
        take(&fixture, &[("r", &[".git/refs/heads/main"]), ("w", &[".git"])]);
        check(&fixture, &BRANCHES, what);
        seen
    };
    assert_eq!(seen("a commit"), 2, "one is new, one has changed since the first commit");
    fixture.git("r", &["commit", "--quiet", "--allow-empty", "--message", "nothing"]);
    fixture.git("m.git", &["fetch", "--quiet", "../r", "main:main"]);
    assert_eq!(seen("an empty commit"), 0);
    fixture.write("r/.codesearchignore", "d2/\n");
    fetched(&fixture);
    assert_eq!(seen("rules"), 13);
    // A branch that moves and one that is new.
    fixture.git("r", &["branch", "--force", "b1", "main"]);
    fixture.git("r", &["branch", "b3", "main~1"]);
    take(&fixture, &[("r", &[".git/refs/heads/b1", ".git/refs/heads/b3"])]);
    fixture.git("m.git", &["fetch", "--quiet", "../r", "+refs/heads/*:refs/heads/*"]);
    take(&fixture, &[("m.git", &[])]);
    check(&fixture, &BRANCHES, "branches");
    // The commit of before is gone.
    fixture.git("m.git", &["update-ref", "refs/heads/main", "main~2"]);
    fixture.git("m.git", &["branch", "--quiet", "--force", "b1", "main"]);
    fixture.git("m.git", &["branch", "--quiet", "-D", "b3"]);
    fixture.git("m.git", &["gc", "--quiet", "--prune=now"]);
    take(&fixture, &[("m.git", &[])]);
    check(&fixture, &BRANCHES, "a commit that is gone");
    fixture.git("r", &["worktree", "remove", "--force", "../w"]);
    take(&fixture, &[("w", &["d1/1.txt"])]);
    check(&fixture, &BRANCHES, "a worktree that is gone");
    fixture.check_invariants();
}

/// Random changes, each told as the system or a fetch tells it.
#[test]
fn an_index_of_changes_of_trees_is_as_a_new_one() {
    let seeds = if std::env::var_os("CODESEARCH_PROPERTY").is_some() { 10 } else { 1 };
    for seed in 1..=seeds {
        let mut rng = Rng::with_seed(seed);
        let fixture = trees();
        for round in 0..6 {
            let mut told: BTreeMap<&str, Vec<String>> = BTreeMap::new();
            for _ in 0..rng.usize(1..7) {
                let tree = ["r", "w", "r/.worktrees/v"][rng.usize(..3)];
                let path = format!("d{}/{}.txt", rng.u8(..4), rng.u8(..14));
                let at = fixture.path().join(tree).join(&path);
                match rng.u8(..12) {
                    0..6 => {
                        let text = match rng.u8(..6) {
                            0 => "binary\0\n".to_owned(),
                            // Also texts that another tree has.
                            _ => format!("text {}\n", rng.u8(..16)),
                        };
                        fixture.write(&format!("{tree}/{path}"), text);
                        told.entry(tree).or_default().push(path);
                    }
                    6..8 => {
                        if fs::remove_file(&at).is_ok() {
                            told.entry(tree).or_default().push(path);
                        }
                    }
                    8 => {
                        fixture.git(tree, &["add", "--all"]);
                        fixture
                            .git(tree, &["commit", "--quiet", "--allow-empty", "--message", "x"]);
                        let git = if tree == "r" { ".git/index" } else { ".git" };
                        told.entry(tree).or_default().push(git.to_owned());
                        told.entry("r").or_default().push(".git/refs/heads".to_owned());
                    }
                    9 => {
                        let (name, from) =
                            (format!("b{}", rng.u8(3..6)), ["main", "work", "b2"][rng.usize(..3)]);
                        fixture.git("r", &["branch", "--quiet", "--force", &name, from]);
                        told.entry("r").or_default().push(format!(".git/refs/heads/{name}"));
                    }
                    _ => {
                        fixture.git(
                            "m.git",
                            &["fetch", "--quiet", "--prune", "../r", "+refs/heads/*:refs/heads/*"],
                        );
                        told.entry("m.git").or_default().push("HEAD".to_owned());
                    }
                }
            }
            let paths: Vec<Vec<&str>> =
                told.values().map(|paths| paths.iter().map(String::as_str).collect()).collect();
            let changes: Vec<(&str, &[&str])> =
                told.keys().zip(&paths).map(|(tree, paths)| (*tree, &**paths)).collect();
            take(&fixture, &changes);
            check(&fixture, &BRANCHES, &format!("seed {seed}, round {round}, {changes:?}"));
        }
        fixture.check_invariants();
    }
}
