//! The thread that decides what is watched, and what is to be looked at.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use store::{Change, Reason};

use crate::checkouts::Checkouts;
use crate::clones::{Clones, Root};
use crate::common::{Common, Options, Wanted};
use crate::poll::SHARE;
use crate::state::{Dirty, Owner};
use crate::system;
use crate::unit::{How, Unit};

/// Longest time from the first event until changes are looked at, unless git is at work, as a multiple of the time without
/// an event after which they are.
const LATEST: u32 = 3;

/// Time between two looks at whether git has ended its work.
const GIT: Duration = Duration::from_millis(20);

/// Shortest time between two looks at everything because events were lost; it doubles while more are.
const LOST: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(5));

/// What the thread works with.
pub(crate) struct Thread {
    common: Arc<Common>,
    all: Checkouts,
    /// Time without an event after which changes are complete.
    after: Duration,
    /// The numbers of checkouts, by folder.
    numbers: HashMap<PathBuf, usize>,
    known: HashSet<PathBuf>,
    next_number: usize,
    roots: Vec<Root>,
    /// When to look for new repositories of which no event may tell; `None` if events tell of all.
    next_roots: Option<Instant>,
    /// Shortest time between two looks at what no events tell of.
    poll_every: Duration,
    clones: Clones,
    /// When to look whether the folders are still where they were, and how often.
    next_places: Instant,
    places_every: Duration,
    /// When that was done the last time.
    places: Option<(Instant, SystemTime)>,
    /// When everything may be looked at again because events were lost, and how long to wait after that.
    lost: (Instant, Duration),
    lost_watchers: HashSet<usize>,
}

impl Thread {
    pub(crate) fn new(common: Arc<Common>, options: &Options) -> Self {
        let all = Checkouts::new(&common, options);
        let now = Instant::now();
        Self {
            common,
            all,
            after: options.after,
            numbers: HashMap::new(),
            known: HashSet::new(),
            next_number: 0,
            roots: Vec::new(),
            next_roots: None,
            poll_every: options.poll_every,
            clones: Clones::default(),
            next_places: now + options.places_every,
            places_every: options.places_every,
            places: None,
            lost: (now, LOST.0),
            lost_watchers: HashSet::new(),
        }
    }

    /// Watches as `options` say, from now on.
    fn set_options(&mut self, options: &Options) {
        self.after = options.after;
        self.all.poller.set_least(options.poll_every);
        self.poll_every = options.poll_every;
        self.next_roots = self.next_roots.map(|next| next.min(Instant::now() + self.poll_every));
        self.places_every = options.places_every;
        self.next_places = self.next_places.min(Instant::now() + self.places_every);
        self.all.set_limit(options);
    }

    fn is_stopped(&self) -> bool {
        self.common.stop.load(Ordering::Relaxed)
    }

    /// Watches until it is to stop.
    pub(crate) fn run(mut self, tell: &dyn Fn(Vec<Change>)) {
        while !self.is_stopped() {
            let mut changes = Vec::new();
            self.all.hub.sweep();
            let options = self.common.take_options();
            let wanted = self.common.take_wanted();
            let is_new = wanted.is_some() || options.is_some();
            if let Some(options) = options {
                self.set_options(&options);
            }
            if let Some(wanted) = wanted {
                changes.extend(self.settle(wanted));
            }
            changes.extend(self.look_at_lost());
            if self.next_roots.is_some_and(|next| Instant::now() >= next) {
                self.look_at_roots();
            }
            let Ripe { dirty, touched, next, events } = self.ripe();
            let is_work = is_new || !dirty.is_empty() || !touched.is_empty();
            for (unit, dirty) in dirty {
                changes.extend(self.look_at(unit, dirty));
            }
            for path in touched {
                changes.extend(self.look_around(&path));
            }
            changes.extend(self.clones.due(&self.known));
            changes.extend(self.poll());
            if is_work || !changes.is_empty() {
                self.common.tell_status(self.all.status());
            }
            if !changes.is_empty() && !self.is_stopped() {
                tell(changes);
            }
            // After what was noticed before is passed on.
            if self.look_at_places() {
                self.common.tell_status(self.all.status());
            }
            self.wait(next, events);
        }
    }

