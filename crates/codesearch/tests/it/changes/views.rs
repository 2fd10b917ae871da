//! Changes over HTTP: for clients that see some repositories only, in parts, and on a page.

use serde_json::{Value, json};

use crate::agents::Agent;
use crate::api::{check, document};
use crate::harness::{Fixture, Server};

/// Requests JSON, and checks it against the document.
#[track_caller]
fn ask(server: &Server, path: &str, expected: u16) -> Value {
    let (status, answer) = server.json(path);
    assert_eq!(status, expected, "{path}: {answer}");
    check(&document(), path, status, &answer);
    answer
}

#[track_caller]
fn page(server: &Server, path: &str, status: u16) -> String {
    let (got, _, page) = server.get(path, "text/html");
    assert_eq!(got, status, "{path}: {page}");
    page
}

/// A clone with two commits.
fn cloned() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("one/src/a.py", "def one():\n    return 1\n");
    fixture.write("one/gone.txt", "needle\n");
    fixture.commit("one", "first");
    fixture.write("one/src/a.py", "def one():\n    return '<2>'\n\ndef needle():\n    pass\n");
    std::fs::remove_file(fixture.path().join("one/gone.txt")).unwrap();
    fixture.write("one/image", b"\0\x01");
    fixture.commit("one", "second");
    fixture.ingest();
    fixture
}

