//! Servers that watch folders: what changes is found, and nothing of it is lost.

mod random;
mod settings;

use std::fs;
use std::path::Path;

use crate::harness::{Fixture, Server, eventually};

impl Fixture {
    /// Ingests the folder, and serves and watches it.
    fn up(&self, options: &[&str]) -> Server {
        let args = ["up", "--shards", "4", "--listen", "127.0.0.1:0"];
        Server::start(self.command(&[&args, options, &["."]].concat()))
    }

    /// Makes a clone, whose name does not depend on its folder.
    fn named_clone(&self, folder: &str, name: &str) {
        self.commit(folder, "first");
        self.git(folder, &["branch", "--move", "main"]);
        let origin = format!("https://example.org/{name}");
        self.git(folder, &["remote", "add", "origin", &origin]);
    }
}

/// Returns repository and path of each file that a search finds, sorted.
fn found(server: &Server, query: &str) -> Vec<String> {
    let answer = server.search(query);
    let files = answer["files"].as_array().unwrap();
    let name = |file: &serde_json::Value| {
        format!("{} {}", file["repo"].as_str().unwrap(), file["path"].as_str().unwrap())
    };
    let mut files: Vec<String> = files.iter().map(name).collect();
    files.sort();
    files
}

#[track_caller]
fn until(server: &Server, query: &str, files: &[&str]) {
    let mut last = Vec::new();
    eventually(&format!("{query} is in {files:?}"), || {
        last = found(server, query);
        last == files
    });
}

#[test]
fn what_is_saved_moved_committed_or_cloned_is_found() {
    let fixture = Fixture::new();
    fixture.write("in/a/src/one.rs", "fn first() {}\n");
    fixture.write("in/b/two.rs", "fn other() {}\n");
    fixture.named_clone("in/a", "o/a");
    fixture.named_clone("in/b", "o/b");
    let server = fixture.up(&[]);
    let (a, b) = ("example.org/o/a", "example.org/o/b");
    until(&server, "lit:first", &[&format!("{a} src/one.rs")]);
    fixture.write("in/a/src/one.rs", "fn second() {}\n");
    until(&server, "lit:second", &[&format!("{a} src/one.rs")]);
    until(&server, "lit:first", &[]);
    // As editors save.
    fixture.write("in/a/src/.one.rs.new", "fn third() {}\n");
    let at = |path: &str| fixture.path().join(path);
    fs::rename(at("in/a/src/.one.rs.new"), at("in/a/src/one.rs")).unwrap();
    until(&server, "lit:third", &[&format!("{a} src/one.rs")]);
    // New folders, at once and inside of them.
    fixture.write("in/a/x/y/z/deep.rs", "fn deep() {}\n");
    until(&server, "lit:deep", &[&format!("{a} x/y/z/deep.rs")]);
    fixture.write("in/a/x/y/z/more.rs", "fn more() {}\n");
    until(&server, "lit:more", &[&format!("{a} x/y/z/more.rs")]);
    fs::rename(at("in/a/x/y"), at("in/b/w")).unwrap();
    until(
        &server,
        "lit:deep or lit:more",
        &[&format!("{b} w/z/deep.rs"), &format!("{b} w/z/more.rs")],
    );
    fs::remove_dir_all(at("in/b/w")).unwrap();
    until(&server, "lit:deep or lit:more", &[]);
    // A commit, of which no file tells.
    let commit = fixture.commit("in/a", "second");
    eventually("the commit is known", || {
        fixture.sql::<Option<String>>("select commit from repos where name like '%/a'").as_ref()
            == Some(&commit)
    });
    // Clones that appear, move and go.
    fixture.git("in", &["clone", "--quiet", "b", "c"]);
    until(&server, "lit:other", &[&format!("{b} two.rs"), "in/c two.rs"]);
    fs::rename(at("in/a"), at("in/moved")).unwrap();
    let moved = fixture.path().canonicalize().unwrap().join("in/moved");
    eventually("it has moved", || {
        let source = fixture.sql::<String>("select source from repos where name like '%/a'");
        Path::new(&source) == moved
    });
    fixture.write("in/moved/again.rs", "fn again() {}\n");
    until(&server, "lit:again", &[&format!("{a} again.rs")]);
    fs::remove_dir_all(at("in/c")).unwrap();
    until(&server, "lit:other", &[&format!("{b} two.rs")]);
    server.stop();
    fixture.check_invariants();
}

#[test]
fn what_changed_while_nobody_watched_is_looked_at_first() {
    let fixture = Fixture::new();
    fixture.write("in/a/one.rs", "fn before() {}\n");
    fixture.named_clone("in/a", "o/a");
    fixture.run(&["ingest", "--shards", "4", "in"]).code(0);
    fixture.write("in/a/one.rs", "fn after() {}\n");
    fixture.write("in/new/two.rs", "fn unseen() {}\n");
    fixture.named_clone("in/new", "o/new");
    let server = fixture.serve_with(&["--watch"]);
    until(&server, "lit:after", &["example.org/o/a one.rs"]);
    until(&server, "lit:unseen", &["example.org/o/new two.rs"]);
    server.stop();
}

