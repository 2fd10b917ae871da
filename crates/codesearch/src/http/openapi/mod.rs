//! The `OpenAPI` document (<https://spec.openapis.org/oas/v3.1.0>), made of what the endpoints declare. `schemas.json` has
//! the shapes of answers.

use serde_json::{Map, Value, json};

use super::endpoint::{Answer, Content, Endpoint};
use super::params::Param;

const DESCRIPTION: &str = "\
Search repositories by regular expression. All addresses are asked with GET. A browser (Accept: text/html) is given \
pages at the same addresses. Answers are compressed with zstd or gzip for clients that ask for it. No other site may \
read answers (no CORS headers are sent). A parameter that an address does not have is refused with 400 (pages ignore \
it). A server on a loopback address that is asked by another name than localhost or a loopback address answers 421, \
unless it was started with --host NAME. What a browser asks for a page of another site is refused with 403.";

/// The document, as it is sent and as `docs/openapi.json` has it.
pub(crate) fn document(endpoints: &[Endpoint]) -> String {
    let paths: Map<String, Value> = endpoints
        .iter()
        .filter_map(|endpoint| Some((endpoint.path.to_owned(), json!({ "get": told(endpoint)? }))))
        .collect();
    let schemas: Value =
        serde_json::from_str(include_str!("schemas.json")).expect("the schemas are JSON");
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "codesearch",
            "version": env!("CARGO_PKG_VERSION"),
            "description": DESCRIPTION,
        },
        "paths": paths,
        "components": { "schemas": schemas },
    });
    format!("{document:#}\n")
}

fn told(endpoint: &Endpoint) -> Option<Value> {
    let doc = endpoint.doc?;
    let answers =
        doc.answers.iter().chain(endpoint.class.answers()).chain(endpoint.admits.answers());
    let responses: Map<String, Value> =
        answers.map(|answer| (answer.status.to_string(), response(answer))).collect();
    let mut told = json!({ "summary": doc.summary, "responses": responses });
    if !doc.description.is_empty() {
        told["description"] = doc.description.into();
    }
    if !endpoint.params.told.is_empty() {
        told["parameters"] = endpoint.params.told.iter().map(Param::openapi).collect();
    }
    Some(told)
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
        Content::Only(text) => ("text/plain", json!({ "const": text })),
    };
    json!({ "description": answer.says, "content": { kind: { "schema": schema } } })
}
