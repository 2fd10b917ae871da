//! The thread that decides what is watched, and what is to be looked at.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use store::{Change, Reason};

use crate::clones::{Clones, Root};
use crate::common::{CheckoutStatus, Common, Options, Status, Wanted};
use crate::hub::Hub;
use crate::poll::Poller;
use crate::state::{Dirty, Owner};
use crate::system;
use crate::unit::{How, Unit};

/// Longest time from the first event until changes are looked at, unless git is at work, as a multiple of the time without
/// an event after which they are.
const LATEST: u32 = 3;

/// Time between two looks at whether git has ended its work.
const GIT: Duration = Duration::from_millis(20);

/// Time between two looks at whether the folders are still where they were, of which no event may tell.
const PLACES: Duration = Duration::from_secs(10);

/// Shortest time between two looks at everything because events were lost; it doubles while more are.
const LOST: (Duration, Duration) = (Duration::from_secs(2), Duration::from_mins(5));

/// What the thread works with.
pub(crate) struct Thread {
    common: Arc<Common>,
    hub: Hub,
    poller: Poller,
    /// Time without an event after which changes are complete.
    after: Duration,
    units: BTreeMap<usize, Unit>,
    /// The numbers of checkouts, by folder.
    numbers: HashMap<PathBuf, usize>,
    known: HashSet<PathBuf>,
    next_number: usize,
    roots: Vec<Root>,
    clones: Clones,
    next_places: Instant,
    /// When everything may be looked at again because events were lost, and how long to wait after that.
    lost: (Instant, Duration),
    lost_watchers: HashSet<usize>,
}

impl Thread {
    pub(crate) fn new(common: Arc<Common>, options: &Options) -> Self {
        let limit = options.watches.or_else(|| Some(system::watches()? / 2)).unwrap_or(usize::MAX);
        let hub = Hub::new(&common.shared, limit);
        let poller = Poller::new(&common.shared, &common.stop, options.poll_every);
        let now = Instant::now();
        Self {
            common,
            hub,
            poller,
            after: options.after,
            units: BTreeMap::new(),
            numbers: HashMap::new(),
            known: HashSet::new(),
            next_number: 0,
            roots: Vec::new(),
            clones: Clones::default(),
            next_places: now + PLACES,
            lost: (now, LOST.0),
            lost_watchers: HashSet::new(),
        }
    }

    fn is_stopped(&self) -> bool {
        self.common.stop.load(Ordering::Relaxed)
    }

