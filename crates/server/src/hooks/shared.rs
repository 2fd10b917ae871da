//! What the webhooks of a server share.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use settings::{Hidden, Hook, Secret};
use tokio::sync::Semaphore;

use super::origins::Origins;
use crate::error::Failure;
use crate::limits::Rates;

/// Webhooks of an address per minute.
const PER_MINUTE: u32 = 600;

/// Larger bodies that are in memory at once.
const LARGE_AT_ONCE: usize = 2;

/// How long a secret that a command printed is used.
const KEPT_SECRET: Duration = Duration::from_mins(1);

/// What the webhooks of a server share.
pub struct Hooks {
    pub(super) rates: Rates,
    pub(super) large: Semaphore,
    pub(super) origins: Origins,
    /// The last secret that each command printed, and when.
    printed: Mutex<Vec<(Secret, Hidden, Instant)>>,
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hooks")
    }
}

impl Default for Hooks {
    fn default() -> Self {
        Self {
            rates: Rates::new(PER_MINUTE),
            large: Semaphore::new(LARGE_AT_ONCE),
            origins: Origins::default(),
            printed: Mutex::default(),
        }
    }
}

impl Hooks {
    /// Returns the secret of a webhook.
    ///
    /// # Errors
    /// It cannot be read; the reason is in the log.
    pub(super) async fn secret(&self, hook: &Hook) -> Result<Hidden, Failure> {
        if let Some(kept) = self.kept_secret(&hook.secret) {
            return Ok(kept);
        }
        let secret = hook.secret.clone();
        let reading = tokio::task::spawn_blocking(move || secret.read());
        let read = reading.await.map_err(|_| Failure::panicked())?.map_err(|error| {
            tracing::error!("the webhook {} cannot be checked: {error}", hook.name);
            Failure::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "unavailable",
                "the secret of this webhook cannot be read; see the server's log",
            )
        })?;
        if matches!(hook.secret, Secret::Command(_)) {
            let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
            printed.retain(|(of, ..)| *of != hook.secret);
            printed.push((hook.secret.clone(), read.clone(), Instant::now()));
        }
        Ok(read)
    }

    fn kept_secret(&self, of: &Secret) -> Option<Hidden> {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        printed.retain(|(.., since)| since.elapsed() < KEPT_SECRET);
        printed.iter().find(|(known, ..)| known == of).map(|(_, kept, _)| kept.clone())
    }
}
