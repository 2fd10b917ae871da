//! Access control: clients with and without tokens, on this machine and from others.

use crate::harness::{Fixture, Ran, Server, eventually, raw};

fn indexed() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("one/a.rs", "fn needle() {}\n");
    fixture.ingest();
    fixture
}

/// Makes a token; returns it and its line for the token file.
pub(crate) fn new_token(fixture: &Fixture, args: &[&str]) -> (String, String) {
    token_of(&fixture.run(&[&["token"], args].concat()).code(0))
}

/// Returns the token that a command has made, and its line in the file of tokens.
pub(crate) fn token_of(ran: &Ran) -> (String, String) {
    let token = ran.err.trim().rsplit(' ').next().unwrap().to_owned();
    assert!(!ran.out.contains(&token), "the file holds no token: {}", ran.out);
    (token, ran.out.trim().to_owned())
}

fn status_of(server: &Server, path: &str, token: &str) -> u16 {
    server.ask(path, &[("authorization", &format!("Bearer {token}"))]).0
}

/// Posts a form; returns the whole response.
fn post(server: &Server, path: &str, form: &str, more: &str) -> String {
    let length = form.len();
    let text = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: \
         application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n{more}\r\n{form}"
    );
    raw(server.address, text.as_bytes())
}

#[test]
fn a_server_for_other_machines_is_open_or_asks_for_tokens() {
    let fixture = indexed();
    let ran = fixture.run(&["serve", "--listen", "0.0.0.0:0"]).code(2);
    assert!(ran.err.contains("--tokens FILE") && ran.err.contains("--open"), "{}", ran.err);
    let ran = fixture.run(&["up", "--listen", "[::]:0", "one"]).code(2);
    assert!(ran.err.contains("--tokens FILE"), "{}", ran.err);

    let server = fixture.serve_with(&["--listen", "0.0.0.0:0", "--open"]);
    assert_eq!(server.ask("/search?q=needle", &[]).0, 200);
    // A page whose host name points to this server must not read it, and operators' pages need a token.
    assert_eq!(server.ask("/search?q=needle", &[("host", "evil.example")]).0, 421);
    for path in ["/stats", "/metrics"] {
        assert_eq!(server.ask(path, &[]).0, 401, "{path}");
    }
}

#[test]
fn without_a_token_nothing_is_told() {
    let fixture = indexed();
    let (ann, line) = new_token(&fixture, &["ann"]);
    let (root, admin) = new_token(&fixture, &["root", "--admin"]);
    fixture.write("tokens", format!("{line}\n{admin}\n"));
    let server = fixture.serve_with(&["--tokens", "tokens"]);
    assert_eq!(server.ask("/healthz", &[]).0, 200);
    let told = [
        "/",
        "/search?q=needle",
        "/search/stream?q=needle",
        "/file?repo=one&path=a.rs",
        "/raw?repo=one&path=a.rs",
        "/repos",
        "/files?q=a",
        "/suggest?q=repo:o",
        "/stats",
        "/metrics",
        "/readyz",
        "/openapi.json",
        "/api/v1/search?q=needle",
        "/zoekt/search?q=needle",
    ];
    for path in told {
        let (status, headers, body) = server.ask(path, &[]);
        assert_eq!(status, 401, "{path}: {body}");
        assert!(headers["www-authenticate"].to_str().unwrap().starts_with("Bearer"), "{path}");
        assert!(!body.contains("needle()") && !body.contains("one"), "{path}: {body}");
        assert_eq!(status_of(&server, path, "0123456789abcdef0123456789abcdef"), 401, "{path}");
        assert_ne!(status_of(&server, path, &root), 401, "{path}");
    }
    for (path, expected) in [("/search?q=needle", 200), ("/stats", 403), ("/metrics", 403)] {
        assert_eq!(status_of(&server, path, &ann), expected, "{path}");
        assert_eq!(status_of(&server, path, &root), 200, "{path}");
    }
}

