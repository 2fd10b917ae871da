//! The advisory locks of an index, in one list so that no two share a number.

/// The lock on writing.
pub(crate) const WRITE_LOCK: i64 = 0x6373_0000_0000;

/// Every connection that writes for an ingest holds this lock in shared mode. When a program is killed, its statements
/// run on until they notice. The next ingest terminates them and waits for the last by taking this lock.
pub(crate) const HELPER_LOCK: i64 = WRITE_LOCK + 1;

/// The lock on preparing the database.
pub(crate) const SETUP_LOCK: i64 = 0x6373_0002_0000;

/// First key of the locks by which searches pin an epoch, in shared mode. The second key is the epoch.
pub(crate) const PIN_LOCKS: i32 = 0x6373_0001;

/// Held in shared mode by ingests that wait for the write lock. A run that only extracts symbols then yields, since the
/// waiting ingest extracts them as well.
pub(crate) const WAITING_LOCK: i64 = WRITE_LOCK + 2;

/// The lock on mirroring: one program at a time lists hosts and fetches their repositories.
pub(crate) const MIRROR_LOCK: i64 = WRITE_LOCK + 3;

/// Held in shared mode by programs that listen for new rows of the queue.
pub(crate) const INGESTER_LOCK: i64 = WRITE_LOCK + 4;

/// Held by the server that watches the repositories.
pub(crate) const WATCH_LOCK: i64 = WRITE_LOCK + 7;

/// Held by the program that looks at epochs for all monitors, and delivers what they found.
pub(crate) const MONITOR_LOCK: i64 = WRITE_LOCK + 5;

/// Held by whoever decides from which epoch on monitors look, or up to which one rows are deleted.
pub(crate) const MONITOR_START_LOCK: i64 = WRITE_LOCK + 6;

/// Held by whoever makes a partition of the audit.
pub(crate) const AUDIT_LOCK: i64 = WRITE_LOCK + 8;

/// First key of the locks that runs of servers hold while they write the audit. The second key is the run.
pub(crate) const AUDIT_LOCKS: i32 = 0x6373_0003;

/// Held by the server that ingests what is queued and mirrors hosts.
pub(crate) const LEADER_LOCK: i64 = WRITE_LOCK + 16;

/// First key of the locks that servers hold as long as they run. The second key is the server's number.
pub(crate) const SERVER_LOCKS: i32 = 0x6373_0010;
