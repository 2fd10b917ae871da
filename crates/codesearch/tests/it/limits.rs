//! Limits: a client that exceeds its limits is told when to retry, and others are not delayed.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::access::new_token;
use crate::harness::{Fixture, Server, eventually, raw};
use crate::private_postgres::Home;

fn indexed() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("one/a.rs", "fn needle() {}\n");
    fixture.write("one/large.txt", "hay hay hay hay hay hay hay hay\n".repeat(30_000));
    fixture.ingest();
    fixture
}

/// Sends requests until one is refused, and returns the refusal. On a slow machine the budget refills meanwhile, so it
/// takes several requests.
#[track_caller]
fn turned_away(
    server: &Server,
    path: &str,
    headers: &[(&str, &str)],
    status: u16,
) -> (u64, String) {
    for _ in 0..200 {
        let (got, answer, body) = server.ask(path, headers);
        if got == status {
            let wait = answer.get("retry-after").map_or("0", |value| value.to_str().unwrap());
            return (wait.parse().unwrap(), body);
        }
        assert_eq!(got, 200, "{body}");
    }
    panic!("{path} was never turned away");
}

#[track_caller]
fn counted(server: &Server, reason: &str) {
    let (_, _, text) = server.get("/metrics", "*/*");
    let line = format!("codesearch_refused_total{{reason=\"{reason}\"}} ");
    let count = text.lines().find_map(|one| one.strip_prefix(&line)).unwrap();
    assert!(count.parse::<u64>().unwrap() > 0, "{text}");
}

#[test]
fn searches_a_minute_of_an_address() {
    let fixture = indexed();
    let server = fixture.serve_with(&["--client-per-minute", "1"]);
    let (wait, body) = turned_away(&server, "/search?q=needle", &[], 429);
    assert!((1..=60).contains(&wait), "{wait}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answer["error"]["code"], "too_many_requests");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("searches per minute; try again in"), "{message}");
    counted(&server, "client_per_minute");

    // Each kind of endpoint refuses in its own format; requests other than searches are answered.
    let (_, page) = turned_away(&server, "/search?q=needle", &[("accept", "text/html")], 429);
    assert!(page.contains("<!DOCTYPE html>") && page.contains("your limit of searches"), "{page}");
    turned_away(&server, "/api/v1/search?q=needle", &[], 429);
    turned_away(&server, "/search/stream?q=needle", &[], 429);
    turned_away(&server, "/files?q=a", &[], 429);
    for path in ["/healthz", "/stats", "/repos", "/file?repo=one&path=a.rs", "/"] {
        assert_eq!(server.ask(path, &[]).0, 200, "{path}");
    }
    // Unless the server trusts the proxy, the header is ignored.
    turned_away(&server, "/search?q=needle", &[("x-forwarded-for", "192.0.2.1")], 429);
    server.stop();
    let ran = fixture.run(&["stats"]).code(0);
    assert!(ran.out.contains("client per minute"), "{}", ran.out);
}

#[test]
fn clients_of_a_proxy_have_budgets_of_their_own() {
    let fixture = indexed();
    let server = fixture.serve_with(&["--client-per-minute", "1", "--trust-forwarded"]);
    let from = |address: &'static str| [("x-forwarded-for", address)];
    turned_away(&server, "/search?q=needle", &from("192.0.2.1"), 429);
    assert_eq!(server.ask("/search?q=needle", &from("192.0.2.2")).0, 200);
    // Earlier entries, which the client may have added itself, are ignored.
    turned_away(&server, "/search?q=needle", &from("192.0.2.3, 192.0.2.1"), 429);
    assert_eq!(server.ask("/search?q=needle", &from("2001:db8::1")).0, 200);
    turned_away(&server, "/search?q=needle", &from("2001:db8::ffff:2"), 429);
    assert_eq!(server.ask("/search?q=needle", &from("2001:db8:0:1::1")).0, 200);
}

#[test]
fn all_clients_together() {
    let fixture = indexed();
    let server = fixture.serve_with(&["--server-per-minute", "2", "--trust-forwarded"]);
    turned_away(&server, "/search?q=needle", &[("x-forwarded-for", "192.0.2.1")], 429);
    let (_, body) =
        turned_away(&server, "/search?q=needle", &[("x-forwarded-for", "192.0.2.2")], 429);
    assert!(body.contains("this server has reached its limit of searches"), "{body}");
    counted(&server, "server_per_minute");
}

#[test]
fn bytes_a_minute() {
    let fixture = indexed();
    let server = fixture.serve_with(&["--client-mib-per-minute", "1"]);
    // An answer is never cut off; bytes beyond the budget are charged afterwards.
    let (status, _, body) = server.ask("/raw?repo=one&path=large.txt", &[]);
    assert_eq!((status, body.len()), (200, 960_000));
    let (wait, _) = turned_away(&server, "/raw?repo=one&path=large.txt", &[], 429);
    assert!(wait >= 1);
    turned_away(&server, "/search?q=hay&limit=0", &[], 429);
    counted(&server, "client_bytes");
    assert_eq!(server.ask("/healthz", &[]).0, 200);
    server.stop();

    let server = fixture.serve_with(&["--server-mib-per-minute", "1"]);
    turned_away(&server, "/raw?repo=one&path=large.txt", &[], 429);
    counted(&server, "server_bytes");
}

#[test]
fn searches_at_once() {
    let fixture = indexed();
    // Every search that needs texts waits for this lock.
    let held = fixture.hold("lock table chunks, documents, files in access exclusive mode");
    let server = fixture.serve_with(&["--client-at-once", "1", "--cache", "0"]);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| server.ask("/search?q=needle&timeout=1m", &[]));
        eventually("the first one runs", || {
            server.get("/metrics", "*/*").2.contains("codesearch_searches_running 1\n")
        });
        let (status, headers, body) = server.ask("/search?q=needle", &[]);
        assert_eq!(status, 429, "{body}");
        assert_eq!(headers["retry-after"], "1");
        assert!(body.contains("your limit of concurrent searches"), "{body}");
        drop(held);
        assert_eq!(first.join().unwrap().0, 200);
    });
    counted(&server, "client_at_once");
    eventually("its place is free again", || server.ask("/search?q=needle", &[]).0 == 200);
}

