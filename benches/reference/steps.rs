//! Steps of the experiments: each runs once for a state of the index, and its outcome is kept.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Divisor of the number of requests in a short run.
const SHORT: u32 = 10;

pub(crate) struct Steps {
    /// The folder of outcomes.
    folder: PathBuf,
    /// The state of the index and the length of the run, so that outcomes of other runs are not
    /// reused.
    state: String,
    short: bool,
    bar: ProgressBar,
}

/// A stored outcome of a step.
#[derive(Deserialize, Serialize)]
struct Kept<T> {
    index: String,
    outcome: T,
}

impl Steps {
    /// Opens the outcomes for a state of the index; with `again`, deletes all first.
    pub(crate) fn open(state: &str, short: bool, again: bool) -> Result<Self> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("reference");
        if again && folder.exists() {
            std::fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let style = ProgressStyle::with_template("{msg:24} {bar:30} {pos}/{len} {elapsed}")?;
        let bar = ProgressBar::new(0).with_style(style);
        bar.enable_steady_tick(Duration::from_millis(200));
        let state = format!("{state}{}", if short { "-short" } else { "" });
        Ok(Self { folder, state, short, bar })
    }

    /// Runs a step, or returns its outcome from an earlier run on the same state of the index.
    /// Names of steps are also file names.
    pub(crate) async fn step<T: DeserializeOwned + Serialize>(
        &self,
        name: &str,
        work: impl AsyncFnOnce() -> Result<T>,
    ) -> Result<T> {
        let file = self.folder.join(format!("{name}.json"));
        let kept = std::fs::read(&file)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Kept<T>>(&bytes).ok())
            .filter(|kept| kept.index == self.state);
        if let Some(kept) = kept {
            self.say(&format!("{name}: done by an earlier run"));
            return Ok(kept.outcome);
        }
        self.bar.reset();
        self.bar.set_message(name.to_owned());
        let outcome = work().await.with_context(|| format!("the step {name} failed"))?;
        let kept = Kept { index: self.state.clone(), outcome };
        write(&file, &serde_json::to_vec_pretty(&kept)?)?;
        self.say(&format!("{name}: {:.1} s", self.bar.elapsed().as_secs_f64()));
        Ok(kept.outcome)
    }

    /// Shows the progress of the step.
    pub(crate) fn progress(&self, done: u64, of: u64) {
        self.bar.set_length(of);
        self.bar.set_position(done);
    }

    /// Returns a number of repetitions, adapted to the length of the run.
    pub(crate) fn times(&self, times: usize) -> usize {
        if self.short { times.div_ceil(SHORT as usize) } else { times }
    }

    /// Returns a duration, adapted to the length of the run.
    pub(crate) fn span(&self, time: Duration) -> Duration {
        if self.short { time / SHORT } else { time }
    }

    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn say(&self, line: &str) {
        // A hidden bar prints nothing.
        if self.bar.is_hidden() {
            eprintln!("{line}");
        } else {
            self.bar.println(line);
        }
    }
}

/// Writes a file completely or not at all.
fn write(file: &Path, bytes: &[u8]) -> Result<()> {
    let part = file.with_extension("part");
    std::fs::write(&part, bytes)
        .and_then(|()| std::fs::rename(&part, file))
        .with_context(|| format!("cannot write {}", file.display()))
}
