//! The tools for agents, by the Model Context Protocol: on standard input and output (`codesearch mcp`), and at `/mcp`
//! of a server.
//!
//! `search`, `navigate`, `docs` and `browse` implement the tools, `arguments` parses their arguments, and `answer`
//! bounds their answers. This file lists the tools and dispatches calls. A failed call returns an answer of the tool,
//! since agents do not see errors of the protocol.

mod answer;
mod arguments;
mod best;
mod browse;
mod diff;
mod docs;
mod exhaustive;
mod folder;
mod hints;
mod navigate;
mod progress;
mod schemas;
mod search;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, LazyLock};

use anyhow::{Context, Result};
use futures_util::FutureExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::schemars::JsonSchema;
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};
pub use search::View;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::answer::Answer;
use self::progress::FileCounter;

/// The instructions that an agent gets before it calls a tool.
const INSTRUCTIONS: &str = "\
Searches the source code of all indexed repositories. Use search for names and code in files, definitions and references \
to follow a name, outline for what a file defines, docs for questions in words, find_file for files by their names, \
read_file for the lines around a match, diff for what changed between revisions, list_repos for the indexed repositories. Answers name a file by its \
repository and path, as REPOSITORY: PATH. If you work in a worktree of a clone, give its folder in folder: then its \
files are searched instead of those of the main checkout. Answers are limited: the first line \
says whether the answer is complete, and how to get the rest.";

/// The argument of all tools that names the agent's folder.
const FOLDER: &str = "folder";

/// The field of a request's metadata in which `codesearch mcp` tells the agent's folder.
pub const FOLDER_OF_CLIENT: &str = "codesearch/folder";

/// Most bytes of a tool's name that an error repeats.
const MAX_NAME: usize = 64;

/// Longest error of a call, in bytes: it repeats the request.
const MAX_ERROR: usize = 2000;

/// Answers the calls of one agent.
pub struct Tools {
    view: View,
}

impl Tools {
    /// Makes tools that read a view.
    pub fn new(view: View) -> Self {
        Self { view }
    }

    /// Runs the tool that a call names, for an agent in a folder.
    async fn call(
        &self,
        tool: &Tool,
        given: JsonObject,
        folder: Option<String>,
        found: &FileCounter,
    ) -> Result<Answer> {
        let asked = arguments::understood(&tool.name, &tool.input_schema, given)?;
        let here = folder::of(&self.view, asked[FOLDER].as_str(), folder.as_deref()).await?;
        let (asked, here) = folder::take_trees(&self.view, &tool.name, asked, here).await?;
        let answer = self.answer(tool, asked, &here.in_view(&self.view), found).await?;
        Ok(match here.trees_note() {
            Some(trees) => answer.in_trees(&trees),
            None => answer,
        })
    }

    async fn answer(
        &self,
        tool: &Tool,
        asked: Value,
        view: &View,
        found: &FileCounter,
    ) -> Result<Answer> {
        match &*tool.name {
            "search" => answer_search(view, of(asked)?, found).await,
            "docs" => docs::docs(view, of(asked)?).await,
            "definitions" => navigate::definitions(view, of(asked)?).await,
            "references" => navigate::references(view, of(asked)?).await,
            "outline" => navigate::outline(view, of(asked)?).await,
            "read_file" => browse::read_file(view, of(asked)?).await,
            "find_file" => browse::find_file(view, of(asked)?).await,
            "diff" => diff::diff(view, of(asked)?).await,
            "list_repos" => browse::list_repos(view, of(asked)?).await,
            other => unreachable!("{other} is in the list of tools"),
        }
    }
}

/// Converts the arguments of a call to the tool's own type.
fn of<T: DeserializeOwned>(asked: Value) -> Result<T> {
    serde_json::from_value(asked).context("invalid arguments")
}

/// The tools that an agent can call.
static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    vec![
        tool::<search::Search>("search", search::description()),
        tool::<docs::FindDocs>("docs", docs::description()),
        tool::<navigate::Name>("definitions", navigate::definitions_description()),
        tool::<navigate::Name>("references", navigate::references_description()),
        tool::<navigate::OutlineOf>("outline", navigate::outline_description()),
        tool::<browse::ReadFile>("read_file", browse::read_description()),
        tool::<browse::FindFile>("find_file", browse::find_description()),
        tool::<diff::Diff>("diff", diff::description()),
        tool::<browse::ListRepos>("list_repos", browse::list_description()),
    ]
});

fn tool<T: JsonSchema + 'static>(name: &'static str, description: String) -> Tool {
    let reads_only = ToolAnnotations::new().read_only(true).idempotent(true).open_world(false);
    let mut tool = Tool::new(name, description, JsonObject::new())
        .with_input_schema::<T>()
        .with_annotations(reads_only)
        .with_raw_output_schema(schemas::output(name));
    let schema = Arc::make_mut(&mut tool.input_schema);
    let arguments = schema.entry("properties").or_insert_with(|| json!({}));
    arguments[FOLDER] = json!({ "type": "string", "description": folder::DESCRIPTION });
    arguments::plain(schema);
    tool
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
        Ok(ListToolsResult::with_all_items(TOOLS.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == request.name) else {
            let name = query::shortened(&request.name, MAX_NAME);
            let message = format!("unknown tool {name}; see tools/list");
            return Err(ErrorData::invalid_params(message, None));
        };
        let found = FileCounter::default();
        let folder = context.meta.get(FOLDER_OF_CLIENT).and_then(Value::as_str).map(str::to_owned);
        let call = self.call(tool, request.arguments.unwrap_or_default(), folder, &found);
        let call = AssertUnwindSafe(progress::with_progress(&context, &found, call)).catch_unwind();
        let done = tokio::select! {
            done = call => done,
            // Dropping the call ends its search, and its statements in the database.
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
        };
        let done =
            done.unwrap_or_else(|_| Err(anyhow::anyhow!("the tool failed; see the log on stderr")));
        let result = match done {
            Ok(Answer { text, structured }) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
                result.structured_content = Some(Value::Object(structured));
                result
            }
            Err(error) => {
                let told = query::shortened(&format!("{error:#}"), MAX_ERROR).into_owned();
                CallToolResult::error(vec![ContentBlock::text(told)])
            }
        };
        Ok(result.into())
    }
}

/// Answers the tool `search` in the requested order.
async fn answer_search(
    view: &View,
    asked: search::Search,
    found: &progress::FileCounter,
) -> anyhow::Result<Answer> {
    let from = asked.cursor.as_deref().map(str::parse::<search::Cursor>).transpose()?;
    let is_best = asked.order == "best";
    if from.is_some_and(|from| from.best != is_best) {
        anyhow::bail!("this cursor belongs to the other order; use the order of the original call");
    }
    if is_best {
        best::answer(view, &asked, from, found).await
    } else {
        exhaustive::answer(view, &asked, from, found).await
    }
}
