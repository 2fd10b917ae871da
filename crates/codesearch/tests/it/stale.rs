//! Answers say which of their files have changed on disk since they were indexed, and never say so of others.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::SystemTime;

use serde_json::{Value, json};

use crate::agents::Agent;
use crate::harness::{Fixture, Server, eventually};
use crate::terminal::on_a_terminal;

/// The repositories `one` and `two`, with the files `a.txt` to `d.txt`.
fn index() -> Fixture {
    let fixture = Fixture::new();
    for repo in ["one", "two"] {
        for name in ["a", "b", "c", "d"] {
            fixture.write(&format!("{repo}/{name}.txt"), format!("needle {name} of {repo}\n"));
        }
    }
    fixture.ingest();
    fixture
}

/// Searches for all files, as found and in the order of relevance; returns what both answers say is stale.
#[track_caller]
fn stale(server: &Server, query: &str) -> Value {
    let (_, found) = server.json(&format!("/search?q={query}&limit=100&stale=1"));
    let (_, ranked) = server.json(&format!("/search?q={query}&limit=100&sort=relevance"));
    let (_, _, events) = server.get(&format!("/search/stream?q={query}&limit=100&stale=1"), "*/*");
    let done = events.rsplit("data:").next().unwrap();
    let done: Value = serde_json::from_str(done.trim().lines().next().unwrap()).unwrap();
    assert_eq!((&found["stale"], &found["stale"]), (&ranked["stale"], &done["stale"]));
    found["stale"].clone()
}

/// Sets the times of a file to now, and nothing else.
fn touch(fixture: &Fixture, path: &str) {
    let file = fs::File::options().append(true).open(fixture.path().join(path)).unwrap();
    file.set_modified(SystemTime::now()).unwrap();
}

#[test]
fn changed_and_deleted_files_are_told_until_the_next_ingest() {
    let fixture = index();
    let server = fixture.serve();
    assert_eq!(stale(&server, "needle"), Value::Null);
    fixture.write("one/a.txt", "needle, changed\n");
    fs::remove_file(fixture.path().join("one/b.txt")).unwrap();
    touch(&fixture, "one/c.txt");
    let told = stale(&server, "needle");
    let (files, deleted, repos) = (&told["files"], &told["deleted"], &told["repos"]);
    assert_eq!((files, deleted, repos), (&json!(1), &json!(1), &json!(["one"])));
    assert!(told["since"].as_str().unwrap().ends_with('Z'), "{told}");
    assert_eq!(stale(&server, "needle%20repo:two"), Value::Null);
    // A file tells it, too.
    let file = |path: &str| server.json(&format!("/file?repo=one&path={path}")).1;
    let counts =
        |path: &str| (file(path)["stale"]["files"].clone(), file(path)["stale"]["deleted"].clone());
    assert_eq!(counts("a.txt"), (json!(1), json!(0)));
    assert_eq!(counts("b.txt"), (json!(0), json!(1)));
    assert_eq!((file("c.txt").get("stale"), file("d.txt").get("stale")), (None, None));
    let page = |address: &str| server.get(address, "text/html").2;
    let results = page("/search?q=needle&wait=1");
    assert!(results.contains("1 file of one changed and 1 deleted since "), "{results}");
    assert!(page("/file?repo=one&path=a.txt").contains("the file has changed on disk since "));
    assert!(page("/file?repo=one&path=b.txt").contains("the file was deleted since "));
    assert!(!page("/file?repo=one&path=c.txt").contains("since"));
    let mut agent = Agent::of(&fixture);
    for order in ["best", "exhaustive"] {
        let told = agent.told("search", &json!({ "query": "needle", "order": order }));
        let note = "Note: 1 file of one changed and 1 deleted since ";
        assert!(told.contains(note) && told.contains("run codesearch ingest"), "{told}");
    }
    let read = |agent: &mut Agent, path: &str| {
        agent.told("read_file", &json!({ "repo": "one", "path": path }))
    };
    assert!(read(&mut agent, "a.txt").contains("the file has changed on disk since "));
    assert!(read(&mut agent, "b.txt").contains("was deleted since "));
    assert!(!read(&mut agent, "c.txt").contains("since"));
    fixture.ingest();
    eventually("the server has the new state", || {
        server.search("needle")["files"].as_array().unwrap().len() == 7
    });
    assert_eq!(stale(&server, "needle"), Value::Null);
}

