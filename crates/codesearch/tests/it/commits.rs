//! Commits as sources of files: bare clones, `ingest --commit`; and texts that are known by git's name of them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::Value;

use crate::harness::{Fixture, Ran, eventually};

fn ingest(fixture: &Fixture, options: &[&str]) -> Ran {
    fixture.run(&[&["ingest", "--shards", "3"], options, &["."]].concat()).code(0)
}

/// Returns the number of files that an ingest read.
fn read(ran: &Ran) -> usize {
    let rest =
        ran.out.split(" repository: ").nth(1).or_else(|| ran.out.split(" repositories: ").nth(1));
    rest.unwrap().split(' ').next().unwrap().parse().unwrap()
}

/// Returns the files of a repository: path, hash of the contents, language, encoding.
fn indexed(fixture: &Fixture, repo: &str) -> Vec<String> {
    fixture.sql(&format!(
        "select coalesce(array_agg(format('%s %s %s %s', f.path, encode(b.oid, 'hex'), f.language, b.encoding)
                 order by f.path collate \"C\"), '{{}}')
         from files f join repos r on r.id = f.repo join blobs b on b.shard = f.shard and b.id = f.blob
         where r.name = '{repo}' and f.valid_to = 2147483647"
    ))
}

/// Returns what was left out of a repository: `PATH: REASON RULE`.
fn left_out(fixture: &Fixture, repo: &str) -> Vec<String> {
    let ran = fixture.run(&["repos", "--json", "--skipped", repo]);
    let rows = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut rows: Vec<String> = rows
        .map(|row| {
            let rule = row["rule"].as_str().unwrap_or_default();
            format!("{}: {} {rule}", row["path"].as_str().unwrap(), row["reason"].as_str().unwrap())
        })
        .collect();
    rows.sort();
    rows
}

fn epoch(fixture: &Fixture) -> i32 {
    fixture.sql("select epoch from state")
}

/// A clone with some of everything, and two commits that were merged.
fn project(fixture: &Fixture, options: &[&str]) -> String {
    fs::create_dir_all(fixture.path().join("r")).unwrap();
    fixture.git("r", &[&["init", "--quiet", "--initial-branch", "main"], options].concat());
    fixture.write("r/src/a.rs", "// needle one\nfn a() {}\n");
    fixture.write("r/src/b.rs", "// needle two\n");
    fixture.write("r/run", "#!/bin/sh\necho needle\n");
    fixture.write("r/lib/a.rs", "// needle one\nfn a() {}\n");
    fixture.write("r/latin.c", b"// Stra\xdfe needle\n");
    fixture.write("r/bom.c", "\u{feff}// needle\n");
    fixture.write("r/wide.txt", [&b"\xff\xfe"[..], b"n\0e\0e\0d\0l\0e\0\n\0"].concat());
    fixture.write("r/empty", "");
    fixture.write("r/binary", b"needle\0");
    fixture.write("r/odd.h", "// needle\nclass X;\n");
    fixture.write("r/.gitattributes", "*.h linguist-language=objective-c\n");
    fixture.write("r/.codesearchignore", "vendor/\n");
    fixture.write("r/vendor/x.c", "needle\n");
    fixture.write(
        "r/large.psd",
        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n",
    );
    symlink("src", fixture.path().join("r/link")).unwrap();
    let first = fixture.commit("r", "first");
    fixture.git("r", &["checkout", "--quiet", "-b", "other"]);
    fixture.write("r/other.rs", "// needle of other\n");
    fixture.commit("r", "other");
    fixture.git("r", &["checkout", "--quiet", "main"]);
    fixture.git("r", &["update-index", "--chmod=+x", "src/b.rs"]);
    fixture.git("r", &["commit", "--quiet", "--message", "mode"]);
    fixture.git("r", &["reset", "--quiet", "--hard"]);
    fixture.git("r", &["merge", "--quiet", "--no-edit", "other"]);
    first
}

/// Returns how often each file of a commit has lines with a pattern, as `git grep` counts.
fn grep(fixture: &Fixture, folder: &str, pattern: &str) -> BTreeMap<String, usize> {
    let out = fixture.git(folder, &["grep", "--text", "-c", pattern, "HEAD"]);
    out.lines()
        .map(|line| {
            let (path, count) = line.strip_prefix("HEAD:").unwrap().rsplit_once(':').unwrap();
            (path.to_owned(), count.parse().unwrap())
        })
        .collect()
}

