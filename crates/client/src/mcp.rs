//! Passes the messages of an agent on standard input to a server, and its answers back.
//!
//! The messages are those of the Model Context Protocol, one a line. The server answers each by itself, over HTTP
//! ([Streamable HTTP](https://modelcontextprotocol.io/specification/draft/basic/transports)). While there is no server, an
//! [`Engine`] in this process answers them. So an agent's process costs little memory beside a server, and does not end with it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::{OnceCell, mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

use crate::remote::{Error, Remote};

/// Answers that may wait for stdout.
const AHEAD: usize = 16;

/// The path of the server's endpoint.
const PATH: &str = "/mcp";

/// The accepted media types: progress arrives as events.
const ACCEPTED: &str = "application/json, text/event-stream";

/// The field of a call's metadata that names the folders in which the agent works.
const FOLDER: &str = "codesearch/folder";

/// Most roots that are told to a server.
const MAX_ROOTS: usize = 20;

/// Longest time that calls wait for the agent to tell its roots. Most agents send their first call a while later.
const WAIT_FOR_ROOTS: Duration = Duration::from_secs(1);

/// The id of this process's own request to the agent.
const ROOTS: &str = "codesearch-roots";

/// JSON-RPC's code for an error of the server.
const INTERNAL: i32 = -32603;

/// What answers while there is no server.
pub trait Engine: Send + Sync + 'static {
    /// Returns the server to ask next; `None` if there is none now.
    fn server(&self) -> Option<Remote>;

    /// Starts answering in this process: messages go in and come out by the stream.
    ///
    /// # Errors
    /// A sentence for the agent.
    fn start(&self) -> impl Future<Output = Result<DuplexStream, String>> + Send;
}

