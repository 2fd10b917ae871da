//! `cargo bench`: the latency report.
//!
//! Sends every query at the limits 10, 100, 1000 and none over HTTP, and reads the whole answer:
//! once to a server that has just started, then to a warm one with criterion's statistics. Runs on
//! the sample, or on an existing index:
//!
//!     cargo bench                                         # the sample, in a home of its own
//!     cargo bench -- --home ~/.local/share/codesearch     # the index in that home
//!     cargo bench -- --index default --home DIR           # one index of a home, by name
//!     cargo bench -- --only bytes                         # queries whose names contain a text
//!
//! Writes `benches/runs/latency-NAME.json`, `.txt` and `.svg`.

mod shared;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion};
use serde_json::{Value, json};
use shared::queries::{Kind, QUERIES, Query};
use shared::server::Server;
use shared::summary::{quantile, share_under, trimmed_mean};

/// The limits of the reference experiment; 0 is none.
const LIMITS: [usize; 4] = [10, 100, 1000, 0];

/// Upper bounds of the buckets, in milliseconds.
const BUCKETS: [f64; 9] = [50.0, 100.0, 250.0, 500.0, 1e3, 2.5e3, 1e4, 2e4, 6e4];

/// The shares reported by the reference experiment with 200 tables: limit, bound in milliseconds,
/// percent of its queries (82 GB on 8 cores).
const REFERENCE: [(usize, f64, f64); 11] = [
    (10, 50.0, 0.0),
    (10, 250.0, 57.0),
    (10, 1e3, 100.0),
    (100, 100.0, 0.0),
    (100, 500.0, 70.0),
    (100, 1e4, 99.0),
    (1000, 250.0, 0.0),
    (1000, 2.5e3, 64.0),
    (1000, 2e4, 100.0),
    (0, 2e4, 4.0),
    (0, 6e4, 18.0),
];

/// Number of quantiles that represent the times of each query.
const PER_QUERY: usize = 10;

/// The arguments of the command line.
struct Args {
    home: Option<PathBuf>,
    index: Option<String>,
    only: Option<String>,
    name: String,
}

/// One query at one limit.
struct Row {
    query: &'static Query,
    limit: usize,
    cold_ms: f64,
    /// Milliseconds of each request to the warm server.
    warm_ms: Vec<f64>,
    stats: Value,
}

fn main() {
    shared::end("latency", bench());
}

fn bench() -> std::io::Result<()> {
    let args = args();
    // Kept until the end of the function.
    let sample;
    let home = match (&args.home, std::env::var_os("DATABASE_URL")) {
        (Some(home), _) => Some(home.clone()),
        (None, Some(_)) => None,
        (None, None) => {
            sample = shared::sample(args.index.as_deref())?;
            Some(sample.path().to_owned())
        }
    };
    let wanted = |query: &&Query| args.only.as_ref().is_none_or(|text| query.name().contains(text));
    let queries: Vec<&'static Query> = QUERIES.iter().filter(wanted).collect();

    let mut rows: Vec<Row> = Vec::new();
    for limit in LIMITS {
        // Each limit has a separate server, so that none profits from earlier requests.
        let server = Server::start(home.as_deref(), args.index.as_deref(), &[])?;
        for query in &queries {
            let answer = server.ask(query, limit)?;
            let (cold_ms, stats) = (answer.ms, answer.stats);
            rows.push(Row { query, limit, cold_ms, warm_ms: Vec::new(), stats });
        }
    }
    let server = Server::start(home.as_deref(), args.index.as_deref(), &[])?;
    server.settle();
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400))
        .without_plots();
    for limit in LIMITS {
        let mut group = criterion.benchmark_group(limit_name(limit));
        for row in rows.iter_mut().filter(|row| row.limit == limit) {
            let query = row.query;
            let (warm_ms, stats) = (&mut row.warm_ms, &mut row.stats);
            group.bench_function(BenchmarkId::from_parameter(query.name()), |bencher| {
                bencher.iter_custom(|times| {
                    let mut sum = 0.0;
                    for _ in 0..times {
                        let answer = server.ask(query, limit).expect("it answered before");
                        sum += answer.ms;
                        warm_ms.push(answer.ms);
                        *stats = answer.stats;
                    }
                    Duration::from_secs_f64(sum / 1000.0)
                });
            });
        }
        group.finish();
    }
    drop(server);
    let corpus = match &args.home {
        None => "the sample".to_owned(),
        Some(_) => args.index.clone().unwrap_or_else(|| args.name.clone()),
    };
    let text = report(&rows, &args, &corpus);
    println!("\n{text}");
    shared::record(&format!("latency-{}.txt", args.name), &text)?;
    shared::record(&format!("latency-{}.json", args.name), &record(&rows))?;
    shared::record(&format!("latency-{}.svg", args.name), &picture(&rows))
}

