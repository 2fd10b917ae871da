//! The arguments of a call: simplified schemas, and lenient parsing of values.
//!
//! Agents, and the models behind them, write `"5"` and `5.0` for 5, and null for arguments that they leave out. These
//! are accepted. Any other wrong value gets a sentence that names the argument and says what it takes.

use anyhow::{Result, bail};
use query::shortened;
use rmcp::model::JsonObject;
use serde_json::{Value, json};

/// Longest text of an argument without a limit of its own, in bytes: that of a path on most systems.
const MAX_TEXT: usize = 4096;

/// Longest number given as text, in bytes.
const MAX_NUMBER: usize = 64;

/// Names that agents know from other tools, and the names here, if a tool has such an argument.
const SYNONYMS: [(&str, &str); 26] = [
    ("pattern", "query"),
    ("regex", "query"),
    ("q", "query"),
    ("text", "query"),
    ("question", "query"),
    ("statement", "query"),
    ("sql", "query"),
    ("symbol", "name"),
    ("identifier", "name"),
    ("query", "name"),
    ("query", "typed"),
    ("name", "typed"),
    ("pattern", "typed"),
    ("repository", "repo"),
    ("repository", "filter"),
    ("repo", "filter"),
    ("file", "path"),
    ("file_path", "path"),
    ("lang", "language"),
    ("start_line", "from_line"),
    ("end_line", "to_line"),
    ("max_results", "limit"),
    ("revisions", "range"),
    ("rev", "revision"),
    ("cwd", "folder"),
    ("context", "context_lines"),
];

/// Most bytes of a value that an error repeats.
const MAX_TOLD: usize = 20;

/// Simplifies a schema: one type for each argument, without null and without the widths of numbers.
pub(super) fn plain(schema: &mut JsonObject) {
    schema.remove("$schema");
    schema.remove("title");
    schema.remove("description");
    let Some(Value::Object(arguments)) = schema.get_mut("properties") else { return };
    for argument in arguments.values_mut().filter_map(Value::as_object_mut) {
        argument.remove("format");
        if argument.get("default") == Some(&Value::Null) {
            argument.remove("default");
        }
        let types = argument.get("type").and_then(Value::as_array).cloned().unwrap_or_default();
        if let Some(only) = types.into_iter().find(|one| one != "null") {
            argument.insert("type".to_owned(), only);
        }
    }
}

/// Converts the arguments of a call to the types in the tool's schema.
///
/// # Errors
/// An argument is unknown or missing, or has a wrong value.
pub(super) fn understood(tool: &str, schema: &JsonObject, given: &JsonObject) -> Result<Value> {
    let empty = JsonObject::new();
    let known = known(schema).unwrap_or(&empty);
    let mut arguments = JsonObject::new();
    let mut all = Vec::with_capacity(given.len());
    for (name, value) in given {
        match meant(known, given, name) {
            Some(here) => all.push((here.to_owned(), value.clone())),
            None => bail!("{}", unknown(tool, name, known)),
        }
    }
    for (name, value) in all {
        let takes = &known[&name];
        let is_text = takes["type"] == "string";
        let most = takes["maxLength"].as_u64().map(|most| most as usize);
        let most = most.unwrap_or(if is_text { MAX_TEXT } else { MAX_NUMBER });
        // Parsing the value later may take more than linear time.
        if value.as_str().is_some_and(|text| text.len() > most) {
            bail!("{name} is longer than {most} bytes; give a shorter text");
        }
        if !value.is_null() {
            let Some(value) = of_type(takes, &value) else {
                bail!("the argument {name} takes {}, not {}", wanted(takes), told(&value))
            };
            arguments.insert(name, value);
        }
    }
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !arguments.contains_key(name) {
            bail!("{tool} needs the argument {name}; give {}", wanted(&known[name]));
        }
    }
    Ok(Value::Object(arguments))
}

/// Returns those of the arguments of a call that the tool has, by their names there.
pub(super) fn declared<'s, 'g>(
    schema: &'s JsonObject,
    given: &'g JsonObject,
) -> Vec<(&'s str, &'g Value)> {
    let Some(known) = known(schema) else { return Vec::new() };
    given.iter().filter_map(|(name, value)| Some((meant(known, given, name)?, value))).collect()
}

/// Returns the arguments in a schema.
fn known(schema: &JsonObject) -> Option<&JsonObject> {
    schema.get("properties")?.as_object()
}

/// Returns the argument that an agent means by a name, if there is one.
fn meant<'s>(known: &'s JsonObject, given: &JsonObject, name: &str) -> Option<&'s str> {
    let here = |name: &str| known.get_key_value(name).map(|(name, _)| name.as_str());
    here(name).or_else(|| {
        let mut synonyms = SYNONYMS.iter().filter(|(other, _)| *other == name);
        synonyms.find_map(|(_, meant)| here(meant)).filter(|meant| !given.contains_key(*meant))
    })
}

/// Returns the error for an argument that a tool does not have.
fn unknown(tool: &str, name: &str, known: &JsonObject) -> String {
    let shown = shortened(name, MAX_TOLD);
    if let Some(near) = query::nearest(name, known.keys().map(String::as_str)) {
        return format!("{tool} has no argument {shown}; did you mean {near}?");
    }
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    // Those that few calls need are left out of a long list.
    let few = ["copies", "cursor", "epoch", "folder", "fresh", "from_byte", "max_bytes", "offset"];
    let names: Vec<&str> = names.into_iter().filter(|name| !few.contains(name)).collect();
    format!("{tool} has no argument {shown}; use {}", names.join(", "))
}