/// Passes on messages until the input ends and all are answered.
///
/// # Errors
/// The input cannot be read.
pub async fn serve<E: Engine>(
    engine: E,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> std::io::Result<()> {
    let (answers, queue) = mpsc::channel(AHEAD);
    let writing = tokio::spawn(write(queue, output));
    let agent = Arc::new(Agent {
        engine,
        answers,
        initialize: Mutex::default(),
        has_roots: Mutex::default(),
        roots: watch::channel(Roots::default()).0,
        running: Mutex::default(),
        own: OnceCell::new(),
    });
    let (mut lines, mut tasks) = (BufReader::new(input).lines(), JoinSet::new());
    while let Some(line) = lines.next_line().await? {
        if line.trim().is_empty() {
            continue;
        }
        while tasks.try_join_next().is_some() {}
        agent.pass(line, &mut tasks);
    }
    while tasks.join_next().await.is_some() {}
    if let Some(Ok(own)) = agent.own.get() {
        own.end().await;
    }
    drop(agent);
    let _ = writing.await;
    Ok(())
}

async fn write(mut queue: mpsc::Receiver<String>, mut output: impl AsyncWrite + Unpin) {
    while let Some(mut line) = queue.recv().await {
        line.push('\n');
        // The agent has gone; its input ends, too.
        if output.write_all(line.as_bytes()).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

/// One agent.
struct Agent<E> {
    engine: E,
    answers: mpsc::Sender<String>,
    /// The message that begins the protocol, which an engine that starts later must have, too.
    initialize: Mutex<Option<String>>,
    /// Whether the agent tells its roots.
    has_roots: Mutex<bool>,
    /// What is known of its roots.
    roots: watch::Sender<Roots>,
    /// The requests that a server answers, by their ids.
    running: Mutex<HashMap<String, AbortHandle>>,
    own: OnceCell<Result<Own, String>>,
}

/// The folders of an agent's roots.
#[derive(Debug, Default)]
struct Roots {
    folders: Vec<PathBuf>,
    /// Whether the agent was asked for them, and has not answered yet.
    are_awaited: bool,
}

impl<E: Engine> Agent<E> {
    fn pass(self: &Arc<Self>, line: String, tasks: &mut JoinSet<()>) {
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        match message["method"].as_str() {
            Some("initialize") => {
                *lock(&self.initialize) = Some(line.clone());
                let has_roots = message["params"]["capabilities"]["roots"].is_object();
                *lock(&self.has_roots) = has_roots;
            }
            Some("notifications/initialized" | "notifications/roots/list_changed") => {
                self.ask_roots(tasks);
            }
            None if message["id"] == ROOTS => {
                let roots = message["result"]["roots"].as_array();
                let uris = roots.into_iter().flatten().filter_map(|root| root["uri"].as_str());
                let folders = uris.filter_map(folder_of).take(MAX_ROOTS).collect();
                self.roots.send_replace(Roots { folders, are_awaited: false });
                return;
            }
            Some("notifications/cancelled") => {
                let id = message["params"]["requestId"].to_string();
                // Dropping a request cancels it on the server.
                if let Some(running) = lock(&self.running).remove(&id) {
                    running.abort();
                    return;
                }
            }
            _ => {}
        }
        let id = message.get("id").map(Value::to_string);
        let (agent, key) = (Arc::clone(self), id.clone());
        let (registered, wait) = tokio::sync::oneshot::channel::<()>();
        let handle = tasks.spawn(async move {
            let _ = wait.await;
            let line = match message["method"].as_str() {
                Some("tools/call" | "resources/read") => {
                    agent.with_folders(message.clone()).await.to_string()
                }
                _ => line,
            };
            agent.answer(&line, &message["id"]).await;
            if let Some(key) = key {
                lock(&agent.running).remove(&key);
            }
        });
        if let Some(id) = id {
            lock(&self.running).insert(id, handle);
        }
        let _ = registered.send(());
    }

    /// Asks the agent for its roots, if it has any.
    fn ask_roots(self: &Arc<Self>, tasks: &mut JoinSet<()>) {
        if !*lock(&self.has_roots) {
            return;
        }
        self.roots.send_modify(|roots| roots.are_awaited = true);
        let agent = Arc::clone(self);
        tasks.spawn(async move {
            let ask = json!({ "jsonrpc": "2.0", "id": ROOTS, "method": "roots/list" });
            let _ = agent.answers.send(ask.to_string()).await;
        });
    }

    /// Returns a call with the folders in which the agent works: its roots, or else that of this process.
    async fn with_folders(&self, mut call: Value) -> Value {
        let mut roots = self.roots.subscribe();
        let known = roots.wait_for(|roots| !roots.are_awaited);
        if tokio::time::timeout(WAIT_FOR_ROOTS, known).await.is_err() {
            // It will not answer. Later calls do not wait for it.
            self.roots.send_modify(|roots| roots.are_awaited = false);
        }
        let mut folders = self.roots.borrow().folders.clone();
        if folders.is_empty() {
            folders.extend(std::env::current_dir());
        }
        let folders: Vec<&str> = folders.iter().filter_map(|folder| folder.to_str()).collect();
        if let Some(params) = call["params"].as_object_mut() {
            let meta = params.entry("_meta").or_insert_with(|| json!({}));
            if let Some(meta) = meta.as_object_mut() {
                meta.insert(FOLDER.to_owned(), json!(folders));
            }
        }
        call
    }

    /// Has a message answered by the server, or else by this process.
    async fn answer(&self, line: &str, id: &Value) {
        if let Some(server) = self.engine.server() {
            match ask(&server, line, &self.answers).await {
                Ok(()) => return,
                // The same request is asked again: all tools only read.
                Err(
                    Error::Absent { .. } | Error::Died(_) | Error::Other(_) | Error::Foreign(_),
                ) if server.is_on_socket() => {}
                Err(error) => return self.fail(id, &error.to_string()).await,
            }
        }
        let own = self.own.get_or_init(|| self.start(line)).await;
        match own {
            Ok(own) => own.send(line).await,
            Err(why) => self.fail(id, why).await,
        }
    }

    async fn start(&self, line: &str) -> Result<Own, String> {
        let stream = self.engine.start().await?;
        let initialize = lock(&self.initialize).clone().filter(|begun| begun != line);
        Ok(Own::new(stream, initialize, self.answers.clone()).await)
    }

    /// Answers a request with an error; a notification has no answer.
    async fn fail(&self, id: &Value, why: &str) {
        if !id.is_null() {
            let error = json!({ "code": INTERNAL, "message": why });
            let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
            let _ = self.answers.send(answer.to_string()).await;
        }
    }
}

/// Returns the folder of a `file:` URI.
fn folder_of(uri: &str) -> Option<PathBuf> {
    reqwest::Url::parse(uri).ok().filter(|uri| uri.scheme() == "file")?.to_file_path().ok()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends a message to a server, and its answers to the queue.
async fn ask(server: &Remote, line: &str, answers: &mpsc::Sender<String>) -> Result<(), Error> {
    let mut answer = server.send(PATH, ACCEPTED, line.as_bytes().to_vec()).await?;
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let status = answer.status();
    let has_events = kind.is_some_and(|kind| kind.starts_with("text/event-stream"));
    let mut body = Vec::new();
    let died = |_| Error::Died(server.name().to_owned());
    while let Some(some) = answer.chunk().await.map_err(died)? {
        body.extend_from_slice(&some);
        if has_events {
            // An event ends with an empty line.
            while let Some(end) = body.windows(2).position(|two| two == b"\n\n") {
                let event: Vec<u8> = body.drain(..end + 2).collect();
                send(answers, &data(&String::from_utf8_lossy(&event))).await;
            }
        }
    }
    let rest = String::from_utf8_lossy(&body);
    // An error of the protocol has this field; any other error is the server's own.
    if !status.is_success() && !rest.contains("\"jsonrpc\"") {
        return Err(server.refused(status, &body));
    }
    send(answers, &if has_events { data(&rest) } else { rest.into_owned() }).await;
    Ok(())
}

async fn send(answers: &mpsc::Sender<String>, text: &str) {
    // A message is one line. JSON has line feeds only between its parts.
    let line = text.replace(['\r', '\n'], " ");
    if !line.trim().is_empty() {
        let _ = answers.send(line.trim().to_owned()).await;
    }
}

/// Returns the data of an event.
fn data(event: &str) -> String {
    let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
    lines.map(str::trim_start).collect::<Vec<_>>().join("\n")
}

/// The engine in this process.
struct Own {
    input: tokio::sync::Mutex<Option<tokio::io::WriteHalf<DuplexStream>>>,
    reading: Mutex<Option<tokio::task::JoinHandle<()>>>,
}

impl Own {
    /// Begins the protocol if the agent began it with a server.
    async fn new(
        stream: DuplexStream,
        initialize: Option<String>,
        answers: mpsc::Sender<String>,
    ) -> Self {
        let (read, write) = tokio::io::split(stream);
        let begun: Option<Value> =
            initialize.as_deref().and_then(|line| serde_json::from_str(line).ok());
        let reading = tokio::spawn(async move {
            let (mut lines, mut begun) = (BufReader::new(read).lines(), begun);
            while let Ok(Some(line)) = lines.next_line().await {
                // The agent has the server's answer to this request already.
                let is_begin = begun.as_ref().is_some_and(|begun| {
                    let answer: Value = serde_json::from_str(&line).unwrap_or_default();
                    answer.get("result").is_some() && answer["id"] == begun["id"]
                });
                if is_begin {
                    begun = None;
                } else if answers.send(line).await.is_err() {
                    return;
                }
            }
        });
        let own = Self {
            input: tokio::sync::Mutex::new(Some(write)),
            reading: Mutex::new(Some(reading)),
        };
        if let Some(line) = initialize {
            own.send(&line).await;
            own.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        }
        own
    }

    async fn send(&self, line: &str) {
        if let Some(input) = &mut *self.input.lock().await {
            // If the engine has failed, it has said so on stderr.
            let _ = input.write_all(format!("{line}\n").as_bytes()).await;
            let _ = input.flush().await;
        }
    }

    /// Ends the input, and waits for the last answers.
    async fn end(&self) {
        if let Some(mut input) = self.input.lock().await.take() {
            let _ = input.shutdown().await;
        }
        let reading = lock(&self.reading).take();
        if let Some(reading) = reading {
            let _ = reading.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_a_folder() {
        assert_eq!(folder_of("file:///a/b%20c"), Some(PathBuf::from("/a/b c")));
        assert_eq!(folder_of("https://x.example/a"), None);
        assert_eq!(folder_of("/a"), None);
    }

    #[test]
    fn the_data_of_an_event_are_its_lines() {
        assert_eq!(data("event: message\ndata: {\"a\":1}\n\n"), "{\"a\":1}");
        assert_eq!(data("id: 1\ndata:{\ndata:}\n\n"), "{\n}");
        assert_eq!(data(": comment\n\n"), "");
    }
}
