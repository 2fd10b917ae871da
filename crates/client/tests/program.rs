//! Runs `codesearch-client` against a server that a test makes up.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::thread;

use client::{Frame, Invocation, encode};

/// Answers one request with each of these bodies; returns the requests: heads and bodies.
fn serve(
    answers: Vec<(&'static str, Vec<u8>)>,
) -> (String, thread::JoinHandle<Vec<(String, String)>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let one = move |(status, body): (&str, Vec<u8>)| {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(&mut stream);
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap() <= 2 {
                break;
            }
            let line = line.to_lowercase();
            if let Some(said) = line.strip_prefix("content-length:") {
                length = said.trim().parse().unwrap();
            }
            head += &line;
        }
        let mut sent = vec![0; length];
        reader.read_exact(&mut sent).unwrap();
        let begin = format!(
            "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(&[begin.as_bytes(), &body].concat()).unwrap();
        (head, String::from_utf8(sent).unwrap())
    };
    (url, thread::spawn(move || answers.into_iter().map(one).collect()))
}

fn client(url: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_codesearch-client"));
    command.env_remove("CODESEARCH_SERVER_TOKEN").env("CODESEARCH_SERVER", url).args(args);
    command
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn frames(frames: &[(Frame, &[u8])]) -> (&'static str, Vec<u8>) {
    ("200 OK", frames.iter().flat_map(|(kind, bytes)| encode(*kind, bytes)).collect())
}

#[test]
fn it_prints_what_the_server_sends_and_sends_the_files_that_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("token"), "secret\nmore\n").unwrap();
    let needs = frames(&[(Frame::Needs, b"-"), (Frame::Exit, &[2])]);
    let found = frames(&[
        (Frame::Stdout, "é\n".as_bytes()),
        (Frame::Stderr, b"note\n"),
        (Frame::Exit, &[1]),
    ]);
    let (url, server) = serve(vec![needs, found]);
    let mut command = client(&url, &["search", "-f", "-"]);
    command.env("CODESEARCH_SERVER_TOKEN", folder.path().join("token"));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"pattern\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(said(&output), (Some(1), "é\n".to_owned(), "note\n".to_owned()));
    let requests = server.join().unwrap();
    assert!(requests[0].0.contains("authorization: bearer secret"), "{}", requests[0].0);
    let asked: Invocation = serde_json::from_str(&requests[1].1).unwrap();
    assert_eq!(asked.args, ["codesearch", "search", "-f", "-"]);
    assert_eq!(asked.files["-"], Ok("pattern\n".to_owned()));
    assert_eq!((asked.stdout_is_terminal, asked.version), (false, None));
}

#[test]
fn errors_are_one_sentence() {
    let refusal = |status, message: &str| {
        let body = serde_json::json!({ "error": { "code": "x", "message": message } });
        (status, body.to_string().into_bytes())
    };
    for (answer, expected) in [
        (refusal("409 Conflict", "install the same version"), "install the same version"),
        (refusal("429 Too Many Requests", "try again in 3 seconds"), "try again in 3 seconds"),
        (refusal("401 Unauthorized", "no token"), "requires a token"),
        (("404 Not Found", Vec::new()), "is not a codesearch server"),
        (("200 OK", b"<html>".to_vec()), "is not a codesearch server"),
        (("200 OK", encode(Frame::Stdout, b"")), "stopped while it answered"),
    ] {
        let (url, server) = serve(vec![answer]);
        let (code, out, err) = said(&client(&url, &["search", "x"]).output().unwrap());
        server.join().unwrap();
        assert_eq!((code, &*out), (Some(2), ""));
        assert!(err.contains(expected) && err.lines().count() == 1, "{err}");
    }
    let (code, _, err) = said(&client("", &["search", "x"]).output().unwrap());
    assert!(code == Some(2) && err.contains("set CODESEARCH_SERVER"), "{err}");
}