    /// Watches until it is to stop.
    pub(crate) fn run(mut self, tell: &dyn Fn(Vec<Change>)) {
        while !self.is_stopped() {
            let mut changes = Vec::new();
            let wanted = self.common.take_wanted();
            let is_new = wanted.is_some();
            if let Some(wanted) = wanted {
                changes.extend(self.settle(wanted));
            }
            changes.extend(self.look_at_lost());
            self.look_at_places();
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
                self.tell_status();
            }
            if !changes.is_empty() && !self.is_stopped() {
                tell(changes);
            }
            self.wait(next, events);
        }
    }

    /// Waits until there is something to do: `next`, or an event besides those that were seen.
    fn wait(&self, next: Option<Instant>, events: u64) {
        let times = [next, self.clones.next(), self.poller.next(), Some(self.next_places)];
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
            if self.units.get_mut(&number).is_some_and(|unit| unit.waits(times)) {
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
            let Some(unit) = self.units.remove(&number) else { continue };
            unit.leave(&mut self.hub);
            self.poller.remove(number);
            self.common.shared.lock().dirty.remove(&number);
            self.numbers.remove(&unit.spec.folder);
            gone.push(unit.spec.folder);
        }
        self.known = folders;
        let mut changes = Vec::new();
        let (mut new, mut others) = (Vec::new(), Vec::new());
        for spec in wanted.specs {
            if let Some(number) = self.numbers.get(&spec.folder) {
                let unit = self.units.get_mut(number).expect("each number is one's");
                if unit.spec != spec {
                    unit.spec = spec;
                    others.push(*number);
                }
            } else {
                let number = self.next_number;
                self.next_number += 1;
                self.numbers.insert(spec.folder.clone(), number);
                self.units.insert(number, Unit::new(number, spec));
                new.push(number);
            }
        }
        // Git data first: without them, a change of what is polled would be noticed late, too.
        let mut with_room = Vec::new();
        for number in new.iter().chain(&others) {
            if self.is_stopped() {
                return Vec::new();
            }
            let unit = self.units.get_mut(number).expect("it was added");
            if unit.place_git(&mut self.hub) {
                with_room.push(*number);
            } else {
                self.poll_instead(*number, "its git data do not fit");
            }
            let unit = self.units.get_mut(number).expect("it was added");
            unit.read_index(&self.hub, None);
        }
        if wanted.roots != self.roots {
            for number in 0..self.roots.len() {
                self.hub.remove(Owner::Root(number), |_, _| true);
            }
            self.roots = wanted.roots;
            self.look_at_roots();
        }
        for folder in gone.iter().filter(|folder| folder.is_dir()) {
            // It may become one again.
            changes.extend(self.look_around(folder));
        }
        for number in with_room {
            self.watch_files(number);
        }
        self.watch_more();
        changes.extend(new.into_iter().filter_map(|number| self.all_of(number, Reason::Polled)));
        changes
    }

    fn look_at_roots(&mut self) {
        for (number, root) in self.roots.clone().iter().enumerate() {
            if !self.clones.find((number, root), &root.folder, &self.known, &mut self.hub) {
                tracing::warn!(
                    "new repositories in {} may be missed: its folders are more than can be watched; run                      codesearch ingest for them",
                    root.folder.display()
                );
            }
        }
    }

    fn all_of(&self, number: usize, reason: Reason) -> Option<Change> {
        let source = self.units.get(&number)?.spec.folder.to_str()?.to_owned();
        Some(Change { source, paths: None, reason })
    }

    /// Watches the folders of a checkout that have files, if they fit when the largest others are polled instead.
    fn watch_files(&mut self, number: usize) {
        while !self.is_stopped() {
            let Some(unit) = self.units.get_mut(&number) else { return };
            if unit.place_work(&mut self.hub, &self.common.stop) {
                unit.how = How::Watched;
                if unit.silent.is_some() {
                    self.poller.add(number);
                } else {
                    self.poller.remove(number);
                }
                return;
            }
            let needs = unit.count(&self.common.stop);
            unit.needs = needs;
            let others = self.units.values().filter(|other| other.number != number);
            let largest = others.max_by_key(|other| other.folders);
            match largest.filter(|largest| largest.folders > needs) {
                Some(largest) => {
                    let (largest, needs) = (largest.number, largest.folders);
                    self.units.get_mut(&largest).expect("it is one").needs = needs;
                    self.poll_instead(largest, "its folders do not fit");
                }
                None => return self.poll_instead(number, "its folders do not fit"),
            }
        }
    }

    /// Watches the folders of those that are polled and fit now.
    fn watch_more(&mut self) {
        loop {
            let room = self.hub.room();
            let fits = |unit: &&Unit| unit.how != How::Watched && (1..=room).contains(&unit.needs);
            let Some(unit) = self.units.values().filter(fits).min_by_key(|unit| unit.needs) else {
                return;
            };
            let number = unit.number;
            // Not again, if it has grown.
            self.units.get_mut(&number).expect("it is one").needs = 0;
            self.watch_files(number);
        }
    }

    /// Polls a checkout whose folders are not watched.
    fn poll_instead(&mut self, number: usize, why: &str) {
        let Some(unit) = self.units.get_mut(&number) else { return };
        let limit = self.hub.limit();
        let of = match (limit, self.hub.is_refused()) {
            (0, _) => "nothing can be watched here".to_owned(),
            (_, true) => {
                format!("{why} beside those of other programs, as the system watches no more")
            }
            (_, false) => {
                format!("{why} into the {limit} that are watched, half of what the system allows")
            }
        };
        unit.leave_work(&mut self.hub, of.clone());
        self.poller.add(number);
        tracing::warn!(
            "{} is polled: {of}; to watch more, raise fs.inotify.max_user_watches with sysctl",
            unit.spec.folder.display()
        );
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
        let is_lost = |owner| lost.contains(&self.hub.watcher_of(owner));
        let units: Vec<usize> =
            self.units.keys().copied().filter(|number| is_lost(Owner::Unit(*number))).collect();
        let has_lost_roots = (0..self.roots.len()).any(|number| is_lost(Owner::Root(number)));
        tracing::warn!(
            "the system lost events, so {} repositories and worktrees are looked at again; if it happens often, raise              fs.inotify.max_queued_events with sysctl",
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

    /// Notices folders that others have come to the places of, of which no event may tell.
    fn look_at_places(&mut self) {
        let now = Instant::now();
        if now < self.next_places {
            return;
        }
        self.next_places = now + PLACES;
        let moved: Vec<usize> =
            self.units.values().filter(|unit| unit.has_moved()).map(|unit| unit.number).collect();
        let mut state = self.common.shared.lock();
        for number in moved {
            let dirty = state.mark(number, now);
            dirty.all();
            dirty.replan();
        }
    }

    /// Watches what is new of a checkout, and returns what is to be looked at.
    fn look_at(&mut self, number: usize, mut dirty: Dirty) -> Option<Change> {
        let unit = self.units.get_mut(&number)?;
        if unit.has_moved() {
            dirty.all();
            dirty.replan();
        }
        if dirty.index && !dirty.replan {
            unit.read_index(&self.hub, Some(&mut dirty));
        }
        if dirty.replan {
            let has_room = unit.place_git(&mut self.hub);
            unit.read_index(&self.hub, None);
            if !has_room {
                self.poll_instead(number, "its git data do not fit");
            } else if unit.how == How::Watched {
                self.watch_files(number);
            }
        } else if unit.how == How::Watched && !unit.spec.from_commit && !dirty.folders.is_empty() {
            let new = dirty.folders.iter().cloned();
            if !unit.place_new(new, &mut self.hub, &self.common.stop) {
                self.watch_files(number);
            }
        }
        self.units.get(&number)?.change(&dirty)
    }

    /// Looks for repositories at a path below a root.
    fn look_around(&mut self, path: &Path) -> Option<Change> {
        if let Some(number) = self.numbers.get(path).copied() {
            // It has gone, or come back.
            let is_moved = self.units.get(&number).is_some_and(Unit::has_moved);
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
            self.clones.find((number, root), path, &self.known, &mut self.hub);
        }
        None
    }

    /// Returns what is to be looked at of what is polled.
    fn poll(&mut self) -> Vec<Change> {
        let units = &self.units;
        let changed = self.poller.due(|number| units.get(&number).map(Unit::polled));
        changed.into_iter().filter_map(|number| self.all_of(number, Reason::Polled)).collect()
    }

    fn tell_status(&self) {
        let checkouts = self.units.values().map(|unit| {
            let every = self.poller.every(unit.number);
            let polled = unit.polled_why().map(|why| match every {
                Some(every) => format!("every {} s: {why}", every.as_secs().max(1)),
                None => why,
            });
            CheckoutStatus { folder: unit.spec.folder.clone(), polled }
        });
        let status = Status {
            watches: self.common.shared.lock().folders.len(),
            limit: self.hub.limit(),
            checkouts: checkouts.collect(),
        };
        self.common.tell_status(status);
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
