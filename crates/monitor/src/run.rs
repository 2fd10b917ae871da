//! Looks at epochs and delivers news as long as a server runs. Of several servers of an index, one does.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use search::Searcher;
use settings::Allowed;
use store::{MonitorLock, Store, WaitingDelivery};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::look::Looker;
use crate::rights::Rights;
use crate::sight::{cover, view_of};
use crate::webhook::{Outcome, deliver};

/// Interval at which a server tries to take over from another one.
const TAKE_EVERY: Duration = Duration::from_secs(1);

/// Interval at which a server checks that it still has the lock. After some of these, it looks in case a notification was
/// lost.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Deliveries that are made at once, of different monitors.
const AT_ONCE: usize = 8;

/// Returns where deliveries may go in the server's own network: it is asked before each.
pub type Allow = Arc<dyn Fn() -> Vec<Allowed> + Send + Sync>;

/// Looks at epochs and delivers news until it is dropped. Monitors whose owners have lost their rights are paused, also if
/// another server looks.
pub async fn run(
    store: Store,
    searcher: Arc<Searcher>,
    allow: Allow,
    rights: Rights,
) -> Infallible {
    tokio::select! {
        never = rights.keep(&store) => never,
        never = take_over(&store, &searcher, &allow, &rights) => never,
    }
}

/// Looks and delivers whenever no other server does.
async fn take_over(
    store: &Store,
    searcher: &Arc<Searcher>,
    allow: &Allow,
    rights: &Rights,
) -> Infallible {
    loop {
        let working = async {
            let mut lock = store.monitor_lock().await?;
            while !lock.try_take().await? {
                tokio::time::sleep(TAKE_EVERY).await;
            }
            work(store, searcher, (allow, rights), lock).await
        };
        if let Err(error) = working.await {
            tracing::debug!("monitors wait: {error}");
        }
        tokio::time::sleep(TAKE_EVERY).await;
    }
}

/// Looks and delivers until the lock is lost or the database cannot be reached.
async fn work(
    store: &Store,
    searcher: &Arc<Searcher>,
    (allow, rights): (&Allow, &Rights),
    mut lock: MonitorLock,
) -> Result<(), store::Error> {
    let found = Notify::new();
    let held = async {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            if !lock.is_held().await {
                return Ok(());
            }
        }
    };
    tokio::select! {
        done = look(store, searcher, rights, &found) => done,
        done = send(store, searcher, (allow, rights), &found) => done,
        done = held => done,
    }
}

/// Looks at each epoch as soon as there is one. Notifies of news.
async fn look(
    store: &Store,
    searcher: &Arc<Searcher>,
    rights: &Rights,
    found: &Notify,
) -> Result<(), store::Error> {
    let looker = Looker::new(store.clone(), Arc::clone(searcher));
    let mut looker = looker.with_rights(rights.clone());
    let mut changes = store.monitor_changes().await?;
    loop {
        match looker.look().await {
            // Deliveries go on. What this epoch changed is looked at when the node is back.
            Err(error @ store::Error::Node { .. }) => {
                tracing::debug!("monitors wait: {error}");
                tokio::time::sleep(TAKE_EVERY).await;
                continue;
            }
            done => drop(done?),
        }
        // A monitor may have been resumed, too.
        found.notify_one();
        if let Ok(changed) = tokio::time::timeout(6 * LOOK_EVERY, changes.next()).await {
            changed?;
        }
    }
}

/// Delivers what is due, one delivery of each monitor at a time.
async fn send(
    store: &Store,
    searcher: &Arc<Searcher>,
    (allow, rights): (&Allow, &Rights),
    found: &Notify,
) -> Result<(), store::Error> {
    let mut sending: JoinSet<Result<i32, store::Error>> = JoinSet::new();
    let mut busy: HashSet<i32> = HashSet::new();
    loop {
        let (waiting, next) = store.waiting_deliveries().await?;
        for delivery in waiting {
            if busy.len() >= AT_ONCE {
                break;
            }
            if let Some(why) = rights.refuse(delivery.owner.as_deref(), &delivery.repos) {
                store.pause_monitor(delivery.monitor, true, Some(&why)).await?;
                continue;
            }
            if busy.contains(&delivery.monitor) {
                continue;
            }
            // News were found earlier, perhaps by other grants.
            let Some(delivery) = covered(store, searcher, rights, delivery).await? else {
                continue;
            };
            if busy.insert(delivery.monitor) {
                sending.spawn(attempt(store.clone(), delivery, allow()));
            }
        }
        let pause = next.map_or(6 * LOOK_EVERY, |next| Duration::from_secs_f64(next.max(0.05)));
        tokio::select! {
            Some(done) = sending.join_next() => {
                match done {
                    Ok(done) => drop(busy.remove(&done?)),
                    // The monitor must not stay busy.
                    Err(_) => busy.clear(),
                }
            }
            () = found.notified() => {}
            () = tokio::time::sleep(pause.min(6 * LOOK_EVERY)) => {}
        }
    }
}

/// Takes away what the owner may not see any more of a delivery. If nothing is left, it is noted as given up.
async fn covered(
    store: &Store,
    searcher: &Arc<Searcher>,
    rights: &Rights,
    delivery: WaitingDelivery,
) -> Result<Option<WaitingDelivery>, store::Error> {
    let Some(sight) = rights.sight().filter(|_| delivery.owner.is_some()) else {
        return Ok(Some(delivery));
    };
    // It may have been removed, and another one made with its name.
    let monitor = store.monitor(&delivery.name).await?;
    let Some(monitor) = monitor.filter(|of| of.id == delivery.monitor) else { return Ok(None) };
    let view = view_of(sight, searcher, &monitor).await?;
    let mut news = vec![delivery.news.clone()];
    cover(&view, &mut news).await?;
    match news.pop() {
        Some(news) => Ok(Some(WaitingDelivery { news, ..delivery })),
        None => {
            let why = "its owner may not see the repositories any more";
            store.not_delivered(&delivery.id, None, why).await?;
            Ok(None)
        }
    }
}

/// Makes an attempt of a delivery, and notes what became of it. Returns its monitor.
async fn attempt(
    store: Store,
    delivery: WaitingDelivery,
    allowed: Vec<Allowed>,
) -> Result<i32, store::Error> {
    let WaitingDelivery { id, monitor, name, .. } = &delivery;
    match deliver(&delivery, &allowed).await {
        Outcome::Delivered(said) => store.delivered(id, &said).await?,
        Outcome::Again(seconds, why) => {
            tracing::warn!(
                "monitor {name}: {why}; its news wait, and are sent again in {seconds} s"
            );
            store.not_delivered(id, Some(seconds), &why).await?;
        }
        Outcome::GivenUp(why) => {
            tracing::error!("monitor {name}: {why}");
            store.not_delivered(id, None, &why).await?;
        }
        Outcome::Gone(why) => {
            tracing::warn!("monitor {name} is paused: {why}");
            store.not_delivered(id, Some(0.0), &why).await?;
            store.pause_monitor(*monitor, true, Some(&why)).await?;
        }
    }
    Ok(*monitor)
}
