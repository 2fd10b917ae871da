//! The behaviour that third-party clients rely on: headers, status codes, events, and the endpoints of other engines.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Fixture, Server, raw};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A clone with a commit checked out, and a plain folder.
fn served() -> (Fixture, Server) {
    let fixture = Fixture::new();
    fixture.write("all/clone/.git/HEAD", "ref: refs/heads/main\n");
    fixture.write("all/clone/.git/refs/heads/main", format!("{COMMIT}\n"));
    fixture.write("all/clone/.git/config", "[core]\n\tbare = false\n");
    fixture.write("all/clone/a.go", "package a\n\nfunc needle() {}\n".repeat(20));
    fixture.write("all/clone/b.md", "# needle\n");
    fixture.write("plain/x/c.go", "package needle // <b>\n");
    fixture.run(&["ingest", "--shards", "3", "all"]).code(0);
    fixture.run(&["ingest", "--depth", "1", "plain"]).code(0);
    let server = fixture.serve();
    (fixture, server)
}

fn request(server: &Server, path: &str, headers: &str) -> String {
    let text =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n");
    raw(server.address, text.as_bytes())
}

fn post(server: &Server, path: &str, body: &Value) -> (u16, Value) {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    let agent: ureq::Agent = config.build().into();
    let address = format!("http://{}{path}", server.address);
    let mut answer = agent.post(address).send(body.to_string()).unwrap();
    let text = answer.body_mut().read_to_string().unwrap();
    (answer.status().as_u16(), serde_json::from_str(&text).expect(&text))
}

#[test]
fn a_tag_holds_for_every_encoding() {
    let (_fixture, server) = served();
    for path in [
        "/raw?repo=clone&path=a.go",
        "/file?repo=clone&path=a.go",
        "/print?r=clone&f=a.go&format=raw",
    ] {
        let tag = |headers: &[(&str, &str)]| {
            let (status, got, _) = server.ask(path, headers);
            let header = |name| got.get(name).map(|value| value.to_str().unwrap().to_owned());
            (status, header("etag"), header("content-encoding"))
        };
        let (status, plain, none) = tag(&[("accept-encoding", "identity")]);
        assert_eq!((status, none), (200, None));
        let plain = plain.unwrap();
        assert!(plain.starts_with("W/\""), "{plain}");
        // The client decompresses the body and removes the header.
        let packed = request(&server, path, "Accept-Encoding: gzip\r\n").to_lowercase();
        assert!(
            packed.contains("content-encoding: gzip") && packed.contains(&plain.to_lowercase()),
            "{packed}"
        );
        let strong = plain.trim_start_matches("W/");
        for known in [plain.as_str(), strong, "*", &format!("\"other\", {plain}")] {
            assert_eq!(tag(&[("if-none-match", known)]).0, 304, "{known}");
        }
        assert_eq!(tag(&[("if-none-match", "\"other\"")]).0, 200);
    }
    // A range of lines has another tag than the whole file.
    let tag = |path: &str| server.ask(path, &[]).1["etag"].to_str().unwrap().to_owned();
    assert_ne!(tag("/file?repo=clone&path=a.go"), tag("/file?repo=clone&path=a.go&lines=1"));
}

/// Parses the events of an answer: name, id, data.
fn events(body: &str) -> Vec<(String, String, Value)> {
    let event = |text: &str| {
        let field = |name: &str| {
            let mut lines = text.lines();
            lines.find_map(|line| line.strip_prefix(name)).expect(text).to_owned()
        };
        (field("event: "), field("id: "), serde_json::from_str(&field("data: ")).unwrap())
    };
    body.split("\n\n").filter(|text| !text.is_empty()).map(event).collect()
}