#[test]
fn nothing_is_told_of_files_that_are_as_they_were() {
    let fixture = index();
    // After an ingest that recorded no fingerprints, since the files are new, and after one that did.
    for known in [false, true] {
        if known {
            fixture.ingest_until_known();
        }
        let server = fixture.serve();
        assert_eq!(stale(&server, "needle"), Value::Null);
        touch(&fixture, "one/a.txt");
        assert_eq!(stale(&server, "needle"), Value::Null);
        // As an older version left it.
        fixture.exec("update repos set listed_at = null");
        let server = fixture.serve();
        assert_eq!(stale(&server, "needle"), Value::Null);
        fixture.write("one/a.txt", "needle, changed\n");
        assert_eq!(stale(&server, "needle")["files"], 1);
        fixture.write("one/a.txt", "needle a of one\n");
        assert_eq!(stale(&server, "needle"), Value::Null);
    }
}

#[test]
fn a_terminal_gets_the_command_to_run_and_a_pipe_gets_nothing() {
    let fixture = index();
    fixture.write("two/a.txt", "needle, changed\n");
    let args = ["search", "needle"];
    let text = on_a_terminal(&fixture, &args);
    let note = text.lines().find(|line| line.contains("changed since ")).unwrap().trim_end();
    assert!(note.starts_with("codesearch: 1 file changed since "), "{note}");
    let piped = fixture.run(&args).code(0);
    assert!(piped.err.is_empty(), "{}", piped.err);
    assert!(!on_a_terminal(&fixture, &["search", "needle", "-q"]).contains("since"));
    // The command brings the index up to date, and the repository keeps its name.
    let command = note.rsplit("run: codesearch ").next().unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    fixture.run(&words).code(0);
    let text = on_a_terminal(&fixture, &args);
    assert!(text.contains("two/a.txt") && !text.contains("since"), "{text}");
    assert!(text.contains("needle, changed"), "{text}");
}

#[test]
fn links_are_not_followed_and_other_machines_folders_not_missed() {
    let fixture = index();
    let at = |path: &str| fixture.path().join(path);
    fixture.write("one/sub/e.txt", "needle e\n");
    fixture.ingest();
    let server = fixture.serve();
    let elsewhere = tempfile::tempdir().unwrap();
    fs::rename(at("one/sub"), elsewhere.path().join("sub")).unwrap();
    fs::rename(at("one/a.txt"), elsewhere.path().join("a.txt")).unwrap();
    symlink(elsewhere.path().join("sub"), at("one/sub")).unwrap();
    symlink(elsewhere.path().join("a.txt"), at("one/a.txt")).unwrap();
    let told = stale(&server, "needle%20repo:one");
    assert_eq!((&told["files"], &told["deleted"]), (&json!(2), &json!(0)));
    // The folder of a repository that is not there may be on another machine.
    fs::rename(at("one"), elsewhere.path().join("one")).unwrap();
    assert_eq!(stale(&server, "needle"), Value::Null);
    symlink(elsewhere.path().join("one"), at("one")).unwrap();
    assert_eq!(stale(&server, "needle"), Value::Null);
}

#[test]
fn a_view_tells_of_its_repositories_only() {
    let fixture = index();
    let mut command = fixture.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("CODESEARCH_REPOS", "^two$");
    let server = Server::start(command);
    for repo in ["one", "two"] {
        fixture.write(&format!("{repo}/a.txt"), "needle, changed\n");
    }
    let told = stale(&server, "needle");
    assert_eq!((&told["files"], &told["repos"]), (&json!(1), &json!(["two"])));
    let (status, hidden) = server.json("/file?repo=one&path=a.txt");
    assert!(status == 404 && !hidden.to_string().contains("stale"), "{hidden}");
}
