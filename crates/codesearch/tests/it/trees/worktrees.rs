//! Worktrees: which of them are trees of a repository, and what becomes of those that are gone or cannot be read.

use std::fs;
use std::os::unix::fs::symlink;

use super::{Files, on_disk};
use crate::harness::{Fixture, citus, eventually, is_root};

const TREE: Option<(&str, &str)> = Some(("worktree", "w"));

/// A clone `r` with a worktree `w` beside it, whose `one.txt` differs.
fn with_worktree() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("in/r/one.txt", "one\n");
    fixture.write("in/r/two.txt", "two\n");
    fixture.commit("in/r", "first");
    fixture.git("in/r", &["worktree", "add", "--quiet", "../w"]);
    fixture.write("in/w/one.txt", "one of w\n");
    fixture
}

fn ingest(fixture: &Fixture) -> crate::harness::Ran {
    fixture.run(&["ingest", "--shards", "3", "in"]).code(0)
}

fn check(fixture: &Fixture) {
    assert_eq!(fixture.tree("r", None), on_disk(&fixture.path().join("in/r")));
    assert_eq!(fixture.tree("r", TREE), on_disk(&fixture.path().join("in/w")));
    fixture.check_invariants();
}

#[test]
fn all_checkouts_of_a_clone_are_one_repository() {
    let fixture = with_worktree();
    fixture.git("in/r", &["worktree", "add", "--quiet", ".worktrees/inner"]);
    fixture.write("in/r/.worktrees/inner/inner.txt", "inner\n");
    let out = ingest(&fixture).out;
    assert!(out.contains("2 files in 1 repository"), "{out}");
    assert_eq!(fixture.repos(), ["r"]);
    assert_eq!(fixture.trees(), ["worktree inner", "worktree w"]);
    check(&fixture);
    let inner = Some(("worktree", "inner"));
    assert_eq!(fixture.tree("r", inner), on_disk(&fixture.path().join("in/r/.worktrees/inner")));
    // two.txt is in both, one.txt of main in the inner one, the other one.txt in w, inner.txt in the inner one.
    assert_eq!((fixture.sets(), fixture.sql::<i64>("select count(*) from files")), (3, 4));
    assert_eq!(fixture.sql::<i64>("select count(*) from blobs"), 4);
    // Nothing is written if nothing changes.
    let epoch = fixture.sql::<i32>("select epoch from state");
    ingest(&fixture);
    assert_eq!(fixture.sql::<i32>("select epoch from state"), epoch);
    // A worktree that equals the main tree changes rows of sets, not of files.
    let rows = || {
        fixture.sql::<Vec<String>>(
            "select array_agg(ctid::text || path order by path) from files where trees >= 0",
        )
    };
    eventually("the times of the files are old enough to be believed", || {
        ingest(&fixture);
        fixture.sql::<bool>(
            "select not exists (select from files where fingerprint = 0 and trees >= 0)",
        )
    });
    let before = rows();
    fixture.git("in/r", &["worktree", "add", "--quiet", "../third"]);
    ingest(&fixture);
    // The copies of nodes' tables that a test reads on Citus have places of their own.
    if citus::programs().is_none() {
        assert_eq!(rows(), before);
    }
    assert_eq!(fixture.tree("r", Some(("worktree", "third"))), fixture.tree("r", None));
    check(&fixture);
}

#[test]
fn a_worktree_is_found_from_either_side() {
    let fixture = with_worktree();
    // The clone alone leads to the worktree beside it, and the worktree to the clone.
    for folder in ["in/r", "in/w"] {
        fixture.run(&["ingest", "--shards", "3", folder]).code(0);
        assert_eq!(fixture.repos(), ["r"]);
        check(&fixture);
        fixture.run(&["remove", "r"]).code(0);
        assert!(fixture.trees().is_empty());
        assert_eq!(fixture.sets(), 0);
        fixture.check_invariants();
    }
}

#[test]
fn what_was_a_repository_becomes_a_tree() {
    let fixture = with_worktree();
    // As an older version had it: the folder is no worktree for now.
    let kept = fixture.path().join("kept");
    fs::rename(fixture.path().join("in/w/.git"), &kept).unwrap();
    ingest(&fixture);
    fixture.run(&["ingest", "in/w"]).code(0);
    assert_eq!(fixture.repos(), ["r", "w"]);
    fs::rename(&kept, fixture.path().join("in/w/.git")).unwrap();
    let ran = ingest(&fixture);
    assert!(ran.err.contains("in/w is now a worktree of"), "{}", ran.err);
    assert_eq!(
        (fixture.repos(), fixture.trees()),
        (vec!["r".to_owned()], vec!["worktree w".to_owned()])
    );
    check(&fixture);
}

#[test]
fn a_worktree_that_is_gone_is_removed() {
    let fixture = with_worktree();
    ingest(&fixture);
    fixture.git("in/r", &["worktree", "remove", "--force", "../w"]);
    ingest(&fixture);
    assert!(fixture.trees().is_empty());
    assert_eq!(fixture.sets(), 0);
    fixture.check_invariants();
    // Only its folder is deleted: git would prune it.
    fixture.git("in/r", &["worktree", "add", "--quiet", "../w", "--force"]);
    ingest(&fixture);
    check(&fixture);
    fs::remove_dir_all(fixture.path().join("in/w")).unwrap();
    ingest(&fixture);
    assert!(fixture.trees().is_empty());
    fixture.check_invariants();
}

