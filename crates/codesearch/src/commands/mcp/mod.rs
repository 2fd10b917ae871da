//! `codesearch mcp`: answer agents, by the Model Context Protocol on standard input and output.
//!
//! `search` and `browse` have the tools, `answer` keeps what they say within its bounds. Here is which
//! tools there are, and how a call comes to its tool. What a tool cannot do is an answer, too, one that
//! says so: agents do not get to read errors of the protocol.

mod answer;
mod browse;
mod hints;
mod search;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use anyhow::{Context, Result};
use engine::search::Searcher;
use futures_util::FutureExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::schemars::JsonSchema;
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::serve;
use crate::cli::DatabaseArgs;
use crate::database::{Database, close_postgres};

/// What an agent is told before it calls a tool.
const INSTRUCTIONS: &str = "\
Searches the source code of all indexed repositories. Use search for what is in files, find_file for files by \
their names, read_file for the lines around what was found, list_repos for what is indexed. A file is named by \
its repository and its path in it, which answers write as REPOSITORY: PATH. Answers are bounded: the first line \
says whether that is all, and how to get the rest.";

pub(crate) fn run(database: &DatabaseArgs) -> Result<u8> {
    let mut database = Database::open(database, serve::connections())?;
    // Nothing is kept in memory but the names of files: each agent has a process of its own.
    let searcher = Arc::new(Searcher::new(database.store.clone(), serve::cores()));
    let postgres = database.take_postgres().map(Arc::new);
    let done = database.runtime.block_on(async {
        let stop = serve::told_to_stop()?;
        tokio::select! {
            done = answer(Tools { searcher: Arc::clone(&searcher) }) => done,
            never = serve::look_after(&searcher, postgres.as_ref()) => match never {},
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
            running.waiting().await.map(drop).context("the connection to the agent broke")
        }
        // It ended before anything was asked.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error).context(
            "no agent speaks on standard input; this command is for an agent's configuration, see \
             codesearch help mcp",
        ),
    }
}

/// Answers the calls of one agent.
struct Tools {
    searcher: Arc<Searcher>,
}

impl Tools {
    /// Does what a call asks for. None if there is no such tool.
    async fn call(&self, name: &str, arguments: Value) -> Option<Result<String>> {
        let searcher = &self.searcher;
        Some(match name {
            "search" => with(arguments, |asked| search::search(searcher, asked)).await,
            "read_file" => with(arguments, |asked| browse::read_file(searcher, asked)).await,
            "find_file" => with(arguments, |asked| browse::find_file(searcher, asked)).await,
            "list_repos" => with(arguments, |asked| browse::list_repos(searcher, asked)).await,
            _ => return None,
        })
    }
}

/// Does something with the arguments of a call.
async fn with<T: DeserializeOwned, F: Future<Output = Result<String>>>(
    arguments: Value,
    work: impl FnOnce(T) -> F,
) -> Result<String> {
    let asked = serde_json::from_value(arguments).context("wrong arguments")?;
    work(asked).await
}

fn tools() -> Vec<Tool> {
    vec![
        tool::<search::Search>("search", search::description()),
        tool::<browse::ReadFile>("read_file", browse::read_description()),
        tool::<browse::FindFile>("find_file", browse::find_description()),
        tool::<browse::ListRepos>("list_repos", browse::list_description()),
    ]
}

fn tool<T: JsonSchema + 'static>(name: &'static str, description: String) -> Tool {
    let reads_only = ToolAnnotations::new().read_only(true).idempotent(true).open_world(false);
    Tool::new(name, description, serde_json::Map::new())
        .with_input_schema::<T>()
        .with_annotations(reads_only)
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("codesearch", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let call = AssertUnwindSafe(self.call(&request.name, arguments)).catch_unwind();
        let done = tokio::select! {
            done = call => done,
            // Dropped, a search ends, and so do its statements in the database.
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
        };
        let done = done.unwrap_or_else(|_| {
            Some(Err(anyhow::anyhow!("the tool failed; see the log on stderr")))
        });
        let result = match done {
            None => {
                let message = format!("there is no tool named {}; see tools/list", request.name);
                return Err(ErrorData::invalid_params(message, None));
            }
            Some(Ok(text)) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Some(Err(error)) => {
                CallToolResult::error(vec![ContentBlock::text(format!("{error:#}"))])
            }
        };
        Ok(result.into())
    }
}
