//! The pages of monitors. Their forms work without scripts; requests from pages of other sites are refused for every
//! address (`hosts`).

use askama::Template;
use axum::http::HeaderValue;
use axum::http::StatusCode;
use axum::http::header::CACHE_CONTROL;
use axum::response::Response;
use store::{Delivery, Hit, Monitor, News};

use super::Shown;
use super::form::{Tested, Wanted};
use crate::pages::{file_address, link_to, render};
use request::human::{count, since};

#[derive(Template)]
#[template(path = "monitors.html")]
struct MonitorsPage<'a> {
    query: &'a str,
    summary: String,
    /// Why the typed monitor was not made.
    error: &'a str,
    /// What was typed: name, query, address.
    typed: [&'a str; 3],
    rows: Vec<MonitorRow<'a>>,
}

struct MonitorRow<'a> {
    of: &'a Monitor,
    search: String,
    state: &'static str,
    owner: &'a str,
    /// What waits, and why.
    waits: String,
}

#[derive(Template)]
#[template(path = "monitor.html")]
struct MonitorPage<'a> {
    query: &'a str,
    of: &'a Monitor,
    search: String,
    /// The key of the signatures, after it was made.
    secret: String,
    tested: Option<Tested>,
    facts: Vec<(&'static str, String)>,
    news: Vec<NewsView<'a>>,
    deliveries: Vec<DeliveryView<'a>>,
}

struct NewsView<'a> {
    of: &'a News,
    ago: String,
    title: String,
    hits: Vec<HitView<'a>>,
    more: usize,
}

struct HitView<'a> {
    of: &'a Hit,
    /// The address of the line, if it still is there.
    href: String,
    place: String,
}

struct DeliveryView<'a> {
    of: &'a Delivery,
    state: &'static str,
    attempts: String,
    ago: String,
}

/// What was done before a monitor is shown.
pub(super) enum Done {
    /// It was made; the key of its signatures.
    Made(String),
    /// It was tested.
    Tested(Tested),
}

fn state(of: &Monitor) -> &'static str {
    if of.paused { "paused" } else { "active" }
}

/// Sends the page of all monitors. `wrong` is what was typed, and why it is no monitor.
pub(super) fn list(
    status: StatusCode,
    all: &[Monitor],
    waiting: &[(i32, i64, Option<String>)],
    wrong: Option<(&Wanted, &str)>,
) -> Response {
    let rows = all.iter().map(|of| {
        let waits =
            waiting.iter().find(|(monitor, ..)| *monitor == of.id).map(|(_, number, said)| {
                let number = count(usize::try_from(*number).unwrap_or(0), "delivery");
                said.as_ref()
                    .map_or(format!("{number} to send"), |said| format!("{number} to send: {said}"))
            });
        MonitorRow {
            of,
            search: link_to("/search", &[("q", &of.query)]),
            state: state(of),
            owner: of.owner.as_deref().unwrap_or("operator"),
            waits: waits.unwrap_or_default(),
        }
    });
    let (typed, error) = match &wrong {
        Some((wanted, why)) => ([&*wanted.name, &*wanted.query, &*wanted.address], *why),
        None => ([""; 3], ""),
    };
    let summary = count(all.len(), "monitor");
    render(status, &MonitorsPage { query: "", summary, error, typed, rows: rows.collect() })
}

/// Sends the page of a monitor.
pub(super) fn monitor(shown: &Shown, done: Option<Done>) -> Response {
    let Shown { monitor: of, news, deliveries } = shown;
    let mut facts = vec![
        ("State", state(of).to_owned()),
        ("Owner", of.owner.clone().unwrap_or_else(|| "operator".to_owned())),
        ("Delivered to", of.address.clone().unwrap_or_else(|| "the feed only".to_owned())),
        ("Made", since(&of.created_at)),
    ];
    if !of.repos.is_empty() {
        facts.push(("Repositories", of.repos.join(", ")));
    }
    let hit = |hit: &'_ Hit| {
        let place = match hit.line {
            Some(line) => format!("{}/{}:{line}", hit.name, hit.path),
            None => format!("{}/{}", hit.name, hit.path),
        };
        let line = hit.line.filter(|_| hit.appeared).map(u64::from);
        (file_address(&hit.name, &hit.path, "", "", line), place)
    };
    let news = news.iter().map(|of| {
        let parts = [(of.appeared, "appeared"), (of.disappeared, "disappeared")];
        let parts = parts.iter().filter(|(number, _)| *number > 0);
        let title: Vec<String> =
            parts.map(|(number, what)| format!("{} {what}", count(*number, "match"))).collect();
        let hits = of.hits.iter().map(|one| {
            let (href, place) = hit(one);
            HitView { of: one, href, place }
        });
        NewsView {
            of,
            ago: since(&of.at),
            title: if title.is_empty() { "no matches".to_owned() } else { title.join(", ") },
            hits: hits.collect(),
            more: (of.appeared + of.disappeared).saturating_sub(of.hits.len()),
        }
    });
    let deliveries = deliveries.iter().map(|of| DeliveryView {
        of,
        state: match of.state.as_str() {
            "delivered" => "delivered",
            "given-up" => "given up",
            _ => "to send",
        },
        attempts: count(usize::try_from(of.attempts).unwrap_or(0), "attempt"),
        ago: of.tried_at.as_deref().map(since).unwrap_or_default(),
    });
    let (secret, tested) = match done {
        Some(Done::Made(secret)) => (secret, None),
        Some(Done::Tested(tested)) => (String::new(), Some(tested)),
        None => (String::new(), None),
    };
    let page = MonitorPage {
        query: "",
        of,
        search: link_to("/search", &[("q", &of.query)]),
        secret,
        tested,
        facts,
        news: news.collect(),
        deliveries: deliveries.collect(),
    };
    let mut response = render(StatusCode::OK, &page);
    // It may have the key.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
