//! The tools for agents, by the Model Context Protocol: on standard input and output (`codesearch mcp`), and at `/mcp`
//! of a server.
//!
//! `tools` lists the tools. `search`, `symbol`, `browse`, `diff`, `docs` and `sql` implement them, `arguments` parses their
//! arguments, and `answer` bounds their answers. `resources` gives files and manuals. This file dispatches calls. A failed
//! call returns an answer of the tool, since agents do not see errors of the protocol.

mod answer;
mod arguments;
mod best;
mod browse;
mod definitions;
mod diff;
mod docs;
mod exhaustive;
mod file;
mod folder;
mod hints;
mod name;
mod near;
mod outline;
mod progress;
mod question;
mod references;
mod resources;
mod schemas;
mod search;
mod sql;
mod symbol;
mod tools;
mod uses;
mod words;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use audit::Told;
use futures_util::FutureExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, RequestMetaObject,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};
pub use search::View;
use serde::de::DeserializeOwned;
use serde_json::Value;
use store::Epoch;

use self::answer::Answer;
use self::progress::FileCounter;
pub use self::sql::{REFUSED as SQL_REFUSED, Sql, bounds as sql_bounds};

/// The instructions that an agent gets before it calls a tool.
const INSTRUCTIONS: &str = "\
Searches the code of all indexed repositories at once, by an index that is always current: use it instead of grep and find. \
search finds names, code, error texts and answers to questions in words; symbol tells where a name is defined and who uses it. \
Answers name a file by its repository and path, as REPOSITORY: PATH; read_file reads it. The first line of an answer says \
whether it is complete, and how to get the rest. An answer ends with its epoch: give it to further calls to read the same \
state of the index.";

/// The field of a request's metadata in which `codesearch mcp` tells the agent's folders.
pub const FOLDER_OF_CLIENT: &str = "codesearch/folder";

/// The field of a call's metadata by which a program asks for its answer as JSON, too (`structuredContent`).
const WANTS_JSON: &str = "codesearch/structured";

/// Longest error of a call, in bytes: it repeats the request.
const MAX_ERROR: usize = 2000;

/// Most bytes of a changed query that an answer repeats.
const MAX_TOLD: usize = 60;

/// Fewest bytes of an answer.
const LEAST: usize = 2048;

/// Returns those of the arguments of a call that a tool declares, by their names there; none of an unknown tool. Any other may
/// be a secret that was sent by mistake.
pub fn declared_arguments<'g>(tool: &str, given: &'g JsonObject) -> Vec<(&'static str, &'g Value)> {
    let tool = tools::named(tool, true);
    tool.map(|tool| arguments::declared(&tool.input_schema, given)).unwrap_or_default()
}

/// Answers the calls of one agent.
pub struct Tools {
    view: View,
    sql: Option<Arc<Sql>>,
    is_operator: bool,
    told: Told,
    /// Called for each statement of SQL that is refused.
    refused: Arc<dyn Fn() + Send + Sync>,
}

impl Tools {
    /// Makes tools that read a view.
    pub fn new(view: View) -> Self {
        Self {
            view,
            sql: None,
            is_operator: false,
            told: Told::default(),
            refused: Arc::new(|| ()),
        }
    }

    /// Adds the tool `sql`, if there is anything to run statements on. Those of an operator read the statistics of searches,
    /// too, if the view shows all repositories.
    #[must_use]
    pub fn with_sql(self, sql: Option<Arc<Sql>>, is_operator: bool) -> Self {
        Self { sql, is_operator, ..self }
    }

    /// Tells an audit what is in the answers, and calls a function for each statement of SQL that is refused.
    #[must_use]
    pub fn telling(self, told: Told, refused: Arc<dyn Fn() + Send + Sync>) -> Self {
        Self { told, refused, ..self }
    }

    /// Tells that a call has failed.
    fn failed(&self, error: &anyhow::Error) {
        match error.downcast_ref() {
            Some(store::Error::Refused(_)) => {
                (self.refused)();
                self.told.refused(sql::REFUSED);
            }
            _ => self.told.failed("tool_error"),
        }
    }

    /// Returns what an agent is told of an error. Names of nodes are for those who see all repositories.
    fn said(&self, error: &anyhow::Error) -> String {
        if is_of_node(error) && !self.view.shows_all() {
            return "a node of the index does not answer; try again in a moment".to_owned();
        }
        query::shortened(&format!("{error:#}"), MAX_ERROR).into_owned()
    }