#[test]
fn a_person_signs_in_once() {
    let fixture = indexed();
    let (token, line) = new_token(&fixture, &["ann"]);
    fixture.write("tokens", line);
    let server = fixture.serve_with(&["--tokens", "tokens", "--trust-forwarded"]);
    let (status, _, page) = server.ask("/search?q=needle&limit=5", &[("accept", "text/html")]);
    assert_eq!(status, 401);
    // After signing in, the page continues at the requested address.
    assert!(page.contains("name=\"back\" value=\"/search?q=needle&#38;limit=5\""), "{page}");

    let answer = post(&server, "/sign-in", "token=wrong&back=%2Frepos", "");
    assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("Unknown token"), "{answer}");
    let good = format!("token={token}&back=%2Frepos");
    let answer = post(&server, "/sign-in", &good, "").to_lowercase();
    assert!(
        answer.starts_with("http/1.1 303") && answer.contains("location: /repos\r\n"),
        "{answer}"
    );
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(cookie.contains("httponly") && cookie.contains("samesite=strict"), "{cookie}");
    assert!(!cookie.contains("secure"), "{cookie}");
    let kept = cookie.split(';').next().unwrap();
    assert_eq!(server.ask("/search?q=needle", &[("cookie", kept)]).0, 200);
    assert_eq!(server.ask("/stats", &[("cookie", kept)]).0, 403);

    let proxy = "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n";
    assert!(post(&server, "/sign-in", &good, proxy).contains("; Secure\r\n"));
    let elsewhere = format!("token={token}&back=%2F%2Fevil.example");
    let answer = post(&server, "/sign-in", &elsewhere, "").to_lowercase();
    assert!(answer.contains("location: /\r\n"), "{answer}");
    // A page of another site cannot sign a user in.
    let other = "Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n";
    assert!(post(&server, "/sign-in", &good, other).starts_with("HTTP/1.1 403"));
    let answer = post(&server, "/sign-out", "", "").to_lowercase();
    assert!(answer.contains("codesearch_token=; path=/; max-age=0"), "{answer}");
}

#[test]
fn tokens_come_and_go_while_a_server_runs() {
    let fixture = indexed();
    let (ann, line) = new_token(&fixture, &["ann"]);
    let (bob, other) = new_token(&fixture, &["bob"]);
    fixture.write("tokens", format!("{line}\n"));
    let server = fixture.serve_with(&["--tokens", "tokens"]);
    let of = |token: &str| status_of(&server, "/search?q=needle", token);
    assert_eq!((of(&ann), of(&bob)), (200, 401));
    fixture.write("tokens", format!("{line}\n{other}\n"));
    eventually("a new token", || of(&bob) == 200);
    // If a line of the file is invalid, the others still count, and a removed token is rejected.
    let (eve, third) = new_token(&fixture, &["eve"]);
    fixture.write("tokens", format!("{other} per-minutes=5\n{third}\n"));
    eventually("a token that is taken away", || of(&ann) == 401);
    assert_eq!((of(&bob), of(&eve)), (200, 200));
    assert_eq!(server.ask("/readyz", &[("authorization", &format!("Bearer {bob}"))]).2, "ready\n");
    fixture.write("tokens", "# nobody\n");
    eventually("the last tokens are taken away", || (of(&bob), of(&eve)) == (401, 401));
    fixture.write("tokens", format!("{line}\n"));
    eventually("a token that is given again", || of(&ann) == 200);
    std::fs::remove_file(fixture.path().join("tokens")).unwrap();
    eventually("a file that is gone", || of(&ann) == 401);
}

#[test]
fn what_others_search_for_is_told_on_this_machine_only() {
    let fixture = indexed();
    let server = fixture.serve_with(&["--host", "search.example"]);
    let status = |path: &str, headers: &[(&str, &str)]| server.ask(path, headers).0;
    for path in ["/stats", "/metrics"] {
        assert_eq!(status(path, &[]), 200);
        assert_eq!(status(path, &[("host", "localhost")]), 200);
        for header in [
            ("x-forwarded-for", "192.0.2.1"),
            ("forwarded", "for=192.0.2.1"),
            ("via", "1.1 proxy"),
            ("x-real-ip", "192.0.2.1"),
            ("x-forwarded-proto", "https"),
            ("cf-connecting-ip", "192.0.2.1"),
            ("host", "search.example"),
        ] {
            assert_eq!(status(path, &[header]), 401, "{path} {header:?}");
            assert_eq!(status("/search?q=needle", &[header]), 200, "{header:?}");
        }
        let old = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
        assert!(raw(server.address, old.as_bytes()).contains(" 401 "), "{path}");
    }
}
