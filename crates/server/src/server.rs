//! The state that all handlers share, and the turns for searches.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use access::Principal;
use search::{Gate, Searcher, View, Visible};
use store::{Catalog, Store};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::commands::Commands;
use super::error::Failure;
use super::hooks::shared::Hooks;
use super::identity::{Identity, Noted};
use super::limits::{AnswerMemory, Fellows, Limits, Rates};
use super::metrics::Metrics;
use statistics::{Recorder, Refusal};

/// Concurrent searches per core, since searches also wait for Postgres and for their clients. More would delay all
/// others, and health checks.
const SEARCHES_PER_CORE: usize = 4;

/// Longest time that a search waits for its turn before its client is told to retry later.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(10);

/// Requests of an address per minute to have repositories looked at.
const INGESTS_PER_MINUTE: u32 = 120;

/// Concurrent git processes. Each takes a core, perhaps for seconds, which searches then lack.
const GIT_AT_ONCE: usize = 2;

/// Most bytes of all answers together that are complete in memory but not sent yet: those in the formats of Zoekt and
/// livegrep, with up to 32 MiB each, and files.
pub const MAX_UNREAD_BYTES: u64 = 256 << 20;

/// The clients that a server answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Access {
    /// Whether clients that do not prove who they are learn only that the server runs.
    pub needs_token: bool,
    /// Whether other machines can reach it.
    pub is_public: bool,
}

/// The operator's settings of a server.
pub struct Settings {
    /// Duration from which a search is logged as slow.
    pub slow: Option<Duration>,
    /// Whether statistics are stored in the database.
    pub statistics: bool,
    /// Concurrent searches, for all clients together.
    pub at_once: usize,
    /// The limits of clients, and of all clients together.
    pub limits: Limits,
    /// Most bytes of all answers together that are complete in memory but not sent yet.
    pub unread_bytes: u64,
    /// The clients that the server answers.
    pub access: Access,
    /// How clients prove who they are.
    pub identity: Identity,
    /// Whether blame and history are read from clones.
    pub history: bool,
    /// What runs commands for clients; `None` if nothing does.
    pub commands: Option<Arc<dyn Commands>>,
    /// The patterns of the repositories that it shows; none for all.
    pub only_repos: Vec<String>,
    /// The configuration file, which is read again when it has changed.
    pub configuration: Arc<settings::Watched>,
    /// Where statements of operators' agents run; `None` if nowhere.
    pub sql: Option<Arc<mcp::Sql>>,
    /// The audit; `None` for none.
    pub audit: Option<Arc<audit::Audit>>,
}

/// Returns the default number of concurrent searches.
pub fn searches_at_once() -> usize {
    SEARCHES_PER_CORE * std::thread::available_parallelism().map_or(2, usize::from)
}

/// What the handlers of one request share: the state of the server, and the view of whoever asks. A handler takes it as an
/// argument, which makes the view ([`seeing`](super::seeing)).
#[derive(Clone)]
pub struct Server {
    shared: Shared,
    view: View,
    principal: Principal,
}

/// The state that all requests share. It has no view: what it reads of repositories is for operators ([`Admin`]).
#[derive(Clone)]
pub struct Shared {
    admin: Admin,
    /// What principals see.
    gate: Arc<Gate>,
    /// Whether views read clones.
    reads_clones: bool,
    turns: Arc<Semaphore>,
    /// The counts and durations that `/metrics` and `/stats` show.
    pub metrics: Arc<Metrics>,
    /// The limits of clients, and of all clients together.
    pub limits: Arc<Limits>,
    /// The other servers of the index.
    pub fellows: Arc<Fellows>,
    pub(super) unread: Arc<AnswerMemory>,
    pub(super) access: Access,
    /// How clients prove who they are.
    pub identity: Arc<Identity>,
    /// The groups of users, for their monitors.
    pub(super) noted: Arc<Noted>,
    /// The runtime on which searches run.
    pub(super) threads: Handle,
    pub(super) commands: Option<Arc<dyn Commands>>,
    pub(super) only_repos: Arc<[String]>,
    /// Where statements of operators' agents run.
    pub(super) sql: Option<Arc<mcp::Sql>>,
    /// The audit; `None` for none.
    pub(super) audit: Option<Arc<audit::Audit>>,
    pub(super) hooks: Arc<Hooks>,
    /// The configuration file.
    pub(super) configuration: Arc<settings::Watched>,
    /// The requests for an ingest of each address.
    pub(super) ingests: Arc<Rates>,
    /// Turns to run git; `None` if git is disabled.
    git: Option<Arc<Semaphore>>,
}