/// Returns a value as an error repeats it.
fn told(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(text) => shortened(text, MAX_TOLD).into_owned(),
        other => other.to_string(),
    }
}

/// Converts a value to the type that a schema wants; `None` if that is not possible.
fn of_type(takes: &Value, value: &Value) -> Option<Value> {
    match takes["type"].as_str() {
        Some("integer") => {
            let number = match value {
                Value::String(text) => text.trim().parse().ok()?,
                other => other.as_f64()?,
            };
            let bounds = takes["minimum"].as_f64().unwrap_or(0.0)
                ..=takes["maximum"].as_f64().unwrap_or(1e15);
            (number.fract() == 0.0 && bounds.contains(&number)).then(|| json!(number as u64))
        }
        Some("boolean") => match value {
            Value::Bool(_) => Some(value.clone()),
            Value::String(text) => text.trim().to_lowercase().parse::<bool>().ok().map(Value::Bool),
            _ => None,
        },
        Some("string") => {
            let text = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                _ => return None,
            };
            let choice = takes["enum"].as_array();
            choice.is_none_or(|choice| choice.contains(&json!(text))).then(|| json!(text))
        }
        _ => Some(value.clone()),
    }
}

/// Describes the values that an argument takes.
fn wanted(takes: &Value) -> String {
    match (takes["type"].as_str(), takes["enum"].as_array()) {
        (_, Some(choice)) => {
            let names: Vec<&str> = choice.iter().filter_map(Value::as_str).collect();
            names.join(" or ")
        }
        (Some("boolean"), _) => "true or false".to_owned(),
        (Some("integer"), _) => match (takes["minimum"].as_u64(), takes["maximum"].as_u64()) {
            (from, Some(upto)) => format!("a whole number from {} to {upto}", from.unwrap_or(0)),
            (from, None) => format!("a whole number from {}", from.unwrap_or(0)),
        },
        _ => "a text".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> JsonObject {
        let mut schema = json!({
            "$schema": "x",
            "properties": {
                "query": { "type": "string" },
                "limit": { "type": ["integer", "null"], "format": "uint", "default": null, "minimum": 1, "maximum": 500 },
                "order": { "type": "string", "enum": ["best", "exhaustive"] },
            },
            "required": ["query"],
        });
        plain(schema.as_object_mut().unwrap());
        schema.as_object().unwrap().clone()
    }

    #[test]
    fn schemas_are_plain() {
        assert_eq!(
            schema()["properties"]["limit"],
            json!({ "type": "integer", "minimum": 1, "maximum": 500 })
        );
        assert_eq!(schema().get("$schema"), None);
    }

    #[test]
    fn numbers_are_understood_however_they_are_written() {
        let of = |given: Value| {
            let given = given.as_object().unwrap().clone();
            understood("search", &schema(), &given).map_err(|error| error.to_string())
        };
        for limit in [json!(5), json!(5.0), json!("5"), json!(" 5.0 ")] {
            assert_eq!(
                of(json!({ "query": "x", "limit": limit })),
                Ok(json!({ "query": "x", "limit": 5 }))
            );
        }
        assert_eq!(of(json!({ "query": 404, "limit": null })), Ok(json!({ "query": "404" })));
        for limit in
            [json!(0), json!(501), json!(1.5), json!("many"), json!(-1), json!([5]), json!(true)]
        {
            let why = of(json!({ "query": "x", "limit": limit })).unwrap_err();
            let expected = "the argument limit takes a whole number from 1 to 500, not ";
            assert!(why.starts_with(expected) && why.len() <= 100, "{why}");
        }
        for (given, why) in [
            (json!({}), "search needs the argument query; give a text"),
            (json!({ "query": null }), "search needs the argument query; give a text"),
            (json!({ "query": {} }), "the argument query takes a text, not an object"),
            (
                json!({ "query": "x".repeat(4097) }),
                "query is longer than 4096 bytes; give a shorter text",
            ),
            (
                json!({ "query": "x", "limit": "1".repeat(65) }),
                "limit is longer than 64 bytes; give a shorter text",
            ),
            (
                json!({ "query": "x", "order": "x".repeat(4097) }),
                "order is longer than 4096 bytes; give a shorter text",
            ),
            (
                json!({ "query": "x", "order": "worst" }),
                "the argument order takes best or exhaustive, not worst",
            ),
            (
                json!({ "query": "x", "lines": 1 }),
                "search has no argument lines; use limit, order, query",
            ),
            (json!({ "querry": "x" }), "search has no argument querry; did you mean query?"),
        ] {
            assert!((40..=100).contains(&why.len()), "{why}");
            assert_eq!(of(given), Err(why.to_owned()));
        }
    }

    #[test]
    fn names_that_other_tools_use_are_understood() {
        let of = |given: Value| {
            let given = given.as_object().unwrap().clone();
            understood("search", &schema(), &given).map_err(|error| error.to_string())
        };
        let expected = Ok(json!({ "query": "x", "limit": 5 }));
        assert_eq!(of(json!({ "pattern": "x", "max_results": 5 })), expected);
        // An argument of its own name is never replaced.
        assert!(of(json!({ "pattern": "x", "query": "y" })).unwrap_err().contains("pattern"));
        assert!(of(json!({ "repository": "x", "query": "y" })).is_err());
    }
}
