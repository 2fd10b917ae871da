//! Ingest: which repositories it finds, their names, the files that it leaves out, and its messages.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::harness::{Fixture, Ran, eventually};

#[test]
fn every_file_left_out_is_a_row_with_a_reason() {
    let fixture = Fixture::new();
    fixture.write("r/ok.txt", "fine\n");
    fixture.write("r/binary.bin", b"a\0b");
    fixture.write("r/large.txt", "x".repeat((1 << 20) + 1));
    fixture.write("r/just.txt", "y".repeat(1 << 20));
    symlink("ok.txt", fixture.path().join("r/inside")).unwrap();
    symlink("/etc", fixture.path().join("r/outside")).unwrap();
    fixture.write("r/.git/config", "secret in .git\n");
    let pipe = fixture.path().join("r/pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let name = std::ffi::OsStr::new(unsafe_name());
    fs::write(fixture.path().join("r").join(name), "odd\n").unwrap();

    let out = fixture.ingest().out;
    assert!(out.contains("8 files seen in 1 repository: 3 read, 2 new or changed"), "{out}");
    assert!(
        out.contains(
            "left out: 6 files (1 binary, 1 over the size limit, 2 symbolic links, 1 not regular files, 1 names \
             that are not UTF-8)"
        ),
        "{out}"
    );
    let skipped = fixture.run(&["repos", "--skipped", "r"]).code(0).out;
    for part in ["binary.bin", "large.txt", "inside", "outside", "pipe"] {
        assert!(skipped.contains(part), "{skipped}");
    }
    assert_eq!(fixture.search(&["-l", "fine|secret|^y|root:|odd"]), ["r/just.txt", "r/ok.txt"]);
    fixture.check_invariants();

    // A larger limit adds the large file, and the default one removes it again.
    let args = ["ingest", "--depth", "1", "--max-size", "2000000", "."];
    assert!(fixture.run(&args).code(0).out.contains(" 1 new or changed"));
    assert_eq!(fixture.search(&["-l", "^x"]), ["r/large.txt"]);
    assert!(fixture.ingest().out.contains("0 new or changed, 1 gone or changed"));
    assert!(fixture.search(&["-l", "^x"]).is_empty());
    fixture.check_invariants();
}

/// A file name that is not UTF-8.
fn unsafe_name() -> &'static std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(b"caf\xe9.txt")
}

