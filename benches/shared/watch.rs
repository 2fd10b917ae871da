//! The cost of a run: time, CPU time, memory.

use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::server::{memory_kb, postgres_pids};

/// The cost of a run.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub seconds: f64,
    pub cpu_seconds: f64,
    pub peak_mb: u64,
}

/// Runs a program until it ends, and measures its cost. With a home, the work of its Postgres
/// counts, too; that must be running already.
pub fn cost(mut command: Command, home: Option<&Path>) -> std::io::Result<Cost> {
    let postgres = || home.map(postgres_pids).unwrap_or_default();
    let before: f64 = postgres().first().map_or(0.0, |pid| cpu_seconds(*pid));
    let begun = Instant::now();
    let mut child: Child = command.spawn()?;
    let (mut peak, mut own) = (0, 0.0);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        own = cpu_seconds(child.id());
        let pids = std::iter::once(child.id()).chain(postgres());
        peak = peak.max(pids.map(memory_kb).sum::<u64>());
        std::thread::sleep(Duration::from_millis(200));
    };
    if !status.success() {
        return Err(std::io::Error::other(format!("{command:?} ended with {status}")));
    }
    let seconds = begun.elapsed().as_secs_f64();
    let after: f64 = postgres().first().map_or(0.0, |pid| cpu_seconds(*pid));
    Ok(Cost { seconds, cpu_seconds: own + after - before, peak_mb: megabytes(peak) })
}

/// Converts kilobytes of 1024 bytes, the system's unit, to megabytes of a million bytes, the unit
/// of the corpus.
pub fn megabytes(kb: u64) -> u64 {
    kb * 1024 / 1_000_000
}

/// Returns the CPU time in seconds of a process so far, and of its children that have ended.
fn cpu_seconds(pid: u32) -> f64 {
    // A tick is a hundredth of a second on every Linux.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name in brackets may contain anything, so fields are counted after it.
    let fields: Vec<f64> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .map(|field| field.parse().unwrap_or(0.0))
        .collect();
    fields.get(11..15).map_or(0.0, |ticks| ticks.iter().sum::<f64>() / TICKS)
}

/// Reads a tree once, so that it is in the page cache for the first indexer as well as for the
/// second.
pub fn read_all(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            read_all(&entry.path())?;
        } else if kind.is_file() {
            std::io::copy(&mut std::fs::File::open(entry.path())?, &mut std::io::sink())?;
        }
    }
    Ok(())
}

/// Returns the bytes of all files in a folder.
pub fn bytes_in(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => bytes_in(&entry.path()),
            _ => entry.metadata().map_or(0, |data| data.len()),
        })
        .sum()
}