    /// Waits until there is something to do: `next`, or an event besides those that were seen.
    fn wait(&self, next: Option<Instant>, events: u64) {
        let times = [
            next,
            self.clones.next(),
            self.all.poller.next(),
            Some(self.next_places),
            self.next_roots,
        ];
        let lost = (!self.lost_watchers.is_empty()).then_some(self.lost.0);
        let Some(next) = times.into_iter().chain([lost]).flatten().min() else { return };
        let state = self.common.shared.lock();
        let is_wanted = self.common.is_wanted();
        if self.is_stopped() || is_wanted || state.events != events {
            return;
        }
        let most = next.saturating_duration_since(Instant::now());
        if !most.is_zero() {
            drop(self.common.shared.wait(state, most));
        }
    }

    /// Takes what is complete.
    fn ripe(&mut self) -> Ripe {
        let now = Instant::now();
        let after = self.after;
        let mut next: Option<Instant> = None;
        let mut is_ripe = |(first, last): (Instant, Instant), quiet: Duration| {
            let at = (last + quiet).min(first + LATEST * after);
            if at > now {
                next = Some(next.map_or(at, |next| next.min(at)));
            }
            at <= now
        };
        let mut state = self.common.shared.lock();
        let events = state.events;
        let mut all = Vec::new();
        for (number, dirty) in &state.dirty {
            let times = (dirty.first, dirty.last);
            if is_ripe(times, if dirty.is_small() { after / 3 } else { after }) {
                all.push((*number, times));
            }
        }
        let touched: Vec<PathBuf> = state
            .touched
            .iter()
            .filter(|(_, at)| is_ripe(**at, after))
            .map(|(path, _)| path.clone())
            .collect();
        state.touched.retain(|path, _| !touched.contains(path));
        drop(state);
        let mut ripe = Vec::new();
        for (number, times) in all {
            if self.all.units.get_mut(&number).is_some_and(|unit| unit.waits(times)) {
                next = Some(next.map_or(now + GIT, |next| next.min(now + GIT)));
            } else {
                ripe.push(number);
            }
        }
        let mut state = self.common.shared.lock();
        let dirty = ripe.into_iter().filter_map(|number| state.dirty.remove_entry(&number));
        let dirty = dirty.collect();
        drop(state);
        Ripe { dirty, touched, next, events }
    }

