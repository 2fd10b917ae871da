//! `/command`: runs commands of the command line for clients, on this server's index.
//!
//! What a command does is not known here: the program passes in [`Commands`](super::commands::Commands). This file checks the client's version, waits for
//! a turn, and sends the output in frames ([`client::Frame`]) while the command runs.

use std::panic::AssertUnwindSafe;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use client::{Frame, Invocation, PROTOCOL, VERSION};
use tokio::sync::mpsc;

use super::commands::CommandOutput;
use super::connections::OnSocket;
use super::endpoint::{Class, Endpoint};
use super::error::{Body as ErrorBody, Failure};
use super::server::Server;

/// `/command`. Its output is sent while the command runs.
pub(crate) const COMMAND: Endpoint =
    Endpoint::undocumented(client::COMMAND_PATH, Class::Whole, || post(command));

/// Frames that a command may be ahead of its client.
const AHEAD: usize = 8;

/// Exit status of a command that failed.
const FAILED: u8 = 2;

async fn command(server: Server, request: Request) -> Response {
    let is_on_socket = request.extensions().get::<OnSocket>().is_some();
    let Some(commands) = server.commands.clone() else {
        return Failure::not_found().into_response();
    };
    let body = match Bytes::from_request(request, &()).await {
        Ok(body) => body,
        Err(error) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            return Failure::too_large().into_response();
        }
        Err(error) => return Failure::bad_request(error.body_text()).into_response(),
    };
    let invocation = match read(&server, &body, is_on_socket) {
        Ok(invocation) => invocation,
        Err(failure) => return failure.into_response(),
    };
    let turn = match server.turn().await {
        Ok(turn) => turn,
        Err(failure) => return failure.into_response(),
    };
    // The operator's limits are for other people's commands.
    let view = server.view().clone();
    let view = if is_on_socket { view.without_max_time() } else { view };
    let (frames, queue) = mpsc::channel(AHEAD);
    let output =
        CommandOutput::new(frames, server.threads.clone(), server.metrics.clone(), is_on_socket);
    let told = audit::told();
    told.query(&recorded(&invocation.args));
    server.threads.spawn_blocking(move || {
        let _turn = turn;
        let run = || told.clone().scope_blocking(|| commands.run(invocation, view, &output));
        let run = AssertUnwindSafe(run);
        let status = std::panic::catch_unwind(run).unwrap_or_else(|_| {
            let why = b"codesearch: the command failed; see the server's log\n";
            let _ = output.send(Frame::Stderr, why);
            FAILED
        });
        // The client closes its connection when it has the status.
        told.ended();
        if status == FAILED {
            told.failed("command_failed");
        }
        // A client that has gone needs no status.
        let _ = output.send(Frame::Exit, &[status]);
    });
    let frames = futures_util::stream::unfold(queue, async |mut queue| {
        let frame = queue.recv().await?;
        Some((Ok::<_, std::convert::Infallible>(frame), queue))
    });
    let headers = [(CONTENT_TYPE, "application/octet-stream"), (CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(frames)).into_response()
}

/// Returns the words of a command for the audit: without the name of the program, and without the address of a database,
/// which may have a password.
fn recorded(args: &[String]) -> String {
    const ADDRESS: &str = "--database-url";
    let mut words: Vec<&str> = Vec::new();
    for word in args.iter().skip(1) {
        if words.last() == Some(&ADDRESS) {
            words.push("...");
        } else if word.starts_with(ADDRESS) && word.len() > ADDRESS.len() {
            words.push("--database-url=...");
        } else {
            words.push(word);
        }
    }
    words.join(" ")
}

/// Reads an invocation, and checks that this server may answer it as the client's own program would.
fn read(server: &Server, body: &Bytes, is_on_socket: bool) -> Result<Invocation, Failure> {
    let conflict = |code, message: String| Failure {
        status: StatusCode::CONFLICT,
        body: ErrorBody::new(code, message),
    };
    let invocation: Invocation = serde_json::from_slice(body)
        .map_err(|error| Failure::bad_request(format!("the body is not a command: {error}")))?;
    let version = invocation.version.as_deref();
    if invocation.protocol != PROTOCOL || version.is_some_and(|version| version != VERSION) {
        let message = format!(
            "the server runs codesearch {VERSION}, and the client another version; install the same version"
        );
        return Err(conflict("other_version", message));
    }
    // A client elsewhere takes what the server shows.
    let is_same = *invocation.only_repos == *server.only_repos;
    if !is_same && (is_on_socket || !invocation.only_repos.is_empty()) {
        let message = "the server shows other repositories than CODESEARCH_REPOS names; unset it";
        return Err(conflict("other_repositories", message.to_owned()));
    }
    Ok(invocation)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_password_is_not_recorded() {
        let recorded = |args: &[&str]| {
            super::recorded(&args.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        let url = "postgresql://ann:secret@db/index";
        assert_eq!(recorded(&["codesearch", "search", "x y"]), "search x y");
        let told = recorded(&["codesearch", "--database-url", url, "files", "a"]);
        assert_eq!(told, "--database-url ... files a");
        let told = recorded(&["codesearch", &format!("--database-url={url}"), "files"]);
        assert_eq!(told, "--database-url=... files");
        assert_eq!(recorded(&[]), "");
    }
}