/// Expects that an ingest says this, and that the worktree stays as it was indexed.
#[track_caller]
fn stays(fixture: &Fixture, before: &Files, said: &str) {
    let ran = ingest(fixture);
    assert!(ran.err.contains(said), "{}", ran.err);
    assert_eq!(fixture.tree("r", TREE), *before);
    assert_eq!(fixture.tree("r", None), on_disk(&fixture.path().join("in/r")));
    fixture.check_invariants();
}

#[test]
fn what_cannot_be_read_stays_as_it_was() {
    let fixture = with_worktree();
    ingest(&fixture);
    let before = fixture.tree("r", TREE);
    fixture.write("in/r/one.txt", "one, later\n");
    // Its disk is missing.
    fixture.git("in/r", &["worktree", "lock", "../w"]);
    let (here, away) = (fixture.path().join("in/w"), fixture.path().join("away"));
    fs::rename(&here, &away).unwrap();
    stays(&fixture, &before, "does not exist; is a disk missing?");
    fs::create_dir(&here).unwrap();
    stays(&fixture, &before, "does not exist; is a disk missing?");
    fs::remove_dir(&here).unwrap();
    fs::rename(&away, &here).unwrap();
    fixture.git("in/r", &["worktree", "unlock", "../w"]);
    // The clone's data about it are damaged.
    let data = fixture.path().join("in/r/.git/worktrees/w/gitdir");
    let good = fs::read(&data).unwrap();
    fs::write(&data, "x".repeat(100_000)).unwrap();
    let ran = ingest(&fixture);
    assert!(ran.err.contains("not updated: the worktree w of"), "{}", ran.err);
    fs::write(&data, &good).unwrap();
    ingest(&fixture);
    check(&fixture);
    // Its folder has another `.git`.
    fs::rename(here.join(".git"), fixture.path().join("kept")).unwrap();
    for git in ["gitdir: .git\n", "gitdir: /nowhere\n", "nothing"] {
        fs::write(here.join(".git"), git).unwrap();
        let ran = ingest(&fixture);
        assert!(ran.err.contains("not updated: the worktree w of"), "{git}: {}", ran.err);
        assert_eq!(fixture.tree("r", TREE), before, "{git}");
        fixture.check_invariants();
    }
    fs::remove_file(here.join(".git")).unwrap();
    symlink(".git", here.join(".git")).unwrap();
    ingest(&fixture);
    fixture.check_invariants();
}

#[test]
fn a_clone_cannot_name_another_ones_folders() {
    let fixture = Fixture::new();
    fixture.write("in/r/one.txt", "one\n");
    fixture.commit("in/r", "first");
    fixture.write("private/secret.txt", "secret\n");
    fixture.commit("private", "first");
    // The clone says that a folder is its worktree, but that folder does not.
    let data = fixture.path().join("in/r/.git/worktrees/private");
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("commondir"), "../..\n").unwrap();
    fs::write(data.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    let git = fixture.path().join("private/.git");
    fs::write(data.join("gitdir"), format!("{}\n", git.display())).unwrap();
    ingest(&fixture);
    assert_eq!((fixture.repos(), fixture.trees().len()), (vec!["r".to_owned()], 0));
    assert_eq!(fixture.sql::<i64>("select count(*) from files where path = 'secret.txt'"), 0);
    // A folder says that it is a worktree of a clone, but that clone does not.
    let evil = fixture.path().join("in/evil");
    fs::create_dir_all(&evil).unwrap();
    fs::write(evil.join(".git"), format!("gitdir: {}\n", git.display())).unwrap();
    fs::write(evil.join("evil.txt"), "evil\n").unwrap();
    ingest(&fixture);
    assert_eq!(fixture.repos(), ["evil", "r"]);
    assert_eq!(fixture.sql::<i64>("select count(*) from files where path = 'secret.txt'"), 0);
    fixture.check_invariants();
}

#[test]
fn another_users_worktree_is_not_followed() {
    if !is_root() {
        return;
    }
    let fixture = Fixture::new();
    fixture.write("in/r/one.txt", "one\n");
    fixture.commit("in/r", "first");
    fixture.git("in/r", &["worktree", "add", "--quiet", "../../elsewhere/w"]);
    std::os::unix::fs::chown(fixture.path().join("elsewhere/w"), Some(1), Some(1)).unwrap();
    let ran = ingest(&fixture);
    assert!(ran.err.contains("you do not own both"), "{}", ran.err);
    assert!(fixture.trees().is_empty());
    // Whoever names its folder wants it.
    fixture.run(&["ingest", "in", "elsewhere"]).code(0);
    assert_eq!(
        (fixture.repos(), fixture.trees()),
        (vec!["r".to_owned()], vec!["worktree w".to_owned()])
    );
    fixture.check_invariants();
}

#[test]
fn a_worktree_that_stays_unread_lacks_what_was_on_a_lost_node() {
    let fixture = with_worktree();
    ingest(&fixture);
    let is_lost =
        || fixture.sql::<bool>("select lost is not null and failed_at is not null from repos");
    // As after the rebuild of a node that had files of the repository.
    fixture.exec(
        "update repos set lost = 'ten:5432', failure = 'a node of the index is lost', failures = 1,
             failed_at = clock_timestamp()",
    );
    fixture.git("in/r", &["worktree", "lock", "../w"]);
    let (here, away) = (fixture.path().join("in/w"), fixture.path().join("away"));
    fs::rename(&here, &away).unwrap();
    ingest(&fixture);
    assert!(is_lost(), "the worktree was not read");
    let ran = fixture.run(&["search", "one"]).code(2);
    assert!(ran.err.contains("r lacks files until it is ingested again"), "{}", ran.err);
    fs::rename(&away, &here).unwrap();
    ingest(&fixture);
    assert!(!is_lost());
    fixture.run(&["search", "one"]).code(0);
    check(&fixture);
}
