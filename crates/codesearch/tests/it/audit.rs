//! The audit: who asked what, and which repositories were in the answers.

mod away;
mod refused;

use serde_json::{Value, json};

use crate::access::new_token;
use crate::harness::{Fixture, Server, eventually, raw};

/// An index of two repositories, with the tokens of ann and of root, an operator.
struct Audited {
    fixture: Fixture,
    ann: String,
    root: String,
}

impl Audited {
    fn new() -> Self {
        let fixture = Fixture::new();
        fixture.write("one/a.rs", "fn needle() {}\n");
        fixture.write("one/README.md", "# Needles\n\nHow a needle is made.\n");
        fixture.write("two/b.rs", "fn needle() {}\nfn other() { needle() }\n");
        for name in ["one", "two"] {
            fixture.git(name, &["init", "-q"]);
            fixture.commit(name, "first");
        }
        fixture.write("one/c.txt", "more\n");
        fixture.commit("one", "second");
        fixture.ingest();
        fixture.run(&["symbols"]).code(0);
        let (ann, line) = new_token(&fixture, &["ann"]);
        let (root, admin) = new_token(&fixture, &["root", "--admin"]);
        fixture.write("tokens", format!("{line}\n{admin}\n"));
        Self { fixture, ann, root }
    }

    fn serve(&self) -> Server {
        self.fixture.serve_with(&["--tokens", "tokens"])
    }

    /// Waits until so many events match a condition.
    #[track_caller]
    fn await_events(&self, count: i64, of: &str) {
        let sql = format!("select count(*) from audit where {of}");
        eventually(&format!("{count} events: {of}"), || self.fixture.sql::<i64>(&sql) == count);
    }

