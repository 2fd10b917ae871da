//! The commands that a server runs for its clients, as the program passes them in.

use std::io;
use std::sync::Arc;

use axum::body::Bytes;
use client::{Frame, Invocation, encode};
use search::{Request, View};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::block_in_place;

use super::metrics::{Metrics, TimedSearch, of_request};

/// The commands that a server runs for its clients.
pub trait Commands: Send + Sync {
    /// Runs a command on a view of the index, and returns its exit status. Blocks.
    fn run(&self, invocation: Invocation, view: View, output: &CommandOutput) -> u8;
}

/// The output of a command, sent to its client.
#[derive(Clone)]
pub struct CommandOutput {
    frames: mpsc::Sender<Bytes>,
    threads: Handle,
    metrics: Arc<Metrics>,
    is_on_socket: bool,
}

impl CommandOutput {
    pub(crate) fn new(
        frames: mpsc::Sender<Bytes>,
        threads: Handle,
        metrics: Arc<Metrics>,
        is_on_socket: bool,
    ) -> Self {
        Self { frames, threads, metrics, is_on_socket }
    }

    /// Returns whether the client is a program of this machine and of the user who runs the server.
    pub fn is_on_socket(&self) -> bool {
        self.is_on_socket
    }

    /// Begins to count a search among those of the server.
    pub fn counted(&self, request: &Arc<Request>, loose: bool) -> TimedSearch {
        let (kind, told) = of_request(request, loose);
        self.metrics.begin(kind, told)
    }

    /// Sends a frame. Waits while the client has not read earlier ones.
    ///
    /// # Errors
    /// The client has gone.
    pub fn send(&self, kind: Frame, bytes: &[u8]) -> io::Result<()> {
        let frame = Bytes::from(encode(kind, bytes));
        // The command runs in a future on which its thread waits. To wait here as tokio does would take away the signal that
        // this future can go on; so another executor waits, with signals of its own.
        let sent = block_in_place(|| futures_executor::block_on(self.frames.send(frame)));
        sent.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Resolves when the client has gone.
    pub async fn closed(&self) {
        self.frames.closed().await;
    }

    /// Returns the runtime on which the command runs.
    pub fn threads(&self) -> &Handle {
        &self.threads
    }
}
