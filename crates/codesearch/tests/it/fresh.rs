//! Visible freshness: how old the repositories of an answer are, what failed, what waits in the queue; and searches that
//! wait for it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::access::new_token;
use crate::agents::Agent;
use crate::harness::{Fixture, Ran, Server, eventually, raw};

/// Returns an index of two repositories. The first was looked at 3 hours ago.
fn indexed() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("one/a.rs", "fn needle() {}\n");
    fixture.write("two/b.rs", "fn needle() {}\n");
    fixture.ingest();
    fixture
        .exec("update repos set looked_at = now() - interval '3 hours 1 min' where name = 'one'");
    fixture
}

const FAILED: &str = "update repos set failed_at = now(), failures = 3, failure = 'its folder is gone' \
                      where name = 'one'";

/// Puts the folder of a repository into the queue, as if nobody took it.
fn queue(fixture: &Fixture, repo: &str) {
    fixture.exec(&format!(
        "insert into pending (source, reason) select source, 'asked' from repos where name = '{repo}'"
    ));
}

fn oldest(answer: &Value) -> &str {
    answer["stats"]["oldest"]["repo"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// Posts to an address; returns the status and the JSON of the answer.
pub(crate) fn post(server: &Server, path: &str, headers: &str, body: &[u8]) -> (u16, Value) {
    let mut request = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    )
    .into_bytes();
    request.extend(body);
    let answer = raw(server.address, &request);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

#[test]
fn each_answer_tells_how_old_its_oldest_repository_is() {
    let fixture = indexed();
    let server = fixture.serve();
    for (query, expected) in [
        ("needle", "one"),
        ("repo:two+needle", "two"),
        ("repo:one+needle", "one"),
        ("-repo:one+needle", "two"),
        ("repo:o+nothing_at_all", "one"),
        ("type:repo+needle", "one"),
        ("needle&limit=9&sort=relevance", "one"),
    ] {
        let (_, answer) = server.json(&format!("/search?q={query}"));
        assert_eq!(oldest(&answer), expected, "{query}");
    }
    let (_, _, events) = server.get("/search/stream?q=needle", "text/event-stream");
    assert!(events.contains("\"oldest\":{") && events.contains("\"repo\":\"one\""), "{events}");
    let page = server.get("/search?q=needle&wait=1", "text/html").2;
    assert!(page.contains(">oldest repository looked at 3 h ago<"), "{page}");
    let page = server.get("/search?q=needle+repo:two&wait=1", "text/html").2;
    assert!(page.contains(">looked at just now<"), "{page}");

    // A server hears of what changes without an epoch.
    fixture.exec("update repos set looked_at = now() - interval '5 days' where name = 'two'");
    eventually("the server knows the new age", || {
        oldest(&server.json("/search?q=needle").1) == "two"
    });

    let mut agent = Agent::of(&fixture);
    for arguments in [
        json!({ "query": "needle" }),
        json!({ "query": "needle", "order": "exhaustive" }),
        json!({ "query": "nothing_at_all" }),
    ] {
        let (_, told) = agent.call_whole("search", &arguments);
        assert!(told.contains("as of 5 days ago)"), "{told}");
    }
    let told = agent.told("list_repos", &json!({}));
    assert!(told.contains("looked at"), "{told}");

    let ran = fixture.run(&["search", "--stats", "needle"]).code(0);
    assert!(ran.err.contains("oldest repository: two, looked at 5 days ago"), "{}", ran.err);
    let ran = fixture.run(&["search", "needle"]).code(0);
    assert_eq!(ran.err, "");
    let ran = fixture.run(&["repos", "--long"]).code(0);
    assert!(ran.out.contains("LOOKED AT"), "{}", ran.out);
}

#[test]
fn searches_of_documents_tell_how_old_their_repositories_are() {
    let fixture = Fixture::new();
    fixture.write("one/README.md", "# The manual\n\nAbout needles.\n");
    fixture.write("two/README.md", "# Another manual\n\nAbout hay.\n");
    fixture.ingest();
    fixture
        .exec("update repos set looked_at = now() - interval '3 hours 1 min' where name = 'one'");
    let server = fixture.serve();
    for (query, expected) in [
        ("manual", "one"),
        ("manual+repo:two", "two"),
        ("nothing_at_all", "one"),
        ("hay+repo:one", "one"),
    ] {
        let (_, answer) = server.json(&format!("/docs?q={query}"));
        assert_eq!(oldest(&answer), expected, "{query}");
        assert_eq!(answer["stats"]["notes"], Value::Null);
    }
    let page = server.get("/docs?q=manual", "text/html").2;
    assert!(page.contains(">oldest repository looked at 3 h ago<"), "{page}");
    let mut agent = Agent::of(&fixture);
    for query in ["manual", "nothing_at_all"] {
        let (_, told) = agent.call_whole("docs", &json!({ "query": query }));
        assert!(told.contains("(as of 3 h ago)"), "{told}");
    }
    assert_eq!(fixture.run(&["docs", "manual"]).code(0).err, "");
    fixture.exec(FAILED);
    let why = "since it cannot be updated: its folder is gone";
    eventually("the server knows of the failure", || {
        server.json("/docs?q=manual").1["stats"]["notes"].to_string().contains(why)
    });
    assert_eq!(server.json("/docs?q=manual+repo:two").1["stats"]["notes"], Value::Null);
    let page = server.get("/docs?q=manual", "text/html").2;
    assert!(page.contains(why), "{page}");
    let told = Agent::of(&fixture).told("docs", &json!({ "query": "manual" }));
    assert!(told.contains(why), "{told}");
    let ran = fixture.run(&["docs", "manual"]).code(0);
    assert!(
        ran.err.starts_with("codesearch: one is as it was ") && ran.err.contains(why),
        "{}",
        ran.err
    );
    assert_eq!(fixture.run(&["docs", "hay", "--repo", "two"]).code(0).err, "");
}

#[test]
fn a_repository_that_cannot_be_updated_is_never_silently_old() {
    let fixture = indexed();
    fixture.git("two", &["init", "-q"]);
    fixture.commit("two", "one");
    fixture.ingest();
    let server = fixture.serve();
    let notes =
        |query: &str| server.json(&format!("/search?q={query}")).1["stats"]["notes"].to_string();
    assert_eq!(notes("needle"), "null");
    fixture.exec(FAILED);
    let why = "since it cannot be updated: its folder is gone";
    eventually("the server knows of the failure", || notes("needle").contains(why));
    assert_eq!(notes("repo:two+needle"), "null");
    assert!(notes("repo:one+nothing_at_all").contains(why));
    let page = server.get("/search?q=needle&wait=1", "text/html").2;
    assert!(page.contains(why) && !page.contains("complete<"), "{page}");
    let ran = fixture.run(&["search", "needle"]).code(0);
    assert!(
        ran.err.starts_with("codesearch: one is as it was ") && ran.err.contains(why),
        "{}",
        ran.err
    );
    assert_eq!(fixture.run(&["search", "needle", "--repo", "two"]).code(0).err, "");
    let mut agent = Agent::of(&fixture);
    assert!(agent.told("search", &json!({ "query": "needle" })).contains(why));
    let (_, found) = server.json("/definitions?name=needle");
    assert!(found.to_string().contains(why), "{found}");
    // So are searches of changes.
    let diff = fixture.run(&["search", "diff:HEAD.. needle", "--repo", "two"]);
    assert!(!diff.err.contains(why), "{}", diff.err);

    // Lists of repositories tell it, too, and the queue.
    queue(&fixture, "one");
    let ran = fixture.run(&["repos"]).code(0);
    assert!(
        ran.out.contains("  cannot be updated: its folder is gone (tried 3 times, last just now)"),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("  in the queue: place 1, since just now"), "{}", ran.out);
    let line: Value =
        serde_json::from_str(fixture.run(&["repos", "--json", "one"]).code(0).out.trim()).unwrap();
    assert_eq!((&line["failure"]["times"], &line["queue"]["place"]), (&json!(3), &json!(1)));
    let (_, answer) = server.json("/repos");
    assert_eq!(answer["repos"][0]["failure"]["why"], "its folder is gone");
    assert_eq!(answer["repos"][1]["failure"], Value::Null);
    assert_eq!(answer["repos"][1]["queue"], Value::Null);
    assert!(answer["repos"][1]["commit"].is_string(), "{answer}");
    for path in ["/repos", "/repos?repo=one"] {
        let page = server.get(path, "text/html").2;
        assert!(page.contains("cannot be updated: its folder is gone"), "{page}");
        assert!(page.contains("in the queue: place 1"), "{page}");
    }
    let metrics = server.get("/metrics", "*/*").2;
    for line in [
        "codesearch_failed_repositories 1",
        "codesearch_pending 1",
        "codesearch_repository_age_seconds_count 2",
        "codesearch_repository_age_seconds_bucket{le=\"604800\"} 2",
    ] {
        assert!(metrics.lines().any(|one| one == line), "{line}\n{metrics}");
    }
    let (_, stats) = server.json("/stats");
    assert_eq!((&stats["pending"], &stats["failed_repositories"]), (&json!(1), &json!(1)));
    assert!(server.get("/stats", "text/html").2.contains("Cannot be updated"));
    let failure = "select failure from codesearch_sql.repositories where repository = 'one'";
    assert_eq!(fixture.sql::<String>(failure), "its folder is gone");
    let place = "select place from codesearch_sql.pending where repository = 'one'";
    assert_eq!(fixture.sql::<i64>(place), 1);

    fixture.exec(
        "update repos set failed_at = null, failure = null, failures = 0; delete from pending",
    );
    eventually("the server knows that it works again", || notes("needle") == "null");
}

#[test]
fn a_restricted_view_tells_no_freshness_of_others() {
    let fixture = Fixture::new();
    for name in ["veiled-one", "veiled-two", "seen"] {
        fixture.write(&format!("{name}/a.rs"), "fn needle() {}\n");
    }
    fixture.ingest();
    fixture.exec(
        "update repos set looked_at = now() - interval '9 days', failed_at = now(), failures = 1,
             failure = 'a whispered reason' where name <> 'seen'",
    );
    let seeing = |args: &[&str]| {
        let mut command = fixture.command(args);
        command.env("CODESEARCH_REPOS", "^seen");
        command
    };
    let server = Server::start(seeing(&["serve", "--listen", "127.0.0.1:0"]));
    queue(&fixture, "veiled-one");
    let tells_nothing = |text: &str| {
        for veiled in ["veiled", "whispered", "9 days"] {
            assert!(!text.contains(veiled), "{text}");
        }
    };
    for path in [
        "/search?q=needle",
        "/search?q=needle&fresh=1&limit=5",
        "/repos",
        "/search/stream?q=needle&fresh=1",
    ] {
        let (status, _, body) = server.get(path, "application/json");
        assert_eq!(status, 200, "{path}");
        tells_nothing(&body);
        assert!(!body.contains("not indexed yet"), "{body}");
    }
    for path in ["/search?q=needle&wait=1", "/repos", "/repos?repo=seen"] {
        tells_nothing(&server.get(path, "text/html").2);
    }
    assert_eq!(oldest(&server.json("/search?q=needle").1), "seen");
    // The place is counted among the repositories that are seen.
    queue(&fixture, "seen");
    let (_, answer) = server.json("/repos");
    assert_eq!(answer["repos"][0]["queue"]["place"], 1, "{answer}");
    let ran = Ran::of(seeing(&["repos"]).output().unwrap()).code(0);
    tells_nothing(&ran.out);
    assert!(ran.out.contains("in the queue: place 1,"), "{}", ran.out);
    let mut agent = Agent::start(seeing(&["mcp"]));
    tells_nothing(&agent.told("search", &json!({ "query": "needle" })));
    tells_nothing(&agent.told("list_repos", &json!({})));

    // Nor can others be queued.
    fixture.exec("delete from pending");
    assert_eq!(post(&server, "/ingest?repo=veiled-one", "", b"").0, 404);
    let (status, answer) = post(&server, "/ingest", "", b"");
    assert_eq!((status, answer["queued"].as_array().unwrap().len()), (202, 1), "{answer}");
    tells_nothing(&answer.to_string());
    assert_eq!(fixture.sql::<i64>("select count(*) from pending"), 1);
}

#[test]
fn an_answer_says_if_changes_are_not_indexed_in_time() {
    let fixture = indexed();
    let server = fixture.serve();
    queue(&fixture, "one");
    let note = "1 change is not indexed yet (waited for 100ms)";
    let asked = "needle&fresh=1&timeout=100ms";
    for path in [
        format!("/search?q={asked}"),
        format!("/search?q={asked}&limit=9&sort=path"),
        format!("/search/stream?q={asked}"),
    ] {
        let (status, _, body) = server.get(&path, "application/json");
        assert!(status == 200 && body.contains(note), "{path}: {body}");
    }
    let page = server.get(&format!("/search?q={asked}&wait=1"), "text/html").2;
    assert!(page.contains(note), "{page}");
    // What is not asked for is not waited for.
    let (_, answer) = server.json("/search?q=repo:two+needle&fresh=1");
    assert_eq!(answer["stats"]["notes"], Value::Null, "{answer}");
    let (_, answer) = server.json("/search?q=needle");
    assert_eq!(answer["stats"]["notes"], Value::Null, "{answer}");
    let ran = fixture.run(&["search", "--wait", "--timeout", "100ms", "needle"]).code(0);
    assert!(ran.err.contains(note), "{}", ran.err);
    let ran = fixture.run(&["search", "--wait", "--repo", "two", "needle"]).code(0);
    assert_eq!(ran.err, "");
    let mut agent = Agent::of(&fixture);
    let told = agent.told("search", &json!({ "query": "needle timeout:100ms", "fresh": true }));
    assert!(told.contains(note), "{told}");
    assert_eq!(server.json("/search?q=needle&fresh=maybe&fresh=1").0, 400);
}

#[test]
fn a_search_that_waits_sees_what_was_pending() {
    let fixture = indexed();
    let server = fixture.serve();
    for n in 0..4 {
        fixture.write("one/new.rs", format!("fn brand_new_{n}() {{}}\n"));
        let (status, answer) = post(&server, "/ingest?repo=one&repo=two", "", b"");
        assert_eq!((status, &answer["queued"][0]["place"]), (202, &json!(1)), "{answer}");
        std::thread::scope(|scope| {
            let ingesting = scope.spawn(|| fixture.run(&["ingest", "--now"]).code(0));
            let query = format!("brand_new_{n}");
            let answer = match n {
                0 => server.json(&format!("/search?q={query}&fresh=1&timeout=20s")).1.to_string(),
                1 => server.get(&format!("/search/stream?q={query}&fresh=1&timeout=20s"), "*/*").2,
                2 => fixture.run(&["search", "--wait", "--timeout", "20s", &query]).code(0).out,
                _ => {
                    let asked = json!({ "query": format!("{query} timeout:20s"), "fresh": true });
                    Agent::of(&fixture).told("search", &asked)
                }
            };
            assert!(
                answer.contains("new.rs") && !answer.contains("not indexed yet"),
                "{n}: {answer}"
            );
            ingesting.join().unwrap();
        });
    }
}

#[test]
fn only_those_who_may_have_repositories_looked_at() {
    let fixture = indexed();
    let here = fixture.serve();
    assert_eq!(post(&here, "/ingest?repo=one", "", b"").0, 202);
    assert_eq!(fixture.sql::<i64>("select count(*) from pending where reason = 'asked'"), 1);
    let (status, answer) = post(&here, "/ingest?repo=thre", "", b"");
    assert_eq!((status, &answer["error"]["code"]), (404, &json!("not_found")), "{answer}");
    assert_eq!(post(&here, "/ingest?rep=one", "", b"").0, 400);
    let (status, answer) = here.json("/ingest?repo=one");
    assert_eq!((status, &answer["error"]["message"]), (405, &json!("use POST")));
    // A page of another site has no button.
    let (status, answer) = post(&here, "/ingest", "Origin: https://evil.example\r\n", b"");
    assert_eq!((status, &answer["error"]["code"]), (403, &json!("other_site")), "{answer}");
    let (status, _) = post(&here, "/ingest", "X-Forwarded-For: 192.0.2.1\r\n", b"");
    assert_eq!(status, 401);
    assert!(here.get("/repos?repo=one", "text/html").2.contains("action=\"/ingest?repo=one\""));
    let request = "POST /ingest?repo=one HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept: text/html\r\n\
                   Content-Length: 0\r\n\r\n";
    let answer = raw(here.address, request.as_bytes()).to_lowercase();
    assert!(
        answer.starts_with("http/1.1 303") && answer.contains("location: /repos?repo=one"),
        "{answer}"
    );

    let (plain, line) = new_token(&fixture, &["ann"]);
    let (right, ingest) = new_token(&fixture, &["ci", "--ingest"]);
    let (root, admin) = new_token(&fixture, &["root", "--admin"]);
    assert!(ingest.ends_with(" ingest") && admin.ends_with(" admin"), "{ingest} {admin}");
    fixture.write("tokens", format!("{line}\n{ingest}\n{admin}\n"));
    let server = fixture.serve_with(&["--tokens", "tokens"]);
    let asked = |token: &str| {
        let header = format!("Authorization: Bearer {token}\r\n");
        post(&server, "/ingest?repo=one", &header, b"")
    };
    assert_eq!(post(&server, "/ingest?repo=one", "", b"").0, 401);
    assert_eq!(asked("0123456789abcdef").0, 401);
    let (status, answer) = asked(&plain);
    assert_eq!((status, &answer["error"]["code"]), (403, &json!("ingest_only")), "{answer}");
    assert_eq!((asked(&right).0, asked(&root).0), (202, 202));
    let page = |token: &str| {
        let bearer = format!("Bearer {token}");
        server.ask("/repos?repo=one", &[("accept", "text/html"), ("authorization", &bearer)]).2
    };
    assert!(!page(&plain).contains("/ingest") && page(&right).contains("/ingest?repo=one"));
    // The right to have them looked at is no right to see what others search for.
    assert_eq!(server.ask("/stats", &[("authorization", &format!("Bearer {right}"))]).0, 403);
}

#[test]
fn an_ingest_is_waited_for() {
    let fixture = indexed();
    let server = fixture.serve();
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| post(&server, "/ingest?repo=one&wait=1", "", b""));
        eventually("it is in the queue or done", || {
            fixture.sql::<i64>("select count(*) from pending") > 0 || asking.is_finished()
        });
        fixture.run(&["ingest", "--now"]).code(0);
        let (status, answer) = asking.join().unwrap();
        assert_eq!((status, &answer["fresh"]), (200, &json!(true)), "{answer}");
        assert_eq!(answer["queued"], json!([{ "repo": "one", "place": null }]));
    });
}