fn args() -> Args {
    let mut args = Args { home: None, index: None, only: None, name: "sample".to_owned() };
    let mut given = std::env::args().skip(1);
    while let Some(arg) = given.next() {
        match arg.as_str() {
            "--home" => args.home = given.next().map(|home| shared::path(&home)),
            "--index" => args.index = given.next(),
            "--only" => args.only = given.next(),
            "--name" => args.name = given.next().unwrap_or_default(),
            // Passed by cargo.
            "--bench" => {}
            other => {
                eprintln!(
                    "latency: {other}: use --home DIR, --index NAME, --only TEXT, --name NAME"
                );
                std::process::exit(2);
            }
        }
    }
    if args.home.is_some() && args.name == "sample" {
        args.name = args.index.clone().unwrap_or_else(|| "corpus".to_owned());
    }
    args
}

fn limit_name(limit: usize) -> String {
    if limit == 0 { "no limit".to_owned() } else { format!("limit {limit}") }
}

fn bound_name(ms: f64) -> String {
    if ms < 1000.0 { format!("{ms:.0} ms") } else { format!("{} s", ms / 1000.0) }
}

/// Returns the times at a limit: those of the cold servers, or quantiles of the warm one's.
fn times(rows: &[Row], limit: usize, cold: bool, reference_only: bool) -> Vec<f64> {
    rows.iter()
        .filter(|row| row.limit == limit)
        .filter(|row| !reference_only || row.query.kind == Kind::Reference)
        .flat_map(|row| if cold { vec![row.cold_ms] } else { row.quantiles() })
        .collect()
}

impl Row {
    /// Returns the same number of times of the warm server for each query: criterion sends fast queries more often, and
    /// they should not count for more.
    fn quantiles(&self) -> Vec<f64> {
        (0..PER_QUERY)
            .map(|i| quantile(&self.warm_ms, (i as f64 + 0.5) / PER_QUERY as f64))
            .collect()
    }
}

fn report(rows: &[Row], args: &Args, corpus: &str) -> String {
    let mut text = format!(
        "codesearch latency report, {}, {}, on {corpus}\n\
         over HTTP, whole answers; times of one run on one machine: compare them with each other only\n",
        shared::today(),
        shared::machine(),
    );
    if args.only.is_some() {
        text.push_str("some of the queries only\n");
    }
    for reference_only in [true, false] {
        let which =
            if reference_only { "the nine queries of the reference" } else { "all queries" };
        let _ = writeln!(text, "\nshare of requests within a time, {which}; [reference, 82 GB]");
        let _ = write!(text, "{:<18}", "");
        for bound in BUCKETS {
            let _ = write!(text, "{:>13}", bound_name(bound));
        }
        text.push('\n');
        for (limit, cold) in LIMITS.iter().flat_map(|limit| [(*limit, false), (*limit, true)]) {
            let times = times(rows, limit, cold, reference_only);
            let name = format!("{} {}", limit_name(limit), if cold { "cold" } else { "warm" });
            let _ = write!(text, "{name:<18}");
            for bound in BUCKETS {
                let same = |(l, b, _): &&(usize, f64, f64)| (*l, *b) == (limit, bound);
                let reference = REFERENCE.iter().find(same);
                let share = format!("{:.0} %", share_under(&times, bound) * 100.0);
                let cell = match reference.filter(|_| reference_only) {
                    Some((.., reference)) => format!("{share} [{reference:.0}]"),
                    None => share,
                };
                let _ = write!(text, "{cell:>13}");
            }
            text.push('\n');
        }
    }
    let _ = writeln!(
        text,
        "\n{:<18}{:>10}{:>10}{:>10}{:>18}   milliseconds, all queries",
        "", "p50", "p90", "p99", "mean, 5 % trimmed"
    );
    for (limit, cold) in LIMITS.iter().flat_map(|limit| [(*limit, false), (*limit, true)]) {
        let times = times(rows, limit, cold, false);
        let name = format!("{} {}", limit_name(limit), if cold { "cold" } else { "warm" });
        let part = |part| quantile(&times, part);
        let _ = writeln!(
            text,
            "{name:<18}{:>10.2}{:>10.2}{:>10.2}{:>18.2}",
            part(0.5),
            part(0.9),
            part(0.99),
            trimmed_mean(&times, 0.05)
        );
    }
    let _ = writeln!(
        text,
        "\n{:<52}{:>9}{:>9}{:>9}{:>9}{:>8}{:>8}{:>11}{:>9}",
        "query",
        "limit",
        "cold ms",
        "p50 ms",
        "server",
        "files",
        "shards",
        "candidates",
        "rechecks"
    );
    for row in rows {
        let number = |key: &str| row.stats[key].as_f64().unwrap_or(0.0);
        let limit = if row.limit == 0 { "none".to_owned() } else { row.limit.to_string() };
        let _ = writeln!(
            text,
            "{:<52}{limit:>9}{:>9.2}{:>9.2}{:>9.2}{:>8}{:>8}{:>11}{:>9}",
            row.query.name(),
            row.cold_ms,
            quantile(&row.warm_ms, 0.5),
            number("duration_ms"),
            number("files"),
            number("shards_searched"),
            number("candidates"),
            number("rechecks"),
        );
    }
    text
}

