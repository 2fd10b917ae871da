//! Client connections: limits on their number, and on how long a client may be silent or not read its answer.
//!
//! Like `axum::serve`, but bounded: neither a client that never finishes its request nor ten thousand concurrent
//! clients may starve the others. Searches may not starve them either: connections have threads of their own, and
//! searches run on other threads, except a lone search ([`SearchThreads::run`]).

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;

use super::error::Failure;
use super::listeners::{Client, Listeners, On, Sockets};

/// Threads that read requests and send answers, besides the one that accepts connections. They have little to do; one
/// of them may run the search of a lone client.
const THREADS: usize = 2;

/// Most concurrent connections. Further clients wait until one is closed.
const MAX_CONNECTIONS: usize = 4096;

/// Longest time for the headers of a request, and for silence between two requests.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Largest size of a request's headers, in bytes: an address of 64 KiB, and as much for the rest.
const MAX_HEAD: usize = 128 << 10;

/// Longest time in which the body of a request must arrive.
pub(crate) const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest time in which a client may read nothing of its answer before its connection is closed: its search holds
/// memory and a turn.
const WRITE_TIMEOUT: Duration = Duration::from_mins(1);

/// Time to continue sending answers after the server is told to stop, unless its operator allows more.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Pause after the system refused a connection, for example for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The address at the other end of a request's connection: a client's or a proxy's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Marks a request that came over the Unix socket, from a program of the user who runs the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnSocket;

/// Marks a request that came over the proxy's own Unix socket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnProxySocket;

/// The threads of connections. Dropping this ends them and everything that lives on them, such as connections to the
/// database.
///
/// Each thread has a runtime of its own, and connections are assigned to them in turn. In a single runtime of two
/// threads, a woken thread wakes the other, which mostly finds nothing to do. The first thread accepts connections.
pub struct Threads(Vec<Runtime>);

impl Threads {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system provides no more threads.
    pub fn start() -> std::io::Result<Self> {
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

/// The limits on connections.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Number of connections shared by the addresses of clients.
    shared: usize,
    /// Longest time in which a client may read nothing of its answer.
    write_timeout: Duration,
    /// Longest time to continue sending answers after the server is told to stop.
    finish: Duration,
}

impl Bounds {
    /// Returns the limits of a server. Behind a proxy, all connections come from its address.
    pub fn of(behind_proxy: bool) -> Self {
        let shared = if behind_proxy { usize::MAX } else { MAX_CONNECTIONS };
        Self { shared, write_timeout: WRITE_TIMEOUT, finish: DRAIN_TIMEOUT }
    }

    /// Lets answers that have begun go on for at least this time after the server is told to stop.
    #[must_use]
    pub fn finishing_within(self, time: Duration) -> Self {
        Self { finish: self.finish.max(time), ..self }
    }
}

/// Serves clients until `stop` resolves, then finishes the answers that have begun.
///
/// # Errors
/// The listener cannot be used.
pub async fn serve(
    threads: &Threads,
    listener: std::net::TcpListener,
    sockets: Sockets,
    routes: Router,
    bounds: Bounds,
    stop: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let handles: Vec<Handle> = threads.0.iter().map(|runtime| runtime.handle().clone()).collect();
    handles[0].clone().spawn(accept(handles, listener, sockets, routes, bounds, stop)).await?
}

async fn accept(
    threads: Vec<Handle>,
    listener: std::net::TcpListener,
    sockets: Sockets,
    routes: Router,
    bounds: Bounds,
    stop: impl Future<Output = ()>,
) -> std::io::Result<()> {
    let addresses = Addresses { shared: bounds.shared, ..Addresses::default() };
    let listeners = Listeners::new(listener, sockets)?;
    let slots = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    for thread in threads[1..].iter().cycle() {
        let next = async {
            let slot = Arc::clone(&slots).acquire_owned().await;
            (slot, listeners.next_client().await)
        };
        let (slot, accepted) = tokio::select! {
            next = next => next,
            () = &mut stop => break,
        };
        let client = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let (address, socket) = match &client {
            Client::Network(_, address) => (address.ip(), None),
            Client::Socket(_, on) => (Ipv4Addr::LOCALHOST.into(), Some(*on)),
        };
        let place = if socket.is_some() { None } else { addresses.take(address) };
        if place.is_none() && socket.is_none() {
            continue;
        }
        let stream = match client.move_to(thread) {
            Ok(stream) => stream,
            Err(error) => {
                tracing::warn!("cannot serve a connection: {error}");
                continue;
            }
        };
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(bounds.write_timeout));
        let routes = TowerToHyperService::new(routes.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(address));
            match socket {
                Some(On::Owner) => drop(request.extensions_mut().insert(OnSocket)),
                Some(On::Proxy) => drop(request.extensions_mut().insert(OnProxySocket)),
                None => {}
            }
            routes.call(request)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(MAX_HEAD)
            .serve_connection(TokioIo::new(Box::pin(stream)), service);
        let connection = graceful.watch(connection);
        thread.spawn(async move {
            // Clients may disconnect at any time.
            if let Err(error) = connection.await {
                tracing::debug!("a connection ended early: {error}");
            }
            drop((slot, place));
        });
    }
    drop(listeners);
    let _ = tokio::time::timeout(bounds.finish, graceful.shutdown()).await;
    Ok(())
}

