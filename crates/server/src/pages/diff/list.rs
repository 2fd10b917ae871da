//! The page that lists changed files.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use request::changes::{Totals, compared as named};
use request::human::grouped;
use search::Stopped;
use search::changes::{ChangedFile, Compared, Contents};

use super::{DiffParams, Head, next};
use crate::error::Failure;
use crate::pages::render::render;
use crate::search_stream::stopped_because;

#[derive(Template)]
#[template(path = "diff.html")]
struct ListPage {
    query: &'static str,
    head: Head,
    rows: Vec<Row>,
    /// The address of the page with further files.
    next: Option<String>,
}

struct Row {
    /// `added`, `deleted`, `renamed` or `modified`.
    status: &'static str,
    path: String,
    renamed_from: Option<String>,
    href: String,
    /// The numbers of added and removed lines, or why they are unknown.
    counts: Result<(String, String), &'static str>,
}

pub(super) fn draw(wanted: &DiffParams, compared: &Compared, files: &[ChangedFile]) -> Response {
    let mut head = Head::of(wanted);
    let mut totals = Totals::default();
    for file in files {
        totals.add(file);
    }
    let next = next(wanted, compared, files.len());
    let shown = match (wanted.skip, next) {
        (0, None) => totals.text(),
        (skip, _) => format!(
            "Files {} to {} of {}: {}",
            grouped(skip + 1),
            grouped(skip + files.len()),
            grouped(compared.files),
            totals.text()
        ),
    };
    head.note = format!("{}: {shown}.", named(compared));
    if files.is_empty() {
        head.note = format!("{}: nothing changed.", named(compared));
    }
    if let Some(why) = compared.stopped.as_ref().filter(|why| **why != Stopped::Limit) {
        head.note += &format!(" Incomplete: {}.", stopped_because(why, files.len()).1);
    }
    let rows = files.iter().map(|file| Row {
        status: file.status().word(),
        path: file.path().to_owned(),
        renamed_from: file.renamed_from().map(str::to_owned),
        href: wanted.address(&[("path", file.path())]),
        counts: match (file.counts(), &file.contents) {
            (None, Contents::LeftOut(why)) => Err(*why),
            (counts, _) => {
                let (added, removed) = counts.unwrap_or_default();
                Ok((grouped(added), grouped(removed)))
            }
        },
    });
    let rows = rows.collect();
    let next = next.map(|skip| wanted.address(&[("skip", &skip.to_string())]));
    render(StatusCode::OK, &ListPage { query: "", head, rows, next })
}

/// Returns the page with the reason why nothing is compared.
pub(super) fn failed(wanted: &DiffParams, failure: &Failure) -> Response {
    let mut head = Head::of(wanted);
    // It may begin with a name.
    head.note = format!("{}.", failure.body.message);
    render(failure.status, &ListPage { query: "", head, rows: Vec::new(), next: None })
}
