//! Connections of clients: how many there may be, and how long one may say nothing.
//!
//! What `axum::serve` does, with bounds: a client that never finishes its request, or ten thousand
//! that come at once, must not keep others from being answered. Nor must searches: connections have threads
//! of their own, and what takes long is done on others, unless it is the only one ([`elsewhere`]).

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request as Asked, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::error::Failure;

/// Threads that read requests and send answers, beside one that lets clients in. They have little to do and wait for
/// nobody, but one of them may search for somebody who is alone.
const THREADS: usize = 2;

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

/// The threads of connections, which end when this is dropped, wherever that is. What was made on them, such as a
/// connection to the database, ends with them.
///
/// Each has a runtime of its own, and connections are given to them in turn: in a runtime of two threads, who is woken
/// wakes the other, which mostly finds nothing to do. The first one lets clients in.
pub(crate) struct Threads(Vec<Runtime>);

impl Threads {
    /// Starts them.
    pub(crate) fn start() -> std::io::Result<Self> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).thread_name("connections").enable_all();
        Ok(Self((0..=THREADS).map(|_| builder.build()).collect::<std::io::Result<_>>()?))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        for runtime in self.0.drain(..) {
            runtime.shutdown_background();
        }
    }
}

/// Answers clients until it is told to stop, and then sends what it is sending to its end.
pub(crate) async fn serve(
    threads: &Threads,
    listener: std::net::TcpListener,
    routes: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let handles: Vec<Handle> = threads.0.iter().map(|runtime| runtime.handle().clone()).collect();
    handles[0].clone().spawn(accept(handles, listener, routes, stop)).await?
}

async fn accept(
    threads: Vec<Handle>,
    listener: std::net::TcpListener,
    routes: Router,
    stop: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    for thread in threads[1..].iter().cycle() {
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
        let stream = match moved(stream, thread) {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!("a connection cannot be served: {error}");
                continue;
            }
        };
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
        thread.spawn(async move {
            // Clients leave when they like.
            if let Err(error) = connection.await {
                tracing::debug!("a connection ended early: {error}");
            }
            drop(place);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(LAST_WORDS, graceful.shutdown()).await;
    Ok(())
}

/// A connection whose events another runtime waits for from now on.
fn moved(stream: TcpStream, runtime: &Handle) -> std::io::Result<TcpStream> {
    let stream = stream.into_std()?;
    let _within = runtime.enter();
    TcpStream::from_std(stream)
}

/// Where searches are made.
#[derive(Clone)]
pub(crate) struct Searches {
    threads: Handle,
    alone: Arc<Semaphore>,
}

impl Searches {
    /// On the threads of a runtime.
    pub(crate) fn on(threads: Handle) -> Self {
        Self { threads, alone: Arc::new(Semaphore::new(1)) }
    }
}

/// Answers on the threads of searches. On those of connections, a thousand clients that search would keep
/// everybody waiting, who only asks whether the server lives, too. One of them does not: it is answered where
/// it is, which saves waking other threads twice, and the others of its thread wait for moments.
pub(crate) async fn elsewhere(
    State(searches): State<Searches>,
    request: Asked,
    next: Next,
) -> Response {
    let answering = next.run(request);
    let answered = if let Ok(_alone) = searches.alone.try_acquire() {
        AssertUnwindSafe(answering).catch_unwind().await.map_err(|_| Failure::broke_off())
    } else {
        apart(&searches.threads, answering).await
    };
    answered.unwrap_or_else(IntoResponse::into_response)
}

/// Does something on other threads. When this is dropped, that ends.
pub(crate) async fn apart<T: Send + 'static>(
    threads: &Handle,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, Failure> {
    let mut task = JoinSet::new();
    task.spawn_on(work, threads);
    match task.join_next().await {
        Some(Ok(done)) => Ok(done),
        _ => Err(Failure::broke_off()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};

    use axum::middleware::from_fn_with_state;
    use axum::routing::get;

    use super::*;

    fn ask(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    async fn broken() -> &'static str {
        panic!("on purpose")
    }

    #[test]
    fn a_search_that_takes_all_threads_keeps_only_searches_waiting() {
        let searches =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let wait = Arc::new(std::sync::Mutex::new(wait));
        let (begun, begins) = std::sync::mpsc::channel::<()>();
        let begun_alone = begun.clone();
        let busy = get(move || async move {
            begun.send(()).unwrap();
            let _ = wait.lock().unwrap().recv();
            "done"
        });
        let gate = Arc::new(Semaphore::new(0));
        let open = Arc::clone(&gate);
        let alone = get(move || async move {
            begun_alone.send(()).unwrap();
            let _ = gate.acquire().await;
            "done"
        });
        let layer = from_fn_with_state(Searches::on(searches.handle().clone()), elsewhere);
        let routes = Router::new().route("/busy", busy).route("/alone", alone);
        let routes = routes.route("/broken", get(broken));
        let routes = routes.route_layer(layer);
        let routes = routes.route("/healthz", get(|| async { "ok" }));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let threads = Threads::start().unwrap();
        searches
            .spawn(async move { serve(&threads, listener, routes, std::future::pending()).await });
        assert!(ask(address, "/broken").starts_with("HTTP/1.1 500"));
        std::thread::scope(|scope| {
            // One where it is, one elsewhere.
            let alone = scope.spawn(|| ask(address, "/alone"));
            begins.recv().unwrap();
            let busy = scope.spawn(|| ask(address, "/busy"));
            begins.recv().unwrap();
            assert!(ask(address, "/healthz").ends_with("ok"));
            done.send(()).unwrap();
            assert!(busy.join().unwrap().ends_with("done"));
            open.add_permits(1);
            assert!(alone.join().unwrap().ends_with("done"));
        });
    }
}
