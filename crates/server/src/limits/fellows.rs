//! The other servers of the index: how limits of clients hold across all of them, and which server leads.
//!
//! The limits of a token, or of a user whom a proxy or an identity provider names, are those of all servers together. A row
//! in Postgres has what is left of a client's minute. A server takes a twentieth of the minute in advance (all servers
//! together), so most requests cost no round trip; what it does not use, it gives back after some seconds, and at once
//! when another server lacks concurrent searches. So a client gets no more than its limits, and at most a twentieth less.
//! There are two exceptions. A server that has no others uses no row: it counts by itself. When another one comes, what
//! the client has used or runs there is noted with its next request there; until then, the other one gives it a full
//! minute. And while the database does not answer, requests are admitted, which the client owes afterwards. Limits of
//! addresses and of all clients together protect each server, and are its own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use store::{Error, Membership, NewServer, Store, TakenAllowance};
use tokio::sync::{OwnedMutexGuard, watch};

use super::client::Client;
use super::part::{Needs, Part, Rejection};
use statistics::Refusal;

/// Interval at which servers look for each other: with others, and alone. A server that comes or goes tells the others.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const LOOK_ALONE: Duration = Duration::from_secs(2);

/// Time for which a server goes on leading whose configuration names nothing to ingest any more: it tells which hosts are
/// left.
const TELLS: Duration = Duration::from_secs(10);

/// Time after which a part that nobody uses is given back.
const IDLE: Duration = Duration::from_secs(3);

/// Pauses in which others give back concurrent searches that they do not use.
const RECALLED: [u64; 6] = [10, 20, 40, 80, 160, 320];

/// Most clients that are remembered to give back their parts.
const MAX_HOLDERS: usize = 1 << 16;

/// What a server knows of the others of its index.
#[derive(Debug)]
pub struct Fellows {
    store: Store,
    me: AtomicI32,
    others: Arc<AtomicUsize>,
    /// Clients of whose limits this server has parts.
    holders: Mutex<HashMap<String, Weak<Client>>>,
    leads: watch::Sender<bool>,
    drains: watch::Sender<bool>,
    /// Why this server must not go on.
    trouble: Mutex<Option<String>>,
}

impl Fellows {
    /// Makes it for a server that has not joined the others yet, whose number is kept in `others`.
    pub fn new(store: Store, others: Arc<AtomicUsize>) -> Arc<Self> {
        Arc::new(Self {
            store,
            me: AtomicI32::new(0),
            others,
            holders: Mutex::default(),
            leads: watch::Sender::new(false),
            drains: watch::Sender::new(false),
            trouble: Mutex::default(),
        })
    }

    /// Returns the number of other servers.
    pub fn others(&self) -> usize {
        self.others.load(Ordering::Relaxed)
    }

    /// Tells whether this server leads: it ingests what is queued, and mirrors hosts.
    pub fn leads(&self) -> watch::Receiver<bool> {
        self.leads.subscribe()
    }

    /// Begins to stop: the lead goes to another server, `/readyz` says so, and connections end after their requests.
    pub fn drain(&self) {
        self.drains.send_replace(true);
    }

    /// Returns whether this server is about to stop.
    pub fn is_draining(&self) -> bool {
        *self.drains.borrow()
    }

    /// Resolves when this server is about to stop.
    pub async fn drained(&self) {
        let _ = self.drains.subscribe().wait_for(|drains| *drains).await;
    }

