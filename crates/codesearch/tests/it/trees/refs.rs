//! Branches and tags that are indexed.

use std::fs;

use super::Files;
use crate::harness::{Fixture, Ran};

/// Returns the files of a commit.
pub(crate) fn in_git(fixture: &Fixture, repo: &str, commit: &str) -> Files {
    let names = fixture.git(repo, &["ls-tree", "-r", "--name-only", commit]);
    let text = |path: &str| {
        let text = fixture.git(repo, &["show", &format!("{commit}:{path}")]);
        (path.to_owned(), format!("{text}\n"))
    };
    names.lines().map(text).collect()
}

/// A clone with branches and a tag.
fn with_branches() -> Fixture {
    let fixture = Fixture::new();
    for n in 0..5 {
        fixture.write(&format!("r/{n}.txt"), format!("text {n}\n"));
    }
    fixture.commit("r", "first");
    fixture.git("r", &["branch", "--move", "main"]);
    fixture.git("r", &["tag", "v1.0"]);
    fixture.git("r", &["checkout", "--quiet", "-b", "release/1.x"]);
    fixture.write("r/1.txt", "patched\n");
    fs::remove_file(fixture.path().join("r/2.txt")).unwrap();
    fixture.commit("r", "patch");
    fixture.git("r", &["checkout", "--quiet", "main"]);
    fixture.write("r/new.txt", "new\n");
    fixture.commit("r", "more");
    fixture
}

#[track_caller]
fn ingest(fixture: &Fixture, options: &[&str]) -> Ran {
    fixture.run(&[&["ingest", "--shards", "3", "r"], options].concat()).code(0)
}

fn check(fixture: &Fixture, names: &[&str]) {
    assert_eq!(fixture.trees(), names);
    for name in names {
        let (kind, name) = name.split_once(' ').unwrap();
        let indexed = fixture.tree("r", Some((kind, name)));
        assert_eq!(indexed, in_git(fixture, "r", name), "{kind} {name}");
    }
    fixture.check_invariants();
}

#[test]
fn branches_and_tags_are_trees_until_they_are_not_wanted() {
    let fixture = with_branches();
    ingest(&fixture, &[]);
    check(&fixture, &[]);
    ingest(&fixture, &["--branches", "release/*,v1.*"]);
    check(&fixture, &["branch release/1.x", "tag v1.0"]);
    // It is remembered; nothing changes.
    let epoch = fixture.sql::<i32>("select epoch from state");
    ingest(&fixture, &[]);
    assert_eq!(fixture.sql::<i32>("select epoch from state"), epoch);
    // A branch moves, another one appears, a tag is deleted.
    fixture.git("r", &["checkout", "--quiet", "release/1.x"]);
    fixture.write("r/2.txt", "text 2\n");
    fixture.commit("r", "back");
    fixture.git("r", &["branch", "release/2.x", "main"]);
    fixture.git("r", &["checkout", "--quiet", "main"]);
    fixture.git("r", &["tag", "--delete", "v1.0"]);
    ingest(&fixture, &[]);
    check(&fixture, &["branch release/1.x", "branch release/2.x"]);
    // The newest ones; and what the clone's configuration says.
    ingest(&fixture, &["--branches", "newest:1"]);
    check(&fixture, &["branch release/1.x"]);
    fixture.git("r", &["config", "codesearch.branches", "main,nowhere"]);
    ingest(&fixture, &[]);
    check(&fixture, &["branch main"]);
    ingest(&fixture, &["--branches", "none"]);
    check(&fixture, &[]);
    assert_eq!(fixture.sets(), 0);
}

#[test]
fn branches_that_were_fetched_count() {
    let fixture = with_branches();
    fixture.git("", &["clone", "--quiet", "r", "in/r"]);
    fixture.run(&["ingest", "--branches", "release/*,main", "in"]).code(0);
    // The clone has a branch main of its own, and origin/HEAD is another name.
    assert_eq!(fixture.trees(), ["branch main", "branch origin/release/1.x"]);
    assert_eq!(
        fixture.tree("r", Some(("branch", "origin/release/1.x"))),
        in_git(&fixture, "r", "release/1.x")
    );
    fixture.check_invariants();
}

#[test]
fn a_bare_clone_has_branches_and_worktrees() {
    let fixture = with_branches();
    fixture.git("", &["clone", "--quiet", "--bare", "r", "in/r"]);
    fixture.git("in/r", &["worktree", "add", "--quiet", "../../elsewhere/w", "release/1.x"]);
    fixture.write("elsewhere/w/untracked.txt", "untracked\n");
    for folder in ["in", "elsewhere"] {
        fixture.run(&["ingest", "--branches", "release/*", folder]).code(0);
        assert_eq!(fixture.trees(), ["branch release/1.x", "worktree w"]);
        assert_eq!(fixture.tree("r", None), in_git(&fixture, "r", "main"));
        let branch = fixture.tree("r", Some(("branch", "release/1.x")));
        assert_eq!(branch, in_git(&fixture, "r", "release/1.x"));
        let mut worktree = branch;
        worktree.insert("untracked.txt".to_owned(), "untracked\n".to_owned());
        assert_eq!(fixture.tree("r", Some(("worktree", "w"))), worktree);
        fixture.check_invariants();
        fixture.run(&["remove", "r"]).code(0);
    }
}

