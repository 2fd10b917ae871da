//! What all handlers share, and how a search gets its turn.

use std::sync::Arc;
use std::time::Duration;

use engine::search::{Request, Searcher};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::Failure;
use super::limits::{Limits, Unread};
use super::metrics::Metrics;
use crate::statistics::{Recorder, Refusal};

/// Searches that run at once, for each core: they wait for Postgres and for their clients, too. More of
/// them would keep all others waiting, and those who only ask whether the server lives.
const SEARCHES_PER_CORE: usize = 4;

/// How long a search waits for its turn before its client is told to come back later.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(10);

/// Bytes of all answers together that are whole in memory and not sent yet, at most: of Zoekt's and livegrep's, which have
/// up to 32 MiB each, and of files.
pub(crate) const MAX_UNREAD_BYTES: u64 = 256 << 20;

/// Whom a server answers to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Access {
    /// Nobody without a token is told anything but that the server lives.
    pub(crate) needs_token: bool,
    /// Others than those on this machine can reach it.
    pub(crate) is_public: bool,
}

/// What a server is told by its operator.
pub(crate) struct Settings {
    /// What takes longer goes into the log of slow searches.
    pub(crate) slow: Option<Duration>,
    /// Statistics are kept in the database.
    pub(crate) statistics: bool,
    /// Searches that run at once, for all clients together.
    pub(crate) at_once: usize,
    /// How long a search may take, whatever its request says.
    pub(crate) max_time: Duration,
    pub(crate) limits: Limits,
    /// Bytes of all answers together that are whole in memory and not sent yet.
    pub(crate) unread_bytes: u64,
    /// Who may ask.
    pub(crate) access: Access,
}

/// Searches that run at once, unless the operator says otherwise.
pub(crate) fn searches_at_once() -> usize {
    SEARCHES_PER_CORE * std::thread::available_parallelism().map_or(2, usize::from)
}

/// What all handlers share.
#[derive(Clone)]
pub(crate) struct Server {
    pub(super) searcher: Arc<Searcher>,
    turns: Arc<Semaphore>,
    max_time: Duration,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) limits: Arc<Limits>,
    pub(super) unread: Arc<Unread>,
    pub(super) access: Access,
    /// Where searches are made.
    pub(super) threads: Handle,
}

impl Server {
    /// Searches are made on the threads of the runtime in which this is called.
    pub(crate) fn new(searcher: Arc<Searcher>, settings: Settings) -> Self {
        Self {
            searcher,
            turns: Arc::new(Semaphore::new(settings.at_once)),
            max_time: settings.max_time,
            metrics: Arc::new(Metrics::new(Recorder::new(settings.statistics), settings.slow)),
            limits: Arc::new(settings.limits),
            unread: Arc::new(Unread::new(settings.unread_bytes)),
            access: settings.access,
            threads: Handle::current(),
        }
    }

    /// Its statistics.
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.metrics.recorder
    }

    /// A request within the time that a search may take here.
    pub(super) fn bounded(&self, request: &Arc<Request>) -> Arc<Request> {
        let timeout = request.timeout.map_or(self.max_time, |timeout| timeout.min(self.max_time));
        if request.timeout == Some(timeout) {
            return Arc::clone(request);
        }
        let mut bounded = Request::clone(request);
        bounded.timeout = Some(timeout);
        Arc::new(bounded)
    }

    /// Waits for a turn to search.
    pub(super) async fn turn(&self) -> Result<OwnedSemaphorePermit, Failure> {
        let turn = Arc::clone(&self.turns).acquire_owned();
        match tokio::time::timeout(MAX_WAIT, turn).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => {
                self.metrics.refuse(Refusal::Busy);
                Err(Failure::busy())
            }
        }
    }
}
