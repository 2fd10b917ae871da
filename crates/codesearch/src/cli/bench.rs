//! `codesearch bench`: which experiments.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(super) const BENCH_HELP: &str = "\
  codesearch bench reference                   all experiments, on the index that is there
  codesearch bench reference --only regex      one of them

Takes its time, and wants the machine for itself. What a step has found is kept, so that a run which was
interrupted goes on where it was: run it again.";

#[derive(Args, Debug)]
pub(crate) struct BenchArgs {
    /// Which experiments
    #[arg(value_name = "WHAT")]
    pub(crate) what: BenchWhat,
    /// Only this one (several: each of them)
    #[arg(long, value_name = "EXPERIMENT")]
    pub(crate) only: Vec<String>,
    /// The folder for the report, and for what its steps have found
    #[arg(long, value_name = "FOLDER", default_value = "codesearch-bench")]
    pub(crate) out: PathBuf,
    /// Forget what earlier runs have found
    #[arg(long)]
    pub(crate) again: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchWhat {
    /// Those of five published systems, with their figures beside ours
    Reference,
}
