//! Connections of clients: how many there may be, and how long one may say nothing.
//!
//! What `axum::serve` does, with bounds: a client that never finishes its request, or ten thousand
//! that come at once, must not keep others from being answered.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

/// Clients that are connected at once. More of them wait until one leaves.
const MAX_CONNECTIONS: usize = 4096;

/// How long a client may take for the head of a request, and be silent between two.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// How long answers that are being sent may go on when the server is told to stop.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// How long nobody is let in after the system has refused a connection, as when it has no more files to give.
const PAUSE: Duration = Duration::from_millis(100);

/// Who is at the other end of a request's connection: a client, or a proxy of clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Answers clients until it is told to stop, and then sends what it is sending to its end.
pub(crate) async fn serve(listener: TcpListener, routes: Router, stop: impl Future<Output = ()>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            next = next => next,
            () = &mut stop => break,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("a connection cannot be taken: {error}");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // An answer is not held back until the one before it was acknowledged.
        let _ = stream.set_nodelay(true);
        let routes = TowerToHyperService::new(routes.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(address.ip()));
            routes.call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // Clients leave when they like.
            if let Err(error) = connection.await {
                tracing::debug!("a connection ended early: {error}");
            }
            drop(place);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(LAST_WORDS, graceful.shutdown()).await;
}