fn record(rows: &[Row]) -> String {
    let row = |row: &Row| {
        json!({
            "query": row.query.codesearch(),
            "limit": row.limit,
            "cold_ms": row.cold_ms,
            "warm_ms_quantiles": row.quantiles(),
            "warm_requests": row.warm_ms.len(),
            "stats": row.stats,
        })
    };
    let record = json!({
        "date": shared::today(),
        "machine": shared::machine(),
        "rows": rows.iter().map(row).collect::<Vec<_>>(),
    });
    format!("{record:#}\n")
}

/// Draws, for each limit, the share of requests within a time, on a logarithmic scale.
fn picture(rows: &[Row]) -> String {
    const COLOURS: [&str; 4] = ["#1f77b4", "#2ca02c", "#ff7f0e", "#d62728"];
    let (width, height, left, top) = (720.0, 300.0, 60.0, 30.0);
    // From 0.1 ms to 100 s.
    let x = |ms: f64| left + (ms.max(0.1).log10() + 1.0) / 6.0 * width;
    let y = |share: f64| top + (1.0 - share) * height;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        width + left + 120.0,
        height + top + 50.0
    );
    for power in -1..=5 {
        let ms = 10_f64.powi(power);
        let name = if ms < 1.0 { "0.1 ms".to_owned() } else { bound_name(ms) };
        let _ = writeln!(
            svg,
            "<line x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{top}\" y2=\"{1}\" stroke=\"#ddd\"/>\
             <text x=\"{0:.1}\" y=\"{2}\" text-anchor=\"middle\">{name}</text>",
            x(ms),
            top + height,
            top + height + 18.0
        );
    }
    for quarter in 0..=4 {
        let share = f64::from(quarter) / 4.0;
        let _ = writeln!(
            svg,
            "<line x1=\"{left}\" x2=\"{}\" y1=\"{1:.1}\" y2=\"{1:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{2}\" y=\"{3:.1}\" text-anchor=\"end\">{4:.0} %</text>",
            left + width,
            y(share),
            left - 6.0,
            y(share) + 4.0,
            share * 100.0
        );
    }
    for (limit, colour) in LIMITS.iter().zip(COLOURS) {
        for cold in [false, true] {
            let mut sorted = times(rows, *limit, cold, false);
            sorted.sort_by(f64::total_cmp);
            let points: Vec<String> = sorted
                .iter()
                .enumerate()
                .map(|(i, ms)| {
                    format!("{:.1},{:.1}", x(*ms), y((i + 1) as f64 / sorted.len() as f64))
                })
                .collect();
            let dashes = if cold { " stroke-dasharray=\"4 3\"" } else { "" };
            let _ = writeln!(
                svg,
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\"{dashes} points=\"{}\"/>",
                points.join(" ")
            );
        }
    }
    for (i, (limit, colour)) in LIMITS.iter().zip(COLOURS).enumerate() {
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" fill=\"{colour}\">{}</text>",
            left + width + 10.0,
            top + 20.0 + 18.0 * i as f64,
            limit_name(*limit)
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{left}\" y=\"{}\">share of requests within a time, warm (lines) and on a server that has \
         just started (dashes)</text>\n</svg>",
        top + height + 40.0
    );
    svg
}
