//! `/audit`: who asked what, for operators; a page for browsers, JSON for programs. Reading it is audited as any request.

use askama::Template;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};
use store::{AuditEvent, AuditFilter};

use super::link;
use super::render::render;
use super::search_page::failed;
use crate::endpoint::{Admits, Answer, Class, Content, Doc, Endpoint};
use crate::error::Failure;
use crate::params::names::FORMAT;
use crate::params::{CheckedParams, DeclaredParams, Kind, Param, StrictParams, wants_page};
use crate::server::Shared;

/// Events on a page.
const SHOWN: usize = 100;

/// Most events in an answer, which is complete in memory before it is sent.
const MOST: usize = 1000;

const OF: Param = Param::text("of", "Only requests of this user.").at_most(512);
const REPO: Param =
    Param::text("repo", "Only answers with this repository; * stands for any characters.");
const SINCE: Param =
    Param::word("since", "Only since this time: 24h, 2026-01-31, 2026-01-31T12:00Z.");
const UNTIL: Param = Param::word("until", "Only before this time.");
const INTERFACE: Param = Param::one_of(
    "interface",
    &audit::INTERFACES,
    "Only requests through this interface; server: what servers note of the audit itself.",
);
const REFUSED: Param = Param::word("refused", "1 for refused requests only.");
const LIMIT: Param = Param {
    kind: Kind::Number { least: 1, most: MOST, instead: "a number of events from 1 to 1000" },
    ..Param::text("limit", "Maximum number of events. Default 100.")
};
const CURSOR: Param = Param::word("cursor", "The cursor of the previous answer, from next.");

/// `/audit`.
pub(crate) const AUDIT: Endpoint = Endpoint {
    path: "/audit",
    route: || get(audit),
    class: Class::Free,
    admits: Admits::Operators,
    params: DeclaredParams {
        documented: &[OF, REPO, SINCE, UNTIL, INTERFACE, REFUSED, LIMIT, CURSOR, FORMAT],
        undocumented: &[],
    },
    doc: Some(Doc {
        summary: "Who asked what, and which repositories were in the answers",
        description: "The newest events first. Reading them is an event, too. codesearch audit exports all.",
        answers: &[
            Answer::ok("Events.", Content::Json(&["AuditEvents"])),
            Answer::BAD,
            Answer::NOT_FOUND,
        ],
    }),
};

/// The parameters of `/audit`.
struct AuditParams {
    given: CheckedParams,
}

impl From<CheckedParams> for AuditParams {
    fn from(given: CheckedParams) -> Self {
        Self { given }
    }
}

impl AuditParams {
    fn filter(&self) -> Result<AuditFilter, Failure> {
        let some = |param| self.given.get(param).map(str::to_owned);
        let time = |param: &Param| match self.given.get(param) {
            None => Ok(None),
            Some(text) => {
                let time = statistics::time(text).map_err(|why| format!("{why:#}"));
                let refused = |why| Failure::bad_request(format!("{}=: {why}", param.name));
                time.and_then(audit::micros).map(Some).map_err(refused)
            }
        };
        Ok(AuditFilter {
            who: some(&OF),
            repo: some(&REPO),
            since: time(&SINCE)?,
            until: time(&UNTIL)?,
            interface: some(&INTERFACE),
            refused: self.refused(),
        })
    }

    fn refused(&self) -> bool {
        self.given.get(&REFUSED).is_some_and(|value| !matches!(value, "0" | "no" | "false"))
    }

    /// Returns the event before which the answer begins, as its time and number.
    fn cursor(&self) -> Result<Option<(i64, i64)>, Failure> {
        let Some(text) = self.given.get(&CURSOR) else { return Ok(None) };
        match audit::of_cursor(text) {
            Some(cursor) => Ok(Some(cursor)),
            None => Err(Failure::bad_request("the cursor is invalid; use next of an answer")),
        }
    }

