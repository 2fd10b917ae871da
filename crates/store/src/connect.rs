//! Connecting: where the database is, and the connections that a program begins with.

use std::borrow::Cow;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection};

use crate::error::{Error, Result};
use crate::pool::Leases;
use crate::prepare::Server;
use crate::store::Store;

/// Connections of a program for what is asked now and then: [`Store::control`].
pub(crate) const CONTROL: u32 = 4;

/// How long a connection may take to be made. A server that is busy starts a process in milliseconds; one that has not by
/// then does not answer at all.
const CONNECT: Duration = Duration::from_secs(10);

/// Opens a connection.
///
/// # Errors
/// The server cannot be reached, or does not answer in time.
pub(crate) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
    let connecting = PgConnection::connect_with(options);
    tokio::time::timeout(CONNECT, connecting).await.unwrap_or_else(|_| {
        let why = format!("it does not answer within {CONNECT:?}");
        Err(sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, why)))
    })
}

/// Where the database is.
#[derive(Clone, Debug)]
pub enum Target {
    /// A URL, as in `DATABASE_URL`.
    Url(String),
    /// A socket in a folder, with one name for role and database. The database is made when
    /// missing.
    Socket {
        /// The folder that holds the socket.
        folder: PathBuf,
        /// The role.
        role: String,
        /// The database.
        database: String,
    },
}

impl Store {
    /// Connects, checks that the server can be used, and brings the schema up to date. At most
    /// `connections` are used at once for searching, and fewer where the server has no room for them.
    ///
    /// # Errors
    /// [`Error::Unreachable`]; [`Error::Unsuitable`] when the server is too old, lacks an extension or a right, folds
    /// letters in another way, or its schema is that of a newer version.
    pub async fn connect(target: &Target, connections: u32) -> Result<Self> {
        let options = options(target)?;
        let mut first = match connect(&options).await {
            Err(error) if lacks_database(&error) => {
                make_database(target).await?;
                connect(&options).await?
            }
            connected => connected?,
        };
        let server = Server::of(&mut first).await?;
        let searching = options.clone().options([
            // A text in TOAST makes a sequential scan look cheap, and it never is.
            ("enable_seqscan", "off"),
            // The partition is named and the index is the only way: a plan is the same for all
            // parameters, and made once.
            ("plan_cache_mode", "force_generic_plan"),
            ("jit", "off"),
        ]);
        let leases = Leases::new(Arc::new(searching), server.room(connections));
        let control = PgPoolOptions::new().max_connections(CONTROL).acquire_timeout(CONNECT);
        let control = control.connect_lazy_with(options.clone());
        let mut store = Self::new(leases, control, options, server.no_recheck);
        if !server.is_prepared(&mut first).await? {
            store.no_recheck = store.prepare(&mut first).await?;
        }
        *store.spare() = Some(first);
        Ok(store)
    }

    /// Makes `shards` partitions unless the number is fixed already, and returns the number.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn init(&self, shards: i16) -> Result<i16> {
        let mut conn = self.connection().await?;
        let mut tx = conn.begin().await?;
        tx.execute("lock table shards in exclusive mode").await?;
        let (have,): (i64,) =
            sqlx::query_as("select count(*) from shards").fetch_one(&mut *tx).await?;
        if have > 0 {
            return Ok(have as i16);
        }
        for n in 0..shards {
            // Lexemes and texts lie beside the rows, not in them: lookups read rows only. Slices of filters lie in
            // theirs.
            let sql = format!(
                "insert into shards (shard) values ({n});
                 create table chunks_{n:03} partition of chunks for values in ({n})
                     with (toast_tuple_target = 128);
                 create table documents_{n:03} partition of documents for values in ({n})
                     with (toast_tuple_target = 128);
                 create table filters_{n:03} partition of filters for values in ({n})
                     with (toast_tuple_target = 8160);
                 create table docs_{n:03} partition of docs for values in ({n})
                     with (toast_tuple_target = 128);
                 create table files_{n:03} partition of files for values in ({n})"
            );
            tx.execute(AssertSqlSafe(sql)).await?;
        }
        tx.commit().await?;
        Ok(shards)
    }
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
        .application_name("codesearch")
        .options([
            ("search_path", "codesearch,public"),
            ("client_min_messages", "warning"),
            // A statement ends soon after the program that asked for it.
            ("client_connection_check_interval", "1s"),
        ])
        // A few statements for each shard.
        .statement_cache_capacity(2048)
        .disable_statement_logging())
}

fn of_url(url: &str) -> Result<PgConnectOptions> {
    let bad = |why: String| {
        Error::Unsuitable(format!(
            "DATABASE_URL is not a URL of Postgres (postgresql://USER@HOST/DATABASE): {why}"
        ))
    };
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(bad("it begins otherwise".to_owned()));
    }
    PgConnectOptions::from_str(url).map_err(|error| match error {
        sqlx::Error::Configuration(why) => bad(why.to_string()),
        other => bad(other.to_string()),
    })
}

/// Whether a connection failed because there is no such database (3D000, `invalid_catalog_name`).
fn lacks_database(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("3D000"))
}

/// Makes the database of a private server; that of a URL is its owner's to make.
async fn make_database(target: &Target) -> Result<()> {
    let Target::Socket { database, .. } = target else { return Ok(()) };
    let mut conn = connect(&options(target)?.database("postgres")).await?;
    let name = database.replace('"', "\"\"");
    let made = conn.execute(AssertSqlSafe(format!("create database \"{name}\""))).await;
    // Another program may have been faster: 42P04 duplicate_database, 23505 its race.
    if let Err(error) = made {
        let code = error.as_database_error().and_then(|e| e.code().map(Cow::into_owned));
        if !matches!(code.as_deref(), Some("42P04" | "23505")) {
            return Err(error.into());
        }
    }
    conn.close().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{on_index, value};

    #[test]
    fn an_index_keeps_its_number_of_shards() {
        on_index(3, async |store| {
            assert_eq!(store.init(9).await.unwrap(), 3);
            let parts = "select count(*) from pg_inherits i join pg_class c on c.oid = i.inhparent
                         where c.relname = '";
            for table in ["chunks", "documents", "filters", "docs", "files"] {
                let sql = format!("{parts}{table}'");
                assert_eq!(value::<i64>(store, &sql).await, 3, "{table}");
            }
        });
    }

    #[test]
    fn every_table_and_the_columns_of_the_index_are_explained() {
        on_index(1, async |store| {
            let sql = "select coalesce(string_agg(relname, ' '), '') from pg_class
                 where relnamespace = 'codesearch'::regnamespace and relkind in ('r', 'p')
                   and not relispartition and relname not like '\\_%' and obj_description(oid, 'pg_class') is null";
            assert_eq!(value::<String>(store, sql).await, "");
        });
    }

    #[test]
    fn a_url_that_is_none_is_refused_in_words() {
        let refused = |url: &str| of_url(url).unwrap_err().to_string();
        assert!(refused("mysql://x").ends_with("it begins otherwise"));
        assert!(
            refused("postgresql://h:port/d").starts_with("DATABASE_URL is not a URL of Postgres")
        );
        assert!(of_url("postgresql://me@host/database").is_ok());
    }
}
