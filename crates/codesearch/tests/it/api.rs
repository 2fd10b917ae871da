//! The endpoints for programs: their answers match `docs/openapi.json`.

use serde_json::{Value, json};

use crate::harness::{Fixture, Server, raw};

fn served() -> (Fixture, Server) {
    let fixture = Fixture::new();
    fixture.write("one/src/main.rs", "fn main() {\n    needle();\n}\n\nfn needle() {}\n");
    fixture.write("one/src/lib/deep.rs", "// needle\n");
    fixture.write("one/copy.rs", "// needle\n");
    fixture.write("one/data.bin", "\0\0");
    fixture.write("two/<script>alert(1)</script>.html", "<script>alert('needle')</script>\n");
    for n in 0..30 {
        fixture.write(&format!("two/many/{n:02}.txt"), format!("needle {n}\n"));
    }
    fixture.ingest();
    let server = fixture.serve();
    (fixture, server)
}

pub(crate) fn document() -> Value {
    serde_json::from_str(include_str!("../../../../docs/openapi.json")).unwrap()
}

/// Checks an answer against the document's schema for its address and status.
pub(crate) fn check(document: &Value, path: &str, status: u16, answer: &Value) {
    let address = path.split('?').next().unwrap();
    let said = &document["paths"][address]["get"]["responses"][status.to_string()];
    let schema = &said["content"]["application/json"]["schema"];
    assert!(schema.is_object(), "{path}: nothing is said of {status}");
    let mut whole = schema.clone();
    whole["components"] = document["components"].clone();
    let validator = jsonschema::validator_for(&whole).unwrap();
    let wrong: Vec<String> = validator.iter_errors(answer).map(|e| e.to_string()).collect();
    assert!(wrong.is_empty(), "{path}: {wrong:#?}\n{answer:#}");
}

