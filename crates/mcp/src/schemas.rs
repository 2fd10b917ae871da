//! The schemas of the tools' answers as JSON, for programs that ask for it. `tools/list` does not have them, since agents
//! read texts.

use serde_json::{Map, Value, json};

/// The tools, also those that are not listed.
const TOOLS: [&str; 11] = [
    "search",
    "symbol",
    "read_file",
    "find_file",
    "diff",
    "list_repos",
    "sql",
    "docs",
    "definitions",
    "references",
    "outline",
];

/// Returns the schemas of all tools, by their names.
pub(super) fn all() -> Value {
    let schemas = TOOLS.iter().map(|tool| ((*tool).to_owned(), output(tool)));
    Value::Object(schemas.collect::<Map<_, _>>())
}

/// Returns the schema of a tool's answer.
fn output(tool: &str) -> Value {
    let text = || json!({ "type": "string" });
    let number = || json!({ "type": "integer", "minimum": 0 });
    let lines = |more: Value| {
        let mut line = json!({
            "line": number(), "text": text(),
            "in": { "type": "string", "description": "The enclosing definition." },
            "in_lines": { "type": "array", "items": number(), "description": "Its first and its last line." },
        });
        extend(&mut line, more);
        json!({ "type": "array", "items": object(&line, &["line", "text"]) })
    };
    let basis = || json!({ "enum": ["precise", "search"], "description": "precise: from a SCIP index; search: by name only." });
    let file = |more: Value| {
        let mut file = json!({
            "repo": text(), "path": text(), "language": text(),
            "warning": { "type": "string", "description": "Why to handle the file with care." },
        });
        extend(&mut file, more);
        file
    };
    // What searches of several trees and of changes say of a file.
    let of_trees = || {
        let commit = json!({ "hash": text(), "author": text(), "summary": text(), "time": { "type": "integer" } });
        json!({
            "trees": { "type": "array", "items": text(), "description": "The first trees with it, if there are several." },
            "trees_total": number(), "renamed_from": text(),
            "commit": object(&commit, &["hash", "author", "summary", "time"]),
        })
    };
    let definition = || {
        let one = json!({
            "line": number(), "text": text(), "name": text(), "kind": text(), "container": text(), "basis": basis(),
        });
        let needed = ["repo", "path", "line", "text", "name", "kind", "basis"];
        object(&file(one), &needed)
    };
    let (name, item, next) = match tool {
        "search" => {
            let matches = json!({
                "matches": { "type": "boolean", "description": "true: the line matches; false: it is context." },
                "defines": { "type": "string", "description": "The kinds of the names in the query that the line defines." },
                "change": { "enum": ["added", "removed"] },
            });
            let copy = object(&json!({ "repo": text(), "path": text() }), &["repo", "path"]);
            let copies = json!({ "type": "array", "items": copy, "description": "Files with the same contents." });
            let total = json!({ "type": "integer", "minimum": 1, "description": "The number of all copies." });
            let mut one =
                file(json!({ "lines": lines(matches), "copies": copies, "copies_total": total }));
            extend(&mut one, of_trees());
            ("files", object(&one, &["repo"]), Some(("cursor", "string")))
        }
        "docs" => {
            let one = file(json!({ "title": text(), "text": text() }));
            ("documents", object(&one, &["repo", "path", "title", "text"]), None)
        }
        "definitions" => ("definitions", definition(), None),
        "references" | "symbol" => {
            let label = json!({ "label": { "type": "string", "description": "call, type, use, import, comment or \
            string." } });
            let one = file(json!({ "lines": lines(label), "basis": basis() }));
            ("files", object(&one, &["repo", "path", "lines", "basis"]), None)
        }
        "outline" => {
            let one = json!({
                "name": text(), "kind": text(), "container": text(), "depth": number(), "first_line": number(),
                "last_line": number(),
            });
            let needed = ["name", "kind", "depth", "first_line", "last_line"];
            ("symbols", object(&one, &needed), Some(("next_offset", "integer")))
        }
        "diff" => {
            let texts = json!({ "type": "array", "items": text(), "description": "Lines of the unified diff." });
            let one = json!({
                "repo": text(), "path": text(), "renamed_from": text(), "lines": texts, "added": number(),
                "removed": number(), "status": { "enum": ["added", "deleted", "renamed", "modified"] },
                "left_out": { "type": "string", "description": "Why its contents were not compared." },
            });
            let needed = ["repo", "path", "status", "lines"];
            ("files", object(&one, &needed), Some(("next_offset", "integer")))
        }
        // Of a file, its lines; of an outline, its symbols.
        "read_file" => ("lines", text(), None),
        "sql" => {
            ("rows", json!({ "type": "array", "items": { "type": ["string", "null"] } }), None)
        }
        "find_file" => {
            ("files", object(&file(json!({})), &["repo", "path"]), Some(("next_offset", "integer")))
        }
        _ => {
            let one = json!({
                "repo": text(), "files": number(), "bytes": number(), "left_out": number(), "indexed_at": text(),
                "about": {
                    "type": "object",
                    "description": "What its host or its clone's configuration says: archived, fork, public, topics, stars, \
                                    description, ...; null is unknown.",
                },
                "scip": { "type": "array", "items": text(), "description": "Its SCIP indexes." },
                "trees": { "type": "array", "items": text(), "description": "Its first trees, if it has several." },
                "trees_total": number(), "looked_at": text(),
                "failure": { "type": "object", "description": "Why it could not be updated." },
                "queue": { "type": "object", "description": "Its place in the queue." },
            });
            let needed = ["repo", "files", "bytes", "left_out", "indexed_at", "looked_at", "scip"];
            ("repositories", object(&one, &needed), Some(("next_offset", "integer")))
        }
    };
    let mut all = json!({
        "summary": {
            "type": "string",
            "description": "The first lines of the text: what was found, whether this is all, and how to get the rest.",
        },
        "left_out": {
            "type": "integer",
            "minimum": 0,
            "description": "Number of entries at the end of the text that this JSON omits for lack of space.",
        },
        name: { "type": "array", "items": item },
        "epoch": { "type": "integer", "minimum": 0, "description": "The state of the index that was read." },
        "in_trees": { "type": "string", "description": "The trees that were read instead of main checkouts." },
    });
    let mut needed = vec!["summary", "left_out", name];
    if let Some((next, kind)) = next {
        let what = "The position of the next answer; null at the end.";
        all[next] = json!({ "type": [kind, "null"], "description": what });
    }
    if tool == "search" {
        let one = object(&file(json!({ "line": number() })), &["repo", "path", "line"]);
        all["near_definitions"] = json!({
            "type": "array", "items": one,
            "description": "Definitions of qualified names in the query, in files that do not match.",
        });
    }
    if tool == "read_file" {
        all["first_line"] = json!({
            "type": "integer", "minimum": 0, "description": "The number of the first line.",
        });
        needed.push("first_line");
    }
    if tool == "search" {
        all["by_words"] = all["files"].clone();
        // Then the files are those of the repository in which the agent works.
        all["everywhere"] = all["files"].clone();
    }
    if tool == "symbol" {
        // Its answers have definitions, files with references, or both.
        needed.retain(|needed| *needed != name);
        all["definitions"] = json!({ "type": "array", "items": definition() });
    }
    if tool == "sql" {
        all["columns"] = json!({ "type": "array", "items": text() });
    }
    object(&all, &needed)
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn extend(object: &mut Value, more: Value) {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        object.extend(more);
    }
}
