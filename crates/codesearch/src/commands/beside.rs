//! What a server does beside others of its index: one of them leads, and each leaves the others in good order.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use server::Fellows;
use store::NewServer;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch::Receiver;

use crate::cli::machine;

/// Returns what a server tells the others of itself.
pub(crate) fn new_server(address: SocketAddr) -> NewServer {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    NewServer { address: address.to_string(), machine: machine(), version }
}

/// Works whenever this server leads, and stops when it does not any more.
pub(crate) async fn while_leading<F: Future>(
    mut leads: Receiver<bool>,
    work: impl Fn() -> F,
) -> Infallible {
    loop {
        if leads.wait_for(|leads| *leads).await.is_err() {
            return std::future::pending().await;
        }
        let mut ends = leads.clone();
        tokio::select! {
            // Work that has an end is done for this time.
            () = async { work().await; std::future::pending::<()>().await } => {}
            _ = ends.wait_for(|leads| !*leads) => {}
        }
    }
}

/// Resolves when a server is to stop: at once after Ctrl-C, and some time after SIGTERM, unless there is another signal.
/// From the first signal on, the other servers know. Signals are caught from the call on.
///
/// # Errors
/// The system does not let them be caught.
pub(crate) fn stop_signal(
    fellows: Arc<Fellows>,
    drain: Option<Duration>,
) -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        let drain = tokio::select! {
            _ = interrupt.recv() => None,
            _ = terminate.recv() => drain,
        };
        fellows.drain();
        if let Some(time) = drain {
            tracing::info!("stopping in {time:?}");
            tokio::select! {
                () = tokio::time::sleep(time) => {}
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        tracing::info!("stopping");
    })
}