/// Returns the part of an address that identifies a client: the whole of an IPv4 address, or the first half of an IPv6
/// address, which belongs to one household.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(long) => {
            let [a, b, c, d, ..] = long.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        short @ IpAddr::V4(_) => short,
    }
}

/// The number of connections of each address (of an IPv6 /64). An address may hold at most as many as are still free: a
/// single one holds half of the shared connections, a second one a quarter, and so on. So it takes a dozen addresses to
/// hold them all, not two. Further connections are closed at once.
#[derive(Clone, Debug, Default)]
struct Addresses {
    shared: usize,
    connections: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// A counted connection of an address; dropping it ends the count.
struct OfAddress(Addresses, IpAddr);

impl Addresses {
    fn count(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more connection; `None` if the address has too many.
    fn take(&self, address: IpAddr) -> Option<OfAddress> {
        let address = network(address);
        let mut counts = self.count();
        let left = self.shared.saturating_sub(counts.values().sum());
        if counts.get(&address).is_some_and(|count| *count >= left) || left == 0 {
            return None;
        }
        *counts.entry(address).or_default() += 1;
        Some(OfAddress(self.clone(), address))
    }
}

impl Drop for OfAddress {
    fn drop(&mut self) {
        let mut counts = self.0.count();
        if let Some(count) = counts.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.1);
            }
        }
    }
}

/// The threads on which searches run.
#[derive(Clone)]
pub(crate) struct SearchThreads {
    threads: Handle,
    alone: Arc<Semaphore>,
}

impl SearchThreads {
    /// Makes the threads of a runtime the search threads.
    pub(crate) fn on(threads: Handle) -> Self {
        Self { threads, alone: Arc::new(Semaphore::new(1)) }
    }

    /// Keeps even lone requests on these threads.
    pub(crate) fn only(self) -> Self {
        Self { alone: Arc::new(Semaphore::new(0)), ..self }
    }

    /// Makes an answer on the search threads: on the threads of connections, a thousand searches would delay every
    /// client, even a health check. A lone request runs on its connection's thread, which saves waking other threads
    /// twice.
    pub(super) async fn run(
        &self,
        answering: impl Future<Output = Response> + Send + 'static,
    ) -> Response {
        let answered = if let Ok(_alone) = self.alone.try_acquire() {
            AssertUnwindSafe(answering).catch_unwind().await.map_err(|_| Failure::panicked())
        } else {
            run_on(&self.threads, answering).await
        };
        answered.unwrap_or_else(IntoResponse::into_response)
    }
}

