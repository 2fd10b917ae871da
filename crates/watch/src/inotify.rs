//! A watcher of the system, by inotify.
//!
//! The crate `notify`, which does this elsewhere ([`portable`](crate::portable)), has the system tell of reading, too, so that
//! an ingest of many files overflows the queue of events by itself; and for each folder that goes it looks at all others.

use std::collections::HashMap;
use std::io::{PipeReader, PipeWriter};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify, InotifyEvent, WatchDescriptor};

use crate::event::{Event, Refused, What};

/// What is to be told of a folder: all but reading.
const MASK: AddWatchFlags = AddWatchFlags::IN_CREATE
    .union(AddWatchFlags::IN_DELETE)
    .union(AddWatchFlags::IN_MODIFY)
    .union(AddWatchFlags::IN_CLOSE_WRITE)
    .union(AddWatchFlags::IN_ATTRIB)
    .union(AddWatchFlags::IN_MOVED_FROM)
    .union(AddWatchFlags::IN_MOVED_TO)
    .union(AddWatchFlags::IN_DELETE_SELF)
    .union(AddWatchFlags::IN_MOVE_SELF)
    .union(AddWatchFlags::IN_ONLYDIR);

/// A watcher, and the thread that reads its events.
pub(crate) struct Watcher {
    shared: Arc<Shared>,
    /// Closing it ends the thread.
    end: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    inotify: Inotify,
    watches: Mutex<Watches>,
}

/// The watched folders. A folder that is renamed keeps its watch, which then has another path, or none.
#[derive(Default)]
struct Watches {
    folders: HashMap<WatchDescriptor, Arc<Path>>,
    watches: HashMap<Arc<Path>, WatchDescriptor>,
}