#[test]
fn no_search_sees_half_a_checkout() {
    const FILES: usize = 200;
    let fixture = Fixture::new();
    let all = |text: &str| {
        (0..FILES).for_each(|n| {
            fixture.write(&format!("in/a/d{}/{n}.txt", n % 9), format!("{text} {n}\n"));
        });
    };
    all("state_one");
    fixture.named_clone("in/a", "o/a");
    fixture.git("in/a", &["checkout", "--quiet", "-b", "other"]);
    all("state_two");
    fixture.commit("in/a", "second");
    let server = fixture.up(&[]);
    let states = || {
        let answer = found(&server, "lit:state_one or lit:state_two");
        assert_eq!(answer.len(), FILES, "no file is missing");
        let one = found(&server, "lit:state_one").len();
        assert!(one == 0 || one == FILES, "{one} files of one state");
        one == FILES
    };
    for (branch, is_one) in [("main", true), ("other", false), ("main", true)] {
        fixture.git("in/a", &["checkout", "--quiet", branch]);
        eventually("it is checked out", || states() == is_one);
    }
    // Git is at it, slowly.
    fixture.write("in/a/.git/index.lock", "");
    (0..FILES / 2).for_each(|n| fixture.write(&format!("in/a/d{}/{n}.txt", n % 9), "state_two\n"));
    fixture.write("in/b/witness.txt", "witness\n");
    fixture.named_clone("in/b", "o/b");
    until(&server, "lit:witness", &["example.org/o/b witness.txt"]);
    assert!(states());
    // Not even if somebody asks for it.
    let ran = fixture.run(&["ingest", "--now", "example.org/o/a"]).code(2);
    assert!(ran.err.contains("git is changing"), "{}", ran.err);
    assert!(states());
    all("state_two");
    fs::remove_file(fixture.path().join("in/a/.git/index.lock")).unwrap();
    eventually("it is checked out", || found(&server, "lit:state_one").is_empty());
    server.stop();
}

/// A rebase goes through many states, each of which a commit had; and the search sees no other one.
#[test]
fn no_search_sees_a_state_that_no_commit_had() {
    const FILES: usize = 60;
    let fixture = Fixture::new();
    let all = |part: &str, text: &str| {
        (0..FILES).for_each(|n| {
            fixture.write(&format!("in/a/{part}{}/{n}.txt", n % 7), format!("{text} {n}\n"));
        });
    };
    all("base", "base_one");
    all("topic", "topic_0");
    fixture.named_clone("in/a", "o/a");
    fixture.git("in/a", &["checkout", "--quiet", "-b", "topic"]);
    for step in 1..=4 {
        all("topic", &format!("topic_{step}"));
        fixture.commit("in/a", "step");
    }
    fixture.git("in/a", &["checkout", "--quiet", "main"]);
    all("base", "base_two");
    fixture.commit("in/a", "another base");
    fixture.git("in/a", &["checkout", "--quiet", "topic"]);
    let server = fixture.up(&[]);
    let count = |text: &str| found(&server, &format!("lit:{text}")).len();
    let look = || {
        for text in ["base_one", "base_two", "topic_0", "topic_1", "topic_2", "topic_3", "topic_4"]
        {
            let count = count(text);
            assert!(count == 0 || count == FILES, "{count} files have {text}");
        }
    };
    assert_eq!((count("base_one"), count("topic_4")), (FILES, FILES));
    for onto in ["main", "HEAD~5", "main"] {
        std::thread::scope(|scope| {
            let rebasing = scope.spawn(|| {
                let base = fixture.git("in/a", &["rev-parse", "HEAD~4"]);
                let onto = if onto == "main" { "main" } else { "main~1" };
                fixture.git("in/a", &["rebase", "--quiet", "--onto", onto, base.trim(), "topic"]);
            });
            while !rebasing.is_finished() {
                look();
            }
        });
        let expected = if onto == "main" { "base_two" } else { "base_one" };
        eventually("it is rebased", || {
            look();
            count(expected) == FILES && count("topic_4") == FILES
        });
    }
    // One that stops in the middle, for its user: then that is the state.
    let base = fixture.git("in/a", &["rev-parse", "HEAD~4"]);
    let edit =
        ["-c", "sequence.editor=sed -i '2s/^pick/edit/'", "rebase", "--quiet", "-i", base.trim()];
    fixture.git("in/a", &edit);
    eventually("it has stopped", || {
        look();
        count("topic_2") == FILES
    });
    fixture.git("in/a", &["rebase", "--abort"]);
    eventually("it is as before", || {
        look();
        count("topic_4") == FILES
    });
    server.stop();
    fixture.check_invariants();
}

