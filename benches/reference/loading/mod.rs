//! Many keys in one statement (system 4): a page of 100 items over HTTP, loaded in batches or one
//! by one, on each available version of Postgres.

mod pages;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use postgres::{Postgres, Source};
use serde::{Deserialize, Serialize};

use crate::Bench;
use crate::report::{Section, Table};
use crate::shared::server::load;
use crate::shared::summary::quantile;
use pages::{Item, Loading, Pages};

/// Approximate number of items in the database.
const ITEMS: i64 = 100_000;

/// Items on a page, number of clients, and how long they run: as in the experiment.
const PAGE: i64 = 100;
const CLIENTS: usize = 10;
const TIME: Duration = Duration::from_mins(1);

/// Time that the clients run before the measurement.
const WARMING: Duration = Duration::from_secs(3);

/// Requests a second and milliseconds reported for one API, its average: Postgres version, rate,
/// time.
const REFERENCE: [(&str, f64, f64); 2] = [("16", 1238.0, 8.07), ("17", 1575.0, 6.35)];

/// The times of one server with one way of loading.
#[derive(Deserialize, Serialize)]
struct Measured {
    version: String,
    batched: bool,
    seconds: f64,
    /// Milliseconds of each request.
    ms: Vec<f64>,
}

pub(crate) async fn run(bench: &Bench<'_>) -> Result<Section> {
    let mut all: Vec<Measured> = Vec::new();
    // The installed Postgres, and the downloaded one that is used if none is installed.
    for (name, source) in [("installed", Source::Auto), ("downloaded", Source::Download)] {
        let step = format!("loading-{name}");
        let measured = bench.steps.step(&step, async || on(bench, source).await).await?;
        let known = |one: &Measured| measured.first().is_some_and(|m| m.version == one.version);
        if !all.iter().any(known) {
            all.extend(measured);
        }
    }
    let columns = [
        "server",
        "loading",
        "requests/s",
        "fastest",
        "average",
        "slowest",
        "p10",
        "p50",
        "p75",
        "p99",
        "p99.9",
    ];
    let mut table = Table::new("a page of 100 items, 10 clients, milliseconds", &columns);
    for (version, rate, average) in REFERENCE {
        let mut cells = vec![format!("Postgres {version}, there"), "batched".to_owned()];
        cells.extend([format!("{rate:.0}"), "-".to_owned(), format!("{average:.2}")]);
        cells.resize(columns.len(), "-".to_owned());
        table.row(cells);
    }
    for one in &all {
        let average = one.ms.iter().sum::<f64>() / one.ms.len() as f64;
        let times = [
            quantile(&one.ms, 0.0),
            average,
            quantile(&one.ms, 1.0),
            quantile(&one.ms, 0.1),
            quantile(&one.ms, 0.5),
            quantile(&one.ms, 0.75),
            quantile(&one.ms, 0.99),
            quantile(&one.ms, 0.999),
        ];
        let loading = if one.batched { "batched" } else { "one by one" };
        let mut cells = vec![format!("Postgres {}, here", one.version), loading.to_owned()];
        cells.push(format!("{:.0}", one.ms.len() as f64 / one.seconds));
        cells.extend(times.map(|ms| format!("{ms:.2}")));
        table.row(cells);
    }
    table.note(
        "Batched: four statements a page. One by one: one statement, and three more for each item.",
    );
    if let [first, .., last] = all.as_slice()
        && first.version == last.version
    {
        table.note("One version of Postgres only: no other could be had.");
    }
    Ok(Section {
        name: "loading",
        title: "Many keys in one statement".to_owned(),
        tables: vec![table],
    })
}

/// Measures both ways of loading on a separate server.
async fn on(bench: &Bench<'_>, source: Source) -> Result<Vec<Measured>> {
    let items = pages::items(bench.index, ITEMS).await?;
    // Postgres may run as another user, who must be able to enter the folder.
    let home = std::env::temp_dir().join(format!("codesearch-bench-{}", std::process::id()));
    let cleanup = Cleanup(home.clone());
    let options = postgres::Options { home, name: "codesearch".to_owned(), source, idle: None };
    let postgres = tokio::task::spawn_blocking(move || Postgres::open(&options)).await??;
    let measured = measure(bench, &postgres, &items).await;
    tokio::task::spawn_blocking(move || postgres.close()).await??;
    drop(cleanup);
    measured
}

/// Removes a folder, however an experiment ends.
struct Cleanup(PathBuf);

impl Drop for Cleanup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn measure(bench: &Bench<'_>, postgres: &Postgres, items: &[Item]) -> Result<Vec<Measured>> {
    let pages = Pages::fill(postgres, items, CLIENTS as u32).await?;
    let version = pages.version().await?;
    let routes = Router::new().route("/{loading}/{number}", get(page)).with_state(pages.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let server = tokio::spawn(axum::serve(listener, routes).into_future());
    let time = bench.steps.span(TIME);
    let mut all = Vec::new();
    for (done, (path, batched)) in [("batched", true), ("single", false)].into_iter().enumerate() {
        bench.steps.progress(done as u64, 2);
        let address = |number: usize| format!("{path}/{}", number * 7919);
        let (seconds, ms) = tokio::task::block_in_place(|| {
            // Prepare plans and load pages into memory before the measurement.
            load(&url, CLIENTS, bench.steps.span(WARMING), address)?;
            let begun = Instant::now();
            let ms = load(&url, CLIENTS, time, address)?;
            anyhow::Ok((begun.elapsed().as_secs_f64(), ms))
        })?;
        all.push(Measured { version: version.clone(), batched, seconds, ms });
    }
    server.abort();
    pages.close().await;
    Ok(all)
}

/// Answers with a page as JSON.
async fn page(
    State(pages): State<Pages>,
    Path((loading, number)): Path<(String, i64)>,
) -> Result<Json<Vec<(String, i32, String)>>, StatusCode> {
    let loading = if loading == "batched" { Loading::Batched } else { Loading::Single };
    let page = pages.page(number, PAGE, loading).await.context("the page could not be loaded");
    page.map(Json).map_err(|error| {
        eprintln!("reference: {error:#}");
        StatusCode::INTERNAL_SERVER_ERROR
    })
}
