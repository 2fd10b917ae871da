//! Limits the requests of each address that need no token.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use quick_cache::sync::Cache;

use super::budget::Budget;

/// Most addresses that are remembered. Beyond that, the least recent are forgotten.
const MAX_ADDRESSES: usize = 1 << 12;

/// A number of requests per minute for each address.
#[derive(Debug)]
pub struct Rates {
    per_minute: f64,
    known: Cache<IpAddr, Arc<Mutex<Budget>>>,
}

impl Rates {
    /// Makes the limit.
    pub fn new(per_minute: u32) -> Self {
        Self { per_minute: f64::from(per_minute), known: Cache::new(MAX_ADDRESSES) }
    }

    /// Counts a request of an address.
    ///
    /// # Errors
    /// It has used up its requests; the seconds until the next one.
    pub(crate) fn take(&self, address: IpAddr) -> Result<(), u64> {
        self.ask(address, 1.0)
    }

    /// Returns whether an address has a request left, without counting one.
    ///
    /// # Errors
    /// As of [`Rates::take`].
    pub(crate) fn look(&self, address: IpAddr) -> Result<(), u64> {
        self.ask(address, 0.0)
    }

    fn ask(&self, address: IpAddr, cost: f64) -> Result<(), u64> {
        let now = Instant::now();
        let new = || Ok::<_, Infallible>(Arc::new(Mutex::new(Budget::new(self.per_minute, now))));
        let budget = match self.known.get_or_insert_with(&address, new) {
            Ok(budget) => budget,
            Err(never) => match never {},
        };
        let mut budget = budget.lock().unwrap_or_else(PoisonError::into_inner);
        budget.take(1.0, cost, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_own_requests() {
        let rates = Rates::new(2);
        let [one, other]: [IpAddr; 2] =
            ["192.0.2.1", "192.0.2.2"].map(|text| text.parse().unwrap());
        assert_eq!((rates.take(one), rates.take(one)), (Ok(()), Ok(())));
        assert_eq!(rates.take(one), Err(30));
        assert_eq!((rates.look(one), rates.look(other)), (Err(30), Ok(())));
        assert_eq!(rates.take(other), Ok(()));
    }
}