    /// Returns the address of the page with the same filter, from an event on.
    fn after(&self, cursor: &str) -> String {
        let filter = [&OF, &REPO, &SINCE, &UNTIL, &INTERFACE, &REFUSED, &LIMIT];
        let given = filter.iter().filter_map(|param| Some((param.name, self.given.get(param)?)));
        let all: Vec<(&str, &str)> = given.chain([(CURSOR.name, cursor)]).collect();
        link::to("/audit", &all)
    }
}

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage<'a> {
    query: &'a str,
    of: &'a str,
    repo: &'a str,
    since: &'a str,
    until: &'a str,
    /// Each interface, and whether it is chosen.
    interfaces: Vec<(&'static str, bool)>,
    refused: bool,
    rows: Vec<RowView>,
    /// Number of events that were lost since the server's start.
    lost: u64,
    /// The address of older events.
    next: Option<String>,
}

/// An event.
struct RowView {
    at: String,
    utc: String,
    who: String,
    /// The address of all events of that name; empty if it is none.
    own: String,
    sender: String,
    interface: String,
    endpoint: String,
    query: String,
    parameters: String,
    /// What became of it, unless it was answered.
    failed: String,
    is_alarm: bool,
    contents: String,
    /// All repositories of the answer with the addresses of their events; empty if the contents name them.
    repos: Vec<(String, String)>,
    /// Number of further repositories.
    further: i32,
}

async fn audit(
    State(server): State<Shared>,
    headers: HeaderMap,
    StrictParams(params): StrictParams<AuditParams>,
) -> Response {
    let page = wants_page(&headers, params.given.get(&FORMAT));
    match answer(&server, &params, page).await {
        Ok(response) => response,
        Err(failure) if page => failed("", failure),
        Err(failure) => failure.into_response(),
    }
}

async fn answer(server: &Shared, params: &AuditParams, page: bool) -> Result<Response, Failure> {
    let Some(queue) = &server.audit else {
        return Err(Failure::no_such("this server keeps no audit; start it with --audit"));
    };
    let filter = params.filter()?;
    let limit = params.given.number(&LIMIT).unwrap_or(SHOWN);
    let store = &server.admin().store;
    let mut events = store.audit_before(&filter, params.cursor()?, limit + 1).await?;
    let goes_on = events.len() > limit;
    events.truncate(limit);
    let last = events.last().filter(|_| goes_on);
    let next = last.map(audit::cursor);
    audit::told().count(events.len());
    if !page {
        let events: Vec<Value> = events.iter().map(audit::json).collect();
        return Ok(Json(json!({ "events": events, "next": next })).into_response());
    }
    let text = |param| params.given.get(param).unwrap_or_default();
    let chosen = text(&INTERFACE);
    let page = AuditPage {
        query: "",
        of: text(&OF),
        repo: text(&REPO),
        since: text(&SINCE),
        until: text(&UNTIL),
        interfaces: audit::INTERFACES.map(|name| (name, name == chosen)).to_vec(),
        refused: params.refused(),
        rows: events.iter().map(row).collect(),
        lost: queue.counts().lost,
        next: next.map(|next| params.after(&next)),
    };
    Ok(render(StatusCode::OK, &page))
}

fn row(event: &AuditEvent) -> RowView {
    let all_of = |name: &'static str, value: &str| link::to("/audit", &[(name, value)]);
    let has_more = event.repos_count > 1;
    let repos = event.repos.iter().filter(|_| has_more);
    let is_note = event.interface == "server";
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let is_answered = event.outcome == "answered";
    let contents = audit::contents(event);
    RowView {
        at: audit::time(event.at),
        utc: audit::utc(event.at),
        who: audit::who(event).to_owned(),
        own: event.who.as_ref().map_or_else(String::new, |who| all_of(OF.name, who)),
        sender: text(&event.sender),
        interface: event.interface.to_string(),
        endpoint: event.endpoint.to_string(),
        query: if is_note { String::new() } else { text(&event.query) },
        parameters: text(&event.parameters),
        failed: if is_answered { String::new() } else { audit::outcome(event) },
        is_alarm: matches!(&*event.outcome, "refused" | "lost" | "gap"),
        contents: if is_answered && contents.is_empty() { "answered".to_owned() } else { contents },
        repos: repos.map(|repo| (repo.clone(), all_of(REPO.name, repo))).collect(),
        further: event.repos_count - event.repos.len() as i32,
    }
}