impl Watcher {
    /// Starts one that passes on what happens, in its order.
    pub(crate) fn start(tell: impl Fn(&[Event]) + Send + 'static) -> Result<Self, String> {
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK);
        let inotify = inotify.map_err(|errno| errno.desc().to_owned())?;
        let (ended, end) = std::io::pipe().map_err(|error| error.to_string())?;
        let shared = Arc::new(Shared { inotify, watches: Mutex::default() });
        let of_thread = Arc::clone(&shared);
        let work = move || of_thread.run(&ended, &tell);
        let thread = std::thread::Builder::new().name("events".to_owned()).spawn(work);
        let thread = Some(thread.map_err(|error| error.to_string())?);
        Ok(Self { shared, end: Some(end), thread })
    }

    /// Watches a folder, without those in it. If it is watched, that goes on, unless another folder has come to its path.
    pub(crate) fn watch(&mut self, folder: &Path) -> Result<(), Refused> {
        // Nobody looks up its first event before its path is known.
        let mut watches = self.shared.lock();
        let watch = self.shared.inotify.add_watch(folder, MASK).map_err(|errno| match errno {
            Errno::ENOSPC => Refused::Full,
            other => Refused::Other(other.desc().to_owned()),
        })?;
        if watches.watches.get(folder) == Some(&watch) {
            return Ok(());
        }
        let folder: Arc<Path> = folder.into();
        if let Some(renamed) = watches.folders.insert(watch, Arc::clone(&folder)) {
            watches.watches.remove(&renamed);
        }
        if let Some(before) = watches.watches.insert(folder, watch) {
            watches.folders.remove(&before);
            let _ = self.shared.inotify.rm_watch(before);
        }
        Ok(())
    }

    /// Ends watching a folder, which may be gone.
    pub(crate) fn unwatch(&mut self, folder: &Path) {
        let mut watches = self.shared.lock();
        if let Some(watch) = watches.watches.remove(folder) {
            watches.folders.remove(&watch);
            let _ = self.shared.inotify.rm_watch(watch);
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Watches> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads events until the other end is closed.
    fn run(&self, ended: &PipeReader, tell: &dyn Fn(&[Event])) {
        loop {
            let mut ready = [
                PollFd::new(self.inotify.as_fd(), PollFlags::POLLIN),
                PollFd::new(ended.as_fd(), PollFlags::POLLIN),
            ];
            match poll(&mut ready, PollTimeout::NONE) {
                Err(Errno::EINTR) => continue,
                Err(_) => return tell(&[Event::Lost]),
                Ok(_) => {}
            }
            if ready[1].any() != Some(false) {
                return;
            }
            match self.inotify.read_events() {
                Ok(events) => {
                    let told = self.told(events);
                    if !told.is_empty() {
                        tell(&told);
                    }
                }
                Err(Errno::EAGAIN | Errno::EINTR) => {}
                Err(_) => tell(&[Event::Lost]),
            }
        }
    }

    fn told(&self, events: Vec<InotifyEvent>) -> Vec<Event> {
        let mut watches = self.lock();
        let mut told: Vec<Event> = Vec::with_capacity(events.len());
        for event in events {
            if event.mask.contains(AddWatchFlags::IN_Q_OVERFLOW) {
                told.push(Event::Lost);
            }
            let Some(folder) = watches.folders.get(&event.wd).cloned() else { continue };
            if event.mask.contains(AddWatchFlags::IN_IGNORED) {
                // The folder is gone.
                watches.folders.remove(&event.wd);
                if watches.watches.get(&folder) == Some(&event.wd) {
                    watches.watches.remove(&folder);
                }
            }
            let Some(what) = what(event.mask) else { continue };
            let path = event.name.map_or_else(|| folder.to_path_buf(), |name| folder.join(name));
            // A file is written in many steps.
            let is_again =
                matches!(told.last(), Some(Event::At(last, was)) if *was == what && *last == path);
            if !is_again {
                told.push(Event::At(path, what));
            }
        }
        told
    }
}

/// Returns what an event says of its path; `None` if nothing.
fn what(mask: AddWatchFlags) -> Option<What> {
    let is = |flags| mask.intersects(flags);
    let went = AddWatchFlags::IN_DELETE
        | AddWatchFlags::IN_DELETE_SELF
        | AddWatchFlags::IN_MOVED_FROM
        | AddWatchFlags::IN_MOVE_SELF
        | AddWatchFlags::IN_UNMOUNT;
    if is(went) {
        Some(What::Went)
    } else if is(AddWatchFlags::IN_CREATE | AddWatchFlags::IN_MOVED_TO) {
        Some(What::Came { is_file: !is(AddWatchFlags::IN_ISDIR) })
    } else {
        let changed =
            AddWatchFlags::IN_MODIFY | AddWatchFlags::IN_CLOSE_WRITE | AddWatchFlags::IN_ATTRIB;
        is(changed).then_some(What::Changed)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use super::*;

    fn watcher() -> (Watcher, Receiver<Event>) {
        let (tell, told) = channel();
        let pass = move |events: &[Event]| {
            for event in events {
                drop(tell.send(event.clone()));
            }
        };
        (Watcher::start(pass).unwrap(), told)
    }

    #[track_caller]
    fn until(told: &Receiver<Event>, path: &Path, what: What) -> Vec<Event> {
        let mut all = Vec::new();
        while let Ok(event) = told.recv_timeout(Duration::from_mins(1)) {
            let is_it = event == Event::At(path.to_owned(), what);
            all.push(event);
            if is_it {
                return all;
            }
        }
        panic!("it was not told of {}, but: {all:?}", path.display());
    }

    #[test]
    fn a_folder_that_comes_to_a_path_is_told_of_and_the_one_before_is_not() {
        let temporary = tempfile::tempdir().unwrap();
        let (mut watcher, told) = watcher();
        let at = |path: &str| temporary.path().join(path);
        fs::create_dir(at("a")).unwrap();
        watcher.watch(&at("a")).unwrap();
        fs::rename(at("a"), at("b")).unwrap();
        until(&told, &at("a"), What::Went);
        fs::create_dir(at("a")).unwrap();
        watcher.watch(&at("a")).unwrap();
        fs::write(at("b/old"), "").unwrap();
        fs::write(at("a/new"), "").unwrap();
        let all = until(&told, &at("a/new"), What::Came { is_file: true });
        assert_eq!(all.len(), 1, "{all:?}");
        // The same folder by its new path.
        watcher.watch(&at("b")).unwrap();
        fs::create_dir(at("b/folder")).unwrap();
        until(&told, &at("b/folder"), What::Came { is_file: false });
        watcher.unwatch(&at("b"));
        fs::write(at("b/unseen"), "").unwrap();
        fs::remove_dir_all(at("a")).unwrap();
        let all = until(&told, &at("a"), What::Went);
        assert!(!format!("{all:?}").contains("unseen"), "{all:?}");
        assert!(matches!(watcher.watch(&at("none")), Err(Refused::Other(_))));
    }

    #[test]
    fn reading_is_not_told() {
        let temporary = tempfile::tempdir().unwrap();
        let file = temporary.path().join("file");
        fs::write(&file, "text").unwrap();
        let (mut watcher, told) = watcher();
        watcher.watch(temporary.path()).unwrap();
        fs::read(&file).unwrap();
        fs::read_dir(temporary.path()).unwrap().for_each(drop);
        fs::write(temporary.path().join("other"), "").unwrap();
        let all = until(&told, &temporary.path().join("other"), What::Changed);
        assert!(!format!("{all:?}").contains("file\""), "{all:?}");
    }

    #[test]
    fn watches_end_with_their_folders() {
        let temporary = tempfile::tempdir().unwrap();
        let (mut watcher, told) = watcher();
        let folders: Vec<PathBuf> =
            (0..500).map(|n| temporary.path().join(format!("{n}"))).collect();
        for folder in &folders {
            fs::create_dir(folder).unwrap();
            watcher.watch(folder).unwrap();
        }
        watcher.watch(temporary.path()).unwrap();
        for folder in &folders {
            fs::remove_dir(folder).unwrap();
        }
        fs::write(temporary.path().join("last"), "").unwrap();
        until(&told, &temporary.path().join("last"), What::Changed);
        let left = watcher.shared.lock();
        assert_eq!((left.folders.len(), left.watches.len()), (1, 1));
    }

    #[test]
    fn an_overflow_is_told() {
        let most: usize = std::fs::read_to_string("/proc/sys/fs/inotify/max_queued_events")
            .ok()
            .and_then(|most| most.trim().parse().ok())
            .unwrap_or(usize::MAX);
        if most > 1 << 20 {
            eprintln!("left out: the system keeps {most} events");
            return;
        }
        let temporary = tempfile::tempdir().unwrap();
        let (tell, told) = channel();
        let (go, gone) = channel::<()>();
        // Nobody reads events until there are too many.
        let pass = move |events: &[Event]| {
            let _ = gone.recv();
            for event in events {
                drop(tell.send(event.clone()));
            }
        };
        let mut watcher = Watcher::start(pass).unwrap();
        watcher.watch(temporary.path()).unwrap();
        let at = |name: &str| temporary.path().join(name);
        fs::write(at("a"), "").unwrap();
        for _ in 0..most / 4 + 1000 {
            fs::rename(at("a"), at("b")).unwrap();
            fs::rename(at("b"), at("a")).unwrap();
        }
        drop(go);
        while told.recv_timeout(Duration::from_mins(1)).unwrap() != Event::Lost {}
        // It goes on.
        fs::write(at("last"), "").unwrap();
        until(&told, &at("last"), What::Changed);
    }
}
