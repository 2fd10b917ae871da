//! The part that this server has of a client's limits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use statistics::Refusal;

/// Time for which refused requests are answered without asking again: at least, and at most.
const REFUSED: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// What a request needs of its client's limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// A concurrent search, one of those of the minute, and bytes.
    Slot,
    /// One of the searches of the minute, and bytes.
    Search,
    /// Bytes.
    Bytes,
}

/// The reason why a request is refused, and the seconds until a retry.
pub(super) struct Rejection {
    pub(super) reason: Refusal,
    pub(super) wait: u64,
}

/// The part that this server has of a client's limits.
#[derive(Debug)]
pub(super) struct Part {
    /// The name that all servers give to the client.
    pub(super) name: String,
    /// Held while this server asks for more.
    pub(super) turn: Arc<tokio::sync::Mutex<()>>,
    state: Mutex<PartState>,
}

#[derive(Debug)]
struct PartState {
    /// The number that this server had when it took the part; `None` if it has the limits for itself.
    server: Option<i32>,
    used: Instant,
    refused: Option<(Instant, Refusal, u64)>,
}

impl Part {
    pub(super) fn new(name: String) -> Self {
        let state = PartState { server: None, used: Instant::now(), refused: None };
        Self { name, turn: Arc::default(), state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, PartState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number under which this server has the part.
    pub(super) fn server(&self) -> Option<i32> {
        self.state().server
    }

    /// Notes under which number this server has the part now; `None` if it has the limits for itself.
    pub(super) fn note_server(&self, server: Option<i32>) {
        let mut state = self.state();
        (state.server, state.refused) = (server, None);
    }

    /// Notes a request.
    pub(super) fn note_use(&self) {
        self.state().used = Instant::now();
    }

    /// Returns for how long there was no request.
    pub(super) fn idle_for(&self) -> Duration {
        self.state().used.elapsed()
    }

    /// Returns the refusal of a moment ago, if it holds for a request that needs the same.
    pub(super) fn refused(&self, needs: Needs) -> Option<Rejection> {
        let (until, reason, wait) = self.state().refused?;
        let concerns = match reason {
            Refusal::AtOnce => needs == Needs::Slot,
            Refusal::PerMinute => needs != Needs::Bytes,
            _ => true,
        };
        (concerns && Instant::now() < until).then_some(Rejection { reason, wait })
    }

    /// Refuses a request whose client has used up a limit, and those of the next moments; `wait` are the seconds until
    /// there is something again.
    pub(super) fn refuse(&self, reason: Refusal, wait: f64) -> Rejection {
        let [least, most] = REFUSED;
        let pause = Duration::from_secs_f64(wait.min(most.as_secs_f64())).max(least);
        let wait = (wait.ceil() as u64).max(1);
        self.state().refused = Some((Instant::now() + pause, reason, wait));
        Rejection { reason, wait }
    }
}
