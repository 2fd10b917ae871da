//! What all handlers share, and how a search gets its turn.

use std::sync::Arc;
use std::time::Duration;

use engine::search::Searcher;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::Failure;
use super::limits::Limits;
use super::metrics::Metrics;
use crate::statistics::{Recorder, Refusal};

/// Searches that run at once, for each core: they wait for Postgres and for their clients, too. More of
/// them would keep all others waiting, and those who only ask whether the server lives.
const SEARCHES_PER_CORE: usize = 4;

/// How long a search waits for its turn before its client is told to come back later.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// What a server is told by its operator.
pub(crate) struct Settings {
    /// What takes longer goes into the log of slow searches.
    pub(crate) slow: Option<Duration>,
    /// Statistics are kept in the database.
    pub(crate) statistics: bool,
    /// Searches that run at once, for all clients together.
    pub(crate) at_once: usize,
    pub(crate) limits: Limits,
}

impl Default for Settings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            slow: None,
            statistics: false,
            at_once: SEARCHES_PER_CORE * cores,
            limits: Limits::default(),
        }
    }
}

/// What all handlers share.
#[derive(Clone)]
pub(crate) struct Server {
    pub(super) searcher: Arc<Searcher>,
    turns: Arc<Semaphore>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) limits: Arc<Limits>,
    /// Where searches are made.
    pub(super) threads: Handle,
}

impl Server {
    /// Searches are made on the threads of the runtime in which this is called.
    pub(crate) fn new(searcher: Arc<Searcher>, settings: Settings) -> Self {
        Self {
            searcher,
            turns: Arc::new(Semaphore::new(settings.at_once)),
            metrics: Arc::new(Metrics::new(Recorder::new(settings.statistics), settings.slow)),
            limits: Arc::new(settings.limits),
            threads: Handle::current(),
        }
    }

    /// Its statistics.
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.metrics.recorder
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