#[test]
fn a_broken_branch_stays_as_it_was() {
    let fixture = with_branches();
    ingest(&fixture, &["--branches", "release/*"]);
    let before = fixture.tree("r", Some(("branch", "release/1.x")));
    // Its next commit has a tree that the clone lacks.
    fixture.git("r", &["checkout", "--quiet", "release/1.x"]);
    fixture.write("r/deep/file.txt", "lost\n");
    fixture.commit("r", "lost");
    let tree = fixture.git("r", &["rev-parse", "HEAD:deep"]);
    fixture.git("r", &["checkout", "--quiet", "main"]);
    let object = format!("r/.git/objects/{}/{}", &tree[..2], &tree[2..]);
    fs::remove_file(fixture.path().join(object)).unwrap();
    fixture.write("r/3.txt", "later\n");
    let ran = ingest(&fixture, &[]);
    assert!(ran.err.contains("not updated: the branch release/1.x"), "{}", ran.err);
    assert_eq!(fixture.tree("r", Some(("branch", "release/1.x"))), before);
    assert_eq!(fixture.tree("r", None)["3.txt"], "later\n");
    fixture.check_invariants();
}

#[test]
fn what_is_left_out_of_a_branch_is_known() {
    let fixture = with_branches();
    fixture.git("r", &["checkout", "--quiet", "release/1.x"]);
    fixture.write("r/a.bin", "a\0b");
    fixture.write("r/long.txt", "long\n".repeat(100));
    fixture.commit("r", "odd");
    fixture.git("r", &["checkout", "--quiet", "main"]);
    let left_out = |fixture: &Fixture| -> Vec<String> {
        fixture.sql(
            "select coalesce(array_agg(path || ' ' || reason order by path), '{}') from skipped
             where trees < 0 and valid_to = 2147483647",
        )
    };
    ingest(&fixture, &["--branches", "release/*", "--max-size", "100"]);
    assert_eq!(left_out(&fixture), ["a.bin binary", "long.txt too-large"]);
    fixture.check_invariants();
    // The same commit with another limit.
    ingest(&fixture, &[]);
    assert_eq!(left_out(&fixture), ["a.bin binary"]);
    assert!(fixture.tree("r", Some(("branch", "release/1.x"))).contains_key("long.txt"));
    fixture.check_invariants();
}

#[test]
fn globs_that_match_nothing_are_told() {
    let fixture = with_branches();
    let said = |options: &[&str]| ingest(&fixture, options).err;
    let err = said(&["--branches", "nosuch/*,main"]);
    assert!(
        err.contains("--branches nosuch/* matches no branch or tag; git branch --all"),
        "{err}"
    );
    assert!(!err.contains("--branches main"), "{err}");
    check(&fixture, &["branch main"]);
    let err = said(&["--branches", "release/2.x"]);
    assert!(
        err.contains("--branches release/2.x matches no branch or tag; did you mean release/1.x?"),
        "{err}"
    );
    // What is remembered is told once.
    assert!(!said(&[]).contains("matches no branch"));
    // A glob that matches in one of several repositories is right.
    fixture.write("s/one.txt", "one\n");
    fixture.commit("s", "first");
    fixture.write("plain/one.txt", "one\n");
    let several = |branches: &str| {
        fixture
            .run(&["ingest", "r", "s", "plain", "--depth", "0", "--branches", branches])
            .code(0)
            .err
    };
    assert!(!several("release/*").contains("matches no branch"));
    assert!(several("nosuch").contains("--branches nosuch matches no branch or tag"));
    // So are those of a clone's configuration.
    fixture.git("s", &["config", "codesearch.branches", "nosuch"]);
    let err = fixture.run(&["ingest", "s"]).code(0).err;
    assert!(!err.contains("matches no branch"), "{err}");
    fixture.git("s", &["config", "codesearch.branches", "other"]);
    let err = fixture.run(&["ingest", "s"]).code(0).err;
    assert!(err.contains("codesearch.branches other matches no branch or tag of "), "{err}");
}

#[test]
fn contents_of_the_past_that_are_no_text_are_forgotten() {
    let fixture = with_branches();
    fixture.write("r/picture", b"\0\0");
    fixture.commit("r", "picture");
    ingest(&fixture, &["--commit"]);
    let known = || fixture.sql::<i64>("select count(*) from odd_blobs");
    let here = known();
    assert!(here > 0);
    fixture.exec(
        "insert into odd_blobs select sha1::bytea, 'binary' from (
             select decode(md5(n::text) || '00000000', 'hex') as sha1 from generate_series(1, 101000) n) of_past;
         analyze odd_blobs",
    );
    fixture.write("r/new.txt", "newer\n");
    fixture.commit("r", "newer");
    ingest(&fixture, &[]);
    assert_eq!(known(), 0);
    // They are read again when they are listed, and left out as before.
    ingest(&fixture, &["--again"]);
    assert_eq!(known(), here);
    assert_eq!(fixture.sql::<i64>("select count(*) from skipped where path = 'picture'"), 1);
    fixture.check_invariants();
}