    /// Watches what is wanted, and returns what is to be looked at since nobody watched it before.
    fn settle(&mut self, wanted: Wanted) -> Vec<Change> {
        let folders: HashSet<PathBuf> =
            wanted.specs.iter().map(|spec| spec.folder.clone()).collect();
        let left: Vec<usize> = self
            .numbers
            .iter()
            .filter(|(folder, _)| !folders.contains(*folder))
            .map(|(_, number)| *number)
            .collect();
        let mut gone = Vec::new();
        for number in left {
            let Some(unit) = self.all.units.remove(&number) else { continue };
            unit.leave(&mut self.all.hub);
            self.all.poller.remove(number);
            self.common.shared.lock().dirty.remove(&number);
            self.numbers.remove(&unit.spec.folder);
            gone.push(unit.spec.folder);
        }
        self.known = folders;
        let mut changes = Vec::new();
        let (mut new, mut others) = (Vec::new(), Vec::new());
        for spec in wanted.specs {
            if let Some(number) = self.numbers.get(&spec.folder) {
                let unit = self.all.units.get_mut(number).expect("each number is one's");
                if unit.spec != spec {
                    unit.spec = spec;
                    others.push(*number);
                }
            } else {
                let number = self.next_number;
                self.next_number += 1;
                self.numbers.insert(spec.folder.clone(), number);
                self.all.units.insert(number, Unit::new(number, spec));
                new.push(number);
            }
        }
        // Git data first: without them, a change of what is polled would be noticed late, too.
        let mut with_room = Vec::new();
        for number in new.iter().chain(&others) {
            if self.is_stopped() {
                return Vec::new();
            }
            let unit = self.all.units.get_mut(number).expect("it was added");
            if unit.place_git(&mut self.all.hub) {
                with_room.push(*number);
            } else {
                self.all.poll_instead(*number, "its git data do not fit");
            }
            let unit = self.all.units.get_mut(number).expect("it was added");
            unit.read_index(&self.all.hub, None);
        }
        if wanted.roots != self.roots {
            for number in 0..self.roots.len() {
                self.all.hub.remove(Owner::Root(number), |_, _| true);
            }
            self.roots = wanted.roots;
            self.next_roots = None;
            self.look_at_roots();
        }
        for folder in gone.iter().filter(|folder| folder.is_dir()) {
            // It may become one again.
            changes.extend(self.look_around(folder));
        }
        for number in with_room {
            self.all.watch_files(number);
        }
        self.all.watch_more();
        for number in &new {
            self.all.units.get_mut(number).expect("it was added").placed = Some(Instant::now());
        }
        changes.extend(new.into_iter().filter_map(|number| self.all_of(number, Reason::Polled)));
        changes
    }

    /// Looks for repositories that are not known, and watches the other folders. If no events tell of new ones, has that done
    /// again.
    fn look_at_roots(&mut self) {
        let begun = Instant::now();
        let was_polled = self.next_roots.is_some();
        let mut polled = false;
        for (number, root) in self.roots.clone().iter().enumerate() {
            let found = (number, root);
            let has_room = self.clones.find(found, &root.folder, &self.known, &mut self.all.hub);
            polled |= !has_room || system::silent(&root.folder).is_some();
            if !has_room && !was_polled {
                tracing::warn!(
                    "new repositories in {} are found only from time to time: its folders are more than can be watched",
                    root.folder.display()
                );
            }
        }
        let pause = self.poll_every.max(SHARE * begun.elapsed());
        self.next_roots = polled.then(|| Instant::now() + pause);
    }

    fn all_of(&self, number: usize, reason: Reason) -> Option<Change> {
        let source = self.all.units.get(&number)?.spec.folder.to_str()?.to_owned();
        Some(Change { source, paths: None, reason })
    }

    /// Looks at everything of which a watcher has lost events, but not all the time.
    fn look_at_lost(&mut self) -> Vec<Change> {
        let lost = std::mem::take(&mut self.common.shared.lock().lost);
        self.lost_watchers.extend(lost);
        let now = Instant::now();
        if self.lost_watchers.is_empty() || now < self.lost.0 {
            return Vec::new();
        }
        // What an ingest reads makes events, too.
        let pause = if now > self.lost.0 + 10 * self.lost.1 { LOST.0 } else { self.lost.1 };
        self.lost = (now + pause, (2 * pause).min(LOST.1));
        let lost = std::mem::take(&mut self.lost_watchers);
        let is_lost = |owner| lost.contains(&self.all.hub.watcher_of(owner));
        let units: Vec<usize> =
            self.all.units.keys().copied().filter(|number| is_lost(Owner::Unit(*number))).collect();
        let has_lost_roots = (0..self.roots.len()).any(|number| is_lost(Owner::Root(number)));
        tracing::warn!(
            "the system lost events, so {} repositories and worktrees are looked at again; if it happens often, raise \
             fs.inotify.max_queued_events with sysctl",
            units.len()
        );
        if has_lost_roots {
            self.look_at_roots();
        }
        let all = |number| {
            let mut dirty = Dirty::new(now);
            dirty.all();
            dirty.replan();
            self.look_at(number, dirty)
        };
        units.into_iter().filter_map(all).collect()
    }

