//! `codesearch serve`: answer searches over HTTP until told to stop.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use cluster::Cluster;
use engine::search::Searcher;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

use crate::cli::{DatabaseArgs, ServeArgs};
use crate::database::{Database, close_cluster};
use crate::http;

/// How often a server that nobody asks looks for a newer state of the index and for its Postgres.
const LOOK_EVERY: Duration = Duration::from_secs(2);

pub(crate) fn run(database: &DatabaseArgs, args: &ServeArgs) -> Result<u8> {
    let listener = bind(args.listen)?;
    serve(Database::open(database, connections())?, listener, args)
}

/// Takes the port before anything slow is begun.
pub(crate) fn bind(address: SocketAddr) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => anyhow::anyhow!(
            "{address} is in use by another program; choose another port with --listen {}:0",
            address.ip()
        ),
        _ => anyhow::anyhow!(
            "cannot listen on {address}: {error}; choose another address with --listen"
        ),
    })?;
    listener.set_nonblocking(true).context("cannot listen")?;
    Ok(listener)
}

/// Connections for searching: a few for each core keep Postgres busy, more only wait for each other.
pub(crate) fn connections() -> u32 {
    (cores() * 4).clamp(8, 64) as u32
}

pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from)
}

pub(crate) fn serve(mut database: Database, listener: TcpListener, args: &ServeArgs) -> Result<u8> {
    let address = listener.local_addr()?;
    let hosts = http::Hosts::of(address, &args.host);
    let cache = args.cache.map_or(cluster::machine_memory() / 4, |mib| mib << 20);
    let searcher = Searcher::new(database.store.clone(), cores()).keeping(cache);
    let searcher = Arc::new(searcher);
    let cluster = database.take_cluster().map(Arc::new);
    let watched = cluster.clone();
    let done = database.runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let stop = told_to_stop()?;
        say!("serving on http://{address}/");
        let changed = Arc::new(Notify::new());
        let (told, wake) = (Arc::clone(&searcher), Arc::clone(&changed));
        let listening = tokio::spawn(async move {
            loop {
                if let Err(error) = told.listen(|| wake.notify_one()).await {
                    tracing::debug!("changes of the index are not told: {error}");
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        });
        let reader = Arc::clone(&searcher);
        let reading = tokio::spawn(async move {
            loop {
                if let Err(error) = reader.read_ahead().await {
                    tracing::debug!("the index could not be read ahead: {error}");
                }
                let _ = tokio::time::timeout(LOOK_EVERY, changed.notified()).await;
            }
        });
        let watch = Arc::clone(&searcher);
        let watching = tokio::spawn(async move { look_after(&watch, watched.as_ref()).await });
        http::serve(listener, http::routes(Arc::clone(&searcher), hosts), stop).await;
        for task in [watching, reading, listening] {
            task.abort();
            let _ = task.await;
        }
        Ok::<_, std::io::Error>(())
    });
    drop(searcher);
    database.close();
    if let Some(cluster) = cluster.and_then(Arc::into_inner) {
        close_cluster(cluster);
    }
    done.context("the server ended")?;
    Ok(crate::FOUND)
}

/// Looks now and then for a newer state of the index, and for the private Postgres.
pub(crate) async fn look_after(searcher: &Searcher, cluster: Option<&Arc<Cluster>>) -> Infallible {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        if let Some(cluster) = cluster.cloned() {
            let looked = tokio::task::spawn_blocking(move || cluster.ensure_running()).await;
            if let Ok(Err(error)) = looked {
                tracing::error!("the private Postgres does not come back: {error}");
            }
        }
        // Holding an old state of the index would keep its rows from being deleted.
        let _ = searcher.look().await;
    }
}

/// Ends with Ctrl-C, or what `kill` and service managers send; both are caught from now on.
pub(crate) fn told_to_stop() -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tracing::info!("stopping");
    })
}