    /// Returns the events in the order in which they came.
    fn events(&self, args: &[&str]) -> Vec<Value> {
        let ran = self.fixture.run(&[&["audit", "--format", "jsonl"], args].concat());
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn ask(server: &Server, token: &str, path: &str, accept: &str) -> (u16, String) {
    let bearer = format!("Bearer {token}");
    let (status, _, body) = server.ask(path, &[("authorization", &bearer), ("accept", accept)]);
    (status, body)
}

/// Posts JSON to `/mcp`.
fn call(server: &Server, token: &str, message: &Value) -> String {
    post(server, token, "/mcp", message)
}

/// Posts JSON; returns the whole response.
fn post(server: &Server, token: &str, path: &str, message: &Value) -> String {
    let body = message.to_string();
    let text = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\nContent-Type: \
         application/json\r\nAccept: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    raw(server.address, text.as_bytes())
}

#[test]
fn every_endpoint_tells_what_it_answered() {
    let audited = Audited::new();
    let server = audited.serve();
    // An address of each, and whether its answer has repositories.
    let addresses = [
        ("/", "/", false),
        ("/search", "/search?q=needle", true),
        ("/search", "/search?q=needle&sort=relevance", true),
        ("/search/stream", "/search/stream?q=needle", true),
        ("/explain", "/explain?q=needle", false),
        ("/search/lines", "/search/lines?repo=one&path=a.rs&q=needle", true),
        ("/ask", "/ask?q=needle+made", true),
        ("/docs", "/docs?q=needle", true),
        ("/files", "/files?q=a.rs", true),
        ("/file", "/file?repo=one&path=a.rs", true),
        ("/raw", "/raw?repo=one&path=a.rs", true),
        ("/blame", "/blame?repo=one&path=a.rs", true),
        ("/history", "/history?repo=one&path=a.rs", true),
        ("/diff", "/diff?repo=one&commit=HEAD", true),
        ("/repos", "/repos", true),
        ("/repos", "/repos?repo=one", true),
        ("/monitors", "/monitors", false),
        ("/monitors/{name}", "/monitors/none", false),
        ("/ingest", "/ingest", false),
        ("/hooks/{name}", "/hooks/none", false),
        ("/definitions", "/definitions?name=needle", true),
        ("/references", "/references?name=needle", true),
        ("/outline", "/outline?repo=two&path=b.rs", true),
        ("/suggest", "/suggest?word=repo:o", false),
        ("/stats", "/stats", false),
        ("/sql", "/sql?q=select+repository+from+repositories", false),
        ("/audit", "/audit", false),
        ("/whoami", "/whoami", false),
        ("/zoekt/search", "/zoekt/search?q=needle&format=json", true),
        ("/print", "/print?r=one&f=a.rs&format=raw", false),
        ("/zoekt/print", "/zoekt/print?r=one&f=a.rs&format=raw", false),
        ("/api/v1/search", "/api/v1/search?q=needle", true),
        ("/api/v1/search/", "/api/v1/search/?q=needle", true),
        ("/api/v1/search/{backend}", "/api/v1/search/x?q=needle", true),
    ];
    let metadata = "/.well-known/oauth-protected-resource";
    let not_audited = ["/healthz", "/readyz", "/metrics", "/openapi.json", "/syntax", metadata];
    let posted = [
        ("/api/search", json!({ "Q": "needle" }), true),
        ("/api/list", json!({ "Q": "needle" }), true),
        ("/zoekt/api/search", json!({ "Q": "needle" }), true),
        ("/zoekt/api/list", json!({ "Q": "" }), true),
        ("/sign-out", json!({}), false),
    ];
    // Agents and commands are tried below, signing in by a test of its own.
    let apart = ["/mcp", "/command", "/sign-in"];
    for path in server::addresses() {
        let mut tried = addresses.iter().map(|(tried, ..)| *tried);
        let is_tried = tried.any(|tried| tried == path)
            || posted.iter().any(|(tried, ..)| *tried == path)
            || apart.contains(&path);
        let is_named = not_audited.contains(&path) || path.starts_with(metadata);
        assert!(is_tried != is_named, "{path} is not tried");
    }
    // What the events are to say, in the order of the requests: endpoint, interface, who, status, whether there are
    // repositories.
    let mut expected: Vec<(String, &str, &str, Option<u16>, bool)> = Vec::new();
    for (path, body, has_repos) in &posted {
        post(&server, &audited.root, path, body);
        // Whoever signs out may be anybody.
        let who = if *path == "/sign-out" { "" } else { "root" };
        expected.push(((*path).to_owned(), "api", who, None, *has_repos));
    }
    for (endpoint, address, has_repos) in addresses {
        for (accept, interface) in [("application/json", "api"), ("text/html", "page")] {
            let (status, _) = ask(&server, &audited.root, address, accept);
            assert!(!has_repos || status < 400, "{address} as {accept}: {status}");
            let interface = match endpoint {
                "/sql" => "sql",
                _ if address.contains("format=") => "api",
                _ => interface,
            };
            // Hosts prove themselves by signatures.
            let who = if endpoint == "/hooks/{name}" { "" } else { "root" };
            expected.push((endpoint.to_owned(), interface, who, Some(status), has_repos));
        }
    }
    for path in not_audited {
        ask(&server, &audited.root, path, "*/*");
    }
    for (tool, arguments) in [
        ("search", json!({ "query": "needle" })),
        ("search", json!({ "query": "needle", "order": "exhaustive" })),
        ("search", json!({ "query": "needle made", "order": "words" })),
        ("symbol", json!({ "name": "needle" })),
        ("read_file", json!({ "repo": "one", "path": "a.rs" })),
        ("find_file", json!({ "typed": "a.rs" })),
        ("list_repos", json!({})),
    ] {
        let params = json!({ "name": tool, "arguments": arguments });
        let message =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let answer = call(&server, &audited.ann, &message);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        expected.push((format!("/mcp {tool}"), "mcp", "ann", Some(200), true));
    }
    // Commands of this machine go over the socket of the index.
    let commands = [
        &["search", "needle"][..],
        &["search", "--sort", "relevance", "needle"],
        &["files", "a.rs"],
        &["def", "needle"],
        &["refs", "needle"],
        &["outline", "two/b.rs"],
        &["docs", "needle"],
        &["ask", "needle made"],
        &["diff", "HEAD~1..HEAD", "--repo", "one"],
    ];
    for args in commands {
        audited.fixture.run(args);
        expected.push(("/command".to_owned(), "command", "", Some(200), true));
    }
    server.stop();
    let mut events = audited.events(&[]);
    // The last one is that of reading them.
    assert_eq!(events.pop().unwrap()["endpoint"], "codesearch audit");
    let endpoints: Vec<&str> =
        events.iter().map(|event| event["endpoint"].as_str().unwrap()).collect();
    let asked: Vec<&str> = expected.iter().map(|(endpoint, ..)| endpoint.as_str()).collect();
    assert_eq!(endpoints, asked);
    for (event, (_, interface, who, status, has_repos)) in events.iter().zip(&expected) {
        assert_eq!(event["interface"], *interface, "{event}");
        assert_eq!(event["who"].as_str().unwrap_or_default(), *who, "{event}");
        let is_command = *interface == "command";
        assert_eq!(event["owner"] == true, is_command, "{event}");
        assert_eq!(event["sender"] == "127.0.0.1", !is_command, "{event}");
        let told = event["status"].as_u64().unwrap();
        assert!(status.is_none_or(|status| u64::from(status) == told), "{event}");
        assert_eq!(event["outcome"] == "answered", told < 400, "{event}");
        if *has_repos && told < 400 {
            let named = event["repositories"].as_array().unwrap();
            assert_eq!(event["repository_count"], named.len(), "{event}");
            assert!(!named.is_empty(), "{event}");
        }
    }
    let by_agent = events.iter().find(|event| event["interface"] == "mcp").unwrap();
    assert_eq!(
        (&by_agent["query"], &by_agent["repositories"]),
        (&json!("needle"), &json!(["one", "two"]))
    );
    let commanded = events.iter().filter(|event| event["interface"] == "command");
    for (event, args) in commanded.zip(commands) {
        assert!(event["query"].as_str().unwrap().ends_with(&args.join(" ")), "{event}");
    }
}

#[test]
fn refusals_are_events_but_a_flood_is_a_few() {
    let audited = Audited::new();
    let server = audited.serve();
    assert_eq!(ask(&server, &audited.ann, "/audit", "application/json").0, 403);
    assert_eq!(server.ask("/search?q=needle", &[("sec-fetch-site", "cross-site")]).0, 403);
    assert_eq!(server.ask("/search?q=needle", &[("host", "evil.example")]).0, 421);
    for _ in 0..60 {
        let wrong = "0123456789abcdef0123456789abcdef";
        let status = ask(&server, wrong, "/search?q=needle&token=hidden", "application/json").0;
        assert!(matches!(status, 401 | 429), "{status}");
    }
    server.stop();
    let events = audited.events(&["--refused"]);
    let all: u64 = events.iter().map(|event| 1 + event["more"].as_u64().unwrap_or(0)).sum();
    assert_eq!(all, 63, "{events:?}");
    assert!(events.len() < 20, "{events:?}");
    let of_ann = events.iter().find(|event| event["who"] == "ann").expect("that of ann");
    assert_eq!((&of_ann["reason"], &of_ann["endpoint"]), (&json!("admin_only"), &json!("/audit")));
    // What no endpoint declares is not kept, nor is a token.
    for secret in ["hidden", "0123456789abcdef", &audited.ann, &audited.root] {
        audited.await_events(0, &format!("audit::text like '%{secret}%'"));
    }
}

#[test]
fn signing_in_leaves_no_secret() {
    let audited = Audited::new();
    let server = audited.serve();
    let form = format!("token={}&back=%2F", audited.ann);
    let text = format!(
        "POST /sign-in HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: \
         application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        form.len()
    );
    assert!(raw(server.address, text.as_bytes()).starts_with("HTTP/1.1 303"));
    audited.await_events(1, "endpoint = '/sign-in' and status = 303 and who = 'ann'");
    audited.await_events(0, &format!("audit::text like '%{}%'", audited.ann));
}

#[test]
fn an_orderly_stop_loses_nothing_and_a_kill_leaves_a_gap() {
    let audited = Audited::new();
    let server = audited.serve();
    for n in 0..50 {
        assert_eq!(
            ask(&server, &audited.ann, &format!("/search?q=needle+{n}"), "application/json").0,
            200
        );
    }
    let address = server.address.to_string();
    server.stop();
    audited.await_events(50, "who = 'ann'");
    audited.await_events(0, "interface = 'server'");
    let again = || audited.fixture.serve_with(&["--tokens", "tokens", "--listen", &address]);
    let mut server = again();
    ask(&server, &audited.ann, "/search?q=needle", "application/json");
    audited.await_events(51, "who = 'ann'");
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let server = again();
    audited.await_events(1, "outcome = 'gap'");
    let table = audited.fixture.run(&["audit", "--interface", "server"]).code(0).out;
    assert!(table.contains(&address) && table.contains("ended before all was written"), "{table}");
    server.stop();
    let server = again();
    ask(&server, &audited.ann, "/search?q=needle", "application/json");
    audited.await_events(52, "who = 'ann'");
    audited.await_events(1, "outcome = 'gap'");
}

#[test]
fn a_kill_leaves_a_gap_for_refusals_that_were_only_counted() {
    let audited = Audited::new();
    let mut server = audited.serve();
    for _ in 0..20 {
        let wrong = "0123456789abcdef0123456789abcdef";
        let status = ask(&server, wrong, "/search?q=needle", "application/json").0;
        assert!(matches!(status, 401 | 429), "{status}");
    }
    audited.await_events(10, "outcome = 'refused'");
    let first = "(select min(at) from audit where outcome = 'refused')";
    let is_known = format!("select until <= {first} from audit_writers where not ended");
    eventually("it is known that some are not written", || audited.fixture.sql(&is_known));
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let address = server.address.to_string();
    let server = audited.fixture.serve_with(&["--tokens", "tokens", "--listen", &address]);
    audited.await_events(1, &format!("outcome = 'gap' and at <= {first}"));
    server.stop();
}

#[test]
fn searches_go_on_while_the_audit_cannot_be_written() {
    let audited = Audited::new();
    let server = audited.serve();
    ask(&server, &audited.ann, "/search?q=needle", "application/json");
    audited.await_events(1, "who = 'ann'");
    let held = audited.fixture.hold("lock table audit in access exclusive mode");
    for _ in 0..20 {
        assert_eq!(ask(&server, &audited.ann, "/search?q=needle", "application/json").0, 200);
    }
    let metrics = ask(&server, &audited.root, "/metrics", "*/*").1;
    let waiting = metrics.lines().find_map(|line| line.strip_prefix("codesearch_audit_waiting "));
    assert_eq!(waiting, Some("20"), "{metrics}");
    drop(held);
    audited.await_events(21, "who = 'ann'");
}

#[test]
fn reading_is_recorded() {
    let audited = Audited::new();
    let server = audited.serve();
    ask(&server, &audited.ann, "/search?q=needle&limit=7", "application/json");
    audited.await_events(1, "who = 'ann'");
    let (status, body) = ask(&server, &audited.root, "/audit?of=ann&repo=o*", "application/json");
    assert_eq!(status, 200, "{body}");
    let body: Value = serde_json::from_str(&body).unwrap();
    let event = &body["events"][0];
    assert_eq!((&event["query"], &event["parameters"]), (&json!("needle"), &json!("limit=7")));
    assert_eq!(event["repositories"], json!(["one", "two"]), "{body}");
    assert_eq!((&event["files"], &event["results"]), (&json!(3), &json!(5)), "{body}");
    let (status, page) = ask(&server, &audited.root, "/audit", "text/html");
    assert!(status == 200 && page.contains("<code>needle</code>"), "{page}");
    for (address, expected) in [
        ("/audit?cursor=x", 400),
        ("/audit?since=yesterday", 400),
        ("/audit?interface=ftp", 400),
        ("/audit?limit=0", 400),
        ("/audit?limit=1001", 400),
        // No event has such times, and the database not either.
        ("/audit?cursor=-1-1", 400),
        ("/audit?cursor=9223372036854775807-1", 400),
        ("/audit?since=1969-12-31T00:00Z", 400),
        ("/audit?until=-009999-01-02T02:00Z", 400),
    ] {
        assert_eq!(
            ask(&server, &audited.root, address, "application/json").0,
            expected,
            "{address}"
        );
    }
    audited.await_events(11, "endpoint = '/audit' and who = 'root'");
    // Pages go on where the one before ended.
    let mut next = String::new();
    let mut seen = 0;
    loop {
        let address = format!("/audit?limit=2&until=2100-01-01{next}");
        let body: Value =
            serde_json::from_str(&ask(&server, &audited.root, &address, "application/json").1)
                .unwrap();
        seen += body["events"].as_array().unwrap().len();
        assert!(seen < 100);
        match body["next"].as_str() {
            Some(cursor) => next = format!("&cursor={cursor}"),
            None => break,
        }
    }
    assert!(seen >= 7, "{seen}");
    let none = audited.fixture.run(&["audit", "--of", "nobody"]).code(1);
    assert!(none.err.contains("no event of the audit matches; leave out options"), "{}", none.err);
    let own = audited.events(&["--interface", "command"]);
    assert!(own.iter().any(|event| event["query"] == "--of nobody"), "{own:?}");
    let wrong = audited.fixture.run(&["audit", "--since", "yesterday"]).code(2);
    assert!(wrong.err.contains("--since: yesterday is not a time"), "{}", wrong.err);
    let early = audited.fixture.run(&["audit", "--until", "1969-12-31T00:00Z"]).code(2);
    assert!(early.err.contains("is before 1970; use a later time"), "{}", early.err);
}

#[test]
fn a_server_without_names_keeps_none_unless_told() {
    let audited = Audited::new();
    let server = audited.fixture.serve();
    assert_eq!(server.json("/search?q=needle").0, 200);
    assert_eq!(server.json("/audit").0, 404);
    server.stop();
    let server = audited.fixture.serve_with(&["--tokens", "tokens", "--no-audit"]);
    ask(&server, &audited.ann, "/search?q=needle", "application/json");
    server.stop();
    audited.await_events(0, "true");
    let server = audited.fixture.serve_with(&["--audit"]);
    assert_eq!(server.json("/search?q=needle").0, 200);
    server.stop();
    audited.await_events(1, "who is null and repos_count = 2");
}
