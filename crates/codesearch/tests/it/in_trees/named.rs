//! Names, outlines, blame and `HEAD` in other trees: at `NAME@TREE`, at a revision, and in the folder of a worktree.

use std::fs;

use serde_json::{Value, json};

use super::{fixture, lines};
use crate::agents::Agent;
use crate::harness::{Fixture, Ran, Server};

/// Returns the answer of a server, which has this status.
#[track_caller]
fn ask(server: &Server, address: &str, status: u16) -> Value {
    let (found, answer) = server.json(address);
    assert_eq!(found, status, "{address}: {answer}");
    answer
}

#[track_caller]
fn page(server: &Server, address: &str) -> String {
    let (status, _, page) = server.get(address, "text/html");
    assert_eq!(status, 200, "{address}: {page}");
    page
}

/// Commits a text of `lib` that no ingest sees: that of `HEAD~1` from now on.
fn commit_unseen(fixture: &Fixture) {
    fixture.write("r/lib/lib.rs", "fn unseen() {}\n");
    fixture.commit("r/lib", "unseen");
    fixture.write("r/lib/lib.rs", "// needle in lib\n");
    fixture.commit("r/lib", "seen again");
}

#[test]
fn names_are_looked_up_in_the_named_tree() {
    let fixture = fixture();
    let server = fixture.serve();
    let defined = |more: &str| -> Vec<(String, Value)> {
        let answer = ask(&server, &format!("/definitions?{more}"), 200);
        let all = answer["definitions"].as_array().unwrap().iter();
        all.map(|one| (one["path"].as_str().unwrap().to_owned(), one["tree"].clone())).collect()
    };
    let in_fix = [("src/new.rs".to_owned(), json!("fix"))];
    assert_eq!(defined("name=added"), []);
    assert_eq!(defined("name=added&from=app@main/src/main.rs:1"), []);
    assert_eq!(defined("name=added&from=app@fix/src/main.rs:1"), in_fix);
    assert_eq!(defined("name=added&repo=app@fix"), in_fix);
    assert_eq!(defined("from=app@fix/src/new.rs:1:4"), in_fix);
    assert_eq!(defined("name=needle&repo=^app$"), [("src/main.rs".to_owned(), Value::Null)]);
    let used = ask(&server, "/references?name=needle&from=app@dev/src/dev.rs:1", 200);
    let files = used["files"].as_array().unwrap();
    let of_dev = files.iter().find(|file| file["path"] == "src/dev.rs").unwrap();
    assert_eq!((&of_dev["tree"], &of_dev["near"]), (&json!("dev"), &json!("file")));
    let refused = ask(&server, "/definitions?name=x&from=app@nope/src/main.rs:1", 400).to_string();
    assert!(
        refused.contains("app has no indexed tree nope; the indexed ones are main, dev, fix"),
        "{refused}"
    );
    let listed = page(&server, "/definitions?name=added&from=app@fix/src/main.rs:1");
    assert!(listed.contains("/file?repo=app@fix&#38;path=src/new.rs#L1"), "{listed}");
    let listed = page(&server, "/references?name=needle&from=app@dev/src/dev.rs:1");
    assert!(listed.contains("/file?repo=app@dev&#38;path=src/dev.rs#L1"), "{listed}");
    // The command line, and agents.
    for args in [
        ["def", "added", "--from", "app@fix/src/main.rs:1"],
        ["def", "added", "--repo", "app@fix"],
        ["def", "added", "--from", "fix/src/main.rs:1"],
    ] {
        let found = lines(&fixture, "r", &args);
        assert!(found[0].ends_with("src/new.rs:1:function: fn added() {}"), "{args:?} {found:?}");
    }
    let found = lines(&fixture, "r", &["refs", "needle", "--from", "app@dev/src/dev.rs:1"]);
    assert!(found.iter().any(|line| line.contains("src/dev.rs:1:")), "{found:?}");
    let refused = fixture.run(&["def", "x", "--from", "app@nope/src/main.rs:1"]).code(2);
    assert!(refused.err.contains("no indexed tree nope"), "{}", refused.err);
    let mut agent = Agent::of(&fixture);
    let mut told = |tool: &str, arguments: Value| {
        let answer = agent.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let found = told("definitions", json!({ "name": "added", "repo": "app@fix" }));
    assert!(found.contains("app: src/new.rs") && found.contains("worktree fix of app"), "{found}");
    let from = json!({ "name": "added", "from": "app@fix: src/main.rs:1" });
    assert!(told("definitions", from).contains("app: src/new.rs"));
    let from = json!({ "name": "needle", "from": "app@dev/src/dev.rs:1" });
    assert!(told("references", from).contains("app: src/dev.rs"));
    let read = told("read_file", json!({ "repo": "app@fix", "path": "src/main.rs" }));
    assert!(read.contains("in the worktree"), "{read}");
    let refused = told("definitions", json!({ "name": "x", "from": "app@nope/src/main.rs:1" }));
    assert!(refused.contains("no indexed tree nope"), "{refused}");
}

#[test]
fn outlines_are_of_any_tree() {
    let fixture = fixture();
    commit_unseen(&fixture);
    let server = fixture.serve();
    for address in [
        "/outline?repo=app@fix&path=src/new.rs",
        "/outline?repo=app&path=src/new.rs&rev=fix",
        "/outline?repo=app@fix&path=src/new.rs&rev=fix",
    ] {
        let outline = ask(&server, address, 200);
        assert_eq!(outline["symbols"][0]["name"], "added", "{address}");
        assert_eq!((&outline["state"], &outline["repo"]), (&json!("taken"), &json!("app")));
    }
    ask(&server, "/outline?repo=app&path=src/new.rs", 404);
    // The text of HEAD~1 is in the clone only.
    let outline = ask(&server, "/outline?repo=lib&path=lib.rs&rev=HEAD~1", 200);
    assert_eq!((&outline["state"], &outline["symbols"]), (&json!("not-indexed"), &json!([])));
    let drawn = page(&server, "/outline?repo=lib&path=lib.rs&rev=HEAD~1");
    assert!(drawn.contains("its text is not indexed, so its symbols are unknown"), "{drawn}");
    let refused = ask(&server, "/outline?repo=lib&path=none.rs&rev=HEAD", 404).to_string();
    assert!(refused.contains("lib has no file none.rs at HEAD"), "{refused}");
    let refused = ask(&server, "/outline?repo=lib&path=lib.rs&rev=nope", 400).to_string();
    assert!(refused.contains("unknown revision nope"), "{refused}");
    assert_eq!(lines(&fixture, "r", &["outline", "app@fix/src/new.rs"]).len(), 1);
    let mut agent = Agent::of(&fixture);
    let mut told = |tool: &str, arguments: Value| {
        let answer = agent.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let of = |repo: &str, path: &str, revision: &str| json!({ "repo": repo, "path": path, "revision": revision });
    assert!(told("outline", of("app@fix", "src/new.rs", "")).contains("function added"));
    assert!(told("outline", of("app", "src/new.rs", "fix")).contains("function added"));
    let unknown = told("outline", of("lib", "lib.rs", "HEAD~1"));
    assert!(unknown.contains("its text is not indexed"), "{unknown}");
    let mut read = of("app", "src/new.rs", "fix");
    read["symbol"] = json!("added");
    let read = told("read_file", read);
    assert!(read.contains("1:fn added() {}") && !read.contains("2:"), "{read}");
}

#[test]
fn a_page_of_another_tree_leads_to_its_own_names_and_lines() {
    let fixture = fixture();
    commit_unseen(&fixture);
    let server = fixture.serve();
    let file = page(&server, "/file?repo=app@fix&path=src/new.rs");
    for part in [
        "data-from=\"app@fix/src/new.rs\"",
        "value=\"app@fix/src/new.rs:1\"",
        "/blame?repo=app@fix&#38;path=src/new.rs",
    ] {
        assert!(file.contains(part), "{part}: {file}");
    }
    let file = page(&server, "/file?repo=app&path=src/dev.rs&rev=dev");
    assert!(file.contains("data-from=\"app@dev/src/dev.rs\""), "{file}");
    assert!(file.contains("/history?repo=app&#38;path=src/dev.rs&#38;rev=dev"), "{file}");
    // Names are not looked up at a commit that is not indexed.
    let file = page(&server, "/file?repo=lib&path=lib.rs&rev=HEAD~1");
    assert!(!file.contains("data-from") && file.contains("its text is not indexed"), "{file}");
}

#[test]
fn blame_and_history_are_of_the_named_tree() {
    let fixture = fixture();
    commit_unseen(&fixture);
    let server = fixture.serve();
    let dev = fixture.git("r/app", &["rev-parse", "dev"]);
    for place in ["repo=app@dev", "repo=app&rev=dev", "repo=app&rev=dev~0"] {
        let blame = ask(&server, &format!("/blame?{place}&path=src/dev.rs"), 200);
        assert_eq!(blame["commit"], dev, "{place}");
        assert_eq!(blame["commits"][0]["summary"], "two", "{place}");
        assert_eq!((&blame["indexed"], &blame["repo"]), (&json!(true), &json!("app")), "{place}");
        let log = ask(&server, &format!("/history?{place}&path=src/dev.rs"), 200);
        assert_eq!(log["changes"].as_array().unwrap().len(), 1, "{place}");
        page(&server, &format!("/history?{place}&path=src/dev.rs"));
        page(&server, &format!("/blame?{place}&path=src/dev.rs"));
    }
    ask(&server, "/blame?repo=app&path=src/dev.rs", 404);
    let blame = ask(&server, "/blame?repo=lib&path=lib.rs&rev=HEAD~1", 200);
    assert_eq!(
        (&blame["indexed"], &blame["commits"][0]["summary"]),
        (&json!(false), &json!("unseen"))
    );
    let refused = ask(&server, "/blame?repo=app&path=src/dev.rs&rev=nope", 400).to_string();
    assert!(refused.contains("unknown revision nope"), "{refused}");
    ask(&server, "/blame?repo=app&path=none.rs&rev=dev", 404);
    // In a worktree: what is committed there.
    let blame = ask(&server, "/blame?repo=app@fix&path=src/same.rs", 200);
    assert_eq!(blame["commits"][0]["summary"], "one");
    let refused = ask(&server, "/blame?repo=app@fix&path=src/new.rs", 404).to_string();
    assert!(refused.contains("it was never committed"), "{refused}");
    // The texts of a history are at its commits.
    let log = page(&server, "/history?repo=app@dev&path=src/dev.rs");
    let text = format!("/file?repo=app&#38;path=src/dev.rs&#38;rev={dev}");
    assert!(log.contains(&text), "{log}");
    page(&server, &text.replace("&#38;", "&"));
}

#[test]
fn head_is_that_of_the_worktree() {
    let fixture = fixture();
    fixture.commit("r/fix", "three");
    let of_fix = |args: &[&str]| lines(&fixture, "r/fix", args);
    for range in ["HEAD~1..HEAD", "@~1..@", "HEAD~1..", "HEAD~1..."] {
        let told = of_fix(&["diff", range]);
        assert!(told.contains(&"+// needle in the worktree".to_owned()), "{range}: {told:?}");
        let found = of_fix(&["search", &format!("diff:{range} added:worktree")]);
        assert_eq!(found.len(), 1, "{range}: {found:?}");
    }
    assert_eq!(of_fix(&["search", "\"in a new file\" rev:HEAD"]).len(), 1);
    assert_eq!(of_fix(&["search", "\"in main\" rev:HEAD~1"]).len(), 1);
    // The main checkout has one commit.
    let in_main = |args: &[&str]| {
        let mut command = fixture.command(args);
        Ran::of(command.current_dir(fixture.path().join("r/app")).output().unwrap())
    };
    let ran = in_main(&["diff", "HEAD~1..HEAD"]).code(2);
    assert!(ran.err.contains("goes back too far"), "{}", ran.err);
    in_main(&["search", "\"in a new file\" rev:HEAD"]).code(1);
    // Agents and programs name the worktree.
    let mut agent = Agent::of(&fixture);
    let folder = fs::canonicalize(fixture.path()).unwrap().join("r/fix");
    let mut told = |arguments: Value| {
        let answer = agent.ask("tools/call", &json!({ "name": "diff", "arguments": arguments }));
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    };
    let in_folder = json!({ "repo": "app", "range": "HEAD~1..HEAD", "folder": folder });
    assert!(told(in_folder).contains("+// needle in the worktree"));
    assert!(
        told(json!({ "repo": "app@fix", "range": "HEAD" })).contains("+// needle in the worktree")
    );
    let server = fixture.serve();
    let changed = ask(&server, "/diff?repo=app@fix&base=HEAD~1&head=HEAD", 200);
    assert_eq!((&changed["files"], &changed["repo"]), (&json!(2), &json!("app")));
    ask(&server, "/diff?repo=app&base=HEAD~1&head=HEAD", 400);
    assert_eq!(
        ask(&server, "/file?repo=app@fix&path=src/new.rs&rev=HEAD", 200)["text"],
        "fn added() {}\n// needle in a new file\n"
    );
    // A worktree that the clone no longer has.
    fixture.git("r/app", &["worktree", "remove", "--force", "../fix"]);
    let refused = ask(&server, "/diff?repo=app@fix&base=HEAD~1&head=HEAD", 404).to_string();
    assert!(refused.contains("no longer has this worktree"), "{refused}");
}

#[test]
fn head_in_a_worktree_of_a_bare_clone_is_its_own() {
    let fixture = Fixture::new();
    fixture.write("made/one.txt", "one\n");
    fixture.commit("made", "first");
    fs::create_dir(fixture.path().join("in")).unwrap();
    fixture.git("made", &["clone", "--quiet", "--bare", ".", "../in/r.git"]);
    fixture.git("in/r.git", &["worktree", "add", "--quiet", "../w", "-b", "w"]);
    fixture.write("in/w/two.txt", "two\n");
    fixture.commit("in/w", "second");
    fixture.run(&["ingest", "--shards", "3", "in"]).code(0);
    assert_eq!(lines(&fixture, "in/w", &["search", "-l", "one|two rev:HEAD"]).len(), 2);
    assert_eq!(lines(&fixture, "in/w", &["search", "-l", "one|two rev:HEAD~1"]).len(), 1);
    assert_eq!(lines(&fixture, "in", &["search", "-l", "one|two rev:HEAD"]).len(), 1);
    assert!(lines(&fixture, "in/w", &["diff", "HEAD~1.."]).contains(&"+two".to_owned()));
}