#[test]
fn an_event_source_ends() {
    let (_fixture, server) = served();
    let path = "/search/stream?q=needle";
    let told = events(&server.get(path, "text/event-stream").2);
    let names: Vec<&str> = told.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!((names[0], *names.last().unwrap()), ("begin", "done"), "{told:?}");
    assert_eq!((told[0].1.as_str(), told.last().unwrap().1.as_str()), ("1", "end"));
    // It reconnects when the answer ends, and sends the last id.
    assert_eq!(server.ask(path, &[("last-event-id", "end")]).0, 204);
    let again = server.ask(path, &[("last-event-id", "1")]);
    assert_eq!(again.0, 200);
    let files = |told: &[(String, String, Value)]| -> usize {
        let files = told.iter().filter(|(name, ..)| name == "files");
        files.map(|(.., data)| data["files"].as_array().unwrap().len()).sum()
    };
    assert_eq!((files(&told), files(&events(&again.2))), (3, 3));
    // An error before the first event is a status, after which an event source does not reconnect.
    for (path, status) in [
        ("/search/stream?q=a(b", 400),
        ("/search/stream", 400),
        ("/search/stream?q=needle&bogus=1", 400),
        ("/search/stream?q=needle&fields=x", 400),
        ("/search/stream?q=needle&cursor=1AABjAAD6GSF0", 410),
        ("/search/stream?q=a(b&format=html", 400),
    ] {
        let (got, kind, body) = server.get(path, "text/event-stream");
        assert_eq!((got, kind.as_str()), (status, "application/json"), "{path}: {body}");
    }
    let packed = request(&server, path, "Accept-Encoding: gzip\r\n");
    assert!(packed.contains("content-encoding: gzip"), "{packed}");
}

#[test]
fn compressed_events_come_while_the_search_goes_on() {
    let (fixture, _server) = served();
    let server = fixture.serve_with(&["--cache", "0"]);
    // A search that waits for a shard. Its first events must not wait for its end.
    let held = fixture.hold("lock table chunks, documents in access exclusive mode");
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    stream
        .write_all(
            b"GET /search/stream?q=needle HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\
              Connection: close\r\n\r\n",
        )
        .unwrap();
    let mut got = Vec::new();
    let mut piece = [0; 4096];
    // The head of the answer, and some bytes of compressed events after it.
    while got.windows(4).position(|end| end == b"\r\n\r\n").is_none_or(|at| got.len() < at + 4 + 20)
    {
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&got));
        got.extend_from_slice(&piece[..read]);
    }
    assert!(String::from_utf8_lossy(&got).contains("content-encoding: gzip"));
    drop(held);
    let end = stream.read_to_end(&mut got).unwrap();
    assert!(end > 0, "the rest comes when the search goes on");
}

#[test]
fn requests_that_are_none_are_refused() {
    let (_fixture, server) = served();
    let head = |text: &str| raw(server.address, text.as_bytes());
    let end = "Connection: close\r\n\r\n";
    let answer = head(&format!("GET /repos HTTP/1.1\r\n{end}"));
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("no Host header"), "{answer}");
    for (one, other) in
        [("localhost", "localhost"), ("localhost", "evil.example"), ("evil.example", "localhost")]
    {
        let answer = head(&format!("GET /repos HTTP/1.1\r\nHost: {one}\r\nHost: {other}\r\n{end}"));
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("several Host"), "{answer}");
    }
    assert!(head(&format!("GET /repos HTTP/1.0\r\n{end}")).starts_with("HTTP/1.0 200"));
    // Invalid UTF-8 is not replaced.
    for path in [
        "/search?q=%FF%FE",
        "/file?repo=clone&path=%ff",
        "/print?r=%fe&f=x",
        "/zoekt/search?q=%C3",
        "/repos?%ff=1",
    ] {
        for accept in ["application/json", "text/html"] {
            let (status, _, body) = server.get(path, accept);
            let expected =
                if path.starts_with("/zoekt") || path.starts_with("/print") { 418 } else { 400 };
            assert_eq!(status, expected, "{path} {accept}: {body}");
            assert!(body.contains("UTF-8"), "{path}: {body}");
        }
    }
    // A body above the limit, which is not read.
    for path in ["/api/search", "/api/list", "/api/v1/search/"] {
        let length = 20 * 1024 * 1024;
        let kind = "Content-Type: application/x-www-form-urlencoded\r\n";
        let answer = head(&format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\n{kind}Content-Length: {length}\r\n{end}"
        ));
        assert!(answer.starts_with("HTTP/1.1 413"), "{path}: {answer}");
        assert!(answer.contains("connection: close"), "{path}: {answer}");
    }
}

