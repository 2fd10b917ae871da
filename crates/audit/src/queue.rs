//! The events that wait for the database.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use store::AuditEvent;
use tokio::sync::Notify;

use super::now;

/// Limits on what waits: some minutes of a busy server.
const MAX_EVENTS: usize = 20_000;
const MAX_BYTES: usize = 16 << 20;

/// Most events of a batch.
const MAX_BATCH: usize = 1000;

/// Microseconds for which the refusals of a client are counted together.
const WINDOW: i64 = 60_000_000;

/// Most refusals of a client in that time that are events of their own.
const MAX_REFUSALS: u32 = 10;

/// Most clients whose refusals are counted. Those of further ones are counted together.
const MAX_REFUSED: usize = 1024;

/// The queue of a server's audit.
#[derive(Debug, Default)]
pub struct Audit {
    queue: Mutex<Queue>,
    running: AtomicI32,
    written: AtomicU64,
    pub(crate) wake: Notify,
}

#[derive(Debug)]
struct Queue {
    events: VecDeque<AuditEvent>,
    /// The number of the first of them.
    first: i64,
    /// Approximate size, in bytes.
    bytes: usize,
    /// Events that did not fit, of which no event tells yet.
    lost: Option<Lost>,
    /// Number of all events that were ever lost.
    all_lost: u64,
    refusals: HashMap<Refused, Window>,
    max_events: usize,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            events: VecDeque::new(),
            first: 1,
            bytes: 0,
            lost: None,
            all_lost: 0,
            refusals: HashMap::new(),
            max_events: MAX_EVENTS,
        }
    }
}

/// Who is refused: an address or its network, `None` for further ones; and the name, if it is proven.
type Refused = (Option<IpAddr>, Option<String>);

/// Events that were dropped.
#[derive(Clone, Copy, Debug)]
struct Lost {
    count: i32,
    /// Times of the first and the last, in microseconds since 1970.
    from: i64,
    to: i64,
}

/// The refusals of a client.
#[derive(Debug)]
struct Window {
    began: i64,
    told: u32,
    /// The last of the further ones, with their number.
    more: Option<AuditEvent>,
}

/// The first events that wait.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) events: Vec<AuditEvent>,
    /// The number of the first of them.
    pub(crate) first: i64,
    /// The time, in microseconds since 1970, before which no event waits after them.
    pub(crate) until: i64,
}

/// Numbers of events since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Those in the database.
    pub written: u64,
    /// Those that were dropped, since the database was away for long.
    pub lost: u64,
    /// Those that wait for the database.
    pub waiting: u64,
}

impl Audit {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request that is being answered, until [`push`](Self::push) or [`refuse`](Self::refuse).
    pub fn begin(&self) {
        self.running.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of requests that are being answered.
    pub fn running(&self) -> i32 {
        self.running.load(Ordering::Relaxed)
    }

    /// Adds the event of a request that has ended. Never waits for the database.
    pub fn push(&self, event: AuditEvent) {
        self.lock().push(event);
        self.running.fetch_sub(1, Ordering::Relaxed);
        self.wake.notify_one();
    }

    /// Adds the event of a refused request. After the first ones of a client within a minute (its address or network, and
    /// its name if that is proven), only the number of the others becomes an event.
    pub fn refuse(&self, network: Option<IpAddr>, event: AuditEvent) {
        let mut queue = self.lock();
        queue.end_windows(event.at - WINDOW);
        let mut client = (network, event.who.clone());
        if queue.refusals.len() >= MAX_REFUSED && !queue.refusals.contains_key(&client) {
            client = (None, None);
        }
        let window =
            queue.refusals.entry(client).or_insert(Window { began: event.at, told: 0, more: None });
        if window.told < MAX_REFUSALS {
            window.told += 1;
            queue.push(event);
        } else {
            let more = window.more.as_ref().map_or(0, |more| more.more + 1);
            window.more = Some(AuditEvent { more, ..event });
        }
        drop(queue);
        self.running.fetch_sub(1, Ordering::Relaxed);
        self.wake.notify_one();
    }

    /// Returns the numbers of events.
    pub fn counts(&self) -> Counts {
        let queue = self.lock();
        Counts {
            written: self.written.load(Ordering::Relaxed),
            lost: queue.all_lost,
            waiting: queue.events.len() as u64,
        }
    }

    /// Returns the first events that wait. They wait on until [`written`](Self::written).
    pub(crate) fn batch(&self, all: bool) -> Batch {
        let mut queue = self.lock();
        let now = now();
        queue.end_windows(if all { i64::MAX } else { now - WINDOW });
        let events = queue.events.iter().take(MAX_BATCH).cloned().collect();
        let until = queue.later().fold(now, i64::min);
        Batch { events, first: queue.first, until }
    }

    /// Returns whether events wait.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.lock().events.is_empty()
    }