#[test]
fn a_broken_query_does_not_wait_for_a_turn() {
    let fixture = indexed();
    let held = fixture.hold("lock table chunks, documents, files in access exclusive mode");
    let server = fixture.serve_with(&["--server-at-once", "1", "--cache", "0"]);
    let long = "x".repeat(300);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| server.ask("/search?q=needle&timeout=1m", &[]));
        eventually("the first one runs", || {
            server.get("/metrics", "*/*").2.contains("codesearch_searches_running 1\n")
        });
        // A search that waits for ten seconds is told that the server is busy: 503.
        for (path, status) in [
            ("/search?q=a(b", 400),
            ("/search?q=needle&sort=path&limit=0", 400),
            ("/search?q=needle&cursor=x", 400),
            ("/search?q=a(b&format=html", 400),
            ("/search/lines?repo=one&path=a&q=a(b", 400),
            ("/docs?q=needle&repo=(", 400),
            (&format!("/files?q={long}"), 400),
            ("/search/stream?q=a(b", 400),
            ("/zoekt/search?q=a(b&format=json", 418),
            ("/api/v1/search/?q=a(b", 400),
        ] {
            let (told, _, body) = server.ask(path, &[]);
            assert_eq!(told, status, "{path}: {body}");
        }
        drop(held);
        assert_eq!(first.join().unwrap().0, 200);
    });
}

/// Matching this takes minutes.
const SLOW: &str = r#"c:"(?:[a-z]?){20000}[0-9]{9}[g-k][0-9]{9}""#;

#[test]
fn a_file_is_shown_though_a_pattern_takes_minutes() {
    let fixture = Fixture::new();
    fixture.write("one/line.txt", "a".repeat(1_000_000));
    fixture.ingest();
    let server = fixture.serve();
    let terms = utf8_percent_encode(SLOW, NON_ALPHANUMERIC);
    let path = format!("/file?repo=one&path=line.txt&q={terms}+{terms}");
    let (status, _, page) = server.get(&path, "text/html");
    assert!(status == 200 && page.contains("more bytes"), "{page}");
}

#[test]
fn a_page_in_order_keeps_no_more_than_fits() {
    let fixture = Fixture::new();
    // Each letter is a match, whose place takes memory.
    for n in 0..220 {
        fixture.write(&format!("one/{n:03}.txt"), format!("{}\n", "a".repeat(4096)).repeat(10));
    }
    fixture.ingest();
    let server = fixture.serve();
    let address = "/search?q=case:yes+c:a&wait=1&sort=path";
    let mut path = address.to_owned();
    // A later page keeps the results of all pages before it.
    for _ in 0..3 {
        let (status, _, page) = server.get(&path, "text/html");
        assert_eq!(status, 200, "{path}");
        let next = page.split("cursor=").nth(1).unwrap().split(['"', '&']).next().unwrap();
        path = format!("{address}&cursor={next}");
    }
    let (status, _, page) = server.get(&path, "text/html");
    assert!(status == 400 && page.contains("too large to sort"), "{status}");
}

