//! One server for all programs: the socket in the index's folder, and `--server`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;

use client::{Frame, encode};
use serde_json::{Value, json};

use crate::harness::{Fixture, Ran, eventually, is_root, socket_folder};

/// Commands that read the index, each in one way or two.
const COMMANDS: &[&[&str]] = &[
    &["search", "anchor"],
    &["search", "nothing_has_this"],
    &["search", "foo("],
    &["search", "--sort", "relevance", "--json", "sail"],
    &["search", "-c", "--stats", "--limit", "1", "a"],
    &["search", "-l", "file:go"],
    &["search", "-f", "patterns"],
    &["search", "-f", "missing"],
    &["search", "--bogus"],
    &["search", "repo:nowhere x"],
    &["files", "shp"],
    &["files", "zzzz"],
    &["def", "Ship"],
    &["def", "Nothing"],
    &["refs", "Ship"],
    &["outline", "one/ship.go"],
    &["docs", "sailing"],
    &["search", "--help"],
];

fn written() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("one/ship.go", "package one\n\ntype Ship struct{}\n\nfunc anchor(s Ship) {}\n");
    fixture.write("one/README.md", "# Sailing\n\nA ship is for sailing. Drop the anchor.\n");
    fixture.write("two/copy.go", "package two\n\n// sail and anchor\nvar ship Ship\n");
    fixture.write("patterns", "anchor\nShip\n");
    fixture.ingest();
    fixture
}

fn socket(fixture: &Fixture) -> PathBuf {
    client::socket_path(socket_folder().parent().unwrap(), &fixture.index)
}

/// Runs all commands; drops times from their statistics.
fn answers(fixture: &Fixture) -> Vec<(Option<i32>, String, String)> {
    COMMANDS.iter().map(|args| untimed(&fixture.run(args))).collect()
}

/// Drops the lines that have times.
fn untimed(ran: &Ran) -> (Option<i32>, String, String) {
    let lines = |text: &str| {
        let lines = text.lines().filter(|line| !line.contains(" ms; "));
        lines.filter(|line| !line.contains("\"elapsed")).collect::<Vec<_>>().join("\n")
    };
    (ran.status.code(), lines(&ran.out), lines(&ran.err))
}

/// A server whose answers a test makes up: to each connection, these bytes.
struct Fake {
    path: PathBuf,
    answering: Option<thread::JoinHandle<Vec<String>>>,
}

impl Fake {
    /// Sends `answer` to `times` clients, and closes the connections.
    fn new(fixture: &Fixture, times: usize, answer: Vec<u8>) -> Self {
        let path = socket(fixture);
        let _ = fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        let answering = thread::spawn(move || {
            (0..times)
                .map(|_| {
                    let (mut stream, _) = listener.accept().unwrap();
                    let request = read_request(&mut stream);
                    stream.write_all(&answer).unwrap();
                    request
                })
                .collect()
        });
        Self { path, answering: Some(answering) }
    }