fn found(fixture: &Fixture, repo: &str) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for line in fixture.search(&["--json", &format!("needle repo:^{repo}$")]) {
        let line: Value = serde_json::from_str(&line).unwrap();
        if line["type"] == "match" {
            let path = line["data"]["path"]["text"].as_str().unwrap().to_owned();
            *all.entry(path).or_default() += 1;
        }
    }
    all
}

#[test]
fn a_bare_clone_is_its_commit() {
    for format in ["sha1", "sha256"] {
        let fixture = Fixture::new();
        project(&fixture, &["--object-format", format]);
        fixture.git(".", &["clone", "--quiet", "--mirror", "r", "m.git"]);
        fs::rename(fixture.path().join("r"), fixture.path().join(".r")).unwrap();
        fs::create_dir(fixture.path().join("all")).unwrap();
        fs::rename(fixture.path().join("m.git"), fixture.path().join("all/m.git")).unwrap();
        fixture.git("all/m.git", &["remote", "remove", "origin"]);
        let run = |options: &[&str]| {
            fixture.run(&[&["ingest", "--shards", "3"], options, &["all"]].concat()).code(0)
        };
        let told = run(&[]);
        assert!(
            told.out.contains("1 symbolic links") && told.out.contains("1 Git LFS pointers"),
            "{told:?}"
        );
        let tree = fixture.git("all/m.git", &["ls-tree", "-r", "--name-only", "HEAD"]);
        let mut paths: Vec<String> = indexed(&fixture, "m.git")
            .iter()
            .map(|row| row.split(' ').next().unwrap().to_owned())
            .collect();
        let rows = left_out(&fixture, "m.git");
        paths.extend(rows.iter().map(|row| row.split(':').next().unwrap().to_owned()));
        paths.sort();
        assert_eq!(paths, tree.lines().collect::<Vec<_>>());
        assert_eq!(
            rows,
            [
                "binary: binary ",
                "large.psd: lfs ",
                "link: symlink ",
                "vendor/x.c: excluded .codesearchignore:1 vendor/",
            ]
        );
        let mut expected = grep(&fixture, "all/m.git", "needle");
        for path in ["binary", "vendor/x.c"] {
            expected.remove(path);
        }
        // Git does not read UTF-16.
        expected.insert("wide.txt".to_owned(), 1);
        let expected: BTreeMap<String, usize> = expected;
        let ours = fixture.search(&["needle"]).len();
        assert_eq!(ours, expected.values().sum::<usize>());
        let language = "select language from files where path = 'odd.h'";
        assert_eq!(fixture.sql::<String>(language), "Objective-C");
        // Nothing is read again, and nothing is published.
        let before = epoch(&fixture);
        assert_eq!(read(&run(&[])), 0);
        assert_eq!(epoch(&fixture), before);
        fixture.check_invariants();
        // A new commit is read as far as it differs.
        fixture.write(".r/src/b.rs", "// needle three\n");
        fs::remove_file(fixture.path().join(".r/run")).unwrap();
        let commit = fixture.commit(".r", "more");
        fixture.git(".r", &["push", "--quiet", "../all/m.git", "main"]);
        assert_eq!(read(&run(&[])), 1);
        assert_eq!(fixture.sql::<String>("select commit from repos"), commit);
        assert_eq!(fixture.search(&["needle three"]).len(), 1);
        assert!(fixture.search(&["echo needle"]).is_empty());
        // Nobody compares it with a folder.
        let server = fixture.serve();
        let (_, answer) = server.json("/search?q=needle&limit=100&stale=1");
        assert_eq!(answer["stale"], Value::Null, "{answer}");
        fixture.check_invariants();
    }
}

