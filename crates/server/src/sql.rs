//! `/sql`: one query of the views of the index, which sees what its client sees.

use std::borrow::Cow;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use mcp::SQL_REFUSED;
use serde_json::{Value, json};
use statistics::Refusal;
use store::{More, SqlKind, SqlRows};

use super::endpoint::{Answer, Class, Content, Doc, Endpoint};
use super::error::Failure;
use super::identity::IsOperator;
use super::params::{CheckedParams, DeclaredParams, Kind, Pairs, Param};
use super::server::Server;

/// Longest statement, in bytes.
const MAX_STATEMENT: usize = 10_000;

/// Rows of an answer, unless the client asks for others.
const ROWS: usize = 100;

/// Most bytes of all values of an answer.
const MAX_BYTES: usize = 4 << 20;

/// The header of CSV that tells how many further rows there are: `12`, or `1000+`.
const CUT_ROWS: HeaderName = HeaderName::from_static("x-cut-rows");

const Q: Param =
    Param::text("q", "The statement: one SELECT, WITH, VALUES or TABLE. By POST, it is the body.")
        .at_most(MAX_STATEMENT);

const LIMIT: Param = Param {
    kind: Kind::Number { least: 1, most: 10_000, instead: "a number of rows from 1 to 10000" },
    ..Param::text("limit", "Maximum number of rows. Default 100.")
};

const FORMAT: Param =
    Param::one_of("format", &["json", "csv"], "csv for comma-separated values; else JSON.");

/// `/sql`.
pub(crate) const SQL: Endpoint = Endpoint {
    params: DeclaredParams { documented: &[Q, LIMIT, FORMAT], undocumented: &[] },
    doc: Some(Doc {
        summary: "Run one SQL query on the views of the index",
        description: "By GET with q, or by POST with the statement as the body. It sees the repositories that its client \
                      sees. docs/sql.md lists the views. Expected cost, time (10 s), rows, and bytes (4 MiB; 4,000 letters \
                      of a value) have limits; the answer counts what was cut.",
        answers: &[
            Answer::ok("Its rows.", Content::Rows("Rows")),
            Answer::BAD,
            Answer::UNAVAILABLE,
        ],
    }),
    ..Endpoint::undocumented("/sql", Class::Whole, || {
        get(sql).post(sql).fallback(|| async { Failure::method_not_allowed() })
    })
};

async fn sql(
    server: Server,
    IsOperator(is_operator): IsOperator,
    request: Request,
) -> Result<Response, Failure> {
    let given = Pairs::of(request.extensions()).check_strictly()?;
    let is_post = request.method() == Method::POST;
    let (head, body) = request.into_parts();
    let body = if is_post {
        let body = Request::from_parts(head, body);
        Bytes::from_request(body, &()).await.map_err(|error| match error.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Failure::too_large(),
            _ => Failure::bad_request(error.body_text()),
        })?
    } else {
        Bytes::new()
    };
    let statement = statement(&given, &body)?;
    audit::told().query(&statement);
    let Some(sql) = &server.sql else {
        let why = "this server has no role to run statements as";
        return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", why));
    };
    let bounds = mcp::sql_bounds(given.number(&LIMIT).unwrap_or(ROWS), MAX_BYTES);
    let found = sql.rows(server.view(), is_operator, &statement, &bounds).await;
    let found = found.map_err(|error| match error {
        store::Error::Statement(why) => Failure::new(StatusCode::BAD_REQUEST, "bad_query", why),
        store::Error::Refused(why) => {
            server.metrics.refuse(Refusal::Statement);
            audit::told().refused(SQL_REFUSED);
            Failure::new(StatusCode::BAD_REQUEST, SQL_REFUSED, why)
        }
        // What the administrator is to do.
        store::Error::Unsuitable(why) => {
            Failure::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", why)
        }
        other => other.into(),
    })?;
    Ok(match given.get(&FORMAT) {
        Some("csv") => csv(&found),
        _ => Json(rows(&found)).into_response(),
    })
}

