//! Headers of a proxy, with and without a proof that the proxy sent them.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use serde_json::{Value, json};

use super::indexed;
use crate::access::new_token;

const TRUST: [&str; 4] =
    ["--trust-user-header", "X-Forwarded-User", "--trust-groups-header", "X-Forwarded-Groups"];
const SECRET: &str = "0123456789abcdef0123456789abcdef";
const ANN: [(&str, &str); 2] = [("x-forwarded-user", "ann"), ("x-forwarded-groups", "b,a")];

/// Sends a request over a socket; returns the whole response.
fn over(socket: &Path, path: &str, headers: &[(&str, &str)]) -> String {
    let mut stream = UnixStream::connect(socket).unwrap();
    let more: Vec<String> =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let more = more.concat();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_proxy_tells_who_asks_only_with_its_secret() {
    let fixture = indexed();
    fixture.write("secret", format!("{SECRET}\n"));
    fixture.write("codesearch.toml", "[identity]\nadmin_groups = [\"ops\"]\n");
    let (token, line) = new_token(&fixture, &["ci"]);
    fixture.write("tokens", line);
    let options =
        ["--proxy-secret-file", "secret", "--tokens", "tokens", "--settings", "codesearch.toml"];
    let server = fixture.serve_with(&[&TRUST[..], &options].concat());
    let ask = |path: &str, headers: &[(&str, &str)]| -> (u16, Value) {
        let (status, _, body) = server.ask(path, headers);
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    };
    let secret = ("x-proxy-secret", SECRET);
    let (status, who) = ask("/whoami", &[ANN[0], ANN[1], secret]);
    let expected = json!({
        "name": "ann", "groups": ["a", "b"], "repos": [], "rights": ["search"], "until": null, "how": "proxy",
    });
    assert_eq!((status, who), (200, expected));
    assert_eq!(ask("/stats", &[ANN[0], ANN[1], secret]).0, 403);
    assert_eq!(ask("/stats", &[ANN[0], ("x-forwarded-groups", "ops"), secret]).0, 200);
    // Whom the proxy does not name is nobody, secret or not.
    assert_eq!(ask("/whoami", &[secret]).1["error"]["code"], "no_token");
    for forged in [&ANN[..], &ANN[1..], &[ANN[0], ("x-proxy-secret", "0123456789abcdef")]] {
        let (status, answer) = ask("/whoami", forged);
        assert_eq!(
            (status, &answer["error"]["code"]),
            (401, &json!("untrusted_header")),
            "{answer}"
        );
        let why = "x-forwarded-user counts only if the server's proxy sends it; leave it out";
        assert_eq!(answer["error"]["message"], why);
    }
    let twice = [ANN[0], ("x-forwarded-user", "root"), secret];
    assert!(ask("/whoami", &twice).1["error"]["message"].as_str().unwrap().contains("sent twice"));
    // A program behind the proxy has a token of its own; the headers of others do not count beside it.
    let bearer = format!("Bearer {token}");
    for headers in
        [&[ANN[0], secret, ("authorization", &bearer)][..], &[ANN[0], ("authorization", &bearer)]]
    {
        let (status, who) = ask("/whoami", headers);
        assert_eq!((status, &who["name"]), (200, &json!("ci")));
    }
    // Some proxies send what they got in their stead.
    let (_, who) = ask("/whoami", &[ANN[0], secret, ("authorization", "Bearer ey.of.others")]);
    assert_eq!(who["name"], "ann");
    // Too many headers, or too large ones.
    let many = "a,".repeat(10_001);
    let (_, answer) = ask("/whoami", &[ANN[0], ("x-forwarded-groups", &many), secret]);
    assert!(
        answer["error"]["message"].as_str().unwrap().contains("more than 10000 groups"),
        "{answer}"
    );
    let huge = "a".repeat(200 << 10);
    let head = format!(
        "GET /whoami HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-User: ann\r\nX-Forwarded-Groups: {huge}\r\n\r\n"
    );
    assert!(crate::harness::raw(server.address, head.as_bytes()).starts_with("HTTP/1.1 431"));
}

#[test]
fn a_proxy_has_a_socket_of_its_own() {
    let fixture = indexed();
    let socket = fixture.path().join("proxy.sock");
    let server = fixture.serve_with(&[&TRUST[..], &["--proxy-socket", "proxy.sock"]].concat());
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o660);
    let answer = over(&socket, "/whoami", &ANN);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"name\":\"ann\""), "{answer}");
    // It is not the socket of the owner, nor this machine.
    let answer = over(&socket, "/whoami", &[]);
    assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("its proxy names"), "{answer}");
    assert!(over(&socket, "/stats", &ANN).starts_with("HTTP/1.1 403"));
    // Elsewhere the headers do not count.
    let (status, _, answer) = server.ask("/whoami", &ANN);
    assert!(status == 401 && answer.contains("untrusted_header"), "{answer}");
    let ran =
        fixture.run(&["serve", "--listen", "127.0.0.1:0", "--proxy-socket", "proxy.sock"]).code(2);
    assert!(ran.err.contains("is the socket of a server already"), "{}", ran.err);
    drop(server);
    fixture.write("file", "");
    let ran = fixture.run(&["serve", "--listen", "127.0.0.1:0", "--proxy-socket", "file"]).code(2);
    assert!(ran.err.contains("is not a socket"), "{}", ran.err);
}

#[test]
fn a_proxy_connects_from_its_network() {
    let fixture = indexed();
    let near = fixture.serve_with(&[&TRUST[..], &["--proxy-network", "127.0.0.0/8"]].concat());
    assert!(near.ask("/whoami", &ANN).2.contains("\"name\":\"ann\""));
    let far =
        fixture.serve_with(&[&TRUST[..], &["--proxy-network", "10.0.0.0/8", "--open"]].concat());
    // Even an open server says that the headers do not count.
    assert_eq!(far.ask("/whoami", &ANN).0, 401);
    assert!(far.ask("/whoami", &[]).2.contains("\"how\":\"nothing\""));
}

#[test]
fn a_server_does_not_start_with_headers_that_anybody_can_send() {
    let fixture = indexed();
    fixture.write("short", "0123\n");
    fixture.write("empty", "\n");
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let trust = &TRUST[..2];
    for (options, why) in [
        (
            trust.to_vec(),
            "anybody can send the header X-Forwarded-User; to trust it, use --proxy-secret-file",
        ),
        (
            [trust, &["--proxy-secret-file", "none"]].concat(),
            "cannot read the secret of the proxy in none",
        ),
        ([trust, &["--proxy-secret-file", "short"]].concat(), "shorter than 16 characters"),
        ([trust, &["--proxy-secret-file", "empty"]].concat(), "is empty"),
        ([trust, &["--proxy-network", "everywhere"]].concat(), "give a network"),
        (vec!["--trust-groups-header", "X"], "--trust-user-header"),
        (vec!["--proxy-secret-file", "short"], "--trust-user-header"),
    ] {
        let ran = fixture.run(&[&serve[..], &options].concat()).code(2);
        assert!(ran.err.contains(why), "{options:?}: {}", ran.err);
    }
}