#[test]
fn answers_are_what_the_document_says() {
    let (fixture, server) = served();
    let document = document();
    assert_eq!(server.json("/openapi.json").1, document);
    for (path, expected) in [
        ("/search?q=needle", 200),
        ("/search?q=needle&limit=1", 200),
        ("/search?q=needle&limit=0&context=2", 200),
        ("/search?q=needle&limit=3&fields=path,matches&explain=1", 200),
        ("/search?q=needle&limit=3&sort=relevance&explain=1", 200),
        ("/search?q=needle&limit=3&sort=relevance&copies=1&fields=path,copies", 200),
        ("/search?q=needle+type:repo", 200),
        ("/search?q=main+type:file", 200),
        ("/search?q=nowhere-at-all", 200),
        ("/search?q=NEEDLE+nowhere&hints=1", 200),
        ("/search?q=a(b", 400),
        ("/search?q=a&fields=nothing", 400),
        ("/search?q=a&context=x", 400),
        ("/search?q=a&cursor=x", 400),
        // A cursor of epoch 99, and a mangled copy of it.
        ("/search?q=needle&cursor=1AABjAAD6GSF0", 410),
        ("/search?q=needle&cursor=1AABjAAD6GSF", 400),
        ("/search?q=needle&cursor=99-0-0-0", 400),
        ("/search/stream?q=a(b", 400),
        ("/search/stream?q=needle&cursor=1AABjAAD6GSF0", 410),
        ("/explain?q=needle+main+-file:x", 200),
        ("/explain?q=a(b", 400),
        ("/file?repo=one&path=src/main.rs", 200),
        ("/file?repo=one&path=src/main.rs&lines=2-3", 200),
        ("/file?repo=one&path=src/main.rs&lines=0", 400),
        ("/file?repo=one&path=src", 404),
        ("/file?repo=one", 400),
        ("/file?repo=one&path=src/main.rs&lines=9-10", 400),
        ("/files?q=a&lang=klingon", 400),
        ("/file?repo=one&path=../../etc/passwd", 404),
        ("/file?repo=three&path=src/main.rs", 404),
        ("/raw?repo=one&path=%00", 404),
        ("/files?q=srcman", 200),
        ("/files?q=srcman&lang=rs", 200),
        ("/files?q=", 200),
        ("/files?q=zzzzqqqq", 200),
        ("/files?q=a&limit=5000", 400),
        ("/repos", 200),
        ("/repos?q=tw", 200),
        ("/repos?repo=one", 200),
        ("/repos?repo=one&path=src/lib/", 200),
        ("/repos?repo=one&path=none", 404),
        ("/whoami", 200),
        ("/repos?repo=three", 404),
        ("/sql?q=select+path,+bytes,+1.5,+true,+null+from+files&limit=1", 200),
        ("/sql?q=select+1", 200),
        ("/sql?q=selec+1", 400),
        ("/sql", 400),
        ("/suggest?word=repo:o", 200),
        ("/suggest?word=lang:r", 200),
        ("/suggest?word=-file:main", 200),
        ("/suggest?word=ca", 200),
        ("/suggest", 200),
        ("/stats", 200),
        ("/stats?since=7d&compare=before&trim=1,2", 200),
        ("/stats?from=2026-01-30&to=2026-01-31T12:00Z", 200),
        ("/stats?since=yesterday", 400),
        ("/stats?trim=50,50", 400),
        ("/audit", 404),
        ("/ask?q=where+is+the+needle", 200),
        (
            "/ask?q=needle+server&limit=3&lines=2&lang=go&repo=one&file=src&explain=1&fresh=1&timeout=5s",
            200,
        ),
        ("/ask?q=nowhere_at_all", 200),
        ("/ask?q=", 400),
        ("/ask?q=needle&limit=0", 400),
        ("/ask?q=needle&rev=none", 400),
        ("/search?q=needle+nowhere_at_all&sort=relevance&limit=9", 200),
        ("/docs?q=needle", 200),
        ("/docs?q=needle+7&limit=100&lang=txt&repo=two&dictionary=english&timeout=5s", 200),
        ("/docs?q=nowhere-at-all", 200),
        ("/docs?q=", 400),
        ("/docs?q=the", 400),
        ("/docs?q=a&limit=0", 400),
        ("/docs?q=a&repo=(", 400),
    ] {
        let (status, answer) = server.json(path);
        assert_eq!(status, expected, "{path}: {answer}");
        check(&document, path, status, &answer);
    }
    fixture.write("one/copy.rs", "// changed\n");
    for path in [
        "/search?q=needle&stale=1",
        "/search?q=needle&limit=9&sort=path",
        "/file?repo=one&path=copy.rs",
    ] {
        let (status, answer) = server.json(path);
        assert_eq!(answer["stale"]["files"], 1, "{path}: {answer}");
        check(&document, path, status, &answer);
    }
}