#[test]
fn a_refusal_leaves_the_connection_to_the_next_request() {
    let (_fixture, server) = served();
    let (of_length, chunked) = (
        ("Content-Length: 8", "q=needle"),
        ("Transfer-Encoding: chunked", "8\r\nq=needle\r\n0\r\n\r\n"),
    );
    for (path, (kind, body), status) in [
        ("/api/v1/search/", of_length, 415),
        ("/api/v1/search/", chunked, 415),
        ("/repos", of_length, 405),
        ("/none", chunked, 404),
        ("/api/search", chunked, 400),
    ] {
        let mut stream = TcpStream::connect(server.address).unwrap();
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{kind}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        // The refusals are certain by now, but the bodies have not arrived.
        std::thread::sleep(Duration::from_millis(100));
        let next = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(format!("{body}{next}").as_bytes()).unwrap();
        let mut answers = String::new();
        stream.read_to_string(&mut answers).unwrap();
        assert!(answers.starts_with(&format!("HTTP/1.1 {status}")), "{path}: {answers}");
        assert!(answers.contains("HTTP/1.1 200") && answers.ends_with("ok\n"), "{path}: {answers}");
    }
}

#[test]
fn parameters_are_checked_for_pages_as_for_programs() {
    let (_fixture, server) = served();
    for path in [
        "/search?q=needle&format=xml",
        "/search?q=needle&limit=x",
        "/search?q=needle&context=x",
        "/search?q=needle&fields=x",
        "/search?q=needle&timeout=x",
        "/search?q=needle&cursor=x",
        "/search?q=needle&sort=x",
        "/search?q=needle&case=x",
        "/docs?q=needle&limit=0",
        "/docs?q=needle&format=xml",
        "/files?q=a&format=xml",
        "/files?q=a&limit=5000",
        "/files?q=a&lang=klingon",
        "/file?repo=clone&path=a.go&format=xml",
        "/file?repo=clone&path=a.go&lines=x",
        "/repos?format=xml",
        "/stats?format=xml",
        "/stats?since=yesterday",
        "/stats?trim=50,50",
    ] {
        for accept in ["application/json", "text/html"] {
            let (status, _, body) = server.get(path, accept);
            assert_eq!(status, 400, "{path} {accept}: {body}");
        }
    }
    // A browser's form sends its empty fields, while a program has to send valid values.
    for path in ["/search?q=needle&limit=", "/search?q=needle&case=", "/files?q=a&limit="] {
        assert_eq!(server.get(path, "application/json").0, 400, "{path}");
        assert_eq!(server.get(path, "text/html").0, 200, "{path}");
    }
    assert_eq!(server.get("/search?q=needle&repo=&cursor=", "application/json").0, 200);
}

#[test]
fn zoekts_file_addresses_lead_to_files() {
    let (_fixture, server) = served();
    let text = "package a\n\nfunc needle() {}\n".repeat(20);
    for (path, status, body) in [
        ("/print?r=clone&f=a.go&format=raw", 200, text.as_str()),
        ("/zoekt/print?r=clone&f=a.go&b=HEAD&format=raw&q=needle&num=5", 200, &text),
        (&format!("/print?r=clone&f=a.go&b={COMMIT}&format=raw"), 200, &text),
        (
            "/print?r=clone&f=a.go&b=main&format=raw",
            404,
            "the branch main of clone is not in the index",
        ),
        ("/print?r=clone&f=none.go&format=raw", 404, "clone/none.go is not in the index"),
        ("/print?r=other&f=a.go&format=raw", 404, "other/a.go is not in the index"),
        ("/print?f=a.go&format=raw", 418, "the file is missing"),
        ("/print?r=clone&f=a.go&format=json", 418, "use raw"),
        ("/print?r=clone&f=a.go&format=raw&lines=3", 418, "unknown parameter lines="),
    ] {
        let (got, kind, told) = server.get(path, "*/*");
        assert_eq!((got, kind.as_str()), (status, "text/plain; charset=utf-8"), "{path}: {told}");
        assert!(told.starts_with(body) || status != 200 && told.contains(body), "{path}: {told}");
    }
    let led = request(&server, "/print?r=clone&f=a.go&q=needle", "");
    assert!(
        led.starts_with("HTTP/1.1 303")
            && led.contains("location: /file?repo=clone&path=a.go&q=needle"),
        "{led}"
    );
}

