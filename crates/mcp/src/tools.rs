//! The list of tools: their names, descriptions and arguments.
//!
//! An agent reads the list before its first call, so it has at most 9 KB.

use std::sync::{Arc, LazyLock};

use anyhow::{Result, bail};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde_json::{Value, json};

use super::{arguments, browse, diff, docs, name, outline, search, sql, symbol};

/// The argument of tools that names the agent's folder.
pub(super) const FOLDER: &str = "folder";

/// The argument of tools that names the state of the index to read.
pub(super) const EPOCH: &str = "epoch";

/// The tool that only agents of an index in a database have.
pub(super) const SQL: &str = "sql";

/// Most bytes of a tool's name that an error repeats.
const MAX_NAME: usize = 30;

/// The listed tools.
static LISTED: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    vec![
        tool::<search::Search>("search", &search::description()),
        tool::<name::Name>("symbol", symbol::DESCRIPTION),
        tool::<browse::ReadFile>("read_file", browse::READ),
        tool::<browse::FindFile>("find_file", browse::FIND),
        tool::<diff::Diff>("diff", diff::DESCRIPTION),
        tool::<browse::ListRepos>("list_repos", browse::LIST),
        tool::<sql::Statement>(SQL, sql::DESCRIPTION),
    ]
});

/// Tools of earlier versions, which agents may know: others do the same now.
static UNLISTED: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    vec![
        tool::<docs::FindDocs>("docs", ""),
        tool::<name::Name>("definitions", ""),
        tool::<name::Name>("references", ""),
        tool::<outline::OutlineOf>("outline", ""),
    ]
});

fn tool<T: JsonSchema + 'static>(name: &'static str, description: &str) -> Tool {
    let reads_only = ToolAnnotations::new().read_only(true);
    let mut tool = Tool::new(name, description.to_owned(), JsonObject::new())
        .with_input_schema::<T>()
        .with_annotations(reads_only);
    let schema = Arc::make_mut(&mut tool.input_schema);
    let arguments = schema.entry("properties").or_insert_with(|| json!({}));
    let (folder, epoch) = match name {
        "search" => (
            "The folder you work in (absolute). In a git worktree, its files replace the main checkout's.",
            "The epoch of an earlier answer, to read the same state.",
        ),
        _ => ("As in search.", "As in search."),
    };
    if name != SQL {
        arguments[FOLDER] = json!({ "type": "string", "description": folder });
        // The queue and the times of repositories have no earlier states.
        if name != "list_repos" {
            arguments[EPOCH] = json!({ "type": "integer", "minimum": 0, "description": epoch });
        }
    }
    arguments::plain(schema);
    tool
}

/// Returns the tools as they are listed: without arguments that hardly any call needs, the limits that a call's error
/// explains, and defaults that stand for nothing.
pub(super) fn listed(with_sql: bool) -> Vec<Tool> {
    let shown = LISTED.iter().filter(|tool| with_sql || tool.name != SQL).cloned();
    let mut shown: Vec<Tool> = shown.collect();
    for tool in &mut shown {
        let schema = Arc::make_mut(&mut tool.input_schema);
        let Some(Value::Object(arguments)) = schema.get_mut("properties") else { continue };
        let rare: &[&str] = match &*tool.name {
            "symbol" => &["max_bytes"],
            "find_file" => &["max_bytes", "language"],
            "diff" => &["max_bytes", "context_lines"],
            "list_repos" => &["max_bytes", FOLDER],
            _ => &[],
        };
        arguments.retain(|name, _| !rare.contains(&name.as_str()));
        for argument in arguments.values_mut().filter_map(Value::as_object_mut) {
            argument.remove("maxLength");
            argument.remove("maximum");
            let is_nothing = |value: &Value| [json!(false), json!(0), json!("")].contains(value);
            if argument.get("default").is_some_and(is_nothing) {
                argument.remove("default");
            }
        }
    }
    shown
}

/// Returns the tool with a name.
///
/// # Errors
/// There is none, or the agent may not call it.
pub(super) fn named(name: &str, with_sql: bool) -> Result<&'static Tool> {
    let known = LISTED.iter().chain(UNLISTED.iter()).find(|tool| tool.name == name);
    if let Some(tool) = known.filter(|tool| with_sql || tool.name != SQL) {
        return Ok(tool);
    }
    if known.is_some() {
        bail!("the tool sql has nothing to run statements on; use search");
    }
    let names = || LISTED.iter().map(|tool| &*tool.name).filter(|name| with_sql || *name != SQL);
    let shown = query::shortened(name, MAX_NAME);
    if let Some(near) = query::nearest(name, names()).or_else(|| meant(name)) {
        bail!("unknown tool {shown}; did you mean {near}?");
    }
    bail!("unknown tool {shown}; use {}", names().collect::<Vec<_>>().join(", "))
}

/// Returns the tool that an agent means by a name that other servers use.
fn meant(name: &str) -> Option<&'static str> {
    const NAMES: [(&str, &str); 12] = [
        ("grep", "search"),
        ("code", "search"),
        ("quer", "search"),
        ("glob", "find_file"),
        ("path", "find_file"),
        ("defin", "symbol"),
        ("refer", "symbol"),
        ("caller", "symbol"),
        ("read", "read_file"),
        ("cat", "read_file"),
        ("open", "read_file"),
        ("repo", "list_repos"),
    ];
    let name = name.to_lowercase();
    NAMES.iter().find(|(part, _)| name.contains(part)).map(|(_, tool)| *tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Most bytes of the list.
    const MOST: usize = 9 << 10;

    #[test]
    fn the_list_is_short() {
        let all = listed(true);
        for tool in &all {
            let bytes = serde_json::to_string(tool).unwrap().len();
            println!("{:<12}{bytes:>6}", tool.name);
        }
        let list = rmcp::model::ListToolsResult::with_all_items(all);
        let bytes = serde_json::to_string(&list).unwrap().len();
        assert!(bytes <= MOST, "{bytes} bytes");
        assert!(listed(false).iter().all(|tool| tool.name != SQL));
    }

    #[test]
    fn unknown_tools_have_a_near_one() {
        let why = |name: &str| named(name, true).unwrap_err().to_string();
        assert_eq!(why("serach"), "unknown tool serach; did you mean search?");
        assert_eq!(why("find_references"), "unknown tool find_references; did you mean symbol?");
        assert_eq!(why("readfile"), "unknown tool readfile; did you mean read_file?");
        assert_eq!(
            why("write"),
            "unknown tool write; use search, symbol, read_file, find_file, diff, list_repos, sql"
        );
        for name in ["serach", "write", &"x".repeat(1000)] {
            assert!((40..=120).contains(&why(name).len()), "{}", why(name));
        }
        assert!(named("outline", false).is_ok());
        assert!(named("sql", false).unwrap_err().to_string().contains("nothing to run"));
    }
}