#[test]
fn a_comparison_is_json_and_a_page() {
    let fixture = cloned();
    let server = fixture.serve();
    let all = ask(&server, "/diff?repo=one&base=HEAD~1", 200);
    assert_eq!(
        (&all["files"], &all["next"], &all["complete"], &all["label"]),
        (&json!(3), &json!(null), &json!(true), &json!("HEAD~1..HEAD"))
    );
    let told: Vec<Value> = all["changes"].as_array().unwrap().clone();
    let of = |name: &str| told.iter().map(|file| file[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("path"), ["gone.txt", "image", "src/a.py"]);
    assert_eq!(of("status"), ["deleted", "added", "modified"]);
    assert_eq!(of("left_out"), [json!(null), json!("binary"), json!(null)]);
    assert_eq!(
        (of("added"), of("removed")),
        (vec![json!(0), json!(null), json!(4)], vec![json!(1), json!(null), json!(1)])
    );
    let one = ask(&server, "/diff?repo=one&commit=HEAD&path=src/a.py&context=0", 200);
    let hunk = &one["changes"][0]["hunks"][0];
    assert_eq!(hunk["lines"][1]["text"], "    return '<2>'");
    assert_eq!((&hunk["old_start"], &hunk["new_lines"]), (&json!(2), &json!(4)));
    // The first commit is compared with nothing.
    let first = ask(&server, "/diff?repo=one&commit=HEAD~1", 200);
    assert_eq!((&first["base"], &first["files"]), (&json!(null), &json!(2)));
    let next = ask(&server, "/diff?repo=one&base=HEAD~1&skip=2", 200);
    assert_eq!(next["changes"].as_array().unwrap().len(), 1);

    let shown = page(&server, "/diff?repo=one&base=HEAD~1", 200);
    let href = "/diff?repo=one&#38;base=HEAD~1&#38;path=src/a.py";
    assert!(shown.contains(href) && shown.contains("3 files changed, 4 lines added"), "{shown}");
    let shown = page(&server, "/diff?repo=one&base=HEAD~1&path=src/a.py", 200);
    for part in ["<del><code>", "id=\"L4\"", "id=\"O2\"", "&#60;2&#62;", "class=\"k\""] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let history = page(&server, "/history?repo=one&path=src/a.py", 200);
    assert!(history.contains("href=\"/diff?repo=one&#38;commit="), "{history}");
    for (path, status, why) in [
        ("repo=one", 400, "give base= and head=, or commit="),
        ("repo=one&base=a&commit=b", 400, "cannot be combined"),
        ("repo=one&base=nowhere", 400, "unknown revision nowhere"),
        ("repo=two&base=HEAD~1", 404, "two is not in the index"),
        ("repo=one&base=HEAD~1&path=src/b.py", 404, "src/b.py did not change in HEAD~1..HEAD"),
    ] {
        let told = ask(&server, &format!("/diff?{path}"), status);
        assert!(told["error"]["message"].as_str().unwrap().contains(why), "{told}");
        let shown = page(&server, &format!("/diff?{path}"), status);
        assert!(shown.contains(why), "{path}: {shown}");
    }
}

#[test]
fn many_files_are_on_several_pages() {
    let fixture = Fixture::new();
    fixture.write("one/a", "a\n");
    fixture.commit("one", "first");
    for n in 0..501 {
        fixture.write(&format!("one/d/{n:03}"), format!("{n}\n"));
    }
    fixture.commit("one", "second");
    fixture.ingest();
    let server = fixture.serve();
    let first = ask(&server, "/diff?repo=one&base=HEAD~1", 200);
    assert_eq!((&first["files"], &first["next"]), (&json!(501), &json!(500)));
    let rest = ask(&server, "/diff?repo=one&base=HEAD~1&skip=500", 200);
    assert_eq!((&rest["changes"][0]["path"], &rest["next"]), (&json!("d/500"), &json!(null)));
    let shown = page(&server, "/diff?repo=one&base=HEAD~1", 200);
    assert!(shown.contains("skip=500") && shown.contains("Files 1 to 500 of 501"), "{shown}");
}

#[test]
fn a_search_continues_until_a_branch_moves() {
    let fixture = Fixture::new();
    for n in 0..7 {
        fixture.write(&format!("one/{n}"), "old\n");
    }
    fixture.commit("one", "first");
    for n in 0..7 {
        fixture.write(&format!("one/{n}"), "needle\n");
    }
    fixture.commit("one", "second");
    fixture.ingest();
    let server = fixture.serve();
    let (mut paths, mut address) =
        (Vec::new(), "/search?q=diff:HEAD~1..+needle&limit=3".to_owned());
    let first = address.clone();
    let mut cursor = None;
    loop {
        let answer = ask(&server, &address, 200);
        for file in answer["files"].as_array().unwrap() {
            assert_eq!(file["trees"], json!(["HEAD~1..HEAD"]));
            assert_eq!(file["matches"][0]["change"], "added");
            paths.push(file["path"].as_str().unwrap().to_owned());
        }
        let Some(next) = answer["next"].as_str() else { break };
        address = format!("{first}&cursor={next}");
        cursor.get_or_insert(address.clone());
    }
    assert_eq!(paths.concat(), "0123456");
    fixture.write("one/7", "needle\n");
    fixture.commit("one", "third");
    let gone = ask(&server, &cursor.unwrap(), 410);
    assert_eq!(gone["error"]["code"], "gone");
    let (status, other) = server.json(&format!("{first}&cursor={}", "x"));
    assert_eq!(status, 400, "{other}");
}

#[test]
fn results_lead_to_both_sides() {
    let fixture = cloned();
    let server = fixture.serve();
    let shown = page(&server, "/search?q=diff:HEAD~1..HEAD+needle&wait=1", 200);
    let href = "/diff?repo=one&#38;base=HEAD~1&#38;head=HEAD&#38;path=";
    assert!(shown.contains(&format!("{href}gone.txt#O1")), "{shown}");
    assert!(shown.contains(&format!("{href}src/a.py#L4")), "{shown}");
}

#[test]
fn a_server_without_history_compares_nothing() {
    let fixture = cloned();
    let server =
        Server::start(fixture.command(&["serve", "--listen", "127.0.0.1:0", "--no-history"]));
    for (path, status) in
        [("/diff?repo=one&base=HEAD~1", 404), ("/search?q=diff:HEAD~1..+needle", 400)]
    {
        let told = ask(&server, path, status);
        let why = "this server does not show blame and history";
        assert_eq!(told["error"]["message"], why, "{path}");
    }
}

#[test]
fn agents_are_told_what_changed_in_parts() {
    let fixture = cloned();
    let mut agent = Agent::of(&fixture);
    let told =
        agent.told("diff", &json!({ "repo": "one", "range": "HEAD~1..", "path": "gone.txt" }));
    assert!(
        told.contains("1 file changed. That is all.\n\ndiff --git a/gone.txt b/gone.txt\n"),
        "{told}"
    );
    assert!(told.contains("\n@@ -1 +0,0 @@\n-needle\n"), "{told}");
    let told = agent.told("diff", &json!({ "repo": "one", "range": "HEAD", "path": "src" }));
    assert!(told.contains("+def needle():"), "{told}");
    let lines = (0..200).map(|n| format!("a line with the number {n}\n"));
    let lines = lines.collect::<Vec<_>>().concat();
    for name in ["x", "y"] {
        fixture.write(&format!("one/{name}"), &lines);
    }
    fixture.commit("one", "third");
    let most = json!({ "repo": "one", "range": "HEAD~1..HEAD", "max_bytes": 8192 });
    let told = agent.told("diff", &most);
    assert!(told.contains("2 files changed. Here are 1 to 1: the answer is full."), "{told}");
    assert!(told.contains("ask again with offset 1.") && told.len() <= 8192, "{told}");
    let mut next = most.clone();
    next["offset"] = json!(1);
    assert!(agent.told("diff", &next).contains("diff --git a/y b/y"), "the second file");
    next["max_bytes"] = json!(2048);
    let told = agent.told("diff", &next);
    assert!(told.contains("The last file is cut") && told.len() <= 2048, "{told}");
    let wrong = agent.refused("diff", &json!({ "repo": "one", "range": "nowhere.." }));
    assert!(wrong.contains("unknown revision nowhere"), "{wrong}");
    let wrong = agent.refused("diff", &json!({ "repo": "two", "range": "HEAD" }));
    assert!(wrong.contains("unknown repository 'two'"), "{wrong}");
}