#[test]
fn a_repository_that_is_made_again_is_searched_as_it_is() {
    let fixture = Fixture::new();
    fixture.write("in/a/one.rs", "fn before() {}\n");
    fixture.named_clone("in/a", "o/a");
    fixture.write("in/b/one.rs", "fn other() {}\n");
    fixture.named_clone("in/b", "o/b");
    let server = fixture.up(&[]);
    until(&server, "lit:before", &["example.org/o/a one.rs"]);
    fs::remove_dir_all(fixture.path().join("in/a")).unwrap();
    fixture.write("in/a/two.rs", "fn after() {}\n");
    fixture.named_clone("in/a", "o/a");
    until(&server, "lit:before or lit:after", &["example.org/o/a two.rs"]);
    // Each in the place of the other.
    let at = |path: &str| fixture.path().join(path);
    fs::rename(at("in/a"), at("in/c")).unwrap();
    fs::rename(at("in/b"), at("in/a")).unwrap();
    fs::rename(at("in/c"), at("in/b")).unwrap();
    let source = |name: &str| {
        fixture.sql::<Option<String>>(&format!(
            "select right(min(source), 5) from repos where name = 'example.org/{name}'"
        ))
    };
    eventually("both have moved", || {
        (source("o/a").as_deref(), source("o/b").as_deref()) == (Some("/in/b"), Some("/in/a"))
    });
    fixture.write("in/b/three.rs", "fn third() {}\n");
    until(&server, "lit:third", &["example.org/o/a three.rs"]);
    server.stop();
    fixture.check_invariants();
}

/// A repository in which nothing changes is as fresh as the watch of it.
#[test]
fn quiet_repositories_are_as_fresh_as_their_watch() {
    let fixture = Fixture::new();
    for (name, folders) in [("a", 1), ("b", 1), ("large", 60), ("stuck", 1)] {
        for n in 0..folders {
            fixture.write(&format!("in/{name}/d{n}/one.rs"), format!("fn in_{name}() {{}}\n"));
        }
        fixture.named_clone(&format!("in/{name}"), &format!("o/{name}"));
    }
    fixture.git("in/a", &["worktree", "add", "--quiet", "../tree", "-b", "other"]);
    let server = fixture.up(&["--note-every", "50ms", "--watches", "70", "--poll-every", "50ms"]);
    let stuck = "insert into pending (source, reason, due)
                 select source, 'asked', now() + interval '1 day' from repos where name like '%/stuck'";
    let now = || fixture.sql::<f64>("select extract(epoch from clock_timestamp())::float8");
    let fresh = |since: f64| {
        fixture.sql::<i64>(&format!(
            "select count(*) from repos where looked_at > to_timestamp({since})"
        ))
    };
    let begun = now();
    eventually("all are fresh", || {
        let fresh = fresh(begun) == 4;
        fresh
            && fixture.sql::<bool>(
                "select not exists (select from pending) and (select count(polled) from repos) = 1",
            )
    });
    fixture.exec(stuck);
    let epoch: i32 = fixture.sql("select epoch from state");
    let now = now();
    eventually("all but one are fresh", || fresh(now) == 3);
    eventually("the server knows", || {
        let (_, answer) = server.json("/search?q=in_large");
        answer["stats"]["oldest"]["repo"] == "example.org/o/stuck"
    });
    assert!(fixture.sql::<bool>(&format!(
        "select looked_at < to_timestamp({now}) from repos where name like '%/stuck'"
    )));
    assert_eq!(fixture.sql::<i32>("select epoch from state"), epoch, "no epoch was made");
    // What is changed is fresh when it is indexed, and not before.
    fixture.write("in/a/d0/one.rs", "fn again() {}\n");
    until(&server, "lit:again", &["example.org/o/a d0/one.rs"]);
    server.stop();
    fixture.check_invariants();
}

#[test]
fn ignored_folders_are_not_watched_and_what_does_not_fit_is_polled() {
    let fixture = Fixture::new();
    fixture.write("in/small/.gitignore", "node_modules\n");
    for n in 0..50 {
        fixture.write(&format!("in/small/node_modules/{n}/index.js"), "ignored");
        fixture.write(&format!("in/large/{n}/file.txt"), "text\n");
    }
    fixture.named_clone("in/small", "o/small");
    fixture.named_clone("in/large", "o/large");
    let server = fixture.up(&["--watches", "50", "--poll-every", "100ms"]);
    let watches = || {
        let files = fs::read_dir(format!("/proc/{}/fdinfo", server.child.id())).unwrap();
        let texts = files.flatten().filter_map(|file| fs::read_to_string(file.path()).ok());
        texts
            .map(|text| text.lines().filter(|line| line.starts_with("inotify ")).count())
            .sum::<usize>()
    };
    let polled = || {
        fixture.sql::<String>("select coalesce(string_agg(name || ' ' || polled, ';'), '') from repos where polled is not null")
    };
    eventually("one is polled", || {
        polled().starts_with("example.org/o/large every 1 s: its folders do not fit into the 50")
    });
    assert!((10..=50).contains(&watches()), "{}", watches());
    fixture.write("in/large/49/file.txt", "polled\n");
    until(&server, "lit:polled", &["example.org/o/large 49/file.txt"]);
    fixture.write("in/small/file.txt", "watched\n");
    until(&server, "lit:watched", &["example.org/o/small file.txt"]);
    server.stop();
}
