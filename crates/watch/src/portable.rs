//! A watcher of the system, by the crate `notify`.

use std::path::Path;

use notify::event::{AccessKind, AccessMode, CreateKind, EventKind, ModifyKind, RenameMode};
use notify::{Config, ErrorKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::event::{Event, Refused, What};

/// A watcher, which has a thread.
pub(crate) struct Watcher(RecommendedWatcher);

impl Watcher {
    /// Starts one that passes on what happens, in its order.
    pub(crate) fn start(tell: impl Fn(&[Event]) + Send + 'static) -> Result<Self, String> {
        let pass = move |event| {
            let told = told(event);
            if !told.is_empty() {
                tell(&told);
            }
        };
        let config = Config::default().with_follow_symlinks(false);
        RecommendedWatcher::new(pass, config).map(Self).map_err(|error| error.to_string())
    }

    /// Watches a folder, without those in it.
    pub(crate) fn watch(&mut self, folder: &Path) -> Result<(), Refused> {
        let watched = self.0.watch(folder, RecursiveMode::NonRecursive);
        watched.map_err(|error| match error.kind {
            ErrorKind::MaxFilesWatch => Refused::Full,
            _ => Refused::Other(error.to_string()),
        })
    }

    /// Ends watching a folder, which may be gone.
    pub(crate) fn unwatch(&mut self, folder: &Path) {
        let _ = self.0.unwatch(folder);
    }
}

fn told(event: notify::Result<notify::Event>) -> Vec<Event> {
    match event {
        Ok(event) if !event.need_rescan() => {
            let what = what(event.kind);
            let at = |path| Some(Event::At(path, what?));
            event.paths.into_iter().filter_map(at).collect()
        }
        _ => vec![Event::Lost],
    }
}

/// Returns what an event of a kind says of its paths; `None` if nothing.
fn what(kind: EventKind) -> Option<What> {
    Some(match kind {
        // Ingest opens files, too.
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => What::Changed,
        EventKind::Access(_) => return None,
        EventKind::Create(kind) => What::Came { is_file: kind == CreateKind::File },
        EventKind::Remove(_) => What::Went,
        EventKind::Modify(ModifyKind::Name(mode)) => match mode {
            RenameMode::To => What::Came { is_file: false },
            // It tells again what the two events for each path have told.
            RenameMode::Both => return None,
            _ => What::Went,
        },
        EventKind::Modify(_) | EventKind::Any | EventKind::Other => What::Changed,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_written_is_told_and_what_is_read_is_not() {
        let temporary = tempfile::tempdir().unwrap();
        let (tell, telling) = channel();
        let pass = move |events: &[Event]| {
            for event in events {
                drop(tell.send(event.clone()));
            }
        };
        let mut watcher = Watcher::start(pass).unwrap();
        watcher.watch(temporary.path()).unwrap();
        let file = temporary.path().join("file");
        std::fs::write(&file, "text").unwrap();
        let came = Event::At(file, What::Came { is_file: true });
        while telling.recv_timeout(Duration::from_mins(1)).unwrap() != came {}
        watcher.unwatch(temporary.path());
        let gone = watcher.watch(&temporary.path().join("none"));
        assert!(matches!(gone, Err(Refused::Other(_))), "{gone:?}");
        for kind in [
            EventKind::Access(AccessKind::Open(AccessMode::Any)),
            EventKind::Access(AccessKind::Close(AccessMode::Read)),
            EventKind::Modify(ModifyKind::Name(RenameMode::Both)),
        ] {
            assert_eq!(what(kind), None);
        }
        let lost = notify::Event::new(EventKind::Other).set_flag(notify::event::Flag::Rescan);
        assert_eq!(told(Ok(lost)), [Event::Lost]);
    }
}
