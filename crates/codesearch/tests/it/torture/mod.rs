//! The campaign: kills, crashes, losses of power, faults between the program and Postgres, stopped processes, full
//! disks, refused writes, flipped bytes, random operations, hostile repositories, patterns and requests, the largest
//! inputs, slow clients, many changes.
//!
//! After every step an answer either equals a scan of the files, as they are now or in an earlier state where that is
//! allowed, or reports a failure. After the next ingest it equals a scan of the current files, and `codesearch check`
//! finds nothing.
//!
//! The tests run a short form. A long run, with another seed (`just torture 7`):
//!
//!     CODESEARCH_TORTURE=long CODESEARCH_TORTURE_SEED=7 \
//!         cargo test --release -p codesearch --test it torture -- --nocapture --test-threads=1
//!
//! `CODESEARCH_TORTURE` may also be a number: the length in thousandths of the long form.

mod bytes;
mod clients;
mod disk;
mod faults;
mod fuzz;
#[cfg(target_os = "linux")]
mod hostile;
mod kills;
mod largest;
#[cfg(target_os = "linux")]
mod layer;
mod operations;
mod patterns;
mod postgres;
#[cfg(target_os = "linux")]
mod power;
mod proxy;
#[cfg(target_os = "linux")]
mod refused;
mod soak;
mod stopped;
#[cfg(target_os = "linux")]
mod undo;
mod world;

use std::time::{Duration, Instant};

use fastrand::Rng;

/// One part of the campaign, and its report at the end.
pub(crate) struct Run {
    name: &'static str,
    seed: u64,
    steps: usize,
    done: usize,
    begun: Instant,
    pub(crate) is_long: bool,
    pub(crate) rng: Rng,
}

impl Run {
    /// Makes a run with this many steps in the short form and in the long one.
    pub(crate) fn new(name: &'static str, short: usize, long: usize) -> Self {
        let setting = |name: &str| std::env::var(name).ok();
        let steps = match setting("CODESEARCH_TORTURE").as_deref() {
            None | Some("short") => short,
            Some("long") => long,
            Some(parts) => (long * parts.parse::<usize>().unwrap() / 1000).max(short),
        };
        let seed = setting("CODESEARCH_TORTURE_SEED").map_or(1, |seed| seed.parse().unwrap());
        let rng = Rng::with_seed(seed);
        Self { name, seed, steps, done: 0, begun: Instant::now(), is_long: steps > short, rng }
    }

    /// Returns the next step; `None` after the last one. A failing test prints it.
    pub(crate) fn step(&mut self) -> Option<usize> {
        if self.done == self.steps {
            return None;
        }
        self.done += 1;
        if !self.is_long || self.done.is_power_of_two() || self.done.is_multiple_of(100) {
            println!("{} step {} of {}, seed {}", self.name, self.done, self.steps, self.seed);
        }
        Some(self.done)
    }

    /// Returns a random duration up to `most`.
    pub(crate) fn within(&mut self, most: Duration) -> Duration {
        most.mul_f64(self.rng.f64())
    }

    /// Prints a report of one line.
    pub(crate) fn end(self, seen: &str) {
        let Self { name, seed, done, begun, .. } = self;
        let seconds = begun.elapsed().as_secs();
        println!("{name:<12} {done:>6} steps, seed {seed}, {seconds} s: {seen}");
    }
}