#[test]
fn a_clean_tree_and_its_commit_give_the_same_answers() {
    let fixture = Fixture::new();
    project(&fixture, &[]);
    ingest(&fixture, &[]);
    let (files, found_in_tree) = (indexed(&fixture, "r"), found(&fixture, "r"));
    let left = left_out(&fixture, "r");
    assert!(files.len() > 8 && found_in_tree.len() > 6);
    let again = ingest(&fixture, &["--commit"]);
    assert_eq!((indexed(&fixture, "r"), left_out(&fixture, "r")), (files.clone(), left.clone()));
    assert_eq!(found(&fixture, "r"), found_in_tree);
    // The texts are known by their names.
    assert_eq!(read(&again), 0, "{again:?}");
    let kept = "select from_commit from repos";
    assert!(fixture.sql::<bool>(kept));
    // The choice is kept, so what is not committed is not found.
    fixture.write("r/src/new.rs", "// needle new\n");
    fixture.write("r/src/b.rs", "// needle changed\n");
    ingest(&fixture, &[]);
    assert_eq!(indexed(&fixture, "r"), files);
    fixture.check_invariants();
    ingest(&fixture, &["--no-commit"]);
    assert!(!fixture.sql::<bool>(kept));
    assert_eq!(fixture.search(&["--regex", "needle (new|changed)"]).len(), 2);
    // The clone may ask for it, too.
    fixture.git("r", &["config", "codesearch.source", "commit"]);
    ingest(&fixture, &[]);
    assert_eq!((indexed(&fixture, "r"), left_out(&fixture, "r")), (files, left));
    ingest(&fixture, &["--no-commit"]);
    assert!(!fixture.sql::<bool>(kept));
    fixture.check_invariants();
}

#[test]
fn checkout_may_convert_and_omit() {
    let fixture = Fixture::new();
    fixture.write("r/unix.txt", "needle\nline\n");
    fixture.write("r/deep/omitted.txt", "needle\n");
    fixture.write("r/coded.txt", "needle é\n");
    fixture.commit("r", "all");
    // These rules are not committed, so that only the checkout follows them.
    fixture.write(
        "r/.git/info/attributes",
        "unix.txt text eol=crlf\ncoded.txt text working-tree-encoding=UTF-16LE-BOM\n",
    );
    fs::remove_file(fixture.path().join("r/unix.txt")).unwrap();
    fs::remove_file(fixture.path().join("r/coded.txt")).unwrap();
    fixture.git("r", &["checkout", "--quiet", "."]);
    fixture.git("r", &["sparse-checkout", "set", "--no-cone", "/*", "!/deep/"]);
    assert_eq!(fixture.git("r", &["status", "--porcelain"]), "");
    fixture.git(".", &["clone", "--quiet", "--bare", "r", "m.git"]);
    fixture.git("m.git", &["remote", "remove", "origin"]);
    let raw = |repo: &str, path: &str| -> Vec<u8> {
        fixture.sql(&format!(
            "select b.oid from files f join repos r on r.id = f.repo
             join blobs b on b.shard = f.shard and b.id = f.blob where r.name = '{repo}' and f.path = '{path}'"
        ))
    };
    // Whichever comes first, the folder has the bytes on disk, and the commit those of git.
    ingest(&fixture, &[]);
    let paths = |repo: &str| indexed(&fixture, repo).len();
    assert_eq!((paths("r"), paths("m.git")), (2, 3));
    for path in ["unix.txt", "coded.txt"] {
        assert_ne!(raw("r", path), raw("m.git", path));
    }
    let hash = |bytes: &[u8]| -> String {
        fixture.write("x", bytes);
        fixture.git(".", &["hash-object", "--no-filters", "x"])
    };
    let hex = |bytes: Vec<u8>| {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
    };
    let disk = fs::read(fixture.path().join("r/unix.txt")).unwrap();
    assert_eq!(disk, b"needle\r\nline\r\n");
    assert_eq!(hex(raw("r", "unix.txt")), hash(&disk));
    assert_eq!(hex(raw("m.git", "unix.txt")), hash(b"needle\nline\n"));
    assert_eq!(
        hex(raw("r", "coded.txt")),
        hash(&fs::read(fixture.path().join("r/coded.txt")).unwrap())
    );
    fixture.check_invariants();
}

