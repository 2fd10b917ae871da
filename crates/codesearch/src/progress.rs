//! Progress of long work: bars on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use ingest::Event;
use tracing::Metadata;
use tracing_indicatif::IndicatifLayer;
use tracing_subscriber::filter::{EnvFilter, FilterFn};
use tracing_subscriber::prelude::*;

use request::human::{count, size};

/// Least time between two lines that are not on a terminal.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Sends log lines to stderr, and shows a bar while Postgres is downloaded. `CODESEARCH_LOG` sets
/// what is logged, in the syntax of tracing's `EnvFilter`.
pub(crate) fn init(server: bool) {
    // sqlx warns when it closes a connection whose statement was given up.
    let default = if server {
        "warn,sqlx_core::pool=error,codesearch=info,ingest=info,mcp=info,postgres=info,search=info,server=info,store=info"
    } else {
        "warn,sqlx_core::pool=error,postgres=info"
    };
    let filter =
        EnvFilter::try_from_env("CODESEARCH_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .without_time();
    let style = style(
        "{spinner} downloading Postgres {bar:30} {decimal_bytes}/{decimal_total_bytes} {eta}",
    );
    let bar = std::io::stderr().is_terminal().then(|| {
        // The archive crate reports the received bytes on this span.
        let span = |m: &Metadata<'_>| {
            m.is_span() && m.name() == "get_archive" && m.target().ends_with("maven::repository")
        };
        IndicatifLayer::new().with_progress_style(style).with_filter(FilterFn::new(span))
    });
    tracing_subscriber::registry().with(lines.with_filter(filter)).with(bar).init();
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("templates are constant").progress_chars("━╸ ")
}

/// Shows the progress of an ingest.
pub(crate) struct IngestProgress {
    terminal: bool,
    state: Mutex<State>,
}

struct State {
    bar: ProgressBar,
    last_line: Instant,
    files: i64,
    all_files: i64,
    bytes: i64,
    all_bytes: i64,
    begun: Instant,
}

/// The bar of the commits whose lines are indexed.
const HISTORY_BAR: &str = "history  {bar:30} {human_pos}/{human_len} commits {per_sec} {eta} left";

impl IngestProgress {
    pub(crate) fn new() -> Self {
        let state = State {
            bar: ProgressBar::hidden(),
            last_line: Instant::now(),
            files: 0,
            all_files: 0,
            bytes: 0,
            all_bytes: 0,
            begun: Instant::now(),
        };
        Self { terminal: std::io::stderr().is_terminal(), state: Mutex::new(state) }
    }

    /// Shows an event.
    pub(crate) fn event(&self, event: Event) {
        let mut state = self.state.lock().expect("no panics hold it");
        match event {
            Event::Notice(text) => state.bar.suspend(|| note!("codesearch: {text}")),
            Event::Waiting => {
                note!("codesearch: another ingest is running; waiting for it to end");
            }
            Event::Walked(totals) => {
                let text = format!("scanning: {}", count(totals.files as usize, "file"));
                if self.terminal && state.bar.is_hidden() {
                    state.bar = ProgressBar::new_spinner();
                    state.bar.enable_steady_tick(Duration::from_millis(100));
                }
                self.tell(&mut state, text);
            }
            Event::Reading(totals) => {
                (state.all_files, state.all_bytes) = (totals.files, totals.bytes);
                self.begin(
                    &mut state,
                    totals.bytes,
                    "reading  {bar:30} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta} left, {msg}",
                );
            }
            Event::Read(totals) => {
                state.files += totals.files;
                state.bytes += totals.bytes;
                state.bar.set_position(state.bytes as u64);
                let files = format!(
                    "{} of {}",
                    HumanCount(state.files as u64),
                    count(state.all_files as usize, "file")
                );
                let text = if self.terminal {
                    files
                } else {
                    let seconds = state.begun.elapsed().as_secs_f64().max(0.001);
                    let rate = state.bytes as f64 / seconds;
                    let left = (state.all_bytes - state.bytes).max(0) as f64 / rate.max(1.0);
                    format!(
                        "reading: {files}, {} of {}, {}/s, {left:.0} s left",
                        size(state.bytes as u64),
                        size(state.all_bytes as u64),
                        size(rate as u64)
                    )
                };
                self.tell(&mut state, text);
            }
            Event::Indexing(bytes) => self.begin_bytes(&mut state, bytes, "indexing"),
            Event::Indexed(bytes) => self.show_bytes(&mut state, bytes, "indexing"),
            Event::History(commits) => {
                state.all_bytes = commits;
                self.begin(&mut state, commits, HISTORY_BAR);
            }
            Event::HistoryRead(commits) => {
                state.bar.set_position(commits as u64);
                let all = count(state.all_bytes as usize, "commit");
                self.tell(&mut state, format!("history: {} of {all}", HumanCount(commits as u64)));
            }
            Event::Symbols(bytes) => self.begin_bytes(&mut state, bytes, "symbols "),
            Event::SymbolsTaken(bytes) => self.show_bytes(&mut state, bytes, "symbols"),
            Event::Scip(bytes) => self.begin_bytes(&mut state, bytes, "importing"),
            Event::ScipRead(bytes) => self.show_bytes(&mut state, bytes, "importing"),
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.state.lock().expect("no panics hold it").bar.finish_and_clear();
    }

    fn begin(&self, state: &mut State, length: i64, template: &str) {
        state.bar.finish_and_clear();
        state.begun = Instant::now();
        if self.terminal && length > 0 {
            state.bar = ProgressBar::new(length as u64).with_style(style(template));
        }
    }

    /// Begins a step whose progress is counted in bytes.
    fn begin_bytes(&self, state: &mut State, bytes: i64, step: &str) {
        const BAR: &str =
            "{bar:30} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta} left";
        state.all_bytes = bytes;
        self.begin(state, bytes, &format!("{step} {BAR}"));
    }

    /// Shows how many bytes of a step are done.
    fn show_bytes(&self, state: &mut State, bytes: i64, step: &str) {
        state.bar.set_position(bytes as u64);
        let text = format!("{step}: {} of {}", size(bytes as u64), size(state.all_bytes as u64));
        self.tell(state, text);
    }

    fn tell(&self, state: &mut State, text: String) {
        if self.terminal {
            state.bar.set_message(text);
        } else if state.last_line.elapsed() >= LINE_EVERY {
            note!("{text}");
            state.last_line = Instant::now();
        }
    }
}