/// Writes a printed hook into a clone.
fn install(fixture: &Fixture, hook: &str, place: &str) {
    let printed = fixture.run(&["ingest", "--print-hook", hook]).code(0);
    assert!(printed.err.contains("chmod +x"), "{}", printed.err);
    let path = format!("{place}/{hook}");
    fixture.write(&path, &printed.out);
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(fixture.path().join(path), executable).unwrap();
}

#[test]
fn printed_hooks_have_changes_found() {
    let fixture = Fixture::new();
    fixture.write("it's one/a.rs", "fn first() {}\n");
    fixture.commit("it's one", "first");
    let work = "it's one";
    fixture.git(work, &["checkout", "-q", "-b", "other"]);
    fixture.write("it's one/b.rs", "fn only_on_other() {}\n");
    fixture.commit(work, "other");
    fixture.git(work, &["checkout", "-q", "-"]);
    fixture.git(work, &["clone", "-q", "--bare", ".", "../bare.git"]);
    fixture.ingest();
    let finds = |text: &str| !fixture.search(&[text]).is_empty();

    install(&fixture, "post-commit", "it's one/.git/hooks");
    install(&fixture, "post-checkout", "it's one/.git/hooks");
    install(&fixture, "post-receive", "bare.git/hooks");
    fixture.write("it's one/a.rs", "fn second_one() {}\n");
    fixture.commit(work, "second");
    eventually("a commit is found", || finds("second_one repo:one"));
    let head = fixture.git(work, &["rev-parse", "--abbrev-ref", "HEAD"]);
    fixture.git(work, &["push", "-q", "../bare.git", &format!("HEAD:{}", head.trim())]);
    eventually("a push is found", || finds("second_one repo:bare"));
    fixture.git(work, &["checkout", "-q", "other"]);
    eventually("a checkout is found", || finds("only_on_other repo:one"));
    let ran = fixture
        .run(&["--server", "http://localhost:1", "ingest", "--print-hook", "post-commit"])
        .code(2);
    assert!(ran.err.contains("leave out --server"), "{}", ran.err);
}