#[test]
fn a_clone_has_the_branch_that_zoekts_clients_ask_for() {
    let (_fixture, server) = served();
    let search = |query: &str, options: Value| {
        let (status, answer) =
            post(&server, "/api/search", &json!({ "Q": query, "Opts": options }));
        assert_eq!(status, 200, "{query}: {answer}");
        answer["Result"].clone()
    };
    for query in ["needle branch:HEAD", "(branch:HEAD needle)", "b:HEAD needle", "needle"] {
        let result = search(query, json!({ "ChunkMatches": true }));
        assert_eq!(result["FileCount"], 3, "{query}: {result}");
        for file in result["Files"].as_array().unwrap() {
            if file["Repository"] == "clone" {
                assert_eq!(
                    (&file["Branches"], &file["Version"]),
                    (&json!(["HEAD"]), &json!(COMMIT))
                );
            } else {
                assert!(file.get("Branches").is_none() && file.get("Version").is_none(), "{file}");
            }
            for chunk in file["ChunkMatches"].as_array().unwrap() {
                assert_eq!(chunk["Score"], file["Score"], "{file}");
                assert!(chunk["Score"].as_f64() > Some(0.0), "{file}");
            }
        }
    }
    for branch in ["main", "HEADS"] {
        let (status, answer) =
            post(&server, "/api/search", &json!({ "Q": format!("needle branch:{branch}") }));
        assert_eq!((status, &answer["Result"]["FileCount"]), (200, &json!(0)), "{answer}");
    }
    let (_, answer) = post(&server, "/api/list", &json!({ "Q": "" }));
    let branches: Vec<&Value> = answer["List"]["Repos"]
        .as_array()
        .unwrap()
        .iter()
        .map(|repo| &repo["Repository"]["Branches"])
        .collect();
    assert_eq!(branches, [&json!([{ "Name": "HEAD", "Version": COMMIT }]), &json!(null)]);
    let (_, answer) = server.json("/zoekt/search?q=needle+b:HEAD&format=json");
    assert_eq!(answer["result"]["FileMatches"].as_array().unwrap().len(), 3);
    // With a time limit too short for any shard, all files are skipped.
    let result = search("needle", json!({ "MaxWallTime": 1 }));
    assert!(result["FilesSkipped"].as_u64() > Some(0), "{result}");
}

#[test]
fn the_document_has_what_generators_need() {
    let document: Value =
        serde_json::from_str(include_str!("../../../../docs/openapi.json")).unwrap();
    assert_eq!(document["servers"][0]["url"], "/");
    assert_eq!(document["info"]["license"]["identifier"], "MIT OR Apache-2.0");
    let mut operations = Vec::new();
    let paths = document["paths"].as_object().unwrap();
    let all: Vec<(&String, &Value)> = paths
        .iter()
        .flat_map(|(path, what)| what.as_object().unwrap().values().map(move |told| (path, told)))
        .collect();
    for (path, told) in &all {
        operations.push(told["operationId"].as_str().unwrap());
        assert!(told["security"].is_array(), "{path}");
        let params = told["parameters"].as_array();
        assert!(params.is_none() || told["responses"]["400"].is_object(), "{path}: 400");
        let is_page = |param: &Value| {
            param["name"] == "format"
                && param["schema"]["enum"].as_array().unwrap().contains(&"html".into())
        };
        let has_page = params.into_iter().flatten().any(is_page);
        assert_eq!(
            told["responses"]["200"]["content"]["text/html"].is_object(),
            has_page,
            "{path}"
        );
        assert!(told["responses"]["421"].is_object(), "{path}: 421");
    }
    operations.sort_unstable();
    operations.dedup();
    assert_eq!(operations.len(), all.len());
    assert!(operations.contains(&"searchStream"), "{operations:?}");
    let events = &document["paths"]["/search/stream"]["get"]["responses"]["200"]["content"]["text/event-stream"];
    let data = &events["schema"]["properties"]["data"];
    assert_eq!(data["contentSchema"]["oneOf"].as_array().unwrap().len(), 5);
}
