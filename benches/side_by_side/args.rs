//! The command line.

use std::path::PathBuf;

use crate::shared;

pub(crate) struct Args {
    pub(crate) corpus: PathBuf,
    pub(crate) depth: String,
    pub(crate) work: PathBuf,
    pub(crate) zoekt_index: Option<PathBuf>,
    pub(crate) runs: usize,
    pub(crate) without: String,
    pub(crate) words: bool,
    pub(crate) classes: bool,
    pub(crate) cache: Option<String>,
    pub(crate) new_connections: bool,
    pub(crate) only: Option<String>,
    pub(crate) name: String,
}

impl Args {
    /// Returns whether only codesearch and Zoekt are measured.
    pub(crate) fn is_for_two(&self) -> bool {
        self.words || self.classes
    }
}

/// Reads the command line; exits if it is wrong.
pub(crate) fn args() -> Args {
    let mut args = Args {
        corpus: PathBuf::new(),
        depth: "2".to_owned(),
        work: std::env::temp_dir().join("codesearch-side-by-side"),
        zoekt_index: None,
        runs: 5,
        without: String::new(),
        words: false,
        classes: false,
        cache: None,
        new_connections: false,
        only: None,
        name: "side-by-side".to_owned(),
    };
    let mut given = std::env::args().skip(1);
    while let Some(arg) = given.next() {
        let mut value = || given.next().unwrap_or_default();
        match arg.as_str() {
            "--depth" => args.depth = value(),
            "--work" => args.work = shared::path(&value()),
            "--zoekt-index" => args.zoekt_index = Some(shared::path(&value())),
            "--runs" => {
                args.runs = value().parse().ok().filter(|runs| *runs > 0).unwrap_or_else(|| {
                    eprintln!("side_by_side: --runs wants a number from 1 on");
                    std::process::exit(2);
                });
            }
            "--without" => args.without = value(),
            "--words" => args.words = true,
            "--classes" => args.classes = true,
            "--cache" => args.cache = Some(value()),
            "--new-connections" => args.new_connections = true,
            "--only" => args.only = Some(value()),
            "--name" => args.name = value(),
            // Passed by cargo.
            "--bench" => {}
            corpus if !corpus.starts_with('-') => args.corpus = shared::path(corpus),
            other => {
                eprintln!("side_by_side: {other} is no option");
                std::process::exit(2);
            }
        }
    }
    if !args.corpus.is_dir() {
        eprintln!(
            "side_by_side: name the folder of the corpus: cargo bench --bench side_by_side -- DIR"
        );
        std::process::exit(2);
    }
    args.corpus = std::fs::canonicalize(&args.corpus).unwrap_or(args.corpus);
    args
}
