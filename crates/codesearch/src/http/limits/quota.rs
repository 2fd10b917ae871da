//! What a client may have.

/// What one client, or all clients together, may have. None is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Quota {
    /// Searches at the same time, until their answers are sent.
    pub(crate) at_once: Option<u32>,
    /// Searches a minute.
    pub(crate) per_minute: Option<u32>,
    /// MiB of answers a minute, before they are compressed.
    pub(crate) mib_per_minute: Option<u32>,
}