#[test]
fn a_parameter_that_is_none_is_told() {
    let (_fixture, server) = served();
    let message = |path: &str| -> String {
        let (status, answer) = server.json(path);
        assert_eq!(status, 400, "{path}: {answer}");
        answer["error"]["message"].as_str().unwrap().to_owned()
    };
    for (path, expected) in [
        ("/search?q=needle&lmit=1", "unknown parameter lmit=; did you mean limit=?"),
        ("/search?q=needle&langauge=go", "unknown parameter langauge=; /openapi.json"),
        ("/explain?q=needle&Case=yes", "did you mean case=?"),
        ("/file?repo=one&pth=copy.rs", "did you mean path=?"),
        ("/raw?repo=one&path=copy.rs&dowload=1", "did you mean download=?"),
        ("/files?q=srcman&limt=1", "did you mean limit=?"),
        ("/repos?rep=one", "did you mean repo=?"),
        ("/suggest?wrd=a", "did you mean word=?"),
        ("/search?q=needle&q=main", "q= is given twice; give it once"),
        ("/search?q=needle&sort=size", "sort=size: use relevance, path or oldest"),
        ("/search?q=needle&sort=path&limit=0", "sort= needs a limit= of at most 1000"),
        ("/search?q=needle&wait=1", "wait= is only for pages"),
        ("/search?q=needle&typed=1", "typed= is only for pages"),
    ] {
        let told = message(path);
        assert!(told.contains(expected), "{path}: {told}");
    }
    assert!(message("/search/stream?q=needle&sort=path").contains("leave it out, or use /search"));
    // Links to a page may carry unknown parameters; an invalid address gets a page with an error.
    for path in ["/search?q=needle&utm_source=x", "/file?repo=one&path=copy.rs&x=1", "/repos?x=1"] {
        assert_eq!(server.get(path, "text/html").0, 200, "{path}");
    }
    for path in ["/file?repo=a&repo=b", "/repos?q=a&q=b", "/raw?path=a&path=b", "/search?q=a&q=b"] {
        let (status, kind, page) = server.get(path, "text/html");
        assert_eq!((status, kind.as_str()), (400, "text/html; charset=utf-8"), "{path}");
        assert!(page.contains("is given twice; give it once"), "{page}");
    }
    // Each endpoint accepts the parameters that the document lists.
    let document = document();
    for (address, what) in document["paths"].as_object().unwrap() {
        let parameters = what["get"]["parameters"].as_array();
        let in_query = parameters.into_iter().flatten().filter(|it| it["in"] == "query");
        for name in in_query.map(|it| it["name"].as_str().unwrap()) {
            let answer = server.get(&format!("{address}?{name}="), "application/json").2;
            assert!(!answer.contains("unknown parameter"), "{address} {name}: {answer}");
        }
    }
}

#[test]
fn a_server_on_loopback_is_asked_by_its_own_names() {
    let fixture = Fixture::new();
    fixture.write("one/a.rs", "needle\n");
    fixture.ingest();
    let ask = |server: &Server, host: &str, more: &str| {
        let text = format!("GET /repos HTTP/1.1\r\n{host}Connection: close\r\n{more}\r\n");
        raw(server.address, text.as_bytes())
    };
    let server = fixture.serve();
    for host in ["Host: localhost\r\n", "Host: 127.0.0.1:1\r\n", "Host: [::1]\r\n"] {
        assert!(ask(&server, host, "").starts_with("HTTP/1.1 200"), "{host}");
    }
    let answer = ask(&server, "Host: evil.example\r\n", "");
    assert!(answer.starts_with("HTTP/1.1 421"), "{answer}");
    assert!(answer.contains("wrong_host") && answer.contains("--host NAME"), "{answer}");
    assert!(!answer.contains("indexed_at"), "{answer}");
    let page = ask(&server, "Host: evil.example\r\n", "Accept: text/html\r\n");
    assert!(page.starts_with("HTTP/1.1 421") && page.contains("<p>unknown host name"), "{page}");
    let server = fixture.serve_with(&["--host", "code.example"]);
    assert!(ask(&server, "Host: Code.example:443\r\n", "").starts_with("HTTP/1.1 200"));
    assert!(ask(&server, "Host: evil.example\r\n", "").starts_with("HTTP/1.1 421"));
}

#[test]
fn pages_of_a_cursor_are_together_the_whole_answer() {
    let (_fixture, server) = served();
    let paths = |answer: &Value| -> Vec<String> {
        let files = answer["files"].as_array().unwrap();
        files.iter().map(|file| format!("{}/{}", file["repo"], file["path"])).collect()
    };
    let mut whole = paths(&server.json("/search?q=needle&limit=0").1);
    let mut pages = Vec::new();
    let mut cursor = String::new();
    loop {
        let (status, answer) = server.json(&format!("/search?q=needle&limit=7&cursor={cursor}"));
        assert_eq!(status, 200, "{answer}");
        let page = paths(&answer);
        assert!(page.len() == 7 || answer["next"].is_null());
        pages.extend(page);
        match answer["next"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => break,
        }
    }
    whole.sort();
    pages.sort();
    assert_eq!(pages, whole);
}

