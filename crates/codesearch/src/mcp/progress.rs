//! Word of a call that runs, for a client that asks for it (`progressToken`).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};

use super::answer::count;

/// How often a client is told that its call runs.
const TICK: Duration = Duration::from_millis(250);

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Found(AtomicUsize);

impl Found {
    /// Notes that some files were found.
    pub(super) fn add(&self, files: usize) {
        self.0.fetch_add(files, Ordering::Relaxed);
    }
}

/// Does some work, and tells the client meanwhile how far it is: at once, and then every quarter of a second.
pub(super) async fn told<T>(
    context: &RequestContext<RoleServer>,
    found: &Found,
    work: impl Future<Output = T>,
) -> T {
    let Some(token) = context.meta.get_progress_token() else { return work.await };
    let telling = async {
        let mut ticks = tokio::time::interval(TICK);
        let mut times = 0.0;
        loop {
            ticks.tick().await;
            let message = match found.0.load(Ordering::Relaxed) {
                0 => "searching".to_owned(),
                files => format!("searching: {} so far", count(files, "file", "files")),
            };
            // It must grow, whatever is found.
            times += 1.0;
            let telling =
                ProgressNotificationParam::new(token.clone(), times).with_message(message);
            if context.peer.notify_progress(telling).await.is_err() {
                // Nobody listens; the work has to find that out by itself.
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        biased;
        never = telling => never,
        done = work => done,
    }
}
