//! Waits for conditions; tests sleep only here.

use std::time::{Duration, Instant};

/// Longest wait before a test fails. Long, since machines that run tests are busy.
const DEADLINE: Duration = Duration::from_mins(2);

/// Pause between two checks.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until a condition holds.
#[track_caller]
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < DEADLINE, "never came true: {what}");
        std::thread::sleep(PAUSE);
    }
}

/// Waits for an asynchronous condition; returns whether it came true.
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
