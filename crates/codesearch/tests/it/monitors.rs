//! Monitors: the matches that appear and disappear, stored monitors, their feeds, pages and deliveries.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Fixture, Server, eventually};

/// A program that prints lines, which is killed when dropped.
struct Watching {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Watching {
    /// Starts a watch, and waits until it watches.
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut begun = String::new();
        let mut err = BufReader::new(child.stderr.take().unwrap());
        err.read_line(&mut begun).unwrap();
        assert!(begun.contains("watching from epoch"), "{begun}");
        // The pipe stays open.
        std::thread::spawn(move || std::io::copy(&mut err, &mut std::io::sink()));
        Self { child, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A request to a receiver.
#[derive(Clone, Debug)]
pub(crate) struct Delivered {
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Delivered {
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// The answer that keeps a request waiting until there is another one.
pub(crate) const HELD: &str = "held";

/// A receiver of deliveries, which answers what it is told.
pub(crate) struct Target {
    address: SocketAddr,
    pub(crate) got: Receiver<Delivered>,
    answer: Arc<Mutex<String>>,
}

impl Target {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, got) = channel();
        let answer = Arc::new(Mutex::new("204 No Content".to_owned()));
        let said = Arc::clone(&answer);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let (mut line, mut headers) = (String::new(), Vec::new());
                reader.read_line(&mut line).unwrap();
                loop {
                    line.clear();
                    reader.read_line(&mut line).unwrap();
                    let Some((name, value)) = line.trim_end().split_once(": ") else { break };
                    headers.push((name.to_ascii_lowercase(), value.to_owned()));
                }
                let mut delivered = Delivered { headers, body: String::new() };
                let length = delivered.header("content-length").parse().unwrap_or(0);
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                delivered.body = String::from_utf8(body).unwrap();
                if sender.send(delivered).is_err() {
                    return;
                }
                let mut answer = said.lock().unwrap().clone();
                while answer == HELD {
                    std::thread::sleep(Duration::from_millis(5));
                    answer.clone_from(&said.lock().unwrap());
                }
                let _ = write!(
                    stream,
                    "HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
            }
        });
        Self { address, got, answer }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub(crate) fn says(&self, answer: &str) {
        answer.clone_into(&mut self.answer.lock().unwrap());
    }

    #[track_caller]
    pub(crate) fn next(&self) -> Delivered {
        self.got.recv_timeout(Duration::from_mins(1)).expect("a delivery comes")
    }
}

/// Returns an index of two repositories.
fn indexed() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("shop/a.rs", "one\nneedle 1\n");
    fixture.write("shop/b.rs", "two\n");
    fixture.write("other/a.rs", "needle elsewhere\n");
    fixture.ingest();
    fixture
}

fn epoch(fixture: &Fixture) -> i32 {
    fixture.sql("select epoch from state")
}

/// Runs a watch of what happened after an epoch.
fn since(fixture: &Fixture, after: i32, query: &[&str], code: i32) -> Vec<String> {
    let after = after.to_string();
    let args = [&["monitor", "--once", "--since", &after], query].concat();
    let ran = fixture.run(&args).code(code);
    ran.out.lines().map(str::to_owned).collect()
}

/// Writes a settings file, and returns the environment that names it.
pub(crate) fn settings(fixture: &Fixture, text: &str) -> String {
    fixture.write("settings.toml", text);
    fixture.path().join("settings.toml").to_str().unwrap().to_owned()
}

/// Starts a server with a settings file.
fn serve(fixture: &Fixture, settings: &str) -> Server {
    let mut command = fixture.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("CODESEARCH_SETTINGS", settings);
    Server::start(command)
}

/// Sends a form or JSON; returns the status and the body.
pub(crate) fn post(
    server: &Server,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> (u16, String) {
    let config = ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0);
    let agent: ureq::Agent = config.build().into();
    let mut request = agent.post(format!("http://{}{path}", server.address));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut answer = request.send(body).unwrap();
    (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap())
}

pub(crate) const JSON: (&str, &str) = ("content-type", "application/json");
pub(crate) const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

#[test]
fn matches_are_printed_as_they_appear_and_disappear() {
    let fixture = indexed();
    let mut watch = Watching::start(fixture.command(&["monitor", "--json", "needle"]));
    let start = epoch(&fixture);
    fixture.write("shop/a.rs", "needle 1\none\n");
    fixture.write("shop/b.rs", "needle 2\n");
    fixture.ingest();
    let told: Value = serde_json::from_str(&watch.line()).unwrap();
    let expected = json!({
        "type": "appeared", "epoch": start + 1, "repository": "shop", "path": "b.rs", "line": 1, "text": "needle 2",
    });
    assert_eq!(told, expected);
    let told: Value = serde_json::from_str(&watch.line()).unwrap();
    assert_eq!((&told["type"], &told["appeared"]), (&json!("epoch"), &json!(1)), "{told}");
    // A new repository is no news, nor is a renamed file.
    fixture.write("new/a.rs", "needle 3\n");
    std::fs::rename(fixture.path().join("shop/b.rs"), fixture.path().join("shop/c.rs")).unwrap();
    fixture.ingest();
    let told: Value = serde_json::from_str(&watch.line()).unwrap();
    assert_eq!((&told["type"], &told["repository"]), (&json!("repository"), &json!("new")));
    let told: Value = serde_json::from_str(&watch.line()).unwrap();
    assert_eq!((&told["appeared"], &told["disappeared"]), (&json!(0), &json!(0)), "{told}");
    fixture.write("shop/c.rs", "nothing\n");
    fixture.ingest();
    let told: Value = serde_json::from_str(&watch.line()).unwrap();
    assert_eq!((&told["type"], &told["path"]), (&json!("disappeared"), &json!("c.rs")), "{told}");
    watch.line();
    // The watch keeps the changes, so another one can begin earlier.
    let again = since(&fixture, start + 2, &["needle"], 0);
    assert_eq!(again, ["-shop/c.rs:1:needle 2"]);
    assert_eq!(since(&fixture, start + 2, &["needle repo:other"], 1), [""; 0]);
    let kill = ["-INT", &watch.child.id().to_string()].map(str::to_owned);
    assert!(Command::new("kill").args(kill).status().unwrap().success());
    assert_eq!(watch.child.wait().unwrap().code(), Some(130));
}

#[test]
fn what_cannot_be_watched_is_one_sentence() {
    let fixture = indexed();
    let start = epoch(&fixture);
    fixture.write("shop/a.rs", "x\n");
    fixture.ingest();
    fixture.write("shop/a.rs", "y\n");
    fixture.ingest();
    let early = start.to_string();
    let late = (start + 9).to_string();
    for (args, why) in [
        (&["monitor", "sym:x"][..], "sym: is not supported in a monitor"),
        (&["monitor", "a(b"], "unclosed"),
        (&["monitor", "branch:x y"], "which watches main trees"),
        (&["monitor", "--once", "--since", &early, "x"], "are no longer kept; begin with --since"),
        (&["monitor", "--once", "--since", &late, "x"], "--since must not be larger"),
        (&["monitor", "add", "a/b", "x"], "is not a name for a monitor"),
        (&["monitor", "add", "m", "sym:x"], "sym: is not supported in a monitor"),
        (
            &["monitor", "add", "m", "x", "--webhook", "http://127.0.0.1:1/"],
            "this server's own network",
        ),
        (&["monitor", "add", "m", "x", "--webhook", "nowhere"], "is a URL"),
        (&["monitor", "show", "m"], "no monitor is named m; codesearch monitor list lists them"),
        (&["monitor", "remove", "m"], "no monitor is named m"),
    ] {
        let ran = fixture.run(args).code(2);
        assert!(ran.err.contains(why), "{args:?}: {}", ran.err);
    }
    fixture.run(&["monitor", "add", "todo", "needle"]).code(0);
    let taken = fixture.run(&["monitor", "add", "todo", "x"]).code(2).err;
    assert!(taken.contains("there is already a monitor named todo"), "{taken}");
    let near = fixture.run(&["monitor", "show", "tod"]).code(2).err;
    assert!(near.contains("did you mean todo?"), "{near}");
}

#[test]
fn stored_monitors_look_at_each_epoch_once_whoever_runs_them() {
    let fixture = indexed();
    fixture.run(&["monitor", "add", "needles", "needle"]).code(0);
    fixture.run(&["monitor", "add", "others", "needle", "repo:other"]).code(0);
    let of = |name: &str| -> Vec<String> {
        let told = fixture.run(&["monitor", "show", name, "--json"]).code(0).out;
        let told: Value = serde_json::from_str(&told).unwrap();
        let hits = told["news"].as_array().unwrap().iter().rev();
        let hits = hits.flat_map(|news| news["hits"].as_array().unwrap().clone());
        hits.map(|hit| {
            format!("{} {}", hit["type"].as_str().unwrap(), hit["text"].as_str().unwrap())
        })
        .collect()
    };
    // The ingest itself looks, since no server runs.
    fixture.write("shop/b.rs", "needle 2\n");
    fixture.ingest();
    assert_eq!(of("needles"), ["appeared needle 2"]);
    assert_eq!(of("others"), [""; 0]);
    // A paused monitor hears nothing of what happens meanwhile.
    fixture.run(&["monitor", "pause", "needles"]).code(0);
    fixture.write("shop/b.rs", "needle 3\n");
    fixture.write("other/a.rs", "nothing\n");
    fixture.ingest();
    fixture.run(&["monitor", "resume", "needles"]).code(0);
    assert_eq!(of("needles"), ["appeared needle 2"]);
    assert_eq!(of("others"), ["disappeared needle elsewhere"]);
    // Two servers run: one of them looks.
    let servers = [fixture.serve(), fixture.serve()];
    fixture.write("shop/b.rs", "needle 4\n");
    fixture.ingest();
    let expected = ["appeared needle 2", "disappeared needle 3", "appeared needle 4"];
    eventually("the news are there", || of("needles") == expected);
    drop(servers);
    // A removed repository takes its matches along; a new one is a baseline.
    fixture.run(&["remove", "shop"]).code(0);
    fixture.ingest();
    assert_eq!(of("needles"), [""; 0]);
    let told = fixture.run(&["monitor", "show", "needles"]).code(0).out;
    assert!(told.contains("1 new repository, whose matches are no news: shop"), "{told}");
    let list = fixture.run(&["monitor", "list"]).code(0).out;
    assert!(list.contains("needles  active  feed  needle\n"), "{list}");
    fixture.check_invariants();
    fixture.run(&["monitor", "remove", "needles", "others"]).code(0);
    fixture.run(&["monitor", "list"]).code(1);
}

#[test]
fn a_monitor_tells_only_what_its_owner_may_see() {
    let fixture = indexed();
    let mut command = fixture.command(&["monitor", "add", "mine", "needle"]);
    assert!(command.env("CODESEARCH_REPOS", "^shop").status().unwrap().success());
    fixture.run(&["monitor", "add", "all", "needle"]).code(0);
    fixture.write("shop/b.rs", "needle shop\n");
    fixture.write("other/b.rs", "needle other\n");
    fixture.write("more/a.rs", "needle\n");
    fixture.ingest();
    let show = |name: &str| fixture.run(&["monitor", "show", name]).code(0).out;
    let (mine, all) = (show("mine"), show("all"));
    assert!(mine.contains("needle shop") && all.contains("needle shop"), "{mine}\n{all}");
    assert!(!mine.contains("other") && !mine.contains("more"), "{mine}");
    assert!(all.contains("needle other") && all.contains("more"), "{all}");
    // Who sees some repositories sees the monitors of such views.
    let mut command = fixture.command(&["monitor", "list"]);
    let out = command.env("CODESEARCH_REPOS", "^shop").output().unwrap().stdout;
    assert_eq!(String::from_utf8(out).unwrap(), "mine  active  feed  needle\n");
}

#[test]
fn deliveries_are_signed_and_repeated_until_they_are_acknowledged() {
    let fixture = indexed();
    let receiver = Target::start();
    let settings = settings(&fixture, "[monitor]\nallow = [\"127.0.0.0/8\"]\n");
    let server = serve(&fixture, &settings);
    let body = json!({ "name": "todo", "query": "needle", "address": receiver.url() }).to_string();
    let (status, made) = post(&server, "/monitors", &[JSON], &body);
    let made: Value = serde_json::from_str(&made).unwrap();
    assert_eq!(status, 201, "{made}");
    let secret = made["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_"));

