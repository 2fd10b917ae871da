//! Progress notifications for a call, if the client requests them (`progressToken`).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::model::ProgressNotificationParam;
use rmcp::service::{RequestContext, RoleServer};

use super::answer::count;

/// Interval between notifications.
const TICK: Duration = Duration::from_millis(250);

/// The number of files found so far.
#[derive(Debug, Default)]
pub(super) struct FileCounter(AtomicUsize);

impl FileCounter {
    /// Adds to the number of files found.
    pub(super) fn add(&self, files: usize) {
        self.0.fetch_add(files, Ordering::Relaxed);
    }
}

/// Runs some work, and sends notifications meanwhile: at once, and then every [`TICK`].
pub(super) async fn with_progress<T>(
    context: &RequestContext<RoleServer>,
    found: &FileCounter,
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
            // The number must grow, even if no files are found.
            times += 1.0;
            let telling =
                ProgressNotificationParam::new(token.clone(), times).with_message(message);
            if context.peer.notify_progress(telling).await.is_err() {
                // The client is gone. The work notices that by itself.
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