/// Returns the statement of a request.
fn statement<'r>(given: &'r CheckedParams, body: &'r [u8]) -> Result<Cow<'r, str>, Failure> {
    let sent = std::str::from_utf8(body)
        .map_err(|_| Failure::bad_request("the statement is not UTF-8; encode it as UTF-8"))?;
    match (given.get(&Q), sent) {
        (Some(_), sent) if !sent.is_empty() => {
            Err(Failure::bad_request("the statement is given twice: as q= and as the body"))
        }
        (Some(q), _) => Ok(q.into()),
        (None, "") => Err(Failure::bad_request(
            "no statement; try: /sql?q=select repository, files from repositories",
        )),
        (None, sent) => Ok(sent.into()),
    }
}

/// Returns the JSON of an answer.
fn rows(found: &SqlRows) -> Value {
    let kind = |kind| match kind {
        SqlKind::Number => "number",
        SqlKind::Boolean => "boolean",
        SqlKind::Json => "json",
        SqlKind::Text => "text",
    };
    let columns: Vec<Value> = found
        .columns
        .iter()
        .map(|column| json!({ "name": column.name, "kind": kind(column.kind) }))
        .collect();
    let value = |(text, kind): (&Option<String>, SqlKind)| {
        let Some(text) = text else { return Value::Null };
        match kind {
            SqlKind::Text => json!(text),
            // What JSON lacks (NaN), and a shortened value, is text.
            _ => serde_json::from_str(text).unwrap_or_else(|_| json!(text)),
        }
    };
    let rows: Vec<Value> = found
        .rows
        .iter()
        .map(|row| {
            row.iter().zip(found.columns.iter().map(|column| column.kind)).map(value).collect()
        })
        .collect();
    let more = found.more.map(|more| {
        let why = match more {
            More::Rows => "limit",
            More::Bytes => "bytes",
        };
        json!({ "why": why, "rows": found.cut_rows, "counted": found.is_counted })
    });
    json!({ "columns": columns, "rows": rows, "more": more, "cut_values": found.cut_values })
}

/// Returns the CSV of an answer (RFC 4180), with a header line.
fn csv(found: &SqlRows) -> Response {
    let mut text = String::new();
    let names = found.columns.iter().map(|column| Some(column.name.as_str()));
    line(&mut text, names);
    for row in &found.rows {
        line(&mut text, row.iter().map(Option::as_deref));
    }
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    let more = if found.is_counted { "" } else { "+" };
    if let Ok(cut) = HeaderValue::from_str(&format!("{}{more}", found.cut_rows)) {
        headers.insert(CUT_ROWS, cut);
    }
    (headers, text).into_response()
}

/// Adds a line of CSV. An empty text is quoted, null is not.
fn line<'v>(text: &mut String, values: impl Iterator<Item = Option<&'v str>>) {
    for (at, value) in values.enumerate() {
        if at > 0 {
            text.push(',');
        }
        let Some(value) = value else { continue };
        if value.is_empty() || value.contains([',', '"', '\n', '\r']) {
            text.push('"');
            text.push_str(&value.replace('"', "\"\""));
            text.push('"');
        } else {
            text.push_str(value);
        }
    }
    text.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use store::SqlColumn;

    use super::*;

    #[test]
    fn values_have_their_kinds() {
        let column = |name: &str, kind| SqlColumn { name: name.to_owned(), kind };
        let some = |text: &str| Some(text.to_owned());
        let found = SqlRows {
            columns: vec![
                column("n", SqlKind::Number),
                column("b", SqlKind::Boolean),
                column("j", SqlKind::Json),
                column("t", SqlKind::Text),
            ],
            rows: vec![
                vec![some("1.5"), some("true"), some("{\"a\": 1}"), some("1")],
                vec![some("NaN"), None, some("{\"a\"[... 3 letters ...]"), some("a,\"b\"")],
            ],
            more: Some(More::Rows),
            cut_rows: 1000,
            is_counted: false,
            cut_values: 1,
        };
        let rows = rows(&found);
        assert_eq!(
            rows["rows"],
            json!([
                [1.5, true, { "a": 1 }, "1"],
                ["NaN", null, "{\"a\"[... 3 letters ...]", "a,\"b\""]
            ])
        );
        assert_eq!(rows["more"], json!({ "why": "limit", "rows": 1000, "counted": false }));
        let response = csv(&found);
        assert_eq!(response.headers()[CUT_ROWS], "1000+");
        let mut text = String::new();
        line(&mut text, [Some("a,\"b\""), None, Some(""), Some("x y")].into_iter());
        assert_eq!(text, "\"a,\"\"b\"\"\",,\"\",x y\r\n");
    }
}
