//! Makes the `OpenAPI` document (<https://spec.openapis.org/oas/v3.1.0>) from the declarations of endpoints.
//! `schemas.json` has the schemas of answers.

use serde_json::{Map, Value, json};

use super::endpoint::{Admits, Answer, Class, Content, Endpoint};
use super::params::{Kind, Param};

const DESCRIPTION: &str = "\
Search repositories by regular expression. Endpoints that change nothing use GET. Browsers (Accept: text/html) get pages at the same \
addresses. Answers are compressed with zstd or gzip if the client accepts it. The server sends no CORS headers, so \
pages of other sites cannot read answers. An unknown parameter gets 400 (pages ignore it). A server on a loopback \
address accepts only localhost and loopback addresses as host name, and names given with --host NAME; any other name \
gets 421. A browser's request for a page of another site gets 403.";

/// The name of the only security scheme.
const TOKEN: &str = "token";

/// Returns the document, as it is sent and as it is in `docs/openapi.json`.
pub(crate) fn document(endpoints: &[Endpoint]) -> String {
    let paths: Map<String, Value> = endpoints
        .iter()
        .filter_map(|endpoint| {
            let method = if endpoint.class == Class::Queue { "post" } else { "get" };
            Some((endpoint.path.to_owned(), json!({ method: entry(endpoint)? })))
        })
        .collect();
    let schemas: Value =
        serde_json::from_str(include_str!("schemas.json")).expect("the schemas are JSON");
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "codesearch",
            "version": env!("CARGO_PKG_VERSION"),
            "description": DESCRIPTION,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "The server that sends this document." }],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                TOKEN: {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "A token, if the server requires one (codesearch token).",
                },
            },
        },
    });
    format!("{document:#}\n")
}

fn entry(endpoint: &Endpoint) -> Option<Value> {
    let doc = endpoint.doc?;
    let has_params = !endpoint.params.documented.is_empty();
    // Browsers get every answer as a page.
    let is_page =
        |param: &Param| matches!(param.kind, Kind::OneOf(values) if values.contains(&"html"));
    let has_pages = endpoint.params.documented.iter().any(is_page);
    let answers = Answer::ANYWHERE.iter();
    let answers = answers.chain(has_params.then_some(&Answer::BAD)).chain(doc.answers);
    let answers = answers.chain(endpoint.class.answers()).chain(endpoint.admits.answers());
    let responses: Map<String, Value> = answers
        .map(|answer| {
            let mut entry = response(answer);
            let content = entry.get_mut("content").and_then(Value::as_object_mut);
            if let Some(content) = content.filter(|_| has_pages) {
                content.insert("text/html".to_owned(), json!({ "schema": { "type": "string" } }));
            }
            (answer.status.to_string(), entry)
        })
        .collect();
    let security = match endpoint.admits {
        Admits::Anyone => json!([]),
        // A server without tokens accepts requests without one.
        Admits::Clients | Admits::Operators | Admits::Ingesters => json!([{ TOKEN: [] }, {}]),
    };
    let mut entry = json!({
        "operationId": operation(endpoint.path),
        "summary": doc.summary,
        "security": security,
        "responses": responses,
    });
    if !doc.description.is_empty() {
        entry["description"] = doc.description.into();
    }
    let named = endpoint.path.split(['{', '}']).skip(1).step_by(2).map(|name| {
        json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
    });
    let params: Vec<Value> =
        named.chain(endpoint.params.documented.iter().map(Param::openapi)).collect();
    if !params.is_empty() {
        entry["parameters"] = params.into();
    }
    Some(entry)
}

/// Returns the operation's id, from which generated clients name their functions: `searchStream`.
fn operation(path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.enumerate().map(|(at, word)| match word.chars().next() {
        Some(first) if at > 0 => format!("{}{}", first.to_ascii_uppercase(), &word[1..]),
        _ => word.to_owned(),
    });
    name.collect()
}

fn response(answer: &Answer) -> Value {
    let schema = |name: &&str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let (kind, schema) = match answer.content {
        Content::Nothing => return json!({ "description": answer.says }),
        Content::Json([one]) => ("application/json", schema(one)),
        Content::Json(several) => {
            ("application/json", json!({ "oneOf": several.iter().map(schema).collect::<Vec<_>>() }))
        }
        Content::Text(kind) => (kind, json!({ "type": "string" })),
        Content::Rows(one) => {
            let csv = json!({ "schema": { "type": "string" } });
            let content =
                json!({ "application/json": { "schema": schema(&one) }, "text/csv": csv });
            return json!({ "description": answer.says, "content": content });
        }
        Content::Events(data) => {
            let data: Vec<Value> = data.iter().map(schema).collect();
            // Before version 3.2 of OpenAPI, this schema describes each event.
            let event = json!({
                "type": "object",
                "required": ["event", "data"],
                "properties": {
                    "event": { "type": "string" },
                    "id": { "type": "string" },
                    "data": {
                        "type": "string",
                        "contentMediaType": "application/json",
                        "contentSchema": { "oneOf": data },
                    },
                },
            });
            ("text/event-stream", event)
        }
        Content::Only(text) => ("text/plain", json!({ "type": "string", "const": text })),
    };
    json!({ "description": answer.says, "content": { kind: { "schema": schema } } })
}
