//! What one client, or all together, may use.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::sync::Semaphore;

use super::budget::Budget;
use super::quota::Quota;

/// The semaphores and budgets of a client.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) share: Option<Arc<Semaphore>>,
    pub(super) running: Option<Arc<Semaphore>>,
    pub(super) searches: Option<Mutex<Budget>>,
    pub(super) bytes: Option<Mutex<Budget>>,
}

impl Client {
    pub(super) fn new(quota: Quota, share: Option<usize>) -> Self {
        let budget = |most: Option<u32>, unit: f64| {
            most.map(|most| Mutex::new(Budget::new(f64::from(most) * unit, Instant::now())))
        };
        Self {
            share: share.map(|most| Arc::new(Semaphore::new(most))),
            running: quota.at_once.map(|most| Arc::new(Semaphore::new(most as usize))),
            searches: budget(quota.per_minute, 1.0),
            bytes: budget(quota.mib_per_minute, f64::from(1 << 20)),
        }
    }
}