    /// Returns the tool with a name, if this agent may call it.
    fn tool(&self, name: &str) -> Result<&'static Tool> {
        tools::named(name, self.sql.is_some())
    }

    /// Runs the tool that a call names, for an agent in one of some folders.
    async fn call(
        &self,
        tool: &Tool,
        given: JsonObject,
        folders: &[String],
        found: &FileCounter,
    ) -> Result<Answer> {
        let asked = arguments::understood(&tool.name, &tool.input_schema, &given)?;
        if tool.name == tools::SQL {
            let Some(sql) = &self.sql else {
                bail!("the tool sql has nothing to run statements on")
            };
            return sql.answer(&self.view, self.is_operator, of(asked)?).await;
        }
        let (view, pinned) = self.pinned(&asked).await?;
        let here = folder::of(&view, asked[tools::FOLDER].as_str(), folders).await?;
        let (asked, here) = folder::take_trees(&view, &tool.name, asked, here).await?;
        let repo = here.inside().map(|inside| inside.repo.as_str());
        let mut answer = answer(tool, asked, &here.in_view(&view), repo, found).await?;
        answer.epoch = answer.epoch.or(pinned);
        Ok(match here.trees_note() {
            Some(trees) => answer.in_trees(&trees),
            None => answer,
        })
    }

    /// Returns the view of one state of the index, and its epoch, for all that a call reads: that of the epoch that the call
    /// names, or the newest. A search that waits for changes, or goes on, chooses its state itself.
    async fn pinned(&self, asked: &Value) -> Result<(View, Option<Epoch>)> {
        let epoch = asked[tools::EPOCH].as_u64().map(|epoch| Epoch(epoch as i32));
        if epoch.is_none() && (asked["fresh"] == true || asked["cursor"].is_string()) {
            return Ok((self.view.clone(), None));
        }
        let Some(view) = self.view.pinned(epoch).await? else {
            let (gone, newest) = (epoch.unwrap_or_default().0, self.view.catalog().await?.epoch.0);
            bail!("epoch {gone} is gone, and {newest} is the newest; call again without epoch");
        };
        let epoch = view.catalog().await?.epoch;
        Ok((view, Some(epoch)))
    }
}

/// Returns whether a read failed since a node of the index does not answer or is lost.
fn is_of_node(error: &anyhow::Error) -> bool {
    let of_store =
        |error: &store::Error| matches!(error, store::Error::Node { .. } | store::Error::Lost(_));
    let of_search = |error: &::search::Error| match error {
        ::search::Error::Store(error) => of_store(error),
        _ => false,
    };
    let of_navigation = |error: &navigate::Error| match error {
        navigate::Error::Search(error) => of_search(error),
        _ => false,
    };
    error.downcast_ref().is_some_and(of_store)
        || error.downcast_ref().is_some_and(of_search)
        || error.downcast_ref().is_some_and(of_navigation)
}

/// Returns the answer of a tool, for an agent that works in a repository.
async fn answer(
    tool: &Tool,
    asked: Value,
    view: &View,
    repo: Option<&str>,
    found: &FileCounter,
) -> Result<Answer> {
    match &*tool.name {
        "search" => answer_search(view, of(asked)?, repo, found).await,
        "symbol" => symbol::symbol(view, of(asked)?).await,
        "read_file" => browse::read_file(view, of(asked)?).await,
        "find_file" => browse::find_file(view, of(asked)?).await,
        "diff" => diff::diff(view, of(asked)?).await,
        "list_repos" => browse::list_repos(view, of(asked)?).await,
        "docs" => docs::docs(view, of(asked)?).await,
        "definitions" => definitions::definitions(view, &of(asked)?).await,
        "references" => references::references(view, &of(asked)?).await,
        "outline" => outline::outline(view, of(asked)?).await,
        other => unreachable!("{other} is in the list of tools"),
    }
}

/// Answers the tool `search` in the requested order.
async fn answer_search(
    view: &View,
    asked: search::Search,
    repo: Option<&str>,
    found: &FileCounter,
) -> Result<Answer> {
    if asked.query.trim().is_empty() {
        bail!("the query is empty; type what to search for");
    }
    if asked.order() == "docs" {
        return docs::docs(view, docs::FindDocs::of(asked.query, asked.max_bytes)).await;
    }
    if asked.order() == "words" {
        return words::answer(view, &asked).await;
    }
    let from = asked.cursor.as_deref().map(str::parse::<search::Cursor>).transpose()?;
    let is_best = asked.order() == "best";
    if from.is_some_and(|from| from.best != is_best) {
        bail!("this cursor belongs to the other order; use the order of the original call");
    }
    if !is_best {
        return exhaustive::answer(view, &asked, from, found).await;
    }
    let names_repo = || query::typed_fields(&asked.query).iter().any(|field| field.name == "repo");
    let answer = match repo {
        Some(repo) if from.is_none() && asked.max_bytes >= 2 * LEAST && !names_repo() => {
            here_first(view, &asked, repo, found).await?
        }
        _ => best::answer(view, &asked, from, found, None).await?,
    };
    let Some(few) = answer.few.clone() else { return Ok(answer) };
    // An error message that was pasted with its numbers: the code has placeholders for them.
    if few.is_empty() && hints::has_numbers(&asked.query) {
        let loosened = hints::loosened(view, &asked.query).await.and_then(|hint| hint.query);
        if let Some(query) = loosened {
            let said = format!(
                "Nothing matches as it is; without numbers and names, {}: ",
                query::shortened(&query, MAX_TOLD)
            );
            let max_bytes = asked.max_bytes.saturating_sub(said.len()).max(LEAST);
            let loosened = search::Search { query, max_bytes, ..asked };
            return Ok(best::answer(view, &loosened, None, found, None).await?.after(&said));
        }
    }
    // What the answer suggests stays, such as another case or a similar name.
    let room = asked.max_bytes.saturating_sub(answer.text.len());
    if room < LEAST {
        return Ok(answer);
    }
    Ok(match words::after(view, &asked, &few, room).await? {
        None => answer,
        Some(by_words) => answer.followed_by(&by_words, "by_words"),
    })
}