    /// Returns the bodies of the requests.
    fn requests(mut self) -> Vec<String> {
        self.answering.take().unwrap().join().unwrap()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Reads a request with a declared length, and returns its body.
fn read_request(stream: &mut UnixStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).unwrap() > 2 {
        if let Some(said) = line.to_lowercase().strip_prefix("content-length:") {
            length = said.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

/// Returns an answer that ends with the connection.
fn answer(status: &str, body: &[u8]) -> Vec<u8> {
    [
        format!("HTTP/1.1 {status}\r\ncontent-type: x/y\r\nconnection: close\r\n\r\n").as_bytes(),
        body,
    ]
    .concat()
}

/// Returns an answer that is cut off: its last chunk is missing.
fn cut(body: &[u8]) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: x/y\r\ntransfer-encoding: chunked\r\n\r\n";
    [head.as_bytes(), format!("{:x}\r\n", body.len()).as_bytes(), body, b"\r\n"].concat()
}

#[test]
fn a_server_runs_commands_as_the_programs_themselves_do() {
    let fixture = written();
    let own = answers(&fixture);
    let server = fixture.serve();
    let path = socket(&fixture);
    let found = fs::symlink_metadata(&path).unwrap();
    assert!(found.file_type().is_socket());
    assert_eq!(found.permissions().mode() & 0o777, 0o600);
    for (args, (own, served)) in COMMANDS.iter().zip(own.iter().zip(answers(&fixture))) {
        assert_eq!(*own, served, "{args:?}");
    }
    server.stop();
    assert!(!path.exists());
    assert_eq!(own, answers(&fixture));
}

#[test]
fn a_client_prints_what_its_server_sends() {
    let fixture = written();
    let frames = [
        encode(Frame::Stdout, b"out\n"),
        encode(Frame::Stderr, b"err\n"),
        encode(Frame::Exit, &[1]),
    ];
    let fake = Fake::new(&fixture, 1, answer("200 OK", &frames.concat()));
    let ran = fixture.run(&["search", "anchor"]).code(1);
    assert_eq!((&*ran.out, &*ran.err), ("out\n", "err\n"));
    let request: Value = serde_json::from_str(&fake.requests()[0]).unwrap();
    assert_eq!(request["version"], client::VERSION);
    assert_eq!(request["folder"], fixture.path().canonicalize().unwrap().to_str().unwrap());
    let args: Vec<&str> =
        request["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(args.ends_with(&["search", "anchor"]), "{args:?}");
}

#[test]
fn changes_are_compared_by_the_server() {
    let fixture = written();
    fixture.commit("one", "first");
    fixture.git("one", &["worktree", "add", "--quiet", "../w", "-b", "w"]);
    fixture.write("w/ship.go", "package one\n\ntype Ship struct{ mast int }\n");
    fixture.commit("w", "second");
    fixture.ingest();
    let in_worktree = |args: &[&str]| {
        let mut command = fixture.command(args);
        untimed(&Ran::of(command.current_dir(fixture.path().join("w")).output().unwrap()))
    };
    let answers = || {
        let changed = in_worktree(&["diff", "HEAD~1..HEAD"]);
        assert_eq!(changed.0, Some(0), "{}", changed.2);
        let found = in_worktree(&["search", "diff:HEAD~1..", "mast"]);
        assert_eq!(found.0, Some(0), "{}", found.2);
        let wrong = untimed(&fixture.run(&["diff", "HEAD~1..HEAD", "--repo", "one"]));
        assert_eq!(wrong.0, Some(2), "{}", wrong.1);
        [changed, found, wrong, untimed(&fixture.run(&["diff", "w...main", "--repo", "none"]))]
    };
    let own = answers();
    let server = fixture.serve();
    assert_eq!(answers(), own);
    server.stop();
    let fake = Fake::new(&fixture, 1, answer("200 OK", &encode(Frame::Exit, &[1])));
    fixture.run(&["diff", "HEAD~1..HEAD", "--repo", "one"]).code(1);
    assert!(fake.requests()[0].contains("\"diff\""));
}

#[test]
fn a_server_that_cannot_answer_is_not_needed() {
    let fixture = written();
    let expected = fixture.search(&["anchor"]);
    assert_eq!(expected.len(), 3);
    let conflict = r#"{"error":{"code":"other_version","message":"another version"}}"#;
    for refusal in [
        answer("409 Conflict", conflict.as_bytes()),
        answer("503 Service Unavailable", b"{}"),
        answer("404 Not Found", b""),
        answer("200 OK", b"<html>not frames</html>"),
        answer("200 OK", b""),
        b"not HTTP".to_vec(),
        Vec::new(),
    ] {
        let fake = Fake::new(&fixture, 1, refusal.clone());
        assert_eq!(fixture.search(&["anchor"]), expected, "{}", String::from_utf8_lossy(&refusal));
        fake.requests();
    }
    // A socket without a server, a file, and a link to nowhere.
    let path = socket(&fixture);
    drop(UnixListener::bind(&path).unwrap());
    assert_eq!(fixture.search(&["anchor"]), expected);
    let server = fixture.serve();
    UnixStream::connect(&path).expect("a server replaces what a dead one left");
    server.stop();
    fs::write(&path, "").unwrap();
    assert_eq!(fixture.search(&["anchor"]), expected);
    fs::remove_file(&path).unwrap();
}

#[test]
fn a_command_whose_server_dies_goes_on_by_itself() {
    let fixture = written();
    let whole = fixture.run(&["search", "anchor"]).code(0).out;
    for end in [0, 1, 10, whole.len() / 2, whole.len()] {
        let begun = encode(Frame::Stdout, &whole.as_bytes()[..end]);
        let fake = Fake::new(&fixture, 1, cut(&begun));
        let ran = fixture.run(&["search", "anchor"]).code(0);
        assert_eq!((ran.out, &*ran.err), (whole.clone(), ""), "{end}");
        fake.requests();
    }
    let fake = Fake::new(&fixture, 1, cut(&encode(Frame::Stdout, b"other\n")));
    let ran = fixture.run(&["search", "anchor"]).code(2);
    assert_eq!(ran.out, "other\n");
    assert!(ran.err.contains("the index has changed since; run the command again"), "{}", ran.err);
    fake.requests();
}

#[test]
fn the_socket_of_another_user_is_not_used() {
    if !is_root() {
        return;
    }
    let fixture = written();
    let expected = fixture.search(&["anchor"]);
    let path = socket(&fixture);
    let _listener = UnixListener::bind(&path).unwrap();
    std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
    assert_eq!(fixture.search(&["anchor"]), expected);
    fs::remove_file(&path).unwrap();
}

#[test]
fn a_command_that_is_interrupted_ends_on_its_server() {
    let fixture = written();
    let path = socket(&fixture);
    let listener = UnixListener::bind(&path).unwrap();
    let child = fixture.command(&["search", "anchor"]).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    read_request(&mut stream);
    interrupt(&child);
    // The client closes the connection, which a server takes as the command's end.
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    fs::remove_file(&path).unwrap();
    // A real server ends the search, which waits for a locked table, and has its turn again.
    let server = fixture.serve_with(&["--server-at-once", "1", "--cache", "0"]);
    let held = fixture.hold("lock table codesearch.chunks in access exclusive mode");
    let child = fixture.command(&["search", "anchor"]).stdout(Stdio::piped()).spawn().unwrap();
    eventually("the server searches", || waiting(&fixture) > 0);
    interrupt(&child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    eventually("the search has ended", || waiting(&fixture) == 0);
    drop(held);
    assert_eq!(fixture.search(&["anchor"]).len(), 3);
    server.stop();
}

/// Returns how many statements wait for a lock in the fixture's database.
fn waiting(fixture: &Fixture) -> i64 {
    fixture.sql(
        "select count(*) from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'",
    )
}

fn interrupt(child: &Child) {
    let done = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(done.success());
}

#[test]
fn fifty_programs_share_a_server() {
    let fixture = written();
    let server = fixture.serve();
    let expected = fixture.search(&["anchor"]);
    thread::scope(|scope| {
        let searches: Vec<_> =
            (0..50).map(|_| scope.spawn(|| fixture.search(&["anchor"]))).collect();
        for search in searches {
            assert_eq!(search.join().unwrap(), expected);
        }
    });
    server.stop();
}

#[test]
fn large_outputs_arrive_whole() {
    let fixture = Fixture::new();
    for n in 0..200 {
        fixture.write(&format!("one/{n}.txt"), format!("a line of file {n}\n").repeat(400));
    }
    fixture.ingest();
    let own = fixture.search(&["line"]);
    assert_eq!(own.len(), 200 * 400);
    let server = fixture.serve();
    // Client and server wait for each other often.
    for _ in 0..10 {
        assert!(fixture.search(&["line"]) == own);
    }
    let mut left = fixture.command(&["search", "line"]).stdout(Stdio::piped()).spawn().unwrap();
    left.stdout.take().unwrap().read_exact(&mut [0; 100]).unwrap();
    // The reader has closed the pipe.
    assert_eq!(left.wait().unwrap().code(), Some(0));
    server.stop();
}

#[test]
fn a_server_opens_no_connection_for_each_command() {
    let fixture = written();
    let server = fixture.serve();
    let connections = || {
        fixture
            .sql::<i64>("select count(*) from pg_stat_activity where datname = current_database()")
    };
    let search = || assert_eq!(fixture.search(&["anchor"]).len(), 3);
    (0..5).for_each(|_| search());
    let before = connections();
    (0..20).for_each(|_| search());
    // The server may keep a few open for searches at once; each command opened two.
    assert!(connections() < before + 10, "{before} {}", connections());
    server.stop();
}

#[test]
fn two_servers_of_an_index_have_one_socket() {
    let fixture = written();
    let (one, other) = (fixture.serve(), fixture.serve());
    assert!(socket(&fixture).exists());
    other.stop();
    assert!(socket(&fixture).exists());
    one.stop();
    assert!(!socket(&fixture).exists());
}

#[test]
fn a_server_that_shows_other_repositories_is_not_used() {
    let fixture = written();
    let server = fixture.serve();
    let mut command = fixture.command(&["search", "-l", "anchor"]);
    let ran = Ran::of(command.env("CODESEARCH_REPOS", "two").output().unwrap()).code(0);
    assert_eq!(ran.out, "two/copy.go\n");
    server.stop();
}

/// An agent that talks to `codesearch mcp`.
struct Agent {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Agent {
    fn new(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut agent = Self { child, lines };
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" } });
        let begun = agent.call(0, "initialize", &params);
        assert_eq!(begun["result"]["serverInfo"]["name"], "codesearch", "{begun}");
        agent.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        agent
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn call(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer: Value = serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    fn search(&mut self, id: u64, query: &str) -> String {
        let params = json!({ "name": "search", "arguments": { "query": query } });
        let answer = self.call(id, "tools/call", &params);
        answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap_or_else(|| panic!("{answer}"))
            .to_owned()
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        assert!(self.lines.next().is_none());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn agents_do_not_notice_whether_there_is_a_server() {
    let fixture = written();
    let mut agent = Agent::new(fixture.command(&["mcp"]));
    let own = agent.search(1, "anchor");
    assert!(own.contains("ship.go"), "{own}");
    // The server comes, and the next message goes there.
    let server = fixture.serve();
    assert_eq!(agent.search(2, "anchor"), own);
    let mut late = Agent::new(fixture.command(&["mcp"]));
    assert_eq!(late.search(1, "anchor"), own);
    // Without a server, the second agent's own engine must be told how the protocol began.
    server.stop();
    assert_eq!(late.search(2, "anchor"), own);
    assert_eq!(agent.search(3, "anchor"), own);
    let tools = late.call(3, "tools/list", &json!({}));
    assert_eq!(tools["result"]["tools"][0]["name"], "search");
    agent.end();
    late.end();
    // A server that dies in the middle of an answer.
    let fake = Fake::new(&fixture, 1, cut(b"{\"jsonrpc\":"));
    let mut agent = Agent::new(fixture.command(&["mcp"]));
    fake.requests();
    assert_eq!(agent.search(4, "anchor"), own);
    agent.end();
}

#[test]
fn a_server_elsewhere_is_used_in_the_same_way() {
    let fixture = written();
    let own = answers(&fixture);
    let made = fixture.run(&["token", "ann"]).code(0);
    fixture.write("tokens", &made.out);
    let token = made.err.trim().rsplit(' ').next().unwrap().to_owned();
    fixture.write("token", format!("{token}\n"));
    fixture.write("empty", "\n");
    let tokens = fixture.path().join("tokens");
    let server = fixture.serve_with(&["--tokens", tokens.to_str().unwrap()]);
    let url = format!("http://{}/", server.address);
    // The laptop has no index, and needs none.
    let home = fixture.path().join("laptop");
    let laptop = |args: &[&str]| {
        let mut command = crate::harness::clean_command();
        command.arg("--home").arg(&home).env("CODESEARCH_SERVER", &url).args(args);
        command.current_dir(fixture.path());
        command
    };
    let refused = Ran::of(laptop(&["search", "anchor"]).output().unwrap()).code(2);
    assert!(refused.err.contains("requires a token; name a file"), "{}", refused.err);
    let with_token = |args: &[&str]| {
        let mut command = laptop(args);
        command.env("CODESEARCH_SERVER_TOKEN", fixture.path().join("token"));
        command
    };
    for (args, (code, out, err)) in COMMANDS.iter().zip(&own) {
        // Help names this process's own environment.
        if args.contains(&"--help") {
            continue;
        }
        let (coded, said, noted) = untimed(&Ran::of(with_token(args).output().unwrap()));
        assert_eq!((coded, &said, &noted), (*code, out, err), "{args:?}");
    }
    let mut agent = Agent::new(with_token(&["mcp"]));
    assert!(agent.search(1, "anchor").contains("ship.go"));
    agent.end();
    assert!(!home.exists());
    for (args, said) in [
        (&["ingest", "."][..], "codesearch ingest works on an index of this machine"),
        (&["--server", "ftp://x", "search", "x"], "write it as https://HOST"),
        (&["--server-token", "empty", "search", "x"], "has no token in its first line"),
        (&["--server-token", "nowhere", "search", "x"], "cannot read the token in nowhere"),
        (
            &["--server", "http://127.0.0.1:1", "search", "x"],
            "cannot reach the server at http://127.0.0.1:1",
        ),
    ] {
        let ran = Ran::of(with_token(args).output().unwrap()).code(2);
        assert!(ran.err.contains(said) && ran.err.lines().count() == 1, "{}", ran.err);
    }
    server.stop();
    let ran = Ran::of(with_token(&["search", "anchor"]).output().unwrap()).code(2);
    assert!(ran.err.contains("cannot reach the server"), "{}", ran.err);
}

#[test]
fn a_server_runs_no_command_that_changes_anything() {
    let fixture = written();
    let server = fixture.serve();
    let send = |body: &Value| {
        let url = format!("http://{}/command", server.address);
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        let agent: ureq::Agent = config.build().into();
        let sent =
            agent.post(&url).header("content-type", "application/json").send(&*body.to_string());
        let mut answer = sent.unwrap();
        (answer.status().as_u16(), answer.body_mut().read_to_vec().unwrap())
    };
    let invocation = |args: &[&str]| {
        let args = args.iter().map(|&word| word.to_owned()).collect();
        serde_json::to_value(client::Invocation::new(args)).unwrap()
    };
    for args in [
        &["codesearch", "remove", "one"][..],
        &["codesearch", "sql", "select 1"],
        &["codesearch", "db", "stop"],
    ] {
        let (status, body) = send(&invocation(args));
        let told = String::from_utf8_lossy(&body).into_owned();
        assert!(status == 200 && told.contains("a server does not run"), "{told}");
        assert_eq!(body.last(), Some(&2));
    }
    // Files are those of the client, never the server's.
    let (_, body) = send(&invocation(&["codesearch", "search", "-f", "/etc/passwd"]));
    assert!(
        body.starts_with(&encode(Frame::Needs, b"/etc/passwd")),
        "{}",
        String::from_utf8_lossy(&body)
    );
    // Nor does a client elsewhere learn which there are, whatever it says of itself.
    let mut probe =
        invocation(&["codesearch", "search", "--hints=always", "anchor", "/etc/passwd"]);
    (probe["version"], probe["folder"]) = (json!(client::VERSION), json!("/"));
    let told = String::from_utf8_lossy(&send(&probe).1).into_owned();
    assert!(told.contains("nothing found") && !told.contains("in no indexed repository"), "{told}");
    let mut other = invocation(&["codesearch", "search", "x"]);
    other["protocol"] = json!(99);
    assert_eq!(send(&other).0, 409);
    assert_eq!(send(&json!({})).0, 400);
    assert_eq!(fixture.run(&["repos"]).code(0).out.lines().count(), 3);
    server.stop();
}
