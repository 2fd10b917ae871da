//! Moves the queue into the database.

use std::time::{Duration, Instant};

use store::{AuditBatch, Store};
use tokio::time::{sleep, timeout};

use super::{Audit, now};

/// How long an event waits for others. With the time of a batch, a kill loses less than a second.
const COLLECT: Duration = Duration::from_millis(250);

/// How often a server without events tells that it lives, and looks for others that were killed.
const IDLE: Duration = Duration::from_secs(10);

/// How long to wait after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// How often months are made and dropped.
const TIDY: Duration = Duration::from_hours(1);

/// How long the last events may take at the end.
const LAST: Duration = Duration::from_secs(5);

/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;

/// Writes the queue into the database until `stop` resolves, then what is left. `name` names the server: its machine and
/// address. A month is dropped when all of it is more than `days` ago.
pub async fn write(
    audit: &Audit,
    store: &Store,
    name: &str,
    days: u32,
    stop: impl Future<Output = ()>,
) {
    let mut writer = store.audit_writer(name);
    let mut tidied = None::<Instant>;
    let mut failing = false;
    let mut stop = std::pin::pin!(stop);
    let mut is_stopping = false;
    let mut last = None::<Instant>;
    while !is_stopping {
        let pause = async {
            if failing {
                sleep(RETRY).await;
            } else if tidied.is_some() {
                let _ = timeout(IDLE, audit.wake.notified()).await;
                sleep(COLLECT).await;
            }
        };
        is_stopping = tokio::select! {
            () = pause => false,
            () = &mut stop => true,
        };
        if is_stopping {
            last = Some(Instant::now());
            // The answers that are being sent end soon, or were given up.
            let ended = async {
                while audit.running() > 0 {
                    sleep(Duration::from_millis(20)).await;
                }
            };
            if timeout(LAST / 2, ended).await.is_err() {
                audit.give_up_running();
            }
        }
        let work = async {
            loop {
                let until = now();
                let (events, first) = audit.batch(is_stopping);
                let running = audit.running();
                writer.write(AuditBatch { events: &events, first, until, running }).await?;
                audit.written(events.len());
                if !audit.is_waiting() {
                    break;
                }
            }
            if tidied.is_none_or(|tidied| tidied.elapsed() >= TIDY) {
                writer.tidy(now(), now() - i64::from(days) * DAY).await?;
                tidied = Some(Instant::now());
            }
            if is_stopping {
                writer.end(now()).await?;
            }
            Ok::<_, store::Error>(())
        };
        let done = match last {
            None => work.await,
            Some(begun) => match timeout(LAST.saturating_sub(begun.elapsed()), work).await {
                Ok(done) => done,
                Err(_) => Err(store::Error::Unreachable("no answer in time".to_owned())),
            },
        };
        match done {
            Ok(()) => {
                if failing {
                    tracing::info!("the audit is written again");
                }
                failing = false;
            }
            Err(error) if is_stopping => {
                let waiting = audit.counts().waiting;
                tracing::error!("{waiting} events of the audit are lost: {error}");
            }
            Err(error) => {
                if !failing {
                    tracing::warn!("the audit waits for the database: {error}");
                }
                failing = true;
            }
        }
    }
}