    // The receiver is down, then it answers wrongly, then it takes it: the id stays.
    receiver.says("500 Internal Server Error");
    fixture.write("shop/b.rs", "needle 2\n");
    fixture.ingest();
    let first = receiver.next();
    let waits = || -> Value {
        let told = server.json("/monitors/todo").1;
        told["deliveries"][0].clone()
    };
    eventually("the failure is told", || {
        waits()["said"] == "the receiver answered 500 Internal Server Error"
    });
    assert_eq!(waits()["state"], "waiting");
    receiver.says("302 Found");
    let again = "update deliveries set due = now(); select pg_notify('codesearch_monitors', '')";
    fixture.exec(again);
    let second = receiver.next();
    eventually("the redirect is told", || {
        waits()["said"].as_str().is_some_and(|said| said.contains("redirects are not followed"))
    });
    receiver.says("200 OK");
    fixture.exec(again);
    let third = receiver.next();
    for delivered in [&first, &second, &third] {
        assert_eq!(delivered.header("webhook-id"), first.header("webhook-id"));
        assert_eq!(delivered.body, first.body);
        let (id, time) = (delivered.header("webhook-id"), delivered.header("webhook-timestamp"));
        let signature = signed(secret, &format!("{id}.{time}.{}", delivered.body));
        assert_eq!(delivered.header("webhook-signature"), format!("v1,{signature}"));
    }
    let told = third.json();
    assert_eq!(told["type"], "monitor.news");
    assert_eq!(told["data"]["hits"][0]["text"], "needle 2");
    eventually("it is acknowledged", || waits()["state"] == "delivered");
    // Never again; the next news have another id.
    fixture.exec(again);
    fixture.write("shop/b.rs", "needle 3\n");
    fixture.ingest();
    let next = receiver.next();
    assert_ne!(next.header("webhook-id"), first.header("webhook-id"));
    assert_eq!(
        (&next.json()["data"]["appeared"], &next.json()["data"]["disappeared"]),
        (&json!(1), &json!(1))
    );
    // A test delivery says that it is one.
    let (status, told) = post(&server, "/monitors/todo", &[JSON], r#"{"action":"send"}"#);
    assert_eq!((status, told.contains("The receiver answered 200 OK.")), (200, true), "{told}");
    assert_eq!(receiver.next().json()["type"], "monitor.test");
    // A receiver that is gone pauses the monitor.
    receiver.says("410 Gone");
    fixture.write("shop/b.rs", "needle 4\n");
    fixture.ingest();
    receiver.next();
    eventually("it is paused", || {
        let told = server.json("/monitors/todo").1;
        told["monitor"]["why"].as_str().is_some_and(|why| why.contains("wants no more deliveries"))
    });
    // What is no longer allowed is refused when it is delivered, too.
    fixture.write("settings.toml", "[monitor]\nallow = [\"10.0.0.0/8\"]\n");
    let (status, _) = post(&server, "/monitors/todo", &[JSON], r#"{"action":"resume"}"#);
    assert_eq!(status, 200);
    fixture.exec(again);
    eventually("the address is refused", || {
        waits()["said"].as_str().is_some_and(|said| said.contains("this server's own network"))
    });
    fixture.check_invariants();
}

/// Returns the signature of a text, with the key of `whsec_`, by another implementation: openssl.
fn signed(secret: &str, text: &str) -> String {
    let script = "key=$(printf %s \"$1\" | base64 -d | od -An -tx1 | tr -d ' \\n'); \
                  printf %s \"$2\" | openssl dgst -sha256 -mac HMAC -macopt hexkey:$key -binary | base64";
    let key = secret.trim_start_matches("whsec_");
    let out = Command::new("sh").args(["-c", script, "sh", key, text]).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_killed_server_neither_loses_nor_repeats_news() {
    let fixture = indexed();
    let receiver = Target::start();
    let settings = settings(&fixture, "[monitor]\nallow = [\"127.0.0.1\"]\n");
    let mut command =
        fixture.command(&["monitor", "add", "m", "needle", "--webhook", &receiver.url()]);
    assert!(command.env("CODESEARCH_SETTINGS", &settings).status().unwrap().success());
    let texts = |n: usize| format!("needle {n}\n");
    // Each server is killed while it writes the news of an epoch.
    for (n, table) in ["monitor_news", "monitor_hits", "deliveries"].into_iter().enumerate() {
        let server = serve(&fixture, &settings);
        // Else the ingest would look, and wait for the table.
        let has_lock = "select count(*) from pg_locks l join pg_database d on d.oid = l.database
                        where d.datname = current_database() and locktype = 'advisory' and granted
                          and classid::bigint = 25459 and objid::bigint = 5 and objsubid = 1";
        eventually("the server runs monitors", || fixture.sql::<i64>(has_lock) == 1);
        let held = fixture.hold(&format!("lock table {table} in share row exclusive mode"));
        fixture.write("shop/b.rs", texts(n));
        fixture.ingest();
        let waits = format!(
            "select count(*) from pg_stat_activity where datname = current_database()
               and wait_event_type = 'Lock' and query like '%insert into {table} %'"
        );
        eventually("the news wait for the table", || fixture.sql::<i64>(&waits) > 0);
        drop(server);
        drop(held);
    }
    let server = serve(&fixture, &settings);
    // A server that is killed before it notes what it has sent sends it again, with the same id.
    let mut told: Vec<Delivered> = Vec::new();
    while told.len() < 3 {
        let next = receiver.next();
        let id = "webhook-id";
        match told.iter().find(|known| known.header(id) == next.header(id)) {
            Some(known) => assert_eq!(known.body, next.body),
            None => told.push(next),
        }
    }
    let appeared: Vec<String> = told
        .iter()
        .flat_map(|of| of.json()["data"]["hits"].as_array().unwrap().clone())
        .filter(|hit| hit["change"] == "appeared")
        .map(|hit| hit["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(appeared, ["needle 0", "needle 1", "needle 2"]);
    eventually("all are acknowledged", || {
        fixture.sql::<i64>("select count(*) from deliveries where state <> 'delivered'") == 0
    });
    // Killed after the receiver has it and before that is noted: it is sent again, with the same id.
    receiver.says(HELD);
    fixture.write("shop/b.rs", texts(9));
    fixture.ingest();
    let first = receiver.next();
    drop(server);
    receiver.says("200 OK");
    let server = serve(&fixture, &settings);
    let second = receiver.next();
    assert_eq!(second.header("webhook-id"), first.header("webhook-id"));
    assert_eq!(second.body, first.body);
    eventually("it is acknowledged", || {
        fixture.sql::<i64>("select count(*) from deliveries where state <> 'delivered'") == 0
    });
    drop(server);
    fixture.check_invariants();
}

#[test]
fn pages_and_feeds_have_owners_and_no_script_of_others() {
    let fixture = indexed();
    let token = |name: &str, options: &[&str]| {
        let ran = fixture.run(&[&["token", name], options].concat()).code(0);
        (ran.out, ran.err.lines().last().unwrap().split_whitespace().last().unwrap().to_owned())
    };
    let (ann, bob, root) = (token("ann", &[]), token("bob", &[]), token("root", &["--admin"]));
    fixture.write("tokens", format!("{}{}{}", ann.0, bob.0, root.0));
    let tokens = fixture.path().join("tokens");
    let server = fixture.serve_with(&["--tokens", tokens.to_str().unwrap()]);
    let bearer = |of: &(String, String)| format!("Bearer {}", of.1);
    let (ann, bob, root) = (bearer(&ann), bearer(&bob), bearer(&root));
    let auth = |of: &'_ str| ("authorization", of.to_owned());
    let form = "name=mine&query=%3Cscript%3Eneedle%7Cneedle";
    let make = |who: &str| {
        let (name, value) = auth(who);
        post(&server, "/monitors", &[(name, &value), FORM, ("accept", "text/html")], form)
    };
    assert_eq!(post(&server, "/monitors", &[FORM], form).0, 401);
    assert_eq!(make(&ann).0, 303);
    let (status, page) = make(&ann);
    assert!(status == 400 && page.contains("there is already a monitor named mine"), "{page}");
    assert!(page.contains("value=\"&#60;script&#62;needle|needle\""), "{page}");
    let ask = |path: &str, who: &str, accept: &str| {
        server.ask(path, &[("authorization", who), ("accept", accept)])
    };
    let (html, json_) = ("text/html", "application/json");
    assert!(ask("/monitors", &ann, html).2.contains("&#60;script&#62;"));
    assert!(!ask("/monitors", &bob, html).2.contains("mine"));
    assert!(ask("/monitors", &root, html).2.contains("mine"));
    for path in ["/monitors/mine", "/monitors/mine.atom"] {
        assert_eq!(ask(path, &bob, json_).0, 404, "{path}");
        assert_eq!(ask(path, &root, json_).0, 200, "{path}");
    }
    let act = |who: &str, action: &str, more: &[(&str, &str)]| {
        let headers = [&[("authorization", who), FORM], more].concat();
        post(&server, "/monitors/mine", &headers, &format!("action={action}"))
    };
    assert_eq!(act(&bob, "remove", &[]).0, 404);
    // A page of another site cannot have a browser do it.
    assert_eq!(act(&ann, "remove", &[("origin", "https://evil.example")]).0, 403);
    assert_eq!(act(&ann, "explode", &[]).0, 400);
    let (status, tested) = act(&ann, "test", &[]);
    assert!(status == 200 && tested.contains("matches 2 files now"), "{tested}");
    assert!(act(&ann, "test", &[("accept", "text/html")]).1.contains("shop/a.rs:2"));

    fixture.write("shop/<b>.rs", "<script>needle & \"x\"\n");
    fixture.ingest();
    eventually("the feed has it", || ask("/monitors/mine.atom", &ann, "*/*").2.contains("<entry>"));
    let (_, headers, feed) = ask("/monitors/mine.atom", &ann, "*/*");
    assert_eq!(headers["content-type"], "application/atom+xml; charset=utf-8");
    assert!(feed.contains("shop/&amp;lt;b&amp;gt;.rs:1") && !feed.contains("<script>"), "{feed}");
    assert!(well_formed(&feed), "{feed}");
    let tag = headers["etag"].to_str().unwrap();
    let known =
        server.ask("/monitors/mine.atom", &[("authorization", &ann), ("if-none-match", tag)]);
    assert_eq!((known.0, &*known.2), (304, ""));
    let page = ask("/monitors/mine", &ann, html).2;
    assert!(page.contains("shop/&#60;b&#62;.rs:1") && !page.contains("<script>needle"), "{page}");
    assert_eq!(act(&ann, "remove", &[]).0, 200);
    assert_eq!(ask("/monitors/mine", &ann, json_).0, 404);
}

#[test]
fn monitors_of_a_revoked_token_stop_and_say_why() {
    let fixture = indexed();
    let receiver = Target::start();
    let settings = settings(&fixture, "[monitor]\nallow = [\"127.0.0.1\"]\n");
    let token = |name: &str, options: &[&str]| {
        let ran = fixture.run(&[&["token", name], options].concat()).code(0);
        let token = ran.err.lines().last().unwrap().split_whitespace().last().unwrap().to_owned();
        (ran.out, format!("Bearer {token}"))
    };
    let (ann, bob, root) = (token("ann", &[]), token("bob", &[]), token("root", &["--admin"]));
    let all = format!("{}{}{}", ann.0, bob.0, root.0);
    let without = format!("{}{}", bob.0, root.0);
    fixture.write("tokens", &all);
    let serve = || {
        let tokens = fixture.path().join("tokens");
        let mut command = fixture.command(&["serve", "--listen", "127.0.0.1:0", "--tokens"]);
        Server::start({
            command.arg(tokens).env("CODESEARCH_SETTINGS", &settings);
            command
        })
    };
    let server = serve();
    for (name, who) in [("anns", &ann), ("bobs", &bob)] {
        let body = json!({ "name": name, "query": "needle", "address": receiver.url() });
        let headers = [("authorization", &*who.1), JSON];
        assert_eq!(post(&server, "/monitors", &headers, &body.to_string()).0, 201);
    }
    // News of both wait for the receiver.
    receiver.says("503 Service Unavailable");
    fixture.write("shop/b.rs", "needle 2\n");
    fixture.ingest();
    let waiting = "select count(*) from deliveries where state = 'waiting' and attempts = 1";
    eventually("both were tried", || fixture.sql::<i64>(waiting) == 2);
    receiver.got.try_iter().count();
    receiver.says("200 OK");

    fixture.write("tokens", &without);
    let why = "its owner ann has no token of the server any more";
    let list = || fixture.run(&["monitor", "list"]).code(0).out;
    eventually("it has stopped", || list().contains(why));
    assert!(list().contains("anns  paused") && list().contains("bobs  active"), "{}", list());
    let again = "update deliveries set due = now(); select pg_notify('codesearch_monitors', '')";
    fixture.exec(again);
    fixture.write("shop/b.rs", "needle 3\n");
    fixture.ingest();
    for _ in 0..2 {
        assert_eq!(receiver.next().json()["data"]["monitor"], "bobs");
    }
    let news = "select count(*) from monitor_news n join monitors m on m.id = n.monitor where m.name = 'anns'";
    assert_eq!(fixture.sql::<i64>(news), 1);
    let page = server.ask("/monitors/anns", &[("authorization", &root.1), ("accept", "text/html")]);
    assert!(page.2.contains(why), "{}", page.2);
    let resume = |server: &Server| {
        let headers = [("authorization", &*root.1), FORM];
        post(server, "/monitors/anns", &headers, "action=resume")
    };
    let (status, told) = resume(&server);
    assert!(status == 400 && told.contains("give ann a token first"), "{told}");

    // Whoever resumes it elsewhere is told again; so is a server that starts.
    drop(server);
    fixture.run(&["monitor", "resume", "anns"]).code(0);
    assert!(!list().contains(why));
    let server = serve();
    eventually("it has stopped again", || list().contains(why));
    fixture.write("tokens", &all);
    eventually("ann has a token again", || resume(&server).0 == 200);
    fixture.exec(again);
    let told = receiver.next().json();
    assert_eq!(
        (&told["data"]["monitor"], &told["data"]["hits"][0]["text"]),
        (&json!("anns"), &json!("needle 2"))
    );
    fixture.check_invariants();
}

/// Returns whether tags of a document are closed in order.
fn well_formed(xml: &str) -> bool {
    let mut open = Vec::new();
    let tags = xml.split('<').skip(1).map(|rest| rest.split('>').next().unwrap());
    for tag in tags.filter(|tag| !tag.starts_with('?') && !tag.ends_with('/')) {
        match tag.strip_prefix('/') {
            Some(name) if open.pop() == Some(name) => {}
            Some(_) => return false,
            None => open.push(tag.split_whitespace().next().unwrap()),
        }
    }
    open.is_empty()
}

#[test]
fn answers_are_what_the_document_says() {
    let fixture = indexed();
    let server = fixture.serve();
    let document = crate::api::document();
    let check = |path: &str, of: &str, status: u16| {
        let (told, answer) = server.json(path);
        assert_eq!(told, status, "{answer}");
        let schema = &document["paths"][of]["get"]["responses"][status.to_string()]["content"];
        let mut whole = schema["application/json"]["schema"].clone();
        assert!(whole.is_object(), "{of} {status}");
        whole["components"] = document["components"].clone();
        let validator = jsonschema::validator_for(&whole).unwrap();
        let wrong: Vec<String> = validator.iter_errors(&answer).map(|e| e.to_string()).collect();
        assert!(wrong.is_empty(), "{path}: {wrong:#?}\n{answer:#}");
    };
    check("/monitors", "/monitors", 200);
    check("/monitors/x", "/monitors/{name}", 404);
    for body in [r#"{"name":"x","query":"needle"}"#, r#"{"name":"y","query":"file:b"}"#] {
        assert_eq!(post(&server, "/monitors", &[JSON], body).0, 201);
    }
    for (body, why) in [
        (r#"{"name":"x"}"#, "query"),
        (r#"{"name":"z","query":"a(b"}"#, "unclosed"),
        (r#"{"name":"z","query":"x","address":"http://[::1]/"}"#, "own network"),
        (r#"{"name":"z","query":"x","other":1}"#, "other"),
        ("{", "JSON"),
    ] {
        let (status, told) = post(&server, "/monitors", &[JSON], body);
        assert!(status == 400 && told.contains(why), "{body}: {told}");
    }
    let large = format!(r#"{{"name":"z","query":"{}"}}"#, "x".repeat(300_000));
    assert_eq!(post(&server, "/monitors", &[JSON], &large).0, 413);
    fixture.write("shop/b.rs", "needle 2\n");
    fixture.ingest();
    eventually("there are news", || {
        server.json("/monitors/x").1["news"].as_array().is_some_and(|news| !news.is_empty())
    });
    check("/monitors", "/monitors", 200);
    check("/monitors/x", "/monitors/{name}", 200);
    check("/monitors/y", "/monitors/{name}", 200);
}

#[test]
fn many_monitors_are_as_exact_as_one() {
    let fixture = Fixture::new();
    for n in 0..60 {
        fixture.write(&format!("r/{n}.txt"), format!("word{n}\nKELVIN {n}\ncommon\n"));
    }
    fixture.ingest();
    fixture.exec(
        "insert into monitors (name, query, since_epoch)
         select 'm' || n, case n % 4 when 0 then 'fresh' || n || '$' when 1 then 'word' || n || '$'
                                     when 2 then 'common file:^' || n || '\\.txt' else 'kelvin ' || n || ' -word1' end,
                epoch
         from generate_series(0, 199) n cross join state;
         update monitor_epoch set epoch = (select epoch from state)",
    );
    for n in 0..60 {
        if n % 2 == 0 {
            fixture.write(&format!("r/{n}.txt"), format!("fresh{n}\n\u{212a}ELVIN {n}\n"));
        }
    }
    fixture.ingest();
    let found = |name: &str| -> Vec<String> {
        let out = fixture.run(&["monitor", "show", name]).code(0).out;
        let hits = out.lines().filter(|line| line.starts_with("  +") || line.starts_with("  -"));
        hits.map(|line| line.trim().to_owned()).collect()
    };
    assert_eq!(found("m4"), ["+r/4.txt:1:fresh4"]);
    assert_eq!(found("m8"), ["+r/8.txt:1:fresh8"]);
    assert_eq!(found("m61"), [""; 0]);
    assert_eq!(found("m2"), ["-r/2.txt:3:common"]);
    assert_eq!(found("m18"), ["-r/18.txt:3:common"]);
    // Every monitor tells the difference between two searches.
    let all: i64 = fixture.sql("select count(*) from monitor_news");
    let fresh = (0..200).filter(|n| n % 4 == 0 && *n < 60).count();
    let common = (0..200).filter(|n| n % 4 == 2 && *n < 60).count();
    let kelvin: i64 = fixture.sql(
        "select count(*) from monitor_news n join monitors m on m.id = n.monitor where m.query like 'kelvin%'",
    );
    assert_eq!(all, (fresh + common) as i64 + kelvin);
    fixture.check_invariants();
}
