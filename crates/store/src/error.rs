//! Errors between this program and Postgres, worded for the person who can fix them.

use sqlx::error::DatabaseError;
use sqlx::postgres::PgDatabaseError;

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a call of the store failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The connection failed or was lost.
    #[error("cannot reach the database: {0}")]
    Unreachable(String),
    /// A node of Citus does not answer, so the shards on it cannot be read; others can.
    #[error("the node {node} of the index does not answer ({why})")]
    Node {
        /// Its host and port.
        node: String,
        /// What the server says.
        why: String,
    },
    /// A repository lacks files since a node of Citus was lost, and what was asked for may be one of them.
    #[error(
        "{0} lacks files of a lost node until it is ingested again, and what was asked for may be one of them; run: \
         codesearch ingest --now {0}"
    )]
    Lost(String),
    /// All connections were in use for too long.
    #[error(
        "all connections to the database are busy: too many searches at once, or Postgres does not respond; try again \
         in a moment"
    )]
    Busy,
    /// The server is unsuitable as it is.
    #[error("{0}")]
    Unsuitable(String),
    /// Nothing was ever ingested into this database.
    #[error("nothing is indexed yet; run: codesearch ingest FOLDER (or: codesearch up FOLDER)")]
    Empty,
    /// No index has this name.
    #[error("there is no index named '{name}'; {}", listed(.others))]
    NoIndex {
        /// The name.
        name: String,
        /// The indexes that exist.
        others: Vec<String>,
    },
    /// The disk of the server is full.
    #[error(
        "the database's disk is full; free some space and run the command again; nothing is lost"
    )]
    DiskFull,
    /// The stored data differ from what was written.
    #[error(
        "the index is damaged: {0}; check the disk and the server's log, then re-index the repository (codesearch \
         remove, codesearch ingest)"
    )]
    Damaged(String),
    /// The statement was cancelled, by this program or by the operator.
    #[error("the database cancelled the statement: {0}")]
    Cancelled(String),
    /// A user's statement is wrong.
    #[error("{0}")]
    Statement(String),
    /// A user's statement would do more than read what its user sees, or take more than its share.
    #[error("{0}")]
    Refused(String),
    /// Any other error.
    #[error("the database refused a statement: {0}")]
    Database(sqlx::Error),
}

/// Maximum number of names that a message lists.
const LISTED: usize = 10;

/// Lists the existing indexes.
fn listed(names: &[String]) -> String {
    let shown = names.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "there is none yet; run: codesearch ingest FOLDER".to_owned(),
        1..=LISTED => format!("there is: {shown}"),
        more => format!("there is: {shown}, and {} more", more - LISTED),
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(reply) => of_reply(&**reply).unwrap_or(Error::Database(error)),
            sqlx::Error::Io(e) => Error::Unreachable(with_advice(e.to_string())),
            sqlx::Error::Tls(e) => Error::Unreachable(format!("TLS failed: {e}")),
            sqlx::Error::PoolTimedOut => Error::Busy,
            sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => {
                Error::Unreachable("the connections are closed".to_owned())
            }
            sqlx::Error::Configuration(e) => Error::Unreachable(e.to_string()),
            sqlx::Error::Protocol(e) => Error::Unreachable(e.clone()),
            _ => Error::Database(error),
        }
    }
}

impl From<sqlx::migrate::MigrateError> for Error {
    fn from(error: sqlx::migrate::MigrateError) -> Self {
        use sqlx::migrate::MigrateError;
        match error {
            MigrateError::Execute(e) | MigrateError::ExecuteMigration(e, _) => e.into(),
            MigrateError::VersionMissing(_) | MigrateError::VersionMismatch(_) => {
                Error::Unsuitable(format!(
                    "another version of codesearch created the database ({error}); use that version, or another \
                     database"
                ))
            }
            other => Error::Unsuitable(format!("cannot migrate the schema: {other}")),
        }
    }
}

/// Adds to a failure what to do about it, if the server has the certificate that Citus makes for a server without one.
fn with_advice(failure: String) -> String {
    if failure.contains("UnsupportedCertVersion") {
        return format!(
            "{failure}; give the server another certificate than that which Citus made, or add ?sslmode=disable to \
             DATABASE_URL in a network that you trust"
        );
    }
    failure
}

/// Maps the SQLSTATE of a reply (<https://www.postgresql.org/docs/current/errcodes-appendix.html>).
pub(crate) fn of_reply(reply: &dyn DatabaseError) -> Option<Error> {
    let code = reply.code()?;
    let message = reply.message().to_owned();
    let is_lost = code.starts_with("08") || code.starts_with("57P") || code == "53300";
    if is_lost && let Some(node) = node_of(reply) {
        let why = message.split_once("following error: ").map_or(&*message, |(_, why)| why);
        let why = why.lines().next().unwrap_or_default().to_owned();
        return Some(Error::Node { node, why });
    }
    Some(match &*code {
        "53100" => Error::DiskFull,
        "57014" => Error::Cancelled(message),
        "25006" => Error::Unsuitable(format!("the database is read-only: {message}")),
        "42501" => Error::Unsuitable(format!("the role lacks a privilege: {message}")),
        // Connection lost, authentication failed, no such database, server starting or stopping, too many connections.
        _ if code.starts_with("08") || code.starts_with("28") => Error::Unreachable(message),
        "3D000" | "57P01" | "57P02" | "57P03" | "53300" => Error::Unreachable(message),
        _ if message.contains("No space left on device") => Error::DiskFull,
        _ => return None,
    })
}

/// Returns the node of Citus that failed, if this server is its coordinator and tells.
fn node_of(reply: &dyn DatabaseError) -> Option<String> {
    let message = reply.message();
    let context = || reply.try_downcast_ref::<PgDatabaseError>()?.r#where();
    let named = message
        .split_once("connection to the remote node ")
        .or_else(|| message.split_once("any connections to the node "))
        .or_else(|| context()?.split_once("while executing command on "))?;
    let node = named.1.split([' ', '\n']).next()?;
    Some(node.rsplit_once('@').map_or(node, |(_, node)| node).to_owned())
}
