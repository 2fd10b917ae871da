//! A streaming replica of the database, and where a request reads.
//!
//! A replica has all rows of an epoch once it has replayed its publishing, since Postgres replays in the order of its log;
//! and it still has them while the epoch is pinned on the primary, which deletes nothing of it. So a replica may be read
//! as soon as it knows the newest epoch that this program reads ([`Replica::has`]). What is read at an epoch is the same
//! there as on the primary.
//!
//! Some rows change without an epoch: symbols, say. All that one request reads is therefore read from one replica
//! ([`Route`]), or, from the first failure on, from the primary, which is never behind: it goes forward in time only.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use sqlx::PgConnection;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::sync::watch;

use crate::Switch;
use crate::error::{Error, Result};
use crate::pool::ConnectionPool;
use crate::target::{Target, answered, for_searching, is_here, options};

/// Interval at which a replica is looked at that is ready; and the first one, while it is behind or cannot be reached,
/// which doubles up to the other.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Maximum time to connect to a replica, and for its answer to a look. A slower one counts as lost.
const ANSWERS: Duration = Duration::from_secs(2);

/// The state of the index that this program reads: the index's number and the switch of the newest epoch.
pub(crate) type NewestRead = Option<(i64, Switch)>;

/// What is known of a replica.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Whether it answers.
    answers: bool,
    identity: i64,
    /// The most recent switches that it has replayed.
    switches: Vec<Switch>,
}

/// A streaming replica.
#[derive(Debug)]
pub(crate) struct Replica {
    /// Its host and port, for people.
    pub(crate) name: String,
    /// Whether it runs on this machine, once that is known.
    is_here: OnceLock<bool>,
    options: PgConnectOptions,
    pub(crate) pool: ConnectionPool,
    known: watch::Sender<Known>,
}

impl Replica {
    pub(crate) fn new(url: &str, connections: u32) -> Result<Self> {
        let options = options(&Target::Url(url.to_owned())).map_err(|error| match error {
            Error::Unsuitable(why) => Error::Unsuitable(why.replace("DATABASE_URL", "--read-from")),
            other => other,
        })?;
        let control = PgPoolOptions::new().max_connections(1).acquire_timeout(ANSWERS);
        let name = match options.get_socket() {
            Some(folder) => format!("{}:{}", folder.display(), options.get_port()),
            None => format!("{}:{}", options.get_host(), options.get_port()),
        };
        let control = control.connect_lazy_with(options.clone());
        let pool = ConnectionPool::new(for_searching(&options), connections, control);
        Ok(Self { name, is_here: OnceLock::new(), options, pool, known: watch::Sender::default() })
    }

    /// Returns whether it has replayed a state of the index.
    pub(crate) fn has(&self, wanted: NewestRead) -> bool {
        let known = self.known.borrow();
        known.answers
            && wanted.is_some_and(|(identity, switch)| {
                known.identity == identity && known.switches.contains(&switch)
            })
    }

    /// Notes that it does not answer.
    pub(crate) fn lose(&self) {
        let lost =
            self.known.send_if_modified(|known| std::mem::replace(&mut known.answers, false));
        if lost {
            tracing::warn!("the replica {} does not answer; others are read", self.name);
        }
    }

    /// Resolves when it does not answer any more.
    pub(crate) async fn gone(&self) {
        let _ = self.known.subscribe().wait_for(|known| !known.answers).await;
    }

    async fn look(&self, conn: &mut Option<PgConnection>) -> Result<()> {
        let looking = async {
            let mut used = match conn.take() {
                Some(used) => used,
                None => crate::target::connect(&self.options).await?,
            };
            let (identity, switches): (i64, Vec<i64>) = sqlx::query_as(
                "select identity, array(select number from codesearch.switches order by epoch desc limit 256)
                 from codesearch.state",
            )
            .fetch_one(&mut used)
            .await?;
            let switches = switches.into_iter().map(Switch).collect();
            let before = self.known.send_replace(Known { answers: true, identity, switches });
            if !before.answers {
                tracing::info!("the replica {} is read", self.name);
            }
            *conn = Some(used);
            Ok::<_, Error>(())
        };
        answered(ANSWERS, looking).await
    }

    /// Looks at it for ever: at once when something new is wanted, and often while it is behind.
    pub(crate) async fn follow(&self, mut wanted: watch::Receiver<NewestRead>) {
        let (mut conn, mut pause) = (None, LOOK_AGAIN);
        let _ = self.is_here.set(is_here(&self.options).await);
        loop {
            let now = *wanted.borrow_and_update();
            if let Err(error) = self.look(&mut conn).await {
                tracing::debug!("the replica {} cannot be read: {error}", self.name);
                conn = None;
                self.lose();
            }
            pause = if self.has(now) { LOOK_EVERY } else { (2 * pause).min(LOOK_EVERY) };
            let is_ready = self.has(now);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                changed = wanted.changed() => if changed.is_err() { return },
            }
            if is_ready {
                pause = LOOK_AGAIN;
            }
        }
    }
}

/// Where one request reads.
#[derive(Debug, Default)]
pub(crate) struct Route(Mutex<Choice>);

#[derive(Clone, Debug, Default)]
enum Choice {
    /// It has read nothing yet.
    #[default]
    Open,
    Replica(Arc<Replica>),
    Primary,
}

impl Route {
    fn choice(&self) -> MutexGuard<'_, Choice> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads from the primary from now on.
    pub(crate) fn leave(&self) {
        *self.choice() = Choice::Primary;
    }

    /// Returns the replica to read, one of those that have replayed a state of the index; `None` for the primary.
    pub(crate) fn of(&self, replicas: &[Arc<Replica>], wanted: NewestRead) -> Option<Arc<Replica>> {
        let mut choice = self.choice();
        if let Choice::Open = *choice {
            let ready = replicas.iter().filter(|replica| replica.has(wanted));
            // One on this machine first, unless all connections to it are in use.
            let best = ready.max_by_key(|replica| {
                let free = replica.pool.free.available_permits();
                (replica.is_here.get() == Some(&true) && free > 0, free)
            });
            *choice = best.map_or(Choice::Primary, |replica| Choice::Replica(Arc::clone(replica)));
        }
        let Choice::Replica(replica) = &*choice else { return None };
        if replica.has(wanted) {
            return Some(Arc::clone(replica));
        }
        *choice = Choice::Primary;
        None
    }
}