    /// Drops events of a batch that are in the database.
    pub(crate) fn written(&self, count: usize) {
        let mut queue = self.lock();
        for _ in 0..count {
            let Some(event) = queue.events.pop_front() else { break };
            queue.bytes -= event.size().min(queue.bytes);
            queue.first += 1;
        }
        if let Some(lost) = queue.lost.take() {
            let event = lost.event();
            queue.push(event);
        }
        drop(queue);
        self.written.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Notes that the requests which still run are not waited for.
    pub(crate) fn give_up_running(&self) {
        let (running, now) = (self.running(), now());
        if running > 0 {
            let lost = Lost { count: running, from: now, to: now };
            let mut queue = self.lock();
            queue.all_lost += u64::from(running.unsigned_abs());
            queue.push(lost.event());
        }
    }
}

impl Queue {
    /// Adds an event, or counts it as lost if there is no room.
    fn push(&mut self, event: AuditEvent) {
        let size = event.size();
        let is_full = self.events.len() >= self.max_events || self.bytes + size > MAX_BYTES;
        // The note of lost events is small, and one of few.
        if is_full && event.outcome != "lost" {
            let lost = self.lost.get_or_insert(Lost { count: 0, from: event.at, to: event.at });
            if lost.count == 0 {
                tracing::error!(
                    "the audit has no room for more events until the database takes those that wait: events are lost"
                );
            }
            // It may tell of others.
            let count = event.more.saturating_add(1);
            lost.count = lost.count.saturating_add(count);
            (lost.from, lost.to) = (lost.from.min(event.at), lost.to.max(event.at));
            self.all_lost += u64::from(count.unsigned_abs());
            return;
        }
        self.bytes += size;
        self.events.push_back(event);
    }

    /// Returns times of what is written after the next batch, in microseconds since 1970; none of it came before the
    /// earliest of them.
    fn later(&self) -> impl Iterator<Item = i64> {
        let events = self.events.iter().skip(MAX_BATCH).map(|event| event.at);
        let counted = self.refusals.values().filter(|window| window.more.is_some());
        let counted = counted.map(|window| window.began);
        events.chain(counted).chain(self.lost.map(|lost| lost.from))
    }

