//! Searches over HTTP.

use std::io::{Read, Write};

use serde_json::json;

use crate::harness::{Fixture, Server, eventually, raw};

fn served() -> (Fixture, Server) {
    let fixture = Fixture::new();
    fixture.write("one/a.go", "package a\n\nfunc Größe() { <b>func</b> }\n");
    fixture.write("one/<script>alert(1)</script>.go", "func x\n");
    fixture.write("two/c.md", "func\n".repeat(30));
    fixture.ingest();
    let server = fixture.serve();
    (fixture, server)
}

#[test]
fn pages_of_other_sites_get_nothing() {
    let fixture = Fixture::new();
    fixture.write("one/a.txt", "needle\n");
    fixture.ingest();
    let server = fixture.serve();
    let ask = |headers: &[(&str, &str)]| {
        let (status, headers, body) = server.ask("/search?q=needle", headers);
        assert_eq!(headers["cross-origin-resource-policy"], "same-origin");
        (status, body.contains("one/a.txt"))
    };
    let (site, no_cors) = (("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors"));
    assert_eq!(ask(&[site, no_cors, ("sec-fetch-dest", "image")]), (403, false));
    assert_eq!(ask(&[("origin", "https://evil.example")]), (403, false));
    // A link that a user follows, a page of this server, and a program.
    assert_eq!(ask(&[site, ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")]).0, 200);
    assert_eq!(ask(&[("sec-fetch-site", "same-origin")]).0, 200);
    assert_eq!(ask(&[]).0, 200);
}

#[test]
fn json_for_programs() {
    let (_fixture, server) = served();
    let (status, answer) = server.json("/search?q=gr%C3%B6%C3%9Fe|func&limit=100");
    assert_eq!(status, 200);
    assert_eq!(answer["query"], "größe|func");
    assert_eq!(
        answer["files"][1],
        json!({
            "repo": "one",
            "path": "a.go",
            "language": "Go",
            "matches": [{
                "line": 3,
                "text": "func Größe() { <b>func</b> }",
                "ranges": [[0, 4], [5, 12], [20, 24]],
            }],
            "path_ranges": [],
        })
    );
    let told = &answer["stats"];
    for (key, value) in [
        ("files", json!(3)),
        ("matches", json!(32)),
        ("shards", json!(1)),
        ("shards_searched", json!(1)),
        ("candidates", json!(3)),
        ("complete", json!(true)),
        ("stopped_because", json!(null)),
    ] {
        assert_eq!(told[key], value, "{key}");
    }
    assert!(told["duration_ms"].as_f64().unwrap() > 0.0);

    for limit in ["limit=2", "num=2", "limit=2&num=1"] {
        let (_, answer) = server.json(&format!("/search?q=func&{limit}"));
        assert_eq!(answer["stats"]["files"], 2);
        assert_eq!(answer["stats"]["complete"], false);
        assert_eq!(answer["stats"]["stopped_because"], "limit");
    }
    // A large or unlimited answer is streamed, with the same contents.
    let mut streamed = server.json("/search?q=gr%C3%B6%C3%9Fe|func&limit=0").1;
    let mut sorted = answer.clone();
    for one in [&mut streamed, &mut sorted] {
        one["stats"]["duration_ms"] = json!(0);
        one["stats"]["phases_ms"] = json!(0);
        // The cost depends on the limit and on the texts that are in memory by then.
        for cost in
            ["candidates", "rechecks", "bytes", "shards_from_memory", "shards_from_postgres"]
        {
            one["stats"][cost] = json!(0);
        }
        one["files"].as_array_mut().unwrap().sort_by_key(|file| file["path"].to_string());
    }
    assert_eq!(streamed, sorted);
    assert_eq!(server.json("/search?q=nowhere-at-all&limit=0").1["files"], json!([]));

    assert_eq!(server.json("/search?q=FUNC&case=yes").1["stats"]["files"], 0);
    assert_eq!(server.json("/search?q=FUNC&case=no").1["stats"]["files"], 3);
    assert_eq!(server.json("/search?q=func&lang=markdown").1["stats"]["files"], 1);
    assert_eq!(server.json("/search?q=func&repo=^one$&file=a").1["stats"]["files"], 2);
}

#[test]
fn a_page_for_browsers() {
    let (_fixture, server) = served();
    let browser = "text/html,application/xhtml+xml";
    let (status, kind, page) = server.get("/search?q=func&wait=1", browser);
    assert_eq!((status, kind.as_str()), (200, "text/html; charset=utf-8"));
    assert!(page.contains("<mark class=\"k\">func</mark>"), "{page}");
    assert!(page.contains("&#60;") && !page.contains("<b>"), "{page}");
    assert!(!page.contains("<script>"), "{page}");
    assert!(page.contains("Show 23 more matching lines"), "{page}");
    assert!(server.get("/", browser).2.contains("2 repositories"));
    assert_eq!(server.get("/static/style.css", browser).1, "text/css; charset=utf-8");
    // Browsers cache static files: each version has its own address.
    for name in ["style.css", "first.js", "script.js"] {
        let address = page.split('"').find(|part| part.contains(name)).unwrap();
        let ask = |address: &str| {
            let text =
                format!("GET {address} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            raw(server.address, text.as_bytes())
        };
        assert!(ask(address).contains("cache-control: max-age=31536000, immutable"), "{address}");
        let plain = address.split('?').next().unwrap();
        assert!(ask(plain).contains("cache-control: max-age=60\r\n"), "{plain}");
    }
    let (status, _, page) = server.get("/search?q=a(b", browser);
    assert_eq!(status, 400);
    assert!(page.contains("a<mark class=\"fault\">(</mark>b"), "{page}");
    assert!(page.contains("unclosed group"), "{page}");
    assert!(server.get("/search?q=nowhere-at-all&wait=1", browser).2.contains("Nothing matches"));
    assert!(server.get("/search?q=func&format=json", browser).1.contains("json"));
    assert!(server.get("/search?q=func&format=html", "*/*").1.contains("html"));
    // Without a query, a browser gets a page to type one. A program that requests a page is told that the query is
    // missing.
    for page in ["/search?format=html", "/search?q=&format=html", "/docs?format=html"] {
        assert_eq!(server.get(page, browser).0, 200, "{page}");
        let (status, kind, _) = server.get(page, "*/*");
        assert!(status == 400 && kind.contains("html"), "{page}: {status} {kind}");
    }
    // The same applies to the empty fields of a form, and to unknown parameters.
    for page in ["/search?q=func&sort=&format=html", "/search?q=func&from=mail&format=html"] {
        assert_eq!(server.get(page, browser).0, 200, "{page}");
        assert_eq!(server.get(page, "*/*").0, 400, "{page}");
    }
}

#[test]
fn a_redirect_keeps_the_form_that_was_asked_for() {
    let fixture = Fixture::new();
    fixture.write("a/src/main.go", "func main() {}\n");
    fixture.ingest();
    let server = fixture.serve();
    for format in ["", "&format=html"] {
        let request = format!(
            "GET /repos?repo=a&path=src/main.go{format} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\
             Connection: close\r\n\r\n"
        );
        let told = raw(server.address, request.as_bytes());
        let place = format!("location: /file?repo=a&path=src/main.go{format}\r\n");
        assert!(told.contains(&place), "{told}");
    }
}

#[test]
fn files_stand_with_their_repository_in_the_order_of_relevance() {
    let fixture = Fixture::new();
    fixture.write("a/use.go", "x := needle()\n");
    fixture.write("a/def.go", "func needle() {}\n");
    fixture.write("b/needle.go", "func needle() {}\n\n");
    fixture.write("b/vendor/v.go", "// needle\n");
    fixture.ingest();
    let server = fixture.serve();
    let page = server.get("/search?q=needle&wait=1", "text/html").2;
    let found = page.split("<div class=\"found\">").nth(1).unwrap();
    let found = found.split("</main>").next().unwrap();
    let mut shown: Vec<String> = Vec::new();
    for part in found.split("<h2>").skip(1) {
        for link in part.split("</h2>").next().unwrap().split("href=\"").skip(1) {
            let link = link.split('"').next().unwrap();
            shown.push(link.replace("&#38;", "&").split("&q=").next().unwrap().to_owned());
        }
    }
    assert_eq!(
        shown,
        [
            "/repos?repo=b",
            "/file?repo=b&path=needle.go",
            "/repos?repo=a",
            "/file?repo=a&path=def.go",
            "/repos?repo=a",
            "/file?repo=a&path=use.go",
            "/repos?repo=b",
            "/file?repo=b&path=vendor/v.go",
        ]
    );
    // The part for the script has the same headings.
    let events = server.get("/search/stream?q=needle&format=html", "text/event-stream").2;
    assert_eq!(events.matches("<h2><span").count(), 4, "{events}");
    // Programs get the same order, and may set the limit.
    let order = |path: &str| -> (Vec<String>, serde_json::Value) {
        let (status, answer) = server.json(path);
        assert_eq!(status, 200, "{answer}");
        let files = answer["files"].as_array().unwrap().iter();
        let name = |file: &serde_json::Value| {
            format!("{}/{}", file["repo"].as_str().unwrap(), file["path"].as_str().unwrap())
        };
        (files.map(name).collect(), answer)
    };
    let (path, relevance) = (
        ["a/def.go", "a/use.go", "b/needle.go", "b/vendor/v.go"],
        ["b/needle.go", "a/def.go", "a/use.go", "b/vendor/v.go"],
    );
    for (sort, expected) in [("relevance", relevance), ("path", path)] {
        let (all, answer) = order(&format!("/search?q=needle&sort={sort}"));
        assert_eq!(all, expected, "{sort}");
        assert_eq!(answer["stats"]["complete"], true, "{sort}");
        // One page after another, in the same order.
        let (mut all, mut next) = (Vec::new(), String::new());
        for _ in 0..expected.len() {
            let (some, answer) =
                order(&format!("/search?q=needle&sort={sort}&limit=1&context=1&cursor={next}"));
            assert_eq!(answer["stats"]["files"], 4, "{sort}");
            all.extend(some);
            let last = all.len() == expected.len();
            assert_eq!(answer["stats"]["complete"], last, "{sort}");
            assert_eq!(answer["stats"]["stopped_because"] == "limit", !last, "{sort}");
            next = answer["next"].as_str().unwrap_or_default().to_owned();
            assert_eq!(next.is_empty(), last, "{sort}");
        }
        assert_eq!(all, expected, "{sort}");
    }
    // A cursor is bound to its order.
    let next = order("/search?q=needle&sort=path&limit=1").1["next"].clone();
    for other in ["", "&sort=relevance", "&format=html"] {
        let path = format!("/search?q=needle&limit=1&cursor={}{other}", next.as_str().unwrap());
        let (status, _, answer) = server.get(&path, "*/*");
        assert_eq!(status, 400, "{path}");
        assert!(answer.contains("use the original sort="), "{answer}");
    }
    let found = server.json("/search?q=needle+type:repo&sort=path").1;
    assert_eq!(found["repos"], json!(["a", "b"]));
}

#[test]
fn a_line_that_does_not_fit_on_a_page_is_whole_in_an_answer_in_order() {
    let fixture = Fixture::new();
    fixture.write("a/long.txt", format!("{}needle\n{}", "x".repeat(9000), "needle\n".repeat(20)));
    fixture.ingest();
    let server = fixture.serve();
    let plain = server.json("/search?q=needle&context=1").1;
    let sorted = server.json("/search?q=needle&sort=path&context=1").1;
    assert_eq!(plain["files"], sorted["files"]);
}

#[test]
fn a_page_comes_with_its_first_results_and_then_the_rest() {
    let fixture = Fixture::new();
    for n in 0..60 {
        fixture.write(&format!("r/f{n:02}.rs"), format!("// {n}\nfn needle() {{}}\n// {n}\n"));
    }
    fixture.ingest();
    let server = fixture.serve();
    let ask = |encoding: &str| -> Vec<Vec<u8>> {
        let text = format!(
            "GET /search?q=needle&wait=1 HTTP/1.1\r\nhost: localhost\r\naccept: text/html\r\n\
             accept-encoding: {encoding}\r\nconnection: close\r\n\r\n"
        );
        let mut stream = std::net::TcpStream::connect(server.address).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let mut body = &answer[answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4..];
        let mut chunks = Vec::new();
        loop {
            let line = body.windows(2).position(|end| end == b"\r\n").unwrap();
            let size = std::str::from_utf8(&body[..line]).unwrap();
            let size = usize::from_str_radix(size, 16).unwrap();
            if size == 0 {
                return chunks;
            }
            chunks.push(body[line + 2..line + 2 + size].to_vec());
            body = &body[line + 2 + size + 2..];
        }
    };
    let parts: Vec<String> =
        ask("identity").into_iter().map(|part| String::from_utf8(part).unwrap()).collect();
    let count = |text: &str| text.matches("<article").count();
    // The summary of all results comes before the first one.
    assert!(parts[0].contains("in 60 files") && parts[0].contains("· complete"), "{}", parts[0]);
    assert!((1..10).contains(&count(&parts[0])), "{}", parts[0]);
    assert!(parts[0].trim_end().ends_with("</article>"), "{}", parts[0]);
    let all = parts.concat();
    assert_eq!(count(&all), 50);
    assert_eq!(all.matches("<a class=\"repo\" href=\"/repos").count(), 50, "each card names it");
    assert!(all.contains("More results") && all.trim_end().ends_with("</html>"), "{all}");
    assert!(!all.contains("the rest"), "{all}");
    // With compression, the first part is sent at once instead of filling a buffer of 4 KB.
    for encoding in ["gzip", "zstd"] {
        let parts = ask(encoding);
        assert!(parts.len() > 1 && parts[0].len() < 4000, "{encoding}: {}", parts[0].len());
    }
}

#[test]
fn a_burst_of_searches_that_nobody_reads_keeps_nobody_out() {
    let fixture = Fixture::new();
    for n in 0..50 {
        fixture.write(&format!("r/f{n}.txt"), "every letter of this line is found\n".repeat(100));
    }
    fixture.ingest();
    let server = fixture.serve();
    let unread: Vec<_> = (0..500)
        .map(|_| {
            let mut stream = std::net::TcpStream::connect(server.address).unwrap();
            let text = "GET /search/stream?q=.&limit=0 HTTP/1.1\r\nhost: localhost\r\n\r\n";
            stream.write_all(text.as_bytes()).unwrap();
            stream
        })
        .collect();
    for _ in 0..20 {
        assert_eq!(server.get("/healthz", "*/*").0, 200);
    }
    let (status, answer) = server.json("/search?q=letter&limit=1");
    match status {
        200 => assert_eq!(answer["stats"]["files"], 1),
        status => {
            assert_eq!(status, 503, "{answer}");
            assert!(answer["error"]["message"].as_str().unwrap().contains(' '), "{answer}");
        }
    }
    drop(unread);
    eventually("searches are answered again", || server.json("/search?q=letter&limit=1").0 == 200);
}

#[test]
fn a_line_that_matches_is_marked_wherever_it_is_shown() {
    let fixture = Fixture::new();
    let lines: Vec<String> = (1..=9).map(|n| format!("needle {n}")).collect();
    fixture.write("a/near.txt", lines.join("\n"));
    fixture.write("a/far.txt", "needle\nx\n".repeat(9));
    fixture.ingest();
    let server = fixture.serve();
    for (file, shown, marked, more) in [("near", 7, 7, 2), ("far", 12, 6, 3)] {
        let page =
            server.get(&format!("/search?q=needle+file:{file}&case=yes&wait=1"), "text/html").2;
        let lines = page.split("<ol class=\"lines\">").nth(1).unwrap();
        let lines = lines.split("</ol>").next().unwrap();
        assert_eq!(lines.matches("<li").count(), shown, "{lines}");
        assert_eq!(lines.matches("<mark>needle</mark>").count(), marked, "{lines}");
        assert!(page.contains(&format!("Show {more} more matching line")), "{page}");
    }
}

#[test]
fn errors_have_a_status_and_a_sentence() {
    let (_fixture, server) = served();
    let (status, answer) = server.json("/search?q=foo(bar");
    assert_eq!(status, 400);
    assert_eq!(answer["error"]["code"], "bad_query");
    assert_eq!(answer["error"]["position"], 3);
    assert!(answer["error"]["message"].as_str().unwrap().contains("write \\( for the character"));
    for (path, status) in [
        ("/search", 400),
        ("/search?q=", 400),
        ("/search?q=a&limit=-1", 400),
        ("/search?q=a&limit=many", 400),
        ("/search?q=a&case=maybe", 400),
        ("/search?q=a&q=b", 400),
        ("/search?q=a&format=xml", 400),
        ("/search?q=a&repo=(", 400),
        ("/search?q=%5Cw%7B1000%7D%7B100%7D", 400),
        ("/search?q=a&timeout=never", 400),
        ("/search?q=a+or", 400),
        ("/search?q=fiel:a", 400),
        ("/search?q=a&lang=klingon", 400),
        ("/search?q=lang:go%00", 400),
        ("/nowhere", 404),
        ("/../../etc/passwd", 404),
    ] {
        let (got, answer) = server.json(path);
        assert_eq!(got, status, "{path}: {answer}");
        assert!(
            answer["error"]["code"].is_string() && answer["error"]["message"].is_string(),
            "{answer}"
        );
    }
    for odd in ["%FF%FE", "%00", "%", "%C3%A9%00", "%F0%9F%9A%A2"] {
        let (status, _) = server.json(&format!("/search?q={odd}"));
        assert!(matches!(status, 200 | 400), "{odd}: {status}");
    }
    // Neither a statement nor a file can contain a NUL.
    for nul in ["fu%00nc", "f:a%00b"] {
        let (_, answer) = server.json(&format!("/search?q={nul}"));
        assert_eq!(
            (&answer["stats"]["complete"], &answer["stats"]["files"]),
            (&json!(true), &json!(0))
        );
    }
    let answer = raw(
        server.address,
        b"POST /search HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    );
    assert!(answer.starts_with("HTTP/1.1 405"), "{answer}");
    let long = format!(
        "GET /search?q={} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        "a".repeat(9000)
    );
    assert!(raw(server.address, long.as_bytes()).starts_with("HTTP/1.1 400"));
    assert!(raw(server.address, b"\x00\xffnonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
    assert_eq!(server.json("/search?q=func").0, 200);
}

#[test]
fn health_readiness_and_an_empty_index() {
    let (_fixture, server) = served();
    assert_eq!(server.get("/healthz", "*/*").0, 200);
    assert_eq!(server.get("/readyz", "*/*").0, 200);

    let empty = Fixture::new();
    empty.run(&["init", "--shards", "4"]).code(0);
    let server = empty.serve();
    assert_eq!(server.get("/healthz", "*/*").0, 200);
    assert_eq!(server.get("/readyz", "*/*").0, 503);
    let (status, answer) = server.json("/search?q=a");
    assert_eq!((status, &answer["error"]["code"]), (503, &json!("empty")));
    assert!(server.get("/", "text/html").2.contains("nothing is indexed yet"));
    // It becomes ready with the first ingest.
    empty.write("r/a.txt", "hello\n");
    empty.ingest();
    assert_eq!(server.json("/search?q=hello").1["stats"]["files"], 1);
}

#[test]
fn many_clients_at_once() {
    let (_fixture, server) = served();
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                for _ in 0..10 {
                    let (status, answer) = server.json("/search?q=func");
                    assert!(matches!(status, 200 | 503), "{answer}");
                    if status == 200 {
                        assert_eq!(answer["stats"]["files"], 3);
                    }
                }
            });
        }
    });
}

#[test]
fn a_signal_stops_it_and_ctrl_c_too() {
    let (_fixture, mut server) = served();
    let pid = server.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let mut status = None;
    eventually("the server ends", || {
        status = server.child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(0));
}
