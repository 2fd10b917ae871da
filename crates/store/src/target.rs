//! The address of the database, and connecting to it.

use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};

use crate::error::{Error, Result};

/// Connections that a program has for occasional statements: see [`Store::control`](crate::Store::control).
pub(crate) const CONTROL: u32 = 4;

/// Maximum time to make a connection. A busy server starts a process in milliseconds; one that needs longer does not
/// answer at all.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);

/// Maximum time for a program's first statements, and for reading the catalog. They take milliseconds, but on a silent
/// connection they would wait forever.
pub(crate) const ANSWER: Duration = Duration::from_secs(30);

/// Opens a connection.
///
/// # Errors
/// The server cannot be reached, or does not answer in time.
pub(crate) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
    answered(CONNECT, PgConnection::connect_with(options)).await
}

/// Runs some work with a time limit.
///
/// # Errors
/// Those of the work; or the server does not answer within the limit.
pub(crate) async fn answered<T, E: From<sqlx::Error>>(
    most: Duration,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    // Boxed, since the futures of searches contain this one.
    tokio::time::timeout(most, Box::pin(work)).await.unwrap_or_else(|_| {
        let why = format!("it does not answer within {most:?}");
        Err(sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, why)).into())
    })
}

/// The address of the database.
#[derive(Clone, Debug)]
pub enum Target {
    /// A URL, as in `DATABASE_URL`.
    Url(String),
    /// A socket in a folder. The database is created if missing.
    Socket {
        /// The folder that holds the socket.
        folder: PathBuf,
        /// The role.
        role: String,
        /// The database.
        database: String,
    },
}

pub(crate) fn options(target: &Target) -> Result<PgConnectOptions> {
    let options = match target {
        Target::Url(url) => of_url(url)?,
        Target::Socket { folder, role, database } => PgConnectOptions::new_without_pgpass()
            .socket(folder)
            .port(5432)
            .username(role)
            .database(database),
    };
    Ok(options
        .application_name(&crate::schema::program())
        .options([
            ("search_path", "codesearch,public"),
            ("client_min_messages", "warning"),
            // The server ends a statement soon after its client has disappeared.
            ("client_connection_check_interval", "1s"),
            // Over TCP, a client that vanishes is noticed within 25 seconds, and its locks are released.
            ("tcp_keepalives_idle", "10"),
            ("tcp_keepalives_interval", "5"),
            ("tcp_keepalives_count", "3"),
            // On Citus, for how long it waits for a node that does not respond; elsewhere, nobody reads it.
            ("citus.node_connection_timeout", "3s"),
        ])
        // Each shard has statements of its own.
        .statement_cache_capacity(2048)
        .disable_statement_logging())
}

/// Returns the options of connections for searching.
pub(crate) fn for_searching(options: &PgConnectOptions) -> PgConnectOptions {
    options.clone().options([
        // Since lexemes lie in TOAST, a sequential scan looks cheap to the planner, but never is.
        ("enable_seqscan", "off"),
        // Each statement names its partition and has only one useful index, so one plan fits all parameters.
        ("plan_cache_mode", "force_generic_plan"),
        ("jit", "off"),
        // Shards are searched in parallel; starting workers takes longer than a statement.
        ("max_parallel_workers_per_gather", "0"),
    ])
}

/// Returns whether a server is on this machine: it is reached by a socket or at an address of this machine.
pub(crate) async fn is_here(options: &PgConnectOptions) -> bool {
    let host = options.get_host();
    if options.get_socket().is_some() || host.starts_with('/') {
        return true;
    }
    let named = (host.trim_matches(['[', ']']), options.get_port());
    let found = tokio::time::timeout(CONNECT, tokio::net::lookup_host(named)).await;
    // Only addresses of this machine can be bound.
    let is_own = |address: SocketAddr| UdpSocket::bind((address.ip(), 0)).is_ok();
    found.is_ok_and(|found| found.is_ok_and(|mut addresses| addresses.any(is_own)))
}

fn of_url(url: &str) -> Result<PgConnectOptions> {
    let bad = |why: String| {
        Error::Unsuitable(format!(
            "DATABASE_URL is not a Postgres URL (postgresql://USER@HOST/DATABASE): {why}"
        ))
    };
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(bad("it must begin with postgresql://".to_owned()));
    }
    PgConnectOptions::from_str(url).map_err(|error| match error {
        sqlx::Error::Configuration(why) => bad(why.to_string()),
        other => bad(other.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_is_none_is_refused_in_words() {
        let refused = |url: &str| of_url(url).unwrap_err().to_string();
        assert!(refused("mysql://x").ends_with("it must begin with postgresql://"));
        assert!(refused("postgresql://h:port/d").starts_with("DATABASE_URL is not a Postgres URL"));
        assert!(of_url("postgresql://me@host/database").is_ok());
    }

    #[tokio::test]
    async fn a_server_on_this_machine_is_known() {
        for (url, here) in [
            ("postgresql://search@localhost/codesearch", true),
            ("postgresql://search@127.0.0.1:5433/codesearch", true),
            ("postgresql://search@[::1]/codesearch", true),
            ("postgresql://search@%2Frun%2Fpostgresql/codesearch", true),
            ("postgresql://search@198.51.100.77/codesearch", false),
            ("postgresql://search@[2001:db8::2]:5433/codesearch", false),
        ] {
            let options = options(&Target::Url(url.to_owned())).unwrap();
            assert_eq!(is_here(&options).await, here, "{url}");
        }
    }
}
