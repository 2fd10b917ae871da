//! The thread that watches, for those who start it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use store::Change;

use crate::clones::Root;
use crate::common::{Common, Options, Status, Wanted};
use crate::event::Event;
use crate::hub::MOST;
use crate::thread::Thread;
use crate::unit::Checkout;

/// The thread, which ends when this is dropped.
pub struct Watching {
    common: Arc<Common>,
    thread: Option<JoinHandle<()>>,
}

impl Watching {
    /// Starts the thread. It passes on what is to be looked at.
    ///
    /// # Errors
    /// There is no room for a thread.
    pub fn start(
        options: Options,
        tell: impl Fn(Vec<Change>) + Send + 'static,
    ) -> std::io::Result<Self> {
        let common = Arc::new(Common::default());
        let of_thread = Arc::clone(&common);
        let work = move || Thread::new(of_thread, &options).run(&tell);
        let thread = std::thread::Builder::new().name("watching".to_owned()).spawn(work)?;
        Ok(Self { common, thread: Some(thread) })
    }

    /// Says what to watch from now on.
    pub fn watch(&self, specs: Vec<Checkout>, roots: Vec<Root>) {
        self.common.want(Wanted { specs, roots });
    }

    /// Says how to watch from now on.
    pub fn set_options(&self, options: Options) {
        self.common.set_options(options);
    }

    /// Returns what is watched.
    pub fn status(&self) -> Status {
        self.common.status()
    }

    /// Does what is done when the system has lost events.
    pub fn lose_events(&self) {
        (0..MOST).for_each(|watcher| self.common.shared.note(watcher, &[Event::Lost]));
    }

    /// Returns the folders that are watched.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.common.shared.lock().folders.keys().cloned().collect()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.common.stop.store(true, Ordering::Relaxed);
        self.common.shared.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