#[test]
fn a_query_that_is_typed_waits_for_no_turn_and_a_client_that_leaves_ends_its_search() {
    let fixture = indexed();
    let lock = "lock table chunks, documents, files in access exclusive mode";
    let held = fixture.hold(lock);
    let server = fixture.serve_with(&["--server-at-once", "1", "--cache", "0"]);
    let runs = |count: u64| {
        let line = format!("codesearch_searches_running {count}\n");
        eventually(&line, || server.get("/metrics", "*/*").2.contains(&line));
    };
    let typed = "/search?q=needle&typed=1";
    std::thread::scope(|scope| {
        let first = scope.spawn(|| server.ask("/search?q=needle&timeout=1m", &[]));
        runs(1);
        // A query that is still being typed does not wait for a turn: 204.
        assert_eq!(server.get(typed, "text/html").0, 204);
        drop(held);
        assert_eq!(first.join().unwrap().0, 200);
    });
    let (status, _, page) = server.get(typed, "text/html");
    assert!(status == 200 && page.contains("1 matching line in 1 file"), "{page}");
    for unfinished in ["a(b", "needle lang:klingon", ""] {
        let path = format!("/search?q={unfinished}&typed=1").replace(' ', "+");
        assert_eq!(server.get(&path, "text/html").0, 204, "{path}");
    }
    // A browser closes the connection of a request that it cancels.
    let held = fixture.hold(lock);
    let mut left = TcpStream::connect(server.address).unwrap();
    let request = "GET /search?q=needle&wait=1&timeout=5m HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n";
    left.write_all(request.as_bytes()).unwrap();
    runs(1);
    drop(left);
    runs(0);
    drop(held);
}

#[test]
fn the_page_of_a_file_takes_a_turn() {
    let fixture = indexed();
    // Searches wait for this lock, requests for texts do not.
    let held = fixture.hold("lock table documents, chunk_filters in access exclusive mode");
    let server = fixture.serve_with(&["--server-at-once", "1", "--cache", "0"]);
    let page = "/file?repo=one&path=a.rs&q=needle";
    std::thread::scope(|scope| {
        let first = scope.spawn(|| server.ask("/search?q=needle&timeout=1m", &[]));
        eventually("the search runs", || {
            server.get("/metrics", "*/*").2.contains("codesearch_searches_running 1\n")
        });
        // It waits for a turn for ten seconds, as a search does.
        assert_eq!(server.get(page, "text/html").0, 503);
        drop(held);
        assert_eq!(first.join().unwrap().0, 200);
    });
    assert_eq!(server.get(page, "text/html").0, 200);
}

#[test]
fn tokens_have_limits_of_their_own() {
    let fixture = indexed();
    let [(token, ci), (other, mirror)] = ["ci", "mirror"].map(|name| new_token(&fixture, &[name]));
    fixture.write("tokens", format!("# ours\n{ci} per-minute=1\n{mirror} per-minute=none\n"));
    let options = ["--client-per-minute", "1", "--tokens", "tokens", "--open"];
    let server = fixture.serve_with(&options);
    let ask = |value: &str| server.ask("/search?q=needle", &[("authorization", value)]);
    let (status, headers, body) = ask("Bearer 0123456789abcdef9999");
    assert_eq!(status, 401, "{body}");
    assert!(headers["www-authenticate"].to_str().unwrap().starts_with("Bearer"));
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answer["error"]["code"], json!("unknown_token"));
    counted(&server, "token");

    let ci = format!("Bearer {token}");
    turned_away(&server, "/search?q=needle", &[("authorization", &ci)], 429);
    // This costs neither the address nor another token anything.
    assert_eq!(server.ask("/search?q=needle", &[]).0, 200);
    for _ in 0..5 {
        assert_eq!(ask(&format!("bearer {other}")).0, 200);
    }
    // Credentials that a proxy sends for itself are not a token.
    turned_away(&server, "/search?q=needle", &[("authorization", "Basic dXNlcjpwYXNz")], 429);
}

