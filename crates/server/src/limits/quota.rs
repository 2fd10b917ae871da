//! The limits of a client.

/// The limits of one client, or of all clients together. `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Concurrent searches; one counts until its answer is sent.
    pub at_once: Option<u32>,
    /// Searches a minute.
    pub per_minute: Option<u32>,
    /// MiB of answers a minute, before compression.
    pub mib_per_minute: Option<u32>,
}
