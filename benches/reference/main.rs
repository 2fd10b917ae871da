//! `cargo bench --bench reference`: the experiments of five published systems, repeated on one
//! index.
//!
//!     cargo bench --bench reference -- --home ~/.local/share/codesearch   # all, on an existing index
//!     cargo bench --bench reference -- --home DIR --index NAME            # on one of several indexes
//!     cargo bench --bench reference -- --only regex --only names          # two of them
//!     cargo bench --bench reference -- --short                            # the sample, in about a minute each
//!
//! Without `--home` and `DATABASE_URL`, the sample is indexed in a home of its own. An experiment
//! consists of steps. The outcome of each step is kept, so that an interrupted run continues where
//! it stopped; `--again` deletes the outcomes.
//!
//! Each folder and `regex` is the experiment of one system; `index` opens the database, `steps`
//! keeps outcomes, `report` writes `benches/runs/NAME.txt`, `.json` and `NAME-EXPERIMENT-N.svg`.
//! The experiments run the program as users do, call the library crates, and query Postgres itself.

#[path = "../shared/mod.rs"]
mod shared;

mod index;
mod loading;
mod names;
mod operator;
mod prose;
mod regex;
mod report;
mod steps;

use anyhow::Result;
use clap::Parser;

use index::{Index, Place};
use report::{Report, Section};
use steps::Steps;

/// The allocator of codesearch, so that code measured in this process allocates in the same way.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The experiments, by their names for `--only`.
const EXPERIMENTS: [&str; 5] = ["regex", "prose", "loading", "names", "operator"];

/// The experiments of five published systems, on an index of codesearch.
#[derive(Debug, Parser)]
#[command(name = "reference")]
struct Args {
    #[command(flatten)]
    place: Place,
    /// Only this experiment (several: each of them)
    #[arg(long, value_name = "EXPERIMENT", value_parser = EXPERIMENTS)]
    only: Vec<String>,
    /// The name of the records in benches/runs
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Ask a tenth as often and as long: to see that it runs, not to compare
    #[arg(long)]
    short: bool,
    /// Forget what earlier runs have found
    #[arg(long)]
    again: bool,
    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

impl Args {
    /// Returns the name of the records: `reference`, with `--only` followed by the experiments.
    fn record(&self) -> String {
        let usual = if self.short { "reference-short" } else { "reference" };
        let parts = std::iter::once(usual).chain(self.only.iter().map(String::as_str));
        self.name.clone().unwrap_or_else(|| parts.collect::<Vec<_>>().join("-"))
    }
}

/// Data shared by the experiments.
struct Bench<'a> {
    index: &'a Index,
    steps: Steps,
}

fn main() {
    search::threads::start();
    let args = Args::parse();
    if let Err(error) = run(&args) {
        eprintln!("reference: {error:#}");
        std::process::exit(1);
    }
}

fn run(args: &Args) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    let index = Index::open(&args.place, &runtime)?;
    let done = runtime.block_on(async {
        tokio::select! {
            done = experiments(args, &index) => done,
            _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("interrupted; the next run goes on from here")),
        }
    });
    runtime.block_on(index.store.close());
    runtime.shutdown_background();
    index.close()?;
    done
}

async fn experiments(args: &Args, index: &Index) -> Result<()> {
    let steps = Steps::open(&index.state().await?, args.short, args.again)?;
    let bench = Bench { index, steps };
    let mut sections = Vec::new();
    for name in EXPERIMENTS {
        if args.only.is_empty() || args.only.iter().any(|only| only == name) {
            sections.push(experiment(&bench, name).await?);
        }
    }
    bench.steps.end();
    let report = Report { machine: report::machine(), sections };
    println!("{}", report.text());
    Ok(report.write(&args.record())?)
}

/// Runs one experiment.
async fn experiment(bench: &Bench<'_>, name: &str) -> Result<Section> {
    match name {
        "regex" => regex::run(bench).await,
        "prose" => prose::run(bench).await,
        "loading" => loading::run(bench).await,
        "names" => names::run(bench).await,
        "operator" => operator::run(bench).await,
        other => unreachable!("{other} is not among the names"),
    }
}
