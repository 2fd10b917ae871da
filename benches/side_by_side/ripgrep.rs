//! ripgrep, which reads the whole corpus for each query.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::Result;
use crate::rows::Times;
use crate::shared::queries::Query;

/// Runs ripgrep once for all limits, since it has no limit of files. The second of two runs counts.
pub(crate) fn ask(query: &Query, corpus: &Path) -> Result<Times> {
    let mut times = Times::default();
    for _ in 0..2 {
        let begun = Instant::now();
        let out = Command::new("rg")
            .args([
                "--no-config",
                "--hidden",
                "--no-ignore",
                "-s",
                "-n",
                "--max-filesize",
                "1M",
                "-e",
            ])
            .arg(query.regex)
            .args(["--heading", "--color", "never"])
            .arg(corpus)
            .output()?;
        times.ms = vec![begun.elapsed().as_secs_f64() * 1000.0];
        let prefix = corpus.to_string_lossy().into_owned();
        times.files = BufReader::new(&*out.stdout)
            .split(b'\n')
            .filter(|line| line.as_ref().is_ok_and(|line| line.starts_with(prefix.as_bytes())))
            .count();
    }
    Ok(times)
}