#[test]
fn repositories_are_found_and_named() {
    let fixture = Fixture::new();
    fixture.write(
        "in/go/.git/config",
        "[remote \"origin\"]\n\turl = https://github.com/golang/go.git\n",
    );
    fixture.write("in/go/a.go", "package a\n");
    fixture.write("in/deep/down/.git/config", "[core]\n\tbare = false\n");
    fixture.write("in/deep/down/b.go", "package b\n");
    fixture.write("in/loose/c.go", "package c\n");
    let ran = fixture.run(&["ingest", "--shards", "2", "in"]).code(0);
    assert!(ran.err.contains("loose contains no repository"), "{}", ran.err);
    let names = |fixture: &Fixture| -> Vec<String> {
        let out = fixture.run(&["repos", "--json"]).code(0).out;
        out.lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .map(|repo| repo["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&fixture), ["deep/down", "github.com/golang/go"]);
    assert_eq!(
        fixture.search(&["package"]),
        ["deep/down/b.go:1:package b", "github.com/golang/go/a.go:1:package a"]
    );

    // A folder without repositories is a repository itself.
    fixture.run(&["ingest", "in/loose"]).code(0);
    assert_eq!(names(&fixture), ["deep/down", "github.com/golang/go", "loose"]);
    fixture.run(&["remove", "loose", "deep/down"]).code(0);
    assert_eq!(names(&fixture), ["github.com/golang/go"]);
    assert_eq!(fixture.search(&["-c", "package"]), ["github.com/golang/go/a.go:1"]);
    assert_eq!(
        fixture.run(&["remove", "loose"]).code(2).err,
        "codesearch: no repository is named 'loose'; codesearch repos lists them\n"
    );
    fixture.check_invariants();
}

#[test]
fn large_files_come_last_in_their_shard() {
    let fixture = Fixture::new();
    let text = |bytes: usize| "some text\n".repeat(bytes / 10);
    fixture.write("r/a.txt", text(200_000));
    fixture.write("r/b.txt", text(10_000));
    fixture.write("r/c.txt", text(20_000));
    fixture.write("r/d.txt", text(300_000));
    fixture.write("r/e.txt", text(200_000));
    fixture.write("s/f.txt", text(300));
    fixture.write("s/g.txt", text(20_000));
    fixture.ingest();
    let order =
        || fixture.sql::<String>("select string_agg(path, ' ' order by blob, path) from files");
    // Files of about the same size keep the order in which they are found; equal contents are stored once.
    assert_eq!(order(), "b.txt f.txt c.txt g.txt a.txt e.txt d.txt");
    assert_eq!(fixture.sql::<i64>("select count(*) from blobs"), 5);
    assert_eq!(fixture.search(&["-c", "some"]).len(), 7);
    let ran = fixture.run(&["search", "-l", "--limit", "2", "some"]).code(0);
    assert_eq!(ran.out, "r/b.txt\ns/f.txt\n");
    fixture.check_invariants();
}

#[test]
fn the_same_content_is_stored_once() {
    let fixture = Fixture::new();
    let shared = "shared text\n".repeat(1000);
    for repo in ["a", "b", "c"] {
        fixture.write(&format!("{repo}/one.txt"), &shared);
        fixture.write(&format!("{repo}/two.txt"), &shared);
        fixture.write(&format!("{repo}/own.txt"), repo);
        fixture.write(&format!("{repo}/__init__.py"), "");
        fixture.write(&format!("{repo}/empty.js"), "");
    }
    fixture.ingest();
    assert_eq!(fixture.sql::<i64>("select count(*) from blobs"), 5);
    assert_eq!(fixture.sql::<i64>("select count(*) from files"), 15);
    assert_eq!(fixture.search(&["-c", "shared"]).len(), 6);
    assert_eq!(
        fixture.sql::<String>("select encode(oid, 'hex') from blobs where bytes = 0"),
        "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    );
    // One blob, but the language belongs to the file.
    assert_eq!(fixture.sql::<i64>("select count(distinct language) from files where bytes = 0"), 2);

    // The blob stays as long as one file has it.
    for repo in ["a", "b"] {
        fs::remove_dir_all(fixture.path().join(repo)).unwrap();
    }
    let out = fixture.ingest().out;
    assert!(out.contains("removed: a (its folder no longer exists)"), "{out}");
    assert_eq!(fixture.search(&["-c", "shared"]), ["c/one.txt:1000", "c/two.txt:1000"]);
    assert_eq!(fixture.sql::<i64>("select count(*) from blobs"), 3);
    fixture.check_invariants();
}

#[test]
fn two_hundred_shards_unless_told_otherwise() {
    let fixture = Fixture::new();
    fixture.write("r/a.txt", "text\n");
    fixture.run(&["ingest", "r"]).code(0);
    assert_eq!(fixture.sql::<i64>("select count(*) from shards"), 200);
    let tables = "select count(*) from pg_class where relnamespace = 'codesearch'::regnamespace and relkind = 'r'
                      and relname ~ '^chunks_[0-9]+$'";
    assert_eq!(fixture.sql::<i64>(tables), 200);
    let ran = fixture.run(&["init", "--shards", "7"]).code(2);
    assert_eq!(ran.err, "codesearch: the index already has 200 shards; the number cannot change\n");
}

#[test]
fn an_unreadable_file_is_left_out_and_the_rest_is_not() {
    let fixture = Fixture::new();
    fixture.write("r/open.txt", "open\n");
    fixture.write("r/closed.txt", "closed\n");
    fs::set_permissions(fixture.path().join("r/closed.txt"), fs::Permissions::from_mode(0o000))
        .unwrap();
    let out = fixture.ingest().out;
    if fs::read(fixture.path().join("r/closed.txt")).is_err() {
        assert!(out.contains("1 unreadable"), "{out}");
        assert_eq!(fixture.search(&["-l", "open|closed"]), ["r/open.txt"]);
    } else {
        // Root can read every file.
        assert_eq!(fixture.search(&["-l", "open|closed"]), ["r/closed.txt", "r/open.txt"]);
    }
}

#[test]
fn large_ingests_fill_several_shards_and_small_ones_the_emptiest() {
    let fixture = Fixture::new();
    // 20 MB of text that compresses little and has few repetitions.
    let mut seed = 1_u64;
    let mut word = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{:x} ", seed >> 24)
    };
    for n in 0..40 {
        let text: String =
            (0..45_000).map(|i| if i % 8 == 7 { word() + "\n" } else { word() }).collect();
        fixture.write(&format!("r{}/{n}.txt", n % 3), text);
    }
    fixture.ingest();
    // Files changed a moment ago are read again, which would make the small ingest below a large one.
    fixture.ingest_until_known();
    fixture.check_invariants();
    let used = "select count(*) from shards where chunks > 0";
    let before: i64 = fixture.sql(used);
    assert!(before >= 2, "{before} shards used");
    fixture.write("r0/more.txt", "a little more\n");
    fixture.ingest();
    fixture.check_invariants();
    assert_eq!(fixture.sql::<i64>(used), before);
    assert_eq!(fixture.search(&["a little more"]), ["r0/more.txt:1:a little more"]);
}

#[test]
fn a_moved_repository_is_the_same_and_a_second_clone_is_another() {
    let fixture = Fixture::new();
    let origin = "[remote \"origin\"]\n\turl = https://example.org/x/y\n";
    fixture.write("in/old/.git/config", origin);
    fixture.write("in/old/a.txt", "clone one\n");
    let ingest = || fixture.run(&["ingest", "--shards", "2", "in"]).code(0);
    ingest();
    fs::rename(fixture.path().join("in/old"), fixture.path().join("in/new")).unwrap();
    fixture.write("in/new/a.txt", "clone one, changed\n");
    let ran = ingest();
    assert!(
        ran.err.contains("is now example.org/x/y in") && !ran.out.contains("removed"),
        "{ran:?}"
    );
    assert_eq!(fixture.search(&["clone"]), ["example.org/x/y/a.txt:1:clone one, changed"]);
    fixture.check_invariants();

    // A second clone of the same origin gets a different name, also when it is ingested alone.
    fixture.write("in/second/.git/config", origin);
    fixture.write("in/second/a.txt", "clone two\n");
    let both = ["example.org/x/y/a.txt:1:clone one, changed", "second/a.txt:1:clone two"];
    ingest();
    assert_eq!(fixture.search(&["clone"]), both);
    fixture.run(&["ingest", "in/second"]).code(0);
    assert_eq!(fixture.search(&["clone"]), both);
    // A new origin renames the repository.
    fixture.write(
        "in/second/.git/config",
        "[remote \"origin\"]\nurl = git@example.org:new/name.git\n",
    );
    ingest();
    assert_eq!(fixture.search(&["-l", "two"]), ["example.org/new/name/a.txt"]);
    // Two repositories that swap their origins.
    fixture
        .write("in/new/.git/config", "[remote \"origin\"]\nurl = https://example.org/new/name\n");
    fixture.write("in/second/.git/config", origin);
    ingest();
    ingest();
    assert_eq!(fixture.search(&["clone"]).len(), 2);
    fixture.check_invariants();

    // Two folders of the same name.
    fixture.write("s1/src/a.txt", "source one\n");
    fixture.write("s2/src/a.txt", "source two\n");
    fixture.run(&["ingest", "s1/src"]).code(0);
    fixture.run(&["ingest", "s2/src"]).code(0);
    assert_eq!(fixture.search(&["-l", "source"]).len(), 2);
    fixture.check_invariants();
}

#[test]
fn what_cannot_be_read_stays_as_it_was() {
    let fixture = Fixture::new();
    for repo in ["r1", "r2"] {
        fixture.write(&format!("in/{repo}/.git/config"), "");
        fixture.write(&format!("in/{repo}/a.txt"), "hello\n");
    }
    fixture.run(&["ingest", "--shards", "2", "in"]).code(0);
    let hello = ["r1/a.txt:1:hello", "r2/a.txt:1:hello"];
    let mode = |path: &str, mode| {
        fs::set_permissions(fixture.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    for (path, closed) in [("in", 0o444), ("in/r1", 0o444), ("in/r1", 0o000), ("in/r2", 0o111)] {
        mode(path, closed);
        let ran = fixture.run(&["ingest", "in"]);
        mode(path, 0o755);
        // Root can read every file regardless of its mode, so there is nothing to report.
        let ran = ran.code(if crate::harness::is_root() { 0 } else { 2 });
        let told = ran.err.contains("cannot read") || ran.err.contains("cannot be read");
        assert_eq!(told, !crate::harness::is_root(), "{}", ran.err);
        assert!(!ran.out.contains("removed"), "{}", ran.out);
        assert_eq!(fixture.search(&["hello"]), hello, "{path} {closed:o}");
    }
    fixture.check_invariants();
}

#[test]
fn removing_after_a_killed_ingest_leaves_whole_shards() {
    let fixture = Fixture::new();
    fixture.write("a/a.txt", "first\n");
    fixture.ingest();
    // Blobs stored by an ingest that was killed.
    fixture.exec(
        "insert into chunks_003 (shard, n, blob, line, start, contents) values (3, 0, 0, 1, 0, 'left behind');
         insert into blobs (oid, shard, id, bytes, lines, chunks)
             values (decode('b3d50712d6438b579940fa1d579015f0e32ef320', 'hex'), 3, 0, 11, 1, 1);
         update shards set chunks = 1, bytes = 11 where shard = 3;
         update state set unfinished = true",
    );
    // They wait for the next ingest, and are not a problem.
    fixture.check_invariants();
    fixture.write("b/b.txt", "second\n");
    fixture.run(&["ingest", "b"]).code(0);
    fixture.check_invariants();
    assert_eq!(fixture.sql::<i64>("select count(*) from blobs"), 2);
    fixture.run(&["remove", "a"]).code(0);
    fixture.check_invariants();
    fixture.run(&["remove", "b"]).code(0);
    fixture.check_invariants();
    assert_eq!(fixture.sql::<i64>("select count(*) from shards where live_from is not null"), 0);
    // A shard that became empty can be filled again.
    fixture.ingest();
    assert_eq!(fixture.search(&["-l", "first|second"]), ["a/a.txt", "b/b.txt"]);
    fixture.check_invariants();
}

#[test]
fn a_rank_alone_takes_effect() {
    let fixture = Fixture::new();
    let rank = |repo: &str, config: &str| fixture.write(&format!("{repo}/.git/config"), config);
    for repo in ["a", "b", "c"] {
        fixture.write(&format!("{repo}/x.go"), format!("x := needle({repo:?})\n"));
        rank(repo, "[core]\n\tbare = false\n");
    }
    let ingest = || fixture.run(&["ingest", "--shards", "4", "."]).code(0);
    let epoch = || fixture.sql::<i32>("select epoch from state");
    ingest();
    let server = fixture.serve();
    let order = || -> Vec<String> {
        let page = server.get("/search?q=needle&wait=1", "text/html").2;
        let names = page.split("href=\"/file?repo=").skip(1);
        let mut names: Vec<String> = names.map(|rest| rest[..1].to_owned()).collect();
        names.dedup();
        names
    };
    assert_eq!(order(), ["a", "b", "c"]);
    let before = epoch();
    rank("b", "[codesearch]\n\trank = 3\n");
    rank("c", "[zoekt]\n\tpriority = 9\n");
    ingest();
    assert_eq!(epoch(), before + 1);
    eventually("the server hears of it", || order() == ["c", "b", "a"]);
    let (_, repos) = server.json("/repos");
    let ranks: Vec<u64> =
        repos["repos"].as_array().unwrap().iter().map(|r| r["rank"].as_u64().unwrap()).collect();
    assert_eq!(ranks, [0, 3, 9]);
    assert!(server.get("/repos?repo=c", "text/html").2.contains("<dt>Rank</dt><dd>9</dd>"));
    assert!(fixture.run(&["repos", "--json"]).code(0).out.contains("\"rank\":9"));
    // Nothing has changed, and an invalid rank is reported.
    ingest();
    assert_eq!(epoch(), before + 1);
    rank("a", "[codesearch]\n\trank = high\n");
    let told = ingest();
    assert!(told.err.contains("git config codesearch.rank N"), "{}", told.err);
    assert_eq!(epoch(), before + 1);
}

#[test]
fn an_emptied_folder_removes_nothing() {
    let fixture = Fixture::new();
    for repo in ["disk/one", "disk/two", "other"] {
        fixture.write(&format!("in/{repo}/.git/HEAD"), "ref: refs/heads/main\n");
        fixture.write(&format!("in/{repo}/a.txt"), format!("needle {repo}\n"));
    }
    let ingest = |path: &str| fixture.run(&["ingest", "--shards", "4", path]);
    let repos = ["disk/one/a.txt", "disk/two/a.txt", "other/a.txt"];
    ingest("in").code(0);
    assert_eq!(fixture.search(&["-l", "needle"]), repos);
    // As if disks were not mounted: below the folder, of one repository, and the folder itself.
    let moved = |from: &str, to: &str| {
        fs::rename(fixture.path().join(from), fixture.path().join(to)).unwrap();
    };
    moved("in/disk", "away");
    fs::create_dir(fixture.path().join("in/disk")).unwrap();
    let ran = ingest("in");
    assert!(ran.err.contains("not removed: disk/one; its folder "), "{}", ran.err);
    moved("in/other", "gone");
    fs::create_dir(fixture.path().join("in/other")).unwrap();
    let ran = ingest("in").code(2);
    assert!(ran.err.contains("is empty"), "{}", ran.err);
    fs::remove_dir(fixture.path().join("in/disk")).unwrap();
    fs::remove_dir(fixture.path().join("in/other")).unwrap();
    let ran = ingest("in").code(2);
    assert!(
        ran.err
            .contains("in is empty, but 3 repositories below it are indexed; is a disk missing?"),
        "{}",
        ran.err
    );
    assert_eq!(fixture.search(&["-l", "needle"]), repos);
    moved("away", "in/disk");
    moved("gone", "in/other");
    ingest("in").code(0);
    // Files missing from a folder that has others are removed.
    fs::remove_dir_all(fixture.path().join("in/disk/one")).unwrap();
    ingest("in").code(0);
    assert_eq!(fixture.search(&["-l", "needle"]), repos[1..]);
    fixture.check_invariants();
}

#[test]
fn checkouts_inside_of_a_checkout_are_repositories_of_their_own() {
    let fixture = Fixture::new();
    fixture.write("in/a/.git/HEAD", "ref: refs/heads/main\n");
    fixture.write("in/a/src/a.txt", "needle\n");
    fixture.write("in/a/sub/.git/HEAD", "ref: refs/heads/main\n");
    fixture.write("in/a/sub/b.txt", "needle\n");
    fixture.write("in/note.txt", "needle\n");
    symlink("a", fixture.path().join("in/link")).unwrap();
    let ran = fixture.run(&["ingest", "--shards", "4", "in"]).code(0);
    assert!(ran.err.contains("/in/link is a symbolic link; name its target"), "{}", ran.err);
    assert!(ran.err.contains("in belong to no repository"), "{}", ran.err);
    assert_eq!(fixture.search(&["-l", "needle"]), ["a/src/a.txt", "a/sub/b.txt"]);
    assert_eq!(fixture.search(&["needle", "type:repo"]), ["a", "a/sub"]);
    // A folder inside a clone means the clone, also from within.
    fixture.write("in/a/src/new.txt", "needle\n");
    let ran = fixture.run(&["ingest", "in/a/src"]).code(0);
    assert!(ran.err.contains("in/a, of which in/a/src is a part;"), "{}", ran.err);
    let mut within = fixture.command(&["ingest", "."]);
    within.current_dir(fixture.path().join("in/a/src"));
    assert!(Ran::of(within.output().unwrap()).code(0).err.contains("in/a, of which . is a part;"));
    assert_eq!(fixture.search(&["-l", "needle"]), ["a/src/a.txt", "a/src/new.txt", "a/sub/b.txt"]);
    assert_eq!(fixture.search(&["needle", "type:repo"]), ["a", "a/sub"]);
    // Two folders of one clone are the clone, once.
    fixture.run(&["ingest", "in/a/src", "in/a", "in/a/src"]).code(0);
    assert_eq!(fixture.search(&["needle", "type:repo"]), ["a", "a/sub"]);
    // A clone at home is hardly meant.
    let mut at_home = fixture.command(&["ingest", "in/a/src"]);
    at_home.env("HOME", fixture.path().join("in/a"));
    let ran = Ran::of(at_home.output().unwrap()).code(2);
    assert!(ran.err.contains("your home folder; use --depth 0"), "{}", ran.err);
    // A former submodule belongs to the outer repository.
    fs::remove_dir_all(fixture.path().join("in/a/sub/.git")).unwrap();
    fixture.run(&["ingest", "in"]).code(0);
    assert!(fixture.search(&["-l", "needle"]).contains(&"a/sub/b.txt".to_owned()));
}