#[test]
fn a_cursor_goes_on_in_the_state_that_it_was_given_in() {
    let (fixture, server) = served();
    let first = server.json("/search?q=needle&limit=20").1;
    let next = first["next"].as_str().unwrap();
    for n in 0..30 {
        fixture.write(&format!("two/many/new{n:02}.txt"), format!("needle new {n}\n"));
    }
    fixture.ingest();
    let all = server.json("/search?q=needle&limit=0").1["stats"]["files"].as_u64().unwrap();
    let second = server.json(&format!("/search?q=needle&limit=0&cursor={next}")).1;
    let rest = second["stats"]["files"].as_u64().unwrap();
    assert_eq!((20 + rest, all), (34, 64), "{second}");
    assert!(!second.to_string().contains("needle new"), "{second}");
}

#[test]
fn events_tell_what_the_answer_tells() {
    let (_fixture, server) = served();
    let (status, kind, body) = server.get("/search/stream?q=needle&limit=0", "text/event-stream");
    assert_eq!((status, kind.as_str()), (200, "text/event-stream"));
    let events: Vec<(&str, Value)> = body
        .split("\n\n")
        .filter(|event| !event.is_empty())
        .map(|event| {
            let mut lines = event.lines();
            let name = lines.next().unwrap().strip_prefix("event: ").unwrap();
            assert!(lines.next().unwrap().starts_with("id: "));
            let data = lines.next().unwrap().strip_prefix("data: ").unwrap();
            (name, serde_json::from_str(data).unwrap())
        })
        .collect();
    let files = events.iter().filter(|(name, _)| *name == "files");
    let files: usize = files.map(|(_, data)| data["files"].as_array().unwrap().len()).sum();
    let (last, done) = events.last().unwrap();
    assert_eq!((*last, done["stats"]["files"].as_u64()), ("done", Some(34)));
    assert_eq!(files, 34);
    assert_eq!((events[0].0, &events[0].1), ("begin", &json!({ "query": "needle" })));
    let (status, wrong) = server.json("/search/stream?q=a(b");
    assert_eq!((status, &wrong["error"]["code"]), (400, &json!("bad_query")));
    let (_, _, page) = server.get("/search/stream?q=needle&format=html", "text/event-stream");
    assert!(page.contains("event: done") && page.contains("matching lines in 34 files"), "{page}");
}

#[test]
fn files_are_given_as_text_and_nothing_else() {
    let (_fixture, server) = served();
    let path = "/raw?repo=two&path=%3Cscript%3Ealert(1)%3C/script%3E.html";
    let request = |path: &str, more: &str| {
        let text =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n");
        raw(server.address, text.as_bytes()).to_lowercase()
    };
    let answer = request(path, "Accept: text/html\r\n");
    assert!(answer.starts_with("http/1.1 200"), "{answer}");
    for header in [
        "content-type: text/plain; charset=utf-8",
        "x-content-type-options: nosniff",
        "content-security-policy: default-src 'none'; sandbox",
    ] {
        assert!(answer.contains(header), "{header}: {answer}");
    }
    assert!(answer.contains("<script>alert('needle')</script>"), "{answer}");
    let tag = answer.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    let again = request(path, &format!("If-None-Match: {}\r\n", tag.replace("w/", "W/")));
    assert!(again.starts_with("http/1.1 304") && !again.contains("alert"), "{again}");
    let saved = request(&format!("{path}&download=1"), "");
    assert!(saved.contains("content-disposition: attachment; filename*=utf-8''"), "{saved}");

    // The page shows it as text, too.
    let (status, _, page) = server.get(&path.replace("/raw", "/file"), "text/html");
    assert_eq!(status, 200);
    assert!(!page.contains("<script>") && page.contains("&#60;script&#62;"), "{page}");
    for path in ["/file?repo=one&path=..%2f..%2fetc%2fpasswd", "/raw?repo=..&path=etc/passwd"] {
        assert_eq!(server.get(path, "*/*").0, 404, "{path}");
    }
}