    /// Notices folders that others have come to the places of, of which no event may tell. Returns whether it has looked.
    ///
    /// A checkout that was in its place the last time, too, and of which nothing is to be looked at now, has not changed
    /// until then, besides what was passed on: events need no such time to arrive.
    fn look_at_places(&mut self) -> bool {
        let now = Instant::now();
        if now < self.next_places {
            return false;
        }
        self.next_places = now + self.places_every;
        let moved: Vec<usize> = self
            .all
            .units
            .values()
            .filter(|unit| unit.has_moved())
            .map(|unit| unit.number)
            .collect();
        let before = self.places.replace((now, SystemTime::now()));
        let mut state = self.common.shared.lock();
        for number in moved {
            let dirty = state.mark(number, now);
            dirty.all();
            dirty.replan();
        }
        let Some((looked, time)) = before else { return true };
        for unit in self.all.units.values_mut() {
            let watcher = self.all.hub.watcher_of(Owner::Unit(unit.number));
            let is_lost = state.lost.contains(&watcher) || self.lost_watchers.contains(&watcher);
            let is_new = unit.placed.is_none_or(|placed| looked < placed);
            if is_lost || is_new || state.dirty.contains_key(&unit.number) {
                continue;
            }
            unit.told_until = self.all.poller.told_until(unit.number, time);
        }
        true
    }

    /// Watches what is new of a checkout, and returns what is to be looked at.
    fn look_at(&mut self, number: usize, mut dirty: Dirty) -> Option<Change> {
        let unit = self.all.units.get_mut(&number)?;
        if unit.has_moved() {
            dirty.all();
            dirty.replan();
        }
        if dirty.index && !dirty.replan {
            unit.read_index(&self.all.hub, Some(&mut dirty));
        }
        if dirty.replan {
            let has_room = unit.place_git(&mut self.all.hub);
            unit.read_index(&self.all.hub, None);
            if !has_room {
                self.all.poll_instead(number, "its git data do not fit");
            } else if unit.how == How::Watched {
                self.all.watch_files(number);
            }
        } else if unit.how == How::Watched && !unit.spec.from_commit && !dirty.folders.is_empty() {
            let new = dirty.folders.iter().cloned();
            if !unit.place_new(new, &mut self.all.hub, &self.common.stop) {
                self.all.watch_files(number);
            }
        }
        self.all.units.get(&number)?.change(&dirty)
    }

    /// Looks for repositories at a path below a root.
    fn look_around(&mut self, path: &Path) -> Option<Change> {
        if let Some(number) = self.numbers.get(path).copied() {
            // It has gone, or come back.
            let is_moved = self.all.units.get(&number).is_some_and(Unit::has_moved);
            return is_moved.then(|| self.look_at(number, Dirty::new(Instant::now())))?;
        }
        if path.join(".git").symlink_metadata().is_ok() {
            // Perhaps inside of another one.
            self.clones.add(path.to_owned());
            return None;
        }
        let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
        let roots = self.roots.iter().enumerate();
        let root = roots.filter(|(_, root)| path.starts_with(&root.folder));
        let root = root.max_by_key(|(_, root)| root.folder.components().count());
        if let Some((number, root)) = root.filter(|_| is_folder) {
            self.clones.find((number, root), path, &self.known, &mut self.all.hub);
        }
        None
    }

    /// Returns what is to be looked at of what is polled.
    fn poll(&mut self) -> Vec<Change> {
        let units = &self.all.units;
        let changed = self.all.poller.due(|number| units.get(&number).map(Unit::polled));
        changed.into_iter().filter_map(|number| self.all_of(number, Reason::Polled)).collect()
    }
}

/// What is to be looked at now.
struct Ripe {
    dirty: Vec<(usize, Dirty)>,
    /// Paths at which a repository may have appeared.
    touched: Vec<PathBuf>,
    /// When the next ones will be.
    next: Option<Instant>,
    /// The number of events until now.
    events: u64,
}
