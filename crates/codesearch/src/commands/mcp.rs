//! `codesearch mcp`: answers agents on standard input and output.

use std::sync::Arc;

use anyhow::{Context, Result};
use client::Remote;
use client::mcp::Engine;
use mcp::Tools;
use postgres::Postgres;
use rmcp::ServiceExt;
use search::{Searcher, View};
use tokio::io::DuplexStream;
use tokio::sync::Mutex;

use super::serve;
use crate::cli::DatabaseArgs;
use crate::database::{Database, close_postgres, connections, cores};
use crate::{remote, start_threads, use_large_pages};

/// Bytes of messages that may wait for the engine in this process.
const PIPE: usize = 64 << 10;

pub(crate) fn run(database: &DatabaseArgs) -> Result<u8> {
    // An invalid address fails at once.
    let server = remote::server(database)?;
    let engine = Own { database: database.clone(), opened: Arc::default() };
    if server.is_none() {
        // The agent learns from the exit status that there is no index.
        engine.open()?;
    }
    let opened = Arc::clone(&engine.opened);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(async {
        let stop = serve::shutdown_signal()?;
        tokio::select! {
            done = client::mcp::serve(engine, tokio::io::stdin(), tokio::io::stdout()) => done,
            () = stop => Ok(()),
        }
    });
    // A thread may still wait for standard input.
    runtime.shutdown_background();
    if let Some(opened) = opened.blocking_lock().take() {
        opened.close();
    }
    done.context("the connection to the agent failed")?;
    Ok(crate::FOUND)
}

/// The engine of this process, which is opened when it is first needed.
struct Own {
    database: DatabaseArgs,
    opened: Arc<Mutex<Option<Opened>>>,
}

/// An open index.
struct Opened {
    database: Database,
    searcher: Arc<Searcher>,
    postgres: Option<Arc<Postgres>>,
}

impl Own {
    fn open(&self) -> Result<()> {
        use_large_pages(true);
        start_threads();
        let mut database = Database::open_to_serve(&self.database, connections())?;
        // Only the names of files are cached.
        let searcher = Searcher::new(database.store.clone(), cores()).keeping_earlier();
        let searcher = Arc::new(searcher);
        let postgres = database.take_postgres().map(Arc::new);
        let (watched, watching) = (postgres.clone(), Arc::clone(&searcher));
        database.runtime.spawn(async move { serve::supervise(&watching, watched.as_ref()).await });
        *self.opened.blocking_lock() = Some(Opened { database, searcher, postgres });
        Ok(())
    }
}

impl Engine for Own {
    fn server(&self) -> Option<Remote> {
        remote::server(&self.database).ok().flatten()
    }

    async fn start(&self) -> Result<DuplexStream, String> {
        let mut opened = self.opened.lock().await;
        if opened.is_none() {
            drop(opened);
            let this = Self { database: self.database.clone(), opened: Arc::clone(&self.opened) };
            let open = tokio::task::spawn_blocking(move || this.open());
            let done = open.await.map_err(|_| "the index could not be opened".to_owned())?;
            done.map_err(|error| format!("{error:#}"))?;
            opened = self.opened.lock().await;
        }
        let Some(Opened { database, searcher, .. }) = &*opened else {
            return Err("the index is closed".to_owned());
        };
        let (ours, theirs) = tokio::io::duplex(PIPE);
        let tools = Tools::new(View::new(Arc::clone(searcher), database.visible()))
            .with_sql(Some(super::sql::for_agents(database)), self.database.as_user.is_none());
        database.runtime.spawn(async move {
            match Box::pin(tools.serve(tokio::io::split(theirs))).await {
                Ok(running) => drop(running.waiting().await),
                Err(error) => {
                    tracing::warn!("the agent's messages are not those of the protocol: {error}");
                }
            }
        });
        Ok(ours)
    }
}

impl Opened {
    fn close(self) {
        let Self { database, searcher, postgres } = self;
        drop(searcher);
        database.close();
        if let Some(postgres) = postgres.and_then(Arc::into_inner) {
            close_postgres(postgres, false);
        }
    }
}
