//! A file that is read again when it has changed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

use crate::{Error, Settings};

/// The settings of a process that runs long. They are read again when the file has changed; if it then has a mistake, the
/// last good state stays, and the mistake is logged and told by [`Watched::error`].
#[derive(Debug)]
pub struct Watched {
    file: Option<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    good: Arc<Settings>,
    error: Option<Error>,
    stamp: Stamp,
}

/// What tells that a file is another one, or has other contents; `None` if it cannot be asked.
type Stamp = Option<(SystemTime, u64, u64)>;

impl Watched {
    /// Reads the file of an option or variable, or else the usual one, or else none. A file that appears later where none
    /// was given is not read.
    ///
    /// # Errors
    /// It cannot be read, or has mistakes.
    pub fn open(given: Option<&std::path::Path>) -> Result<Self, Error> {
        let file = Settings::file_of(given);
        // Before it is read: a change meanwhile is seen later.
        let stamp = file.as_ref().and_then(stamp);
        let good = file.as_deref().map(Settings::read).transpose()?.unwrap_or_default();
        let state = State { good: Arc::new(good), error: None, stamp };
        let file = state.good.file.clone();
        Ok(Self { file, state: Mutex::new(state) })
    }

    /// Makes one of settings that do not change, for commands and tests.
    pub fn fixed(settings: Settings) -> Self {
        let state = State { good: Arc::new(settings), error: None, stamp: None };
        Self { file: None, state: Mutex::new(state) }
    }

    /// Returns the settings, from the file if it has changed since. This asks for the file's time, which takes
    /// microseconds.
    pub fn get(&self) -> Arc<Settings> {
        let mut state = self.lock();
        let Some(file) = &self.file else { return state.good.clone() };
        let now = stamp(file);
        if now == state.stamp {
            return state.good.clone();
        }
        state.stamp = now;
        match Settings::read(file) {
            Ok(settings) => {
                tracing::info!(file = %file.display(), "read the configuration file again");
                state.good = Arc::new(settings);
                state.error = None;
            }
            Err(error) => {
                tracing::error!("the configuration of before stays in use: {error}");
                state.error = Some(error);
            }
        }
        state.good.clone()
    }

    /// Returns what is wrong with the file as it is now; `None` if it is in use.
    pub fn error(&self) -> Option<Error> {
        self.get();
        self.lock().error.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Asks for what changes with a file's contents.
fn stamp(file: &PathBuf) -> Stamp {
    use std::os::unix::fs::MetadataExt as _;
    let about = std::fs::metadata(file).ok()?;
    Some((about.modified().ok()?, about.len(), about.ino()))
}
