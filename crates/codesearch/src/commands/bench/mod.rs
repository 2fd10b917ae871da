//! `codesearch bench reference`: the experiments of five published systems, on this index.
//!
//! Each file but this one, `picture`, `report`, `serving` and `summary` is the experiments of one system. They are made of
//! steps, and the outcome of each is kept in a folder, so that a run that was interrupted goes on where
//! it was. `report` puts what they found into text, JSON and pictures.

mod loading;
mod names;
mod operator;
mod picture;
mod prose;
mod regex;
mod report;
mod serving;
pub(crate) mod summary;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use engine::search::Searcher;
use indicatif::{ProgressBar, ProgressStyle};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use store::Store;

use super::serve;
use crate::cli::{BenchArgs, DatabaseArgs};
use crate::database::Database;
use report::{Report, Section};

/// The experiments, by the names that `--only` takes.
const EXPERIMENTS: [&str; 5] = ["regex", "prose", "loading", "names", "operator"];

/// What all experiments share.
pub(crate) struct Bench<'a> {
    /// The index under measurement.
    pub(crate) store: &'a Store,
    /// Searches it, with nothing kept in memory.
    pub(crate) searcher: Searcher,
    /// Outcomes of steps.
    parts: PathBuf,
    /// Tells the state of the index, so that outcomes of another one are not taken for it.
    index: String,
    bar: ProgressBar,
}

/// The outcome of a step, as it is kept.
#[derive(Deserialize, Serialize)]
struct Kept<T> {
    index: String,
    outcome: T,
}

impl Bench<'_> {
    /// Does a step, unless an earlier run on the same state of the index has: then its outcome is
    /// that. Names of steps are file names, too.
    pub(crate) async fn step<T: DeserializeOwned + Serialize>(
        &self,
        name: &str,
        work: impl AsyncFnOnce() -> Result<T>,
    ) -> Result<T> {
        let file = self.parts.join(format!("{name}.json"));
        let kept = std::fs::read(&file)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Kept<T>>(&bytes).ok())
            .filter(|kept| kept.index == self.index);
        if let Some(kept) = kept {
            self.bar.println(format!("{name}: done by an earlier run"));
            return Ok(kept.outcome);
        }
        self.bar.reset();
        self.bar.set_message(name.to_owned());
        let outcome = work().await.with_context(|| format!("the step {name} failed"))?;
        let kept = Kept { index: self.index.clone(), outcome };
        write(&file, &serde_json::to_vec_pretty(&kept)?)?;
        self.bar.println(format!("{name}: {:.1} s", self.bar.elapsed().as_secs_f64()));
        Ok(kept.outcome)
    }

    /// Says how far the step is.
    pub(crate) fn progress(&self, done: u64, of: u64) {
        self.bar.set_length(of);
        self.bar.set_position(done);
    }
}

/// A time as a bound of a bucket.
fn bound(ms: f64) -> String {
    if ms < 1000.0 { format!("{ms} ms") } else { format!("{} s", ms / 1000.0) }
}

/// Writes a file whole or not at all.
fn write(file: &Path, bytes: &[u8]) -> Result<()> {
    let part = file.with_extension("part");
    std::fs::write(&part, bytes)
        .and_then(|()| std::fs::rename(&part, file))
        .with_context(|| format!("cannot write {}", file.display()))
}

pub(crate) fn run(database: &DatabaseArgs, args: &BenchArgs) -> Result<u8> {
    for name in &args.only {
        anyhow::ensure!(
            EXPERIMENTS.contains(&name.as_str()),
            "there is no experiment {name}; there are {}",
            EXPERIMENTS.join(", ")
        );
    }
    let parts = args.out.join("parts");
    if args.again && parts.exists() {
        std::fs::remove_dir_all(&parts)
            .with_context(|| format!("cannot empty {}", parts.display()))?;
    }
    std::fs::create_dir_all(&parts)
        .with_context(|| format!("cannot make the folder {}", parts.display()))?;
    Database::open(database, serve::connections())?.run(async |store| {
        let searcher = Searcher::new(store.clone(), serve::cores());
        let catalog = searcher.catalog().await?;
        let bar = ProgressBar::new(0)
            .with_style(ProgressStyle::with_template("{msg:24} {bar:30} {pos}/{len} {elapsed}")?);
        bar.enable_steady_tick(Duration::from_millis(200));
        let bench = Bench {
            store,
            searcher,
            parts,
            index: format!("{}-{}", catalog.identity, catalog.epoch.0),
            bar,
        };
        let mut sections = Vec::new();
        for name in EXPERIMENTS {
            if args.only.is_empty() || args.only.iter().any(|only| only == name) {
                sections.push(experiment(&bench, name).await?);
            }
        }
        bench.bar.finish_and_clear();
        let report = Report { machine: report::machine(), sections };
        say!("{}", report.text());
        report.write(&args.out)?;
        say!("written to {}", args.out.join("report.txt").display());
        Ok(crate::FOUND)
    })
}

/// Runs an experiment.
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