#[test]
fn a_file_of_tokens_that_cannot_be_used() {
    let fixture = Fixture::new();
    fixture.write("plain", "ci 0123456789abcdef0123\n");
    fixture.write("typo", format!("{} perminute=3\n", new_token(&fixture, &["ci"]).1));
    for (file, part) in [
        ("nowhere", "cannot read the tokens in nowhere"),
        ("plain", "line 1: after the name, the hash of a token is missing"),
        ("typo", "line 1: \"perminute=3\" is not a limit; use at-once=N"),
    ] {
        let ran = fixture.run(&["serve", "--listen", "127.0.0.1:0", "--tokens", file]).code(2);
        assert!(ran.err.contains(part), "{file}: {}", ran.err);
        assert!(!ran.err.contains("0123456789abcdef"), "tokens are not told: {}", ran.err);
    }
    let ran = fixture.run(&["serve", "--client-per-minute", "0"]).code(2);
    assert!(ran.err.contains("--client-per-minute"), "{}", ran.err);
}

#[test]
fn connections_leave_room_for_others() {
    let home = Home::new();
    home.ingest();
    std::fs::write(home.path().join("data/local.conf"), "max_connections = 20\n").unwrap();
    let mut child = home
        .command(&["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let out = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).unwrap();
    let address = line.trim().trim_start_matches("serving on http://").trim_end_matches('/');
    let mut log = child.stderr.take().unwrap();
    let server = Server { address: address.parse().unwrap(), child };
    let (_, _, metrics) = server.get("/metrics", "*/*");
    let most = metrics.lines().find_map(|line| line.strip_prefix("codesearch_connections_max "));
    assert!((1..8).contains(&most.unwrap().parse::<u32>().unwrap()), "{metrics}");
    assert_eq!(server.json("/search?q=hello").1["stats"]["files"], 1);
    // There are connections left for an ingest.
    home.ingest();
    assert_eq!(server.json("/search?q=hello").0, 200);
    server.stop();
    let mut text = String::new();
    log.read_to_string(&mut text).unwrap();
    assert!(text.contains("the database allows 20 connections"), "{text}");
    assert!(text.contains("raise max_connections for more"), "{text}");
}

#[test]
fn a_body_that_does_not_come_is_given_up() {
    let fixture = Fixture::new();
    fixture.write("one/a.txt", "needle\n");
    fixture.ingest();
    let server = fixture.serve();
    for begun in ["", "{\"Q\":"] {
        let head = "POST /api/search HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n";
        let answer = raw(server.address, format!("{head}\r\n{begun}").as_bytes());
        let status = answer.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok());
        assert!(status.is_some_and(|status| (400..500).contains(&status)), "{answer:?}");
    }
}

#[test]
fn answers_that_nobody_reads_have_a_bound_together() {
    use std::io::Write;

    let fixture = Fixture::new();
    fixture.write("one/large.txt", "hay hay hay hay hay hay hay hay\n".repeat(1 << 20));
    fixture.run(&["ingest", "--depth", "1", "--max-size", "41943040", "."]).code(0);
    let server = fixture.serve();
    let path = "/raw?repo=one&path=large.txt";
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut held = Vec::new();
    eventually("there is no more room", || {
        let mut client = std::net::TcpStream::connect(server.address).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        held.push(client);
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(held.len() < 40, "answers of 32 MiB have no bound");
        let (status, _, body) = server.ask("/raw?repo=one&path=large.txt", &[]);
        assert!(status == 200 || body.contains("waiting to be read"), "{status} {body}");
        status == 503
    });
    assert_eq!(server.ask("/healthz", &[]).0, 200);
    drop(held);
    eventually("there is room again", || server.ask(path, &[]).0 == 200);
}

#[test]
fn searches_that_nobody_reads_keep_no_connection() {
    use std::io::Write;

    let home = Home::new();
    let text = "needle and thread and hay\n".repeat(15_000);
    for n in 0..40 {
        let own = format!("{n}\n{text}");
        std::fs::write(home.folder().join(format!("r/f{n}.txt")), own).unwrap();
    }
    home.run(&["ingest", "--shards", "20", "r"]).code(0);
    std::fs::write(home.path().join("data/local.conf"), "max_connections = 20\n").unwrap();
    let options = ["--listen", "127.0.0.1:0", "--cache", "0", "--trust-forwarded"];
    let args = [&["serve"], &options[..], &["--server-at-once", "64"]].concat();
    let server = Server::start(home.command(&args));
    let metrics = server.get("/metrics", "*/*").2;
    let most = metrics.lines().find_map(|line| line.strip_prefix("codesearch_connections_max "));
    let most: u32 = most.unwrap().parse().unwrap();
    // Each of them finds far more than the buffers to the client take, and could use two connections.
    let unread: Vec<_> = (0..most)
        .map(|n| {
            let mut client = std::net::TcpStream::connect(server.address).unwrap();
            let head = format!("Host: localhost\r\nX-Forwarded-For: 192.0.2.{n}");
            let request = format!("GET /search/stream?q=needle&limit=0 HTTP/1.1\r\n{head}\r\n\r\n");
            client.write_all(request.as_bytes()).unwrap();
            client
        })
        .collect();
    let running = format!("codesearch_searches_running {most}\n");
    eventually("all of them run", || server.get("/metrics", "*/*").2.contains(&running));
    for _ in 0..10 {
        let (status, answer) = server.json("/search?q=hello");
        assert_eq!((status, &answer["stats"]["files"]), (200, &1.into()), "{answer}");
    }
    drop(unread);
}

/// A search that would take half a minute on a line of 1,000,000 times `a`, and so always hits its timeout.
fn long_search() -> String {
    let query = "case:yes c:\"(?:[a-z]?){20000}[0-9]{9}[g-k][0-9]{9}\"";
    let query = utf8_percent_encode(query, NON_ALPHANUMERIC);
    format!("/search?q={query}&limit=10&timeout=3s")
}

#[test]
fn no_client_has_all_turns() {
    let fixture = Fixture::new();
    fixture.write("r/line.txt", "a".repeat(1_000_000));
    fixture.ingest();
    let server = fixture.serve_with(&["--trust-forwarded", "--server-at-once", "4"]);
    server.settle();
    let path = long_search();
    let ask = |path: &str, client| server.ask(path, &[("x-forwarded-for", client)]);
    std::thread::scope(|scope| {
        let searching: Vec<_> = (0..4).map(|_| scope.spawn(|| ask(&path, "192.0.2.1").0)).collect();
        let begun = "codesearch_searches_running 3\n";
        eventually("three searches run", || server.get("/metrics", "*/*").2.contains(begun));
        assert_eq!(ask("/search?q=file:line", "192.0.2.2").0, 200);
        assert!(searching.iter().all(|one| !one.is_finished()), "another client waited for them");
        for one in searching {
            assert_eq!(one.join().unwrap(), 200);
        }
    });
}

#[test]
fn a_pattern_that_takes_long_for_a_path_keeps_no_search_waiting() {
    let fixture = Fixture::new();
    for n in 0..1000 {
        fixture.write(&format!("r/{}/{n}", "e".repeat(200)), "");
    }
    fixture.write("r/needle.txt", "needle\n");
    fixture.ingest();
    let server = fixture.serve();
    server.settle();
    // Milliseconds for each path.
    let query = utf8_percent_encode("(?:e?){3000}[0-9]{9}", NON_ALPHANUMERIC);
    let path = format!("/search?q=case:yes+{query}&timeout=4s");
    std::thread::scope(|scope| {
        let searching = [(); 4].map(|()| scope.spawn(|| server.json(&path).1));
        let begun = "codesearch_searches_running 4\n";
        eventually("the searches run", || server.get("/metrics", "*/*").2.contains(begun));
        for _ in 0..8 {
            assert_eq!(server.search("needle")["stats"]["complete"], true);
        }
        assert!(searching.iter().all(|one| !one.is_finished()), "a search waited for them");
        for one in searching {
            let answer = one.join().unwrap();
            assert_eq!(answer["stats"]["stopped_because"], "timeout", "{answer}");
        }
    });
}

#[test]
fn a_pattern_that_takes_long_keeps_nobody_waiting() {
    let fixture = Fixture::new();
    fixture.write("r/line.txt", "a".repeat(1_000_000));
    fixture.ingest();
    let server = fixture.serve();
    server.settle();
    let path = long_search();
    std::thread::scope(|scope| {
        let searching = scope.spawn(|| server.json(&path).1);
        let begun = "codesearch_searches_running 1\n";
        eventually("the search runs", || server.get("/metrics", "*/*").2.contains(begun));
        // Connections are distributed over threads, so eight requests reach each of them.
        for _ in 0..8 {
            assert_eq!(server.get("/healthz", "*/*").0, 200);
        }
        assert!(!searching.is_finished(), "somebody waited for the search");
        let answer = searching.join().unwrap();
        assert_eq!(answer["stats"]["stopped_because"], "timeout", "{answer}");
    });
}
