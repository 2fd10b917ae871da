//! A server of this index within the program, and a client to ask it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::Bench;
use crate::commands::serve;
use crate::http;

/// A server on a port of its own. It has read ahead what it keeps in memory.
pub(crate) struct Serving {
    address: SocketAddr,
    client: Client<HttpConnector, Body>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Serving {
    /// Serves everything that `codesearch serve` does.
    pub(crate) async fn start(bench: &Bench<'_>) -> Result<Self> {
        let searcher = engine::search::Searcher::new(bench.store.clone(), serve::cores())
            .keeping(postgres::machine_memory() / 4)
            .sharing_out(tokio::runtime::Handle::current());
        let searcher = Arc::new(searcher);
        searcher.read_ahead().await?;
        Self::of(http::routes(searcher, http::Hosts::any())).await
    }

    /// Serves some routes.
    pub(crate) async fn of(routes: Router) -> Result<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?.into_std()?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let threads = http::Threads::start()?;
        let task = tokio::spawn(async move {
            let stopped = async {
                let _ = stopped.await;
            };
            http::serve(&threads, listener, routes, stopped).await
        });
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { address, client, stop, task })
    }

    /// The whole answer of an address below this server's, which is to be a good one.
    pub(crate) async fn get(&self, path: &str) -> Result<Vec<u8>> {
        let request = Request::get(format!("http://{}{path}", self.address)).body(Body::empty())?;
        let answer = self.client.request(request).await?;
        let status = answer.status();
        let body = axum::body::to_bytes(Body::new(answer.into_body()), usize::MAX).await?;
        ensure!(status.is_success(), "{path}: {status}: {}", String::from_utf8_lossy(&body));
        Ok(body.into())
    }

    /// Asks from several clients at once for some time, each the next path as soon as it has its
    /// answer. Gives the milliseconds of each request.
    pub(crate) async fn load(
        self: &Arc<Self>,
        clients: usize,
        time: Duration,
        path: impl Fn(usize) -> String + Clone + Send + 'static,
    ) -> Result<Vec<f64>> {
        let begun = Instant::now();
        let tasks: Vec<_> = (0..clients)
            .map(|client| {
                let (serving, path) = (Arc::clone(self), path.clone());
                tokio::spawn(async move {
                    let mut ms = Vec::new();
                    let mut number = client;
                    while begun.elapsed() < time {
                        let sent = Instant::now();
                        serving.get(&path(number)).await?;
                        ms.push(sent.elapsed().as_secs_f64() * 1000.0);
                        number += clients;
                    }
                    anyhow::Ok(ms)
                })
            })
            .collect();
        let mut all = Vec::new();
        for task in tasks {
            all.extend(task.await.context("a client broke off")??);
        }
        Ok(all)
    }

    /// Ends the server.
    pub(crate) async fn stop(self, patience: Duration) {
        drop(self.client);
        let _ = self.stop.send(());
        let _ = tokio::time::timeout(patience, self.task).await;
    }
}