    /// Ends the windows that began before a time, and adds the events of their further refusals.
    fn end_windows(&mut self, before: i64) {
        if self.refusals.values().all(|window| window.began >= before) {
            return;
        }
        let ended: Vec<Window> = self
            .refusals
            .extract_if(|_, window| window.began < before)
            .map(|(_, window)| window)
            .collect();
        for event in ended.into_iter().filter_map(|window| window.more) {
            self.push(event);
        }
    }
}

impl Lost {
    fn event(self) -> AuditEvent {
        AuditEvent {
            at: self.from,
            took: i32::try_from((self.to - self.from) / 1000).unwrap_or(i32::MAX),
            more: self.count,
            outcome: "lost".into(),
            interface: "server".into(),
            ..AuditEvent::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at: i64) -> AuditEvent {
        AuditEvent { at, outcome: "answered".into(), ..AuditEvent::default() }
    }

    #[test]
    fn what_does_not_fit_is_counted_and_noted() {
        let audit = Audit::default();
        audit.lock().max_events = 3;
        for at in 1..=5 {
            audit.begin();
            audit.push(event(at * 1_000_000));
        }
        assert_eq!(audit.counts(), Counts { written: 0, lost: 2, waiting: 3 });
        let Batch { events, first, .. } = audit.batch(false);
        assert_eq!((events.len(), first), (3, 1));
        audit.written(3);
        let Batch { events, first, .. } = audit.batch(false);
        assert_eq!((events.len(), first), (1, 4));
        let AuditEvent { at, took, more, .. } = events[0];
        assert_eq!((at, took, more), (4_000_000, 1000, 2));
        assert_eq!(events[0].outcome, "lost");
        audit.written(1);
        assert!(!audit.is_waiting() && audit.running() == 0);
        assert_eq!(audit.lock().bytes, 0);
        // A large event counts by its size.
        let large = AuditEvent { query: Some("x".repeat(MAX_BYTES)), ..event(9) };
        audit.lock().push(large);
        assert_eq!(audit.counts(), Counts { written: 4, lost: 3, waiting: 0 });
    }

    #[test]
    fn counted_refusals_that_do_not_fit_are_lost_with_their_number() {
        let audit = Audit::default();
        audit.lock().max_events = 2;
        for n in 0..13 {
            audit.refuse(None, AuditEvent { outcome: "refused".into(), ..event(now() + n) });
        }
        assert_eq!(audit.counts().lost, u64::from(MAX_REFUSALS) - 2);
        // The last three are one event, for which there is no room when their minute ends.
        assert_eq!(audit.batch(true).events.len(), 2);
        assert_eq!(audit.counts().lost, 11);
        audit.written(2);
        let events = audit.batch(true).events;
        assert_eq!((&*events[0].outcome, events[0].more), ("lost", 11));
    }

    #[test]
    fn a_batch_reaches_no_farther_than_what_waits_after_it() {
        let audit = Audit::default();
        let begun = now() - 1_000_000;
        assert!(audit.batch(false).until > begun);
        for n in 0..=MAX_REFUSALS {
            let at = begun + i64::from(n);
            audit.refuse(None, AuditEvent { outcome: "refused".into(), ..event(at) });
        }
        // The refusals that are only counted are written when the minute ends.
        assert_eq!(audit.batch(false).until, begun);
        assert!(audit.batch(true).until > begun);
        // More than a batch waits.
        let early = begun - 1_000_000;
        for _ in 0..MAX_BATCH {
            audit.push(event(begun));
        }
        audit.push(event(early));
        assert_eq!(audit.batch(false).until, begun.min(early));
        audit.written(MAX_BATCH);
        assert!(audit.batch(false).until > begun);
        // It is told of lost events after those that wait.
        audit.lock().max_events = 1;
        audit.push(event(early));
        assert_eq!(audit.batch(false).until, early);
    }

    #[test]
    fn a_flood_of_refusals_is_a_few_events() {
        let audit = Audit::default();
        let refused = |at: i64| AuditEvent { outcome: "refused".into(), ..event(at) };
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        for n in 0..1000 {
            audit.refuse(Some(one), refused(n));
        }
        audit.refuse(Some(other), refused(1));
        assert_eq!(audit.counts().waiting, u64::from(MAX_REFUSALS) + 1);
        // Somebody with a name is not hidden by others behind the same address.
        let named = AuditEvent { who: Some("ann".to_owned()), ..refused(2) };
        audit.refuse(Some(one), named);
        assert_eq!(audit.counts().waiting, u64::from(MAX_REFUSALS) + 2);
        // The next one after a minute tells of them.
        audit.refuse(Some(one), refused(WINDOW + 2));
        let events = audit.batch(false).events;
        let more: Vec<i32> =
            events.iter().map(|event| event.more).filter(|more| *more > 0).collect();
        assert_eq!(more, [1000 - MAX_REFUSALS as i32 - 1]);
        // Many addresses take bounded memory.
        for n in 0..100_000_u32 {
            audit.refuse(Some(IpAddr::from(n.to_be_bytes())), refused(2 * WINDOW + 3));
        }
        assert!(audit.lock().refusals.len() <= MAX_REFUSED + 1);
        let further: usize = audit.batch(true).events.len();
        assert!(further <= MAX_BATCH && audit.lock().refusals.is_empty());
        let all: i32 = audit.lock().events.iter().map(|event| 1 + event.more).sum();
        assert_eq!(all, 1000 + 2 + 1 + 100_000);
    }
}
