//! Moves the queue into the database.

use std::time::{Duration, Instant};

use store::{AuditBatch, AuditWriter, Store};
use tokio::time::{sleep, timeout};

use super::queue::Batch;
use super::shown::count;
use super::{Audit, now};

/// How long an event waits for others. With the time of a batch, a kill loses less than a second, and of refusals that are
/// only counted less than the minute for which they are.
const COLLECT: Duration = Duration::from_millis(250);

/// How often a server tells that it lives, even without events, and looks for others that were killed.
const IDLE: Duration = Duration::from_secs(10);

/// How long to wait after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// How often months are made and dropped.
const TIDY: Duration = Duration::from_hours(1);

/// How long the end may take: half of it for what runs, half for the last events.
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
    let mut moving = Moving {
        audit,
        writer: store.audit_writer(name),
        days,
        tidied: None,
        looked: Instant::now(),
    };
    let mut stop = std::pin::pin!(stop);
    let mut pause = Duration::ZERO;
    let mut is_failing = false;
    loop {
        let is_stopped = tokio::select! {
            () = audit.pause(pause) => false,
            () = &mut stop => true,
        };
        if is_stopped {
            break;
        }
        let mut is_stopped = false;
        // At the end, a database that does not answer is not waited for. What it may have written is sent again.
        let end = async {
            (&mut stop).await;
            is_stopped = true;
            sleep(LAST / 2).await;
        };
        let done = tokio::select! {
            done = moving.work(false) => done,
            () = end => Err(no_answer()),
        };
        match &done {
            Ok(()) if is_failing => tracing::info!("the audit is written again"),
            Err(error) if !is_failing => {
                tracing::warn!("the audit waits for the database: {error}");
            }
            _ => {}
        }
        is_failing = done.is_err();
        pause = if is_failing { RETRY } else { COLLECT };
        if is_stopped {
            break;
        }
    }
    // The answers that are being sent end soon, or were given up.
    let ended = async {
        while audit.running() > 0 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    if timeout(LAST / 2, ended).await.is_err() {
        audit.give_up_running();
    }
    let done = timeout(LAST / 2, moving.work(true)).await.unwrap_or_else(|_| Err(no_answer()));
    if let Err(error) = done {
        let waiting = count(i32::try_from(audit.counts().waiting).unwrap_or(i32::MAX), "event");
        tracing::error!(
            "the audit is not written to its end and loses {waiting}: {error}; stop servers before their database"
        );
    }
}

fn no_answer() -> store::Error {
    store::Error::Unreachable("no answer in time".to_owned())
}

impl Audit {
    /// Waits before the next batch: after a failure for [`RETRY`], else for an event, and for others that come soon after it.
    async fn pause(&self, pause: Duration) {
        if pause == COLLECT {
            let _ = timeout(IDLE, self.wake.notified()).await;
        }
        sleep(pause).await;
    }
}

/// What moves events into the database.
struct Moving<'a> {
    audit: &'a Audit,
    writer: AuditWriter,
    days: u32,
    /// When months were made and dropped.
    tidied: Option<Instant>,
    /// When other servers were looked at.
    looked: Instant,
}

impl Moving<'_> {
    /// Writes what waits; at the end, all of it.
    async fn work(&mut self, is_last: bool) -> Result<(), store::Error> {
        loop {
            let Batch { events, first, until } = self.audit.batch(is_last);
            let running = self.audit.running();
            self.writer.write(AuditBatch { events: &events, first, until, running }).await?;
            self.audit.written(events.len());
            if !self.audit.is_waiting() {
                break;
            }
        }
        if is_last {
            return self.writer.end(now()).await;
        }
        if self.tidied.is_none_or(|tidied| tidied.elapsed() >= TIDY) {
            self.writer.tidy(now(), now() - i64::from(self.days) * DAY).await?;
            self.tidied = Some(Instant::now());
        }
        if self.looked.elapsed() >= IDLE {
            self.writer.look(now()).await?;
            self.looked = Instant::now();
        }
        Ok(())
    }
}
