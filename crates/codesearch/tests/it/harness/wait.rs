//! Waiting until something holds: the one place where tests sleep.

use std::time::{Duration, Instant};

/// How long a test waits before it fails: long, since machines that run tests are busy.
const DEADLINE: Duration = Duration::from_mins(2);

/// How often a test looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until something holds.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < DEADLINE, "never came true: {what}");
        std::thread::sleep(PAUSE);
    }
}

/// The same for what has to be awaited; tells whether it came true.
pub(crate) async fn eventually_async(mut holds: impl AsyncFnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !holds().await {
        if begun.elapsed() > DEADLINE {
            return false;
        }
        tokio::time::sleep(PAUSE).await;
    }
    true
}