#[test]
fn answers_are_compressed_for_those_who_ask() {
    let (_fixture, server) = served();
    for encoding in ["gzip", "zstd"] {
        let request = format!(
            "GET /search?q=needle HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAccept-Encoding: {encoding}\r\n\r\n"
        );
        let answer = raw(server.address, request.as_bytes()).to_lowercase();
        assert!(answer.contains(&format!("content-encoding: {encoding}")), "{answer}");
        assert!(!answer.contains("access-control-allow-origin"), "{answer}");
    }
}

#[test]
fn metrics_count_searches_by_how_they_ended() {
    let (_fixture, server) = served();
    for path in ["/search?q=needle", "/search?q=needle&limit=2", "/search?q=a(b"] {
        server.json(path);
    }
    let (status, kind, text) = server.get("/metrics", "*/*");
    assert_eq!((status, kind.as_str()), (200, "text/plain; version=0.0.4; charset=utf-8"));
    for line in [
        "codesearch_searches_total{outcome=\"complete\"} 1",
        "codesearch_searches_total{outcome=\"limit\"} 1",
        "codesearch_search_duration_seconds_count 2",
        "codesearch_search_duration_seconds_bucket{le=\"+Inf\"} 2",
        "codesearch_results_total 36",
        "codesearch_repositories 2",
        "codesearch_ingest_running 0",
    ] {
        assert!(text.lines().any(|one| one == line), "{line}\n{text}");
    }
    // Each line is a comment, or a name with optional labels and a number.
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, number) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("codesearch_") && number.parse::<f64>().is_ok(), "{line}");
    }
}

#[test]
fn status_files_and_folders_are_pages_for_browsers() {
    let (_fixture, server) = served();
    for (path, texts) in [
        ("/stats", &["<h1>Status</h1>", "good"][..]),
        ("/repos", &["2 repositories", "href=\"/repos?repo=one\""]),
        ("/repos?q=oone", &["No repository's name contains oone.", "Did you mean", ">one</a>"]),
        ("/repos?repo=one", &["1 binary", "src/", "Rust"]),
        ("/repos?repo=one&path=src", &["href=\"/file?repo=one&#38;path=src/main.rs\"", "lib/"]),
        ("/files?q=srcmain", &["href=\"/file?repo=one&#38;path=src/main.rs\""]),
        (
            "/file?repo=one&path=copy.rs&q=needle",
            &["<mark class=\"c\">needle</mark>", "1 matching line", "one/src/lib/deep.rs"],
        ),
        ("/ask", &["Ask in words", "aria-current=\"page\">ask"]),
        (
            "/ask?q=where+is+the+needle",
            &["<mark class=\"", ">needle</mark>", "some of these words"],
        ),
        ("/docs", &["Search documents and comments", "aria-current=\"page\">docs"]),
        (
            "/docs?q=needle+7",
            &["<mark>needle</mark>", "1 text in", "complete", "href=\"/search?q=needle%207\""],
        ),
        (
            "/search?q=needle&sort=path&wait=1",
            &["34 files", "aria-current=\"true\"", "lang:rust", "complete"],
        ),
    ] {
        let (status, kind, page) = server.get(path, "text/html");
        assert_eq!((status, kind.as_str()), (200, "text/html; charset=utf-8"), "{path}");
        for text in texts {
            assert!(page.to_lowercase().contains(&text.to_lowercase()), "{path}: {text}\n{page}");
        }
    }
    assert_eq!(json!(server.get("/repos?repo=none", "text/html").0), 404);
    let (status, _, page) = server.get("/none", "text/html");
    assert_eq!((status, page.contains("<h1>Page not found</h1>")), (404, true), "{page}");
}
