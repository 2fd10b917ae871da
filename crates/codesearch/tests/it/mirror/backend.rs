//! Runs `git http-backend`, a program for the Common Gateway Interface.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use axum::body::Body;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};

/// Passes a request to the backend, and returns its answer.
pub(super) fn run(
    root: &Path,
    path: &str,
    query: &str,
    is_post: bool,
    headers: &HeaderMap,
    body: &[u8],
) -> Response {
    let header =
        |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_PROTOCOL", header("git-protocol"))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", if is_post { "POST" } else { "GET" })
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("REMOTE_ADDR", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let body = body.to_vec();
    let writing = std::thread::spawn(move || drop(input.write_all(&body)));
    let out = child.wait_with_output().unwrap().stdout;
    writing.join().unwrap();
    let Some(end) = out.windows(4).position(|four| four == b"\r\n\r\n") else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let head = String::from_utf8_lossy(&out[..end]).into_owned();
    let mut response = Response::new(Body::from(out[end + 4..].to_vec()));
    for line in head.lines() {
        let (name, value) = line.split_once(": ").unwrap();
        if name == "Status" {
            let status = value.split(' ').next().unwrap().parse().unwrap();
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
        } else {
            let name: axum::http::HeaderName = name.parse().unwrap();
            response.headers_mut().insert(name, value.parse().unwrap());
        }
    }
    response
}
