//! The limits of a client.

/// The limits of one client, or of all clients together. `None` is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Quota {
    /// Concurrent searches; one counts until its answer is sent.
    pub(crate) at_once: Option<u32>,
    /// Searches a minute.
    pub(crate) per_minute: Option<u32>,
    /// MiB of answers a minute, before compression.
    pub(crate) mib_per_minute: Option<u32>,
}
