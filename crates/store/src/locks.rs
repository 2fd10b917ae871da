//! The advisory locks of an index, one list so that no two have a number in common.

/// The advisory lock on writing.
pub(crate) const WRITE_LOCK: i64 = 0x6373_0000_0000;

/// The advisory lock that every connection which writes for an ingest shares. When a program is
/// killed, its statements go on until they notice; the next ingest ends them and waits for the last.
pub(crate) const HELPER_LOCK: i64 = WRITE_LOCK + 1;

/// The lock on preparing the database.
pub(crate) const SETUP_LOCK: i64 = 0x6373_0002_0000;

/// The advisory locks by which searches hold an epoch: key (this, epoch), shared.
pub(crate) const PIN_LOCKS: i32 = 0x6373_0001;
