//! `codesearch mcp`: answers agents on standard input and output.

use std::sync::Arc;

use anyhow::{Context, Result};
use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use search::{Searcher, View};

use super::serve;
use crate::cli::DatabaseArgs;
use crate::database::{Database, close_postgres};
use mcp::Tools;

pub(crate) fn run(database: &DatabaseArgs) -> Result<u8> {
    let mut database = Database::open_to_serve(database, serve::connections())?;
    // Only the names of files are cached: each agent has a process of its own.
    let searcher = Arc::new(Searcher::new(database.store.clone(), serve::cores()));
    let view = View::new(Arc::clone(&searcher), database.visible());
    let postgres = database.take_postgres().map(Arc::new);
    let done = database.runtime.block_on(async {
        let stop = serve::shutdown_signal()?;
        tokio::select! {
            done = answer(Tools::new(view)) => done,
            never = serve::supervise(&searcher, postgres.as_ref()) => match never {},
            () = stop => Ok(()),
        }
    });
    drop(searcher);
    database.close();
    if let Some(postgres) = postgres.and_then(Arc::into_inner) {
        close_postgres(postgres);
    }
    done.map(|()| crate::FOUND)
}

/// Answers until standard input ends.
async fn answer(tools: Tools) -> Result<()> {
    match Box::pin(tools.serve(rmcp::transport::stdio())).await {
        Ok(running) => {
            running.waiting().await.map(drop).context("the connection to the agent failed")
        }
        // Standard input ended before the first call.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error).context(
            "standard input is a terminal; this command is for an agent's configuration (see codesearch help mcp)",
        ),
    }
}