    /// Returns why this server must not go on, if so.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note_trouble(&self, told: Option<String>) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = told.as_ref().filter(|_| *trouble != told) {
            tracing::error!("{why}");
        }
        *trouble = told;
    }

    fn holders(&self) -> MutexGuard<'_, HashMap<String, Weak<Client>>> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Joins the other servers. If that fails, [`run`](Self::run) tries again.
    pub async fn join(&self, new: &NewServer) -> Option<Membership> {
        let joined = self.store.join_servers(new).await;
        self.note_trouble(match &joined {
            Err(Error::Unsuitable(why)) => Some(why.clone()),
            _ => None,
        });
        match joined {
            Ok(mut membership) => {
                self.me.store(membership.id(), Ordering::Relaxed);
                self.others.store(membership.others().await.ok()?, Ordering::Relaxed);
                Some(membership)
            }
            Err(error) => {
                tracing::debug!("other servers are not known: {error}");
                None
            }
        }
    }

    /// Stays among the others for ever, and leads whenever `wants_to_lead` says so and no other server does.
    pub async fn run(
        &self,
        new: &NewServer,
        mut joined: Option<Membership>,
        wants_to_lead: &(dyn Fn() -> bool + Send + Sync),
    ) {
        loop {
            let membership = match joined.take() {
                Some(membership) => Some(membership),
                None => self.join(new).await,
            };
            if let Some(membership) = membership
                && let Err(error) = self.belong(membership, wants_to_lead).await
            {
                tracing::debug!("this server joins the others again: {error}");
            }
            // Whoever has lost the connection has lost the lead.
            self.leads.send_replace(false);
            if self.is_draining() {
                return;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Stays among the others until the connection is lost, or this server is about to stop and has said so.
    async fn belong(
        &self,
        mut membership: Membership,
        wants_to_lead: &(dyn Fn() -> bool + Send + Sync),
    ) -> Result<(), Error> {
        let mut drains = self.drains.subscribe();
        self.me.store(membership.id(), Ordering::Relaxed);
        let mut wanted = Instant::now();
        loop {
            if self.is_draining() {
                self.leads.send_replace(false);
                membership.follow().await?;
                membership.drain().await?;
            } else if wants_to_lead() {
                wanted = Instant::now();
                let leads = membership.lead().await?;
                if self.leads.send_replace(leads) != leads {
                    tracing::info!("this server ingests and mirrors for the index");
                }
            } else if wanted.elapsed() > TELLS {
                // Its configuration may have changed. Another one, which has something to do, must not wait for ever.
                self.leads.send_if_modified(std::mem::take);
                membership.follow().await?;
            }
            let others = membership.others().await?;
            self.others.store(others, Ordering::Relaxed);
            self.hand_back(if self.is_draining() { Duration::ZERO } else { IDLE }).await;
            let pause = if others > 0 { LOOK_EVERY } else { LOOK_ALONE };
            tokio::select! {
                told = membership.told() => {
                    let name = told?;
                    if !name.is_empty() {
                        self.recalled(&name).await;
                    }
                }
                _ = drains.changed() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Gives back what clients have not used for some time, and notes what they owe.
    async fn hand_back(&self, idle: Duration) {
        let clients: Vec<Arc<Client>> = {
            let mut holders = self.holders();
            holders.retain(|_, client| client.strong_count() > 0);
            holders.values().filter_map(Weak::upgrade).collect()
        };
        for client in clients {
            let Some(part) = &client.part else { continue };
            let is_due = client.owes() || part.idle_for() >= idle && client.has_idle();
            if part.server().is_some() && is_due {
                self.give_back(&client, part).await;
            }
        }
    }

    /// Gives back what a client does not use now, since another server needs it.
    async fn recalled(&self, name: &str) {
        let client = self.holders().get(name).and_then(Weak::upgrade);
        if let Some(client) = client
            && let Some(part) = &client.part
            && client.has_idle()
        {
            self.give_back(&client, part).await;
        }
    }

    async fn give_back(&self, client: &Arc<Client>, part: &Part) {
        // Whoever asks for more gives back what is left, too.
        let Ok(turn) = Arc::clone(&part.turn).try_lock_owned() else { return };
        self.exchange(client, part, false, turn).await;
    }

    /// Makes sure that this server has enough of a client's limits for a request.
    ///
    /// # Errors
    /// The client has used them up, here and at the other servers.
    pub(super) async fn supply(&self, client: &Arc<Client>, needs: Needs) -> Result<(), Rejection> {
        let Some(part) = &client.part else { return Ok(()) };
        let is_enough = || match (part.server(), self.others()) {
            (None, 0) => true,
            (None, _) | (Some(_), 0) => false,
            (Some(me), _) => me == self.me.load(Ordering::Relaxed) && client.has_enough(needs),
        };
        part.note_use();
        if is_enough() {
            return Ok(());
        }
        let waiting = client.running.as_ref().filter(|_| needs == Needs::Slot);
        let _waiting = waiting.map(|running| running.wait());
        let mut turn = Arc::clone(&part.turn).lock_owned().await;
        if is_enough() {
            return Ok(());
        }
        if let Some(rejection) = part.refused(needs) {
            return Err(rejection);
        }
        let mut pauses = RECALLED.iter();
        loop {
            let taken;
            (taken, turn) = self.exchange(client, part, true, turn).await;
            let Some(taken) = taken else { return Ok(()) };
            let Some(rejection) = client.refuse(&taken, needs) else { return Ok(()) };
            let is_elsewhere =
                rejection.reason == Refusal::AtOnce && taken.others_running.is_some_and(|n| n > 0);
            let Some(pause) = pauses.next().filter(|_| is_elsewhere) else {
                return Err(rejection);
            };
            // It may be idle there.
            let _ = self.store.recall_allowance(&part.name).await;
            tokio::time::sleep(Duration::from_millis(*pause)).await;
        }
    }

    /// Gives back what this server has of a client's limits, and takes some again if it wants any; `None` if nobody
    /// answers. Whoever asks may be gone before that: what was taken is noted nevertheless, so this runs by itself, with the
    /// client's turn.
    async fn exchange(
        &self,
        client: &Arc<Client>,
        part: &Part,
        wants: bool,
        turn: OwnedMutexGuard<()>,
    ) -> (Option<TakenAllowance>, OwnedMutexGuard<()>) {
        let (me, others) = (self.me.load(Ordering::Relaxed), self.others());
        {
            let mut holders = self.holders();
            if holders.len() < MAX_HOLDERS || holders.contains_key(&part.name) {
                holders.insert(part.name.clone(), Arc::downgrade(client));
            }
        }
        let (store, client, name) = (self.store.clone(), Arc::clone(client), part.name.clone());
        let exchanging = tokio::spawn(async move {
            let asked = client.ask(others == 0, wants, others + 1);
            let taken = match store.take_allowance(&name, me, asked).await {
                Ok(taken) => {
                    client.receive(&taken, me);
                    Some(taken)
                }
                Err(error) => {
                    tracing::debug!("the limits of a client are unknown: {error}");
                    client.go_without(&asked, me, wants);
                    None
                }
            };
            (taken, turn)
        });
        exchanging.await.expect("exchanging does not panic")
    }
}