/// The whole index, for operators: the status, metrics and slow searches. All other data is read through
/// [`Server::view`].
#[derive(Clone)]
pub(crate) struct Admin {
    pub(super) searcher: Arc<Searcher>,
    pub(super) store: Store,
}

impl Admin {
    /// Returns the catalog of all repositories.
    ///
    /// # Errors
    /// The database does not respond, or has no index.
    pub(super) async fn catalog(&self) -> Result<Arc<Catalog>, store::Error> {
        View::new(Arc::clone(&self.searcher), Visible::ALL).catalog().await
    }
}

impl Shared {
    /// Makes a server whose searches run on the calling runtime. It shows the repositories of `visible`.
    pub fn new(
        searcher: Arc<Searcher>,
        store: Store,
        visible: Visible,
        settings: Settings,
    ) -> Self {
        let fellows = Fellows::new(store.clone(), searcher.others());
        settings.limits.share_with(Arc::clone(&fellows));
        Self {
            fellows,
            gate: Arc::new(Gate::new(store.clone(), visible)),
            reads_clones: settings.history,
            admin: Admin { searcher, store },
            turns: Arc::new(Semaphore::new(settings.at_once)),
            metrics: Arc::new(Metrics::new(Recorder::new(settings.statistics), settings.slow)),
            limits: Arc::new(settings.limits),
            unread: Arc::new(AnswerMemory::new(settings.unread_bytes)),
            access: settings.access,
            identity: Arc::new(settings.identity),
            noted: Arc::default(),
            threads: Handle::current(),
            commands: settings.commands,
            only_repos: settings.only_repos.into(),
            sql: settings.sql,
            audit: settings.audit,
            hooks: Arc::default(),
            configuration: settings.configuration,
            ingests: Arc::new(Rates::new(INGESTS_PER_MINUTE)),
            git: settings.history.then(|| Arc::new(Semaphore::new(GIT_AT_ONCE))),
        }
    }

    /// Returns what decides what principals see.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// Returns the repositories that a principal may see now.
    ///
    /// # Errors
    /// The database does not say what is granted. Then nobody but the owner of the index's folder is shown anything.
    pub(super) async fn visible(&self, principal: &Principal) -> Result<Visible, store::Error> {
        self.gate.visible(principal, self.configuration.get().access.as_ref()).await
    }

    /// Returns the data that only operators may see.
    pub(super) fn admin(&self) -> &Admin {
        &self.admin
    }

    /// Returns its statistics.
    pub fn recorder(&self) -> &Recorder {
        &self.metrics.recorder
    }

    /// Returns a turn to search if one is free, without waiting.
    pub(super) fn free_turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.turns).try_acquire_owned().ok()
    }

    /// Returns whether blame and history are shown.
    pub(super) fn shows_history(&self) -> bool {
        self.git.is_some()
    }

    /// Waits for a turn to run git; `None` if git is disabled.
    ///
    /// # Errors
    /// No turn is free within [`MAX_WAIT`].
    pub(super) async fn turn_of_git(&self) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        let Some(turns) = &self.git else { return Ok(None) };
        match tokio::time::timeout(MAX_WAIT, Arc::clone(turns).acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Some(permit)),
            _ => {
                self.metrics.refuse(Refusal::Busy);
                Err(Failure::busy())
            }
        }
    }

    /// Waits for a turn to search.
    ///
    /// # Errors
    /// No turn is free within [`MAX_WAIT`].
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

impl Server {
    /// Returns the server for a request of somebody who sees some repositories.
    pub(super) fn of(shared: &Shared, principal: Principal, visible: Visible) -> Self {
        let view = View::new(Arc::clone(&shared.admin.searcher), visible);
        let view = if shared.reads_clones { view } else { view.without_clones() };
        Self { shared: shared.clone(), view, principal }
    }

    /// Returns those of the repositories with some patterns that whoever asks may see.
    ///
    /// # Errors
    /// A pattern is invalid, or the database does not say what is granted.
    pub(super) async fn visible_among(&self, patterns: &[String]) -> Result<Visible, Failure> {
        let among = Visible::of(patterns)?;
        let configured = self.configuration.get().access.clone();
        Ok(self.gate.among(&among, &self.principal, configured.as_ref()).await?)
    }

    /// Returns a view of the repositories that whoever asks may see.
    pub(super) fn view(&self) -> &View {
        &self.view
    }

    /// Returns who asks.
    pub(super) fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Returns the server with another view, made of the one that it has.
    pub(super) fn seeing(&self, view: View) -> Self {
        Self { view, ..self.clone() }
    }
}

impl Deref for Server {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}