#[test]
fn a_second_clone_is_not_read() {
    let fixture = Fixture::new();
    project(&fixture, &[]);
    ingest(&fixture, &[]);
    let count = |table: &str| fixture.sql::<i64>(&format!("select count(*) from {table}"));
    let texts = count("blobs");
    fixture.git(".", &["clone", "--quiet", "--bare", "r", "b.git"]);
    fixture.git(".", &["clone", "--quiet", "r", "again"]);
    let mut told = ingest(&fixture, &[]);
    let files = |repo: &str| indexed(&fixture, repo);
    let name = |folder: &str| {
        fixture.sql::<String>(&format!("select name from repos where source like '%/{folder}'"))
    };
    assert_eq!(files("r"), files(&name("b.git")));
    assert_eq!(files("r"), files(&name("again")));
    assert_eq!(count("blobs"), texts);
    // Files that look as old as git's index are read. Then another index is written.
    eventually("git's index is younger than the files", || {
        fixture.run(&["remove", &name("again")]).code(0);
        fs::remove_file(fixture.path().join("again/.git/index")).unwrap();
        fixture.git("again", &["reset", "--quiet"]);
        told = ingest(&fixture, &[]);
        // A byte order mark, Latin-1 and UTF-16 give texts of other sizes. What Git LFS put there may be fetched.
        read(&told) <= 4
    });
    assert_eq!(files("r"), files(&name("again")));
    assert_eq!(left_out(&fixture, "r"), left_out(&fixture, &name("again")));
    // A bare clone is not read at all.
    fixture.run(&["remove", &name("b.git")]).code(0);
    assert_eq!(read(&fixture.run(&["ingest", "b.git"]).code(0)), 0);
    assert_eq!(files("r"), files(&name("b.git")));
    // A file with another name is: its language may be another.
    fixture.git("again", &["mv", "odd.h", "odd.cpp"]);
    fixture.git("again", &["mv", "src/a.rs", "moved.rs"]);
    fixture.commit("again", "renamed");
    ingest(&fixture, &[]);
    let language = |path: &str| {
        fixture.sql::<String>(&format!("select language from files where path = '{path}'"))
    };
    assert_eq!((&*language("odd.cpp"), &*language("moved.rs")), ("C++", "Rust"));
    fixture.check_invariants();
}

#[test]
fn the_language_is_the_one_in_gitattributes() {
    let fixture = Fixture::new();
    fixture.write("r/a.h", "// needle\n");
    fixture.write("r/sub/a.h", "// needle\n");
    fixture.write("r/sub/.gitattributes", "a.h linguist-language=Rust linguist-generated\n");
    fixture.commit("r", "all");
    let language = |path: &str| -> String {
        fixture.sql(&format!(
            "select language from files f join repos r on r.id = f.repo
             where r.name = 'r' and path = '{path}' and valid_to = 2147483647"
        ))
    };
    let usual = {
        ingest(&fixture, &[]);
        language("a.h")
    };
    assert_eq!(language("sub/a.h"), "Rust");
    assert_eq!(fixture.search(&["needle lang:rust"]).len(), 1);
    // A rule that changes or goes counts although no file that it is about changes.
    fixture.write("r/sub/.gitattributes", "a.h linguist-language=golang\n");
    ingest(&fixture, &[]);
    assert_eq!((language("a.h"), language("sub/a.h")), (usual.clone(), "Go".to_owned()));
    fixture.git("r", &["commit", "--quiet", "--all", "--message", "go"]);
    ingest(&fixture, &["--commit"]);
    assert_eq!((language("a.h"), language("sub/a.h")), (usual.clone(), "Go".to_owned()));
    fixture.write("r/sub/.gitattributes", "*.x text\n");
    fixture.git("r", &["commit", "--quiet", "--all", "--message", "none"]);
    ingest(&fixture, &[]);
    assert_eq!((language("a.h"), language("sub/a.h")), (usual.clone(), usual));
    fixture.check_invariants();
}