/// Answers a search of an agent that works in a repository: what that repository has comes before what all have, unless the
/// answer shows everything.
async fn here_first(
    view: &View,
    asked: &search::Search,
    repo: &str,
    found: &FileCounter,
) -> Result<Answer> {
    // As JSON, the answer takes more than as a text.
    let half = search::Search { max_bytes: asked.max_bytes / 2, ..asked.clone() };
    let here = best::answer(view, &half, None, &FileCounter::default(), Some(repo)).await?;
    let is_empty = here.few.as_ref().is_some_and(Vec::is_empty);
    let said = (format!("In {repo}, where you work: "), "In all repositories: ");
    let taken = if is_empty { 0 } else { here.size() + said.0.len() + said.1.len() + 1 };
    let room = asked.max_bytes.saturating_sub(taken).max(LEAST);
    let rest = search::Search { max_bytes: room, ..asked.clone() };
    let all = best::answer(view, &rest, None, found, None).await?;
    if is_empty || all.is_all {
        return Ok(all);
    }
    Ok(here.after(&said.0).before(all.after(said.1), "everywhere"))
}

/// Converts the arguments of a call to the tool's own type.
fn of<T: DeserializeOwned>(asked: Value) -> Result<T> {
    serde_json::from_value(asked).context("invalid arguments")
}

/// Returns the folders that the client of a call works in, the most important first.
fn folders(meta: &RequestMetaObject) -> Vec<String> {
    match meta.get(FOLDER_OF_CLIENT) {
        Some(Value::String(folder)) => vec![folder.clone()],
        Some(Value::Array(all)) => {
            all.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(can)
            .with_server_info(Implementation::new("codesearch", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::listed(self.sql.is_some())))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::manuals()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = async {
            // Manuals can be read before anything is indexed.
            if let Some(manual) = resources::manual(&request.uri) {
                return Ok(manual);
            }
            let here = folder::of(&self.view, None, &folders(&context.meta)).await?;
            resources::read(&here.in_view(&self.view), &request.uri).await
        };
        match self.told.clone().scope(read).await {
            Ok(result) => Ok(result.into()),
            Err(error) if is_of_node(&error) => {
                self.told.failed("tool_error");
                Err(ErrorData::internal_error(self.said(&error), None))
            }
            Err(error) => {
                self.told.failed("not_found");
                Err(ErrorData::resource_not_found(self.said(&error), None))
            }
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = match self.tool(&request.name) {
            Ok(tool) => tool,
            Err(error) => {
                self.told.failed("bad_request");
                return Err(ErrorData::invalid_params(error.to_string(), None));
            }
        };
        let found = FileCounter::default();
        let folders = folders(&context.meta);
        let wants_json = context.meta.get(WANTS_JSON) == Some(&Value::Bool(true));
        let call = self.call(tool, request.arguments.unwrap_or_default(), &folders, &found);
        let call = self.told.clone().scope(call);
        let call = AssertUnwindSafe(progress::with_progress(&context, &found, call)).catch_unwind();
        let done = tokio::select! {
            done = call => done,
            // Dropping the call ends its search, and its statements in the database.
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
        };
        let done =
            done.unwrap_or_else(|_| Err(anyhow::anyhow!("the tool failed; see the log on stderr")));
        let result = match done {
            Ok(answer) => {
                let Answer { text, structured, .. } = answer.finished();
                let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
                result.structured_content = wants_json.then_some(Value::Object(structured));
                result
            }
            Err(error) => {
                self.failed(&error);
                CallToolResult::error(vec![ContentBlock::text(self.said(&error))])
            }
        };
        Ok(result.into())
    }
}
