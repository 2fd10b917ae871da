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
    lost: AtomicU64,
    pub(crate) wake: Notify,
}

#[derive(Debug)]
struct Queue {
    events: VecDeque<AuditEvent>,
    /// The number of the first of them.
    first: i64,
    /// Approximate size, in bytes.
    bytes: usize,
    /// Events that did not fit.
    lost: Option<Lost>,
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
        let lost = self.lock().push(event);
        self.lost.fetch_add(u64::from(lost), Ordering::Relaxed);
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
        let mut lost = false;
        if window.told < MAX_REFUSALS {
            window.told += 1;
            lost = queue.push(event);
        } else {
            let more = window.more.as_ref().map_or(0, |more| more.more + 1);
            window.more = Some(AuditEvent { more, ..event });
        }
        drop(queue);
        self.lost.fetch_add(u64::from(lost), Ordering::Relaxed);
        self.running.fetch_sub(1, Ordering::Relaxed);
        self.wake.notify_one();
    }

    /// Returns the numbers of events.
    pub fn counts(&self) -> Counts {
        Counts {
            written: self.written.load(Ordering::Relaxed),
            lost: self.lost.load(Ordering::Relaxed),
            waiting: self.lock().events.len() as u64,
        }
    }

    /// Returns the first events that wait and the number of the first one. They wait on until [`written`](Self::written).
    pub(crate) fn batch(&self, all: bool) -> (Vec<AuditEvent>, i64) {
        let mut queue = self.lock();
        queue.end_windows(if all { i64::MAX } else { now() - WINDOW });
        (queue.events.iter().take(MAX_BATCH).cloned().collect(), queue.first)
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
            self.lock().push(lost.event());
        }
    }
}

impl Queue {
    /// Adds an event; returns whether it was dropped for lack of room.
    fn push(&mut self, event: AuditEvent) -> bool {
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
            lost.count = lost.count.saturating_add(1);
            (lost.from, lost.to) = (lost.from.min(event.at), lost.to.max(event.at));
            return true;
        }
        self.bytes += size;
        self.events.push_back(event);
        false
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
        let (events, first) = audit.batch(false);
        assert_eq!((events.len(), first), (3, 1));
        audit.written(3);
        let (events, first) = audit.batch(false);
        assert_eq!((events.len(), first), (1, 4));
        let AuditEvent { at, took, more, .. } = events[0];
        assert_eq!((at, took, more), (4_000_000, 1000, 2));
        assert_eq!(events[0].outcome, "lost");
        audit.written(1);
        assert!(!audit.is_waiting() && audit.running() == 0);
        assert_eq!(audit.lock().bytes, 0);
        // A large event counts by its size.
        let large = AuditEvent { query: Some("x".repeat(MAX_BYTES)), ..event(9) };
        assert!(audit.lock().push(large));
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
        let (events, _) = audit.batch(false);
        let more: Vec<i32> =
            events.iter().map(|event| event.more).filter(|more| *more > 0).collect();
        assert_eq!(more, [1000 - MAX_REFUSALS as i32 - 1]);
        // Many addresses take bounded memory.
        for n in 0..100_000_u32 {
            audit.refuse(Some(IpAddr::from(n.to_be_bytes())), refused(2 * WINDOW + 3));
        }
        assert!(audit.lock().refusals.len() <= MAX_REFUSED + 1);
        let further: usize = audit.batch(true).0.len();
        assert!(further <= MAX_BATCH && audit.lock().refusals.is_empty());
        let all: i32 = audit.lock().events.iter().map(|event| 1 + event.more).sum();
        assert_eq!(all, 1000 + 2 + 1 + 100_000);
    }
}
