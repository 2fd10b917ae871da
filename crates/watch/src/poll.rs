//! Looks from time to time at checkouts of which no events tell.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use crate::hub::Shared;
use crate::unit::Polled;

/// Time between two looks at a checkout, as a multiple of the time that one takes.
pub(crate) const SHARE: u32 = 20;

/// When a checkout is looked at.
struct Turn {
    next: Instant,
    /// Its state at the last look.
    state: Option<u64>,
    /// When that began.
    looked: Option<SystemTime>,
    every: Duration,
    /// Whether the thread is at it, or about to be.
    is_asked: bool,
}

/// The result of a look.
struct Looked {
    unit: usize,
    state: Option<u64>,
    begun: SystemTime,
    took: Duration,
}

/// The checkouts that are polled, and the thread that does.
pub(crate) struct Poller {
    least: Duration,
    turns: BTreeMap<usize, Turn>,
    ask: Option<Sender<(usize, Polled)>>,
    looked: Receiver<Looked>,
    thread: Option<JoinHandle<()>>,
}

impl Poller {
    /// Starts a thread that looks, and wakes who waits when it has. Each checkout rests for at least `least`.
    pub(crate) fn new(shared: &Arc<Shared>, stop: &Arc<AtomicBool>, least: Duration) -> Self {
        let (ask, asked) = channel::<(usize, Polled)>();
        let (tell, looked) = channel();
        let (shared, stop) = (Arc::clone(shared), Arc::clone(stop));
        let work = move || {
            for (unit, polled) in asked {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let (begun, at) = (SystemTime::now(), Instant::now());
                let state = polled.state(&stop);
                if tell.send(Looked { unit, state, begun, took: at.elapsed() }).is_err() {
                    return;
                }
                shared.wake();
            }
        };
        let thread = std::thread::Builder::new().name("polling".to_owned()).spawn(work).ok();
        Self { least, turns: BTreeMap::new(), ask: Some(ask), looked, thread }
    }

    /// Has a checkout polled: at once, and from then on.
    pub(crate) fn add(&mut self, unit: usize) {
        let (next, every) = (Instant::now(), self.least);
        let turn = Turn { next, state: None, looked: None, every, is_asked: false };
        self.turns.entry(unit).or_insert(turn);
    }

    /// Sets the shortest time between two looks at a checkout.
    pub(crate) fn set_least(&mut self, least: Duration) {
        self.least = least;
        let latest = Instant::now() + least;
        for turn in self.turns.values_mut() {
            turn.next = turn.next.min(latest);
        }
    }

    /// Returns the time before which all changes of a checkout were noticed, if events tell of those before `events`: a look that
    /// began later found the others. `None` if nobody has looked yet.
    pub(crate) fn told_until(&self, unit: usize, events: SystemTime) -> Option<SystemTime> {
        match self.turns.get(&unit) {
            None => Some(events),
            Some(turn) => Some(turn.looked?.min(events)),
        }
    }

    /// Ends polling a checkout.
    pub(crate) fn remove(&mut self, unit: usize) {
        self.turns.remove(&unit);
    }

    /// Returns how often a checkout is looked at.
    pub(crate) fn every(&self, unit: usize) -> Option<Duration> {
        self.turns.get(&unit).map(|turn| turn.every)
    }

    /// Returns the time of the next look.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.turns.values().filter(|turn| !turn.is_asked).map(|turn| turn.next).min()
    }

    /// Has those looked at that are due. `polled` tells what is polled of each. Returns those that have changed, or
    /// were looked at for the first time.
    pub(crate) fn due(&mut self, polled: impl Fn(usize) -> Option<Polled>) -> Vec<usize> {
        let now = Instant::now();
        let mut changed = Vec::new();
        for Looked { unit, state, begun, took } in self.looked.try_iter() {
            let Some(turn) = self.turns.get_mut(&unit) else { continue };
            turn.is_asked = false;
            turn.every = self.least.max(SHARE * took);
            turn.next = now + turn.every;
            turn.looked = Some(begun);
            // The first time, nobody knows what has changed since an ingest.
            if std::mem::replace(&mut turn.state, state) != state {
                changed.push(unit);
            }
        }
        for (unit, turn) in &mut self.turns {
            if !turn.is_asked && now >= turn.next {
                let asked = polled(*unit).zip(self.ask.as_ref());
                turn.is_asked =
                    asked.is_some_and(|(polled, ask)| ask.send((*unit, polled)).is_ok());
                turn.next = now + turn.every;
            }
        }
        changed
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.ask = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