#[test]
fn borrowed_and_partial_objects() {
    let fixture = Fixture::new();
    project(&fixture, &[]);
    // Languages are taken only from where the same rules give them, and those of a partial clone are not there.
    fs::remove_file(fixture.path().join("r/.gitattributes")).unwrap();
    fixture.commit("r", "no rules");
    fixture.git("r", &["config", "uploadpack.allowFilter", "true"]);
    fixture.git(".", &["clone", "--quiet", "--bare", "--shared", "r", "shared.git"]);
    fixture.git(
        ".",
        &[
            "-c",
            "protocol.file.allow=always",
            "clone",
            "--quiet",
            "--bare",
            "--no-local",
            "--filter=blob:none",
            &format!("file://{}", fixture.path().join("r").display()),
            "partial.git",
        ],
    );
    for clone in ["shared.git", "partial.git"] {
        fixture.git(clone, &["config", "--unset", "remote.origin.url"]);
    }
    let one = |clone: &str| fixture.run(&["ingest", "--shards", "3", clone]);
    one("shared.git");
    // What it borrows lies elsewhere.
    assert!(indexed(&fixture, "shared.git").is_empty());
    let told = one("partial.git");
    let rows = left_out(&fixture, "partial.git");
    assert!(
        rows.iter().any(|row| row.starts_with("src/a.rs: unreadable the clone does not have")
            && row.contains("partial clone")),
        "{rows:?} {told:?}"
    );
    // Both are complete if the texts are known.
    ingest(&fixture, &[]);
    let files = indexed(&fixture, "r");
    assert_eq!(indexed(&fixture, "shared.git"), files);
    ingest(&fixture, &[]);
    // Its rules cannot be read.
    let known = |row: &&String| !row.starts_with('.');
    let partial = indexed(&fixture, "partial.git");
    assert!(files.iter().filter(known).all(|row| partial.contains(row)), "{partial:?}");
    fixture.check_invariants();
}

#[test]
fn a_commit_may_have_no_files() {
    let fixture = Fixture::new();
    fixture.write("r/a", "needle\n");
    fixture.commit("r", "one");
    fs::create_dir(fixture.path().join("all")).unwrap();
    fixture.git(".", &["clone", "--quiet", "--bare", "r", "all/m.git"]);
    fixture.git("all/m.git", &["remote", "remove", "origin"]);
    let all = || fixture.run(&["ingest", "--shards", "3", "all"]).code(0);
    all();
    assert_eq!(fixture.search(&["needle"]).len(), 1);
    fs::remove_file(fixture.path().join("r/a")).unwrap();
    fixture.commit("r", "none");
    fixture.git("r", &["push", "--quiet", "../all/m.git", "HEAD"]);
    all();
    assert!(fixture.search(&["needle"]).is_empty());
    fixture.check_invariants();
}

#[test]
fn a_broken_clone_keeps_its_last_state() {
    let fixture = Fixture::new();
    project(&fixture, &[]);
    fixture.git(".", &["clone", "--quiet", "--bare", "--no-local", "r", "m.git"]);
    fixture.git("m.git", &["remote", "remove", "origin"]);
    fixture.git(".", &["init", "--quiet", "--bare", "empty.git"]);
    let told = fixture.run(&["ingest", "--shards", "3", "."]);
    let told = told.code(2);
    assert!(
        told.err.contains("empty.git has no commits; commit or fetch some, and ingest it again"),
        "{told:?}"
    );
    assert_eq!(fixture.sql::<i64>("select count(*) from repos where indexed_at is not null"), 2);
    let files = indexed(&fixture, "m.git");
    let fails = |why: &str| {
        let told = fixture.run(&["ingest", "m.git"]).code(2);
        assert!(
            told.err.contains(why) && told.err.contains("the index was not changed"),
            "{told:?}"
        );
        assert_eq!(indexed(&fixture, "m.git"), files);
        fixture.check_invariants();
    };
    let head = fs::read(fixture.path().join("m.git/HEAD")).unwrap();
    fixture.write("m.git/HEAD", "ref: refs/heads/nowhere\n");
    fails("names nowhere, which does not exist");
    fixture.write("m.git/HEAD", "1111111111111111111111111111111111111111\n");
    fails("the clone does not have 1111111");
    fixture.write("m.git/HEAD", head);
    let packs = fixture.path().join("m.git/objects/pack");
    let pack = fs::read_dir(packs).unwrap().map(|entry| entry.unwrap().path());
    let pack =
        pack.into_iter().find(|path| path.extension().is_some_and(|end| end == "pack")).unwrap();
    Command::new("chmod").arg("u+w").arg(&pack).status().unwrap();
    let good = fs::read(&pack).unwrap();
    fs::write(&pack, &good[..good.len() / 3]).unwrap();
    fails("m.git");
    fs::write(&pack, good).unwrap();
    fixture.run(&["ingest", "m.git"]).code(0);
    assert_eq!(indexed(&fixture, "m.git"), files);
}
