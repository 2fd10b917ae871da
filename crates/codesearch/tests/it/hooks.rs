//! Webhooks of hosts: `/hooks/NAME`.

use std::fmt::Write as _;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::fresh::post;
use crate::harness::{Fixture, Server, eventually, raw};

const SECRET: &str = "correct horse battery staple";

/// Returns an index of a clone with an origin and of another folder, and a server with webhooks.
fn served() -> (Fixture, Server) {
    let fixture = Fixture::new();
    fixture.write("one/a.rs", "fn needle() {}\n");
    fixture.commit("one", "first");
    fixture.git("one", &["remote", "add", "origin", "git@git.example:group/one.git"]);
    fixture.write("two/b.rs", "fn needle() {}\n");
    fixture.ingest();
    fixture.write("secret", format!("{SECRET}\n"));
    fixture.write("settings.toml", "[hook.push]\nsecret = \"file:secret\"\n");
    let server = Server::start(serve(&fixture));
    (fixture, server)
}

fn serve(fixture: &Fixture) -> Command {
    let mut command = fixture.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.env("CODESEARCH_SETTINGS", fixture.path().join("settings.toml"));
    command
}

fn hmac(key: &[u8], body: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(body);
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// Returns the headers of GitHub for a body.
pub(crate) fn github(event: &str, secret: &str, body: &[u8]) -> String {
    let signature = hex(&hmac(secret.as_bytes(), body));
    format!(
        "Content-Type: application/json\r\nX-GitHub-Event: {event}\r\nX-Hub-Signature-256: sha256={signature}\r\n"
    )
}

fn push(address: &str) -> Vec<u8> {
    json!({ "ref": "refs/heads/main", "repository": { "id": 7, "clone_url": address } })
        .to_string()
        .into_bytes()
}

/// Returns the folders in the queue, with their reasons.
fn queued(fixture: &Fixture) -> String {
    let sql =
        "select coalesce(string_agg(source || ' ' || reason, ',' order by id), '') from pending";
    fixture.sql(sql)
}

#[test]
fn a_proven_push_is_queued() {
    let (fixture, server) = served();
    let folder = fixture.path().canonicalize().unwrap().join("one");
    let expected = format!("{} hook", folder.display());
    for address in [
        "https://git.example/group/one.git",
        "https://GIT.example/Group/One",
        "ssh://git@git.example:2222/group/one.git",
    ] {
        let body = push(address);
        let (status, answer) = post(&server, "/hooks/push", &github("push", SECRET, &body), &body);
        assert_eq!((status, &answer["queued"]), (202, &json!(1)), "{answer}");
        assert_eq!(queued(&fixture), expected, "{address}");
        fixture.exec("delete from pending");
    }
    let body = push("https://git.example/group/one.git");
    let signature = hex(&hmac(SECRET.as_bytes(), &body));
    let standard = |time: i64| {
        let signed = [format!("id.{time}.").as_bytes(), &body].concat();
        let signature = STANDARD.encode(hmac(SECRET.as_bytes(), &signed));
        format!(
            "X-Gitlab-Event: Push Hook\r\nwebhook-id: id\r\nwebhook-timestamp: {time}\r\nwebhook-signature: \
             v1,{signature}\r\n"
        )
    };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = now.as_secs() as i64;
    for (headers, expected) in [
        (format!("X-Gitea-Event: push\r\nX-Gitea-Signature: {signature}\r\n"), 202),
        (format!("X-Gitlab-Event: Push Hook\r\nX-Gitlab-Token: {SECRET}\r\n"), 202),
        (standard(now), 202),
        (standard(now - 3600), 400),
        (standard(now + 3600), 400),
        (format!("X-Gitlab-Event: Push Hook\r\nX-Gitlab-Token: {SECRET}x\r\n"), 401),
        (format!("X-Gitea-Event: push\r\nX-Gitea-Signature: {signature}00\r\n"), 401),
        (github("push", "another secret", &body), 401),
        ("X-GitHub-Event: push\r\n".to_owned(), 401),
    ] {
        let (status, answer) = post(&server, "/hooks/push", &headers, &body);
        assert_eq!(status, expected, "{headers}{answer}");
        let told = answer.to_string();
        assert!(!told.contains(SECRET) && !told.contains(&signature), "{told}");
        assert_eq!(queued(&fixture).is_empty(), expected != 202, "{headers}");
        fixture.exec("delete from pending");
    }
    // A body of another sender with a recorded signature.
    let other = push("https://git.example/group/two.git");
    assert_eq!(post(&server, "/hooks/push", &github("push", SECRET, &body), &other).0, 401);
}

#[test]
fn what_needs_no_ingest_is_answered() {
    let (fixture, server) = served();
    let send = |event: &str, body: &Value| {
        let body = body.to_string().into_bytes();
        post(&server, "/hooks/push", &github(event, SECRET, &body), &body)
    };
    let repository = json!({ "id": 7, "clone_url": "https://git.example/group/one" });
    assert_eq!(send("ping", &json!({ "zen": "Keep it logically awesome." })).0, 200);
    let (status, answer) = send("issues", &json!({ "repository": &repository }));
    assert_eq!((status, &answer["message"]), (200, &json!("the event issues changes no branch")));
    let unknown =
        json!({ "repository": { "id": 8, "clone_url": "https://git.example/group/none" } });
    let (status, answer) = send("push", &unknown);
    assert_eq!((status, &answer["queued"]), (202, &json!(0)), "{answer}");
    for wrong in [json!([]), json!({}), json!("x"), json!({ "repository": { "id": "x" } })] {
        let (status, answer) = send("push", &wrong);
        assert_eq!((status, &answer["error"]["code"]), (400, &json!("bad_request")), "{answer}");
    }
    assert_eq!(queued(&fixture), "");
    // A repository that is indexed later is found.
    fixture.git("two", &["init", "-q"]);
    fixture.git("two", &["remote", "add", "origin", "https://git.example/group/none.git"]);
    fixture.ingest();
    eventually("the new origin is known", || send("push", &unknown).1["queued"] == 1);
}

#[test]
fn a_webhook_must_be_known_and_of_a_bounded_size() {
    let (fixture, server) = served();
    let body = push("https://git.example/group/one");
    let headers = github("push", SECRET, &body);
    for path in ["/hooks/other", "/hooks/pus", "/hooks/push/x"] {
        assert_eq!(post(&server, path, &headers, &body).0, 404, "{path}");
    }
    assert_eq!(server.json("/hooks/push").0, 405);
    // Larger than other bodies may be.
    let mut large = json!({ "repository": { "clone_url": "https://git.example/group/one" } });
    large["commits"] = "x".repeat(2 << 20).into();
    let large = large.to_string().into_bytes();
    assert_eq!(post(&server, "/hooks/push", &github("push", SECRET, &large), &large).0, 202);
    assert_eq!(post(&server, "/ingest", "", &vec![b'x'; 300 << 10]).0, 413);
    let head = format!(
        "POST /hooks/push HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
        (25 << 20) + 1
    );
    let answer = raw(server.address, head.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("25 MiB"), "{answer}");
    // Another secret counts at once.
    fixture.write("secret", "changed\n");
    assert_eq!(post(&server, "/hooks/push", &headers, &body).0, 401);
    assert_eq!(post(&server, "/hooks/push", &github("push", "changed", &body), &body).0, 202);
    std::fs::remove_file(fixture.path().join("secret")).unwrap();
    let (status, answer) = post(&server, "/hooks/push", &headers, &body);
    assert_eq!(status, 503, "{answer}");
    assert!(!answer.to_string().contains("secret\""), "{answer}");
    // A mistake in the file leaves the webhooks as they were.
    fixture.write("secret", format!("{SECRET}\n"));
    fixture.write("settings.toml", "[hook.push\n");
    assert_eq!(post(&server, "/hooks/push", &headers, &body).0, 202);
}

#[test]
fn an_address_sends_a_bounded_number_of_webhooks() {
    let (_fixture, server) = served();
    let mut refused = None;
    for n in 0..700 {
        let (status, answer) = post(&server, "/hooks/other", "", b"");
        if status != 404 {
            refused = Some((n, status, answer));
            break;
        }
    }
    let (n, status, answer) = refused.expect("there is a limit");
    assert!(n >= 600 && status == 429, "{n} {answer}");
    assert_eq!(answer["error"]["code"], "too_many_requests");
}