/// Runs work on other threads. Dropping the future cancels the work.
///
/// # Errors
/// The work panicked.
pub(crate) async fn run_on<T: Send + 'static>(
    threads: &Handle,
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, Failure> {
    let mut task = JoinSet::new();
    task.spawn_on(work, threads);
    match task.join_next().await {
        Some(Ok(done)) => Ok(done),
        _ => Err(Failure::panicked()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};

    use axum::middleware::{Next, from_fn};
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

    #[test]
    fn no_address_has_all_connections() {
        let addresses = Addresses { shared: 4, ..Addresses::default() };
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let held = (addresses.take(one).unwrap(), addresses.take(one).unwrap());
        assert!(addresses.take(one).is_none() && addresses.take(other).is_some());
        drop(held.0);
        assert!(addresses.take(one).is_some());
        drop(held.1);
        assert!(addresses.count().is_empty());
        // Two addresses cannot hold all of them either.
        let addresses = Addresses { shared: 64, ..Addresses::default() };
        let all = |address| std::iter::from_fn(|| addresses.take(address)).collect::<Vec<_>>();
        let held = (all(one), all(other));
        assert_eq!((held.0.len(), held.1.len()), (32, 16));
        assert_eq!(all("192.0.2.3".parse().unwrap()).len(), 8);
        drop(held);
        assert!(addresses.count().is_empty());
        // All addresses of a household count as one.
        let addresses = Addresses { shared: 4, ..Addresses::default() };
        let take = |address: &str| addresses.take(address.parse().unwrap());
        let held = (take("2001:db8::1"), take("2001:db8::2"));
        assert!(take("2001:db8::3").is_none() && take("2001:db8:0:1::1").is_some());
        drop(held);
    }

    /// Sends a message when dropped.
    struct Told(std::sync::mpsc::Sender<()>);

    impl Drop for Told {
        fn drop(&mut self) {
            let _ = self.0.send(());
        }
    }

    #[test]
    fn connections_end_that_are_too_many_or_not_read() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let endless = get(move || {
            let told = Told(tell.clone());
            let piece = std::iter::repeat_with(move || {
                let _held = &told;
                Ok::<_, std::io::Error>(vec![0; 1 << 16])
            });
            let body = axum::body::Body::from_stream(futures_util::stream::iter(piece));
            std::future::ready(body)
        });
        let routes = Router::new().route("/endless", endless);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let threads = Threads::start().unwrap();
        let bounds =
            Bounds { shared: 4, write_timeout: Duration::from_millis(100), finish: DRAIN_TIMEOUT };
        runtime.spawn(async move {
            serve(&threads, listener, Sockets::default(), routes, bounds, std::future::pending())
                .await
        });
        let held = [(); 2].map(|()| TcpStream::connect(address).unwrap());
        // The third is closed without an answer.
        let mut third = TcpStream::connect(address).unwrap();
        third.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        assert!(!matches!(third.read(&mut [0]), Ok(1)));
        drop(held);
        let begun = std::time::Instant::now();
        // An ended connection counts until the server has seen its end, so the next one may be closed, too.
        let _unread = loop {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            let _ = write!(stream, "GET /endless HTTP/1.1\r\nhost: x\r\n\r\n");
            if matches!(stream.read(&mut [0]), Ok(1)) {
                break stream;
            }
            let waited = begun.elapsed();
            assert!(waited < Duration::from_secs(30), "connections that ended still count");
        };
        told.recv_timeout(Duration::from_secs(30)).expect("its answer is given up");
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
        let threads_of_searches = SearchThreads::on(searches.handle().clone());
        let layer = from_fn(move |request, next: Next| {
            let threads = threads_of_searches.clone();
            async move { threads.run(next.run(request)).await }
        });
        let routes = Router::new().route("/busy", busy).route("/alone", alone);
        let routes = routes.route("/broken", get(broken));
        let routes = routes.route_layer(layer);
        let routes = routes.route("/healthz", get(|| async { "ok" }));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let threads = Threads::start().unwrap();
        searches.spawn(async move {
            serve(
                &threads,
                listener,
                Sockets::default(),
                routes,
                Bounds::of(false),
                std::future::pending(),
            )
            .await
        });
        assert!(ask(address, "/broken").starts_with("HTTP/1.1 500"));
        std::thread::scope(|scope| {
            // One request runs on its connection's thread, the other on a search thread.
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
