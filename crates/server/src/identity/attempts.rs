//! Bounds how often an address may try to prove who it is and fail.

use std::net::IpAddr;

use quick_cache::sync::Cache;

use crate::limits::Rates;

/// Failed attempts of an address a minute.
const PER_MINUTE: u32 = 60;

/// Most proofs that are remembered.
const MAX_KNOWN: usize = 1 << 14;

/// A proof, by its hash, and the address that sent it.
type Sent = (IpAddr, [u8; 32]);

/// The attempts of all addresses.
///
/// An address that has used up its attempts is refused without a look at what it sends, so that nobody tries many. What it
/// has sent before and counted still does: other people may have the same address.
#[derive(Debug)]
pub(super) struct Attempts {
    left: Rates,
    right: Cache<Sent, ()>,
    wrong: Cache<Sent, ()>,
}

impl Default for Attempts {
    fn default() -> Self {
        Self {
            left: Rates::new(PER_MINUTE),
            right: Cache::new(MAX_KNOWN),
            wrong: Cache::new(MAX_KNOWN),
        }
    }
}

impl Attempts {
    /// Returns whether an address may try a proof.
    ///
    /// # Errors
    /// It has used up its attempts; the seconds until the next one.
    pub(super) fn may(&self, address: IpAddr, hash: &[u8; 32]) -> Result<(), u64> {
        match self.left.look(address) {
            Err(wait) if self.right.get(&(address, *hash)).is_none() => Err(wait),
            _ => Ok(()),
        }
    }

    /// Notes that a proof counted.
    pub(super) fn worked(&self, address: IpAddr, hash: [u8; 32]) {
        if self.right.get(&(address, hash)).is_none() {
            self.right.insert((address, hash), ());
        }
    }

    /// Counts a proof that did not. A browser sends its cookie again and again: `once` counts it only the first time.
    pub(super) fn failed(&self, address: IpAddr, hash: [u8; 32], once: bool) {
        self.right.remove(&(address, hash));
        if once {
            if self.wrong.get(&(address, hash)).is_some() {
                return;
            }
            self.wrong.insert((address, hash), ());
        }
        // If there is none left, none is taken.
        let _ = self.left.take(address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_bounded_but_not_what_counted() {
        let attempts = Attempts::default();
        let [one, other]: [IpAddr; 2] =
            ["192.0.2.1", "192.0.2.2"].map(|text| text.parse().unwrap());
        let hash = |n: u8| [n; 32];
        attempts.worked(one, hash(200));
        for _ in 0..PER_MINUTE + 9 {
            // A cookie that is sent again and again.
            attempts.failed(one, hash(100), true);
        }
        for n in 1..PER_MINUTE as u8 {
            assert_eq!(attempts.may(one, &hash(n)), Ok(()), "{n}");
            attempts.failed(one, hash(n), false);
        }
        assert_eq!(attempts.may(one, &hash(201)), Err(1));
        assert_eq!(attempts.may(one, &hash(200)), Ok(()));
        assert_eq!(attempts.may(other, &hash(201)), Ok(()));
        // Until it counts no more.
        attempts.failed(one, hash(200), false);
        assert!(attempts.may(one, &hash(200)).is_err());
    }
}
