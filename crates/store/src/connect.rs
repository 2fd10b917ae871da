//! Connecting: what the server must offer, the schema, and the operator that never rechecks.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection};

use crate::error::{Error, Result};
use crate::ingest::MAX_DERIVERS;
use crate::pool::Leases;
use crate::store::Store;

/// The oldest server that is supported (as `server_version_num`).
const MIN_SERVER: i32 = 150_000;

/// Connections of a program beside those for searching: [`Store::control`], and those that hold the newest
/// state of the index and a few earlier ones.
const CONTROL: u32 = 4;
const PINS: u32 = 5;

/// Connections that are left to the operator, beside those that the server keeps for its superuser.
const OPERATOR: i64 = 3;

/// The advisory lock on preparing the database.
const SETUP_LOCK: i64 = 0x6373_0002_0000;

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
        let options = options(target).await?;
        let mut first = PgConnection::connect_with(&options).await?;
        check_server(&mut first).await?;
        // Of several programs that start at once, one prepares the database. The lock ends with the
        // connection.
        sqlx::query("select pg_advisory_lock($1)").bind(SETUP_LOCK).execute(&mut first).await?;
        first.execute("create schema if not exists codesearch").await?;
        ensure_trgm(&mut first).await?;
        sqlx::migrate!("../../migrations").run(&mut first).await?;
        let no_recheck = ensure_operator(&mut first).await?;
        let connections = bounded(&mut first, connections).await?;
        let searching = options.clone().options([
            // A text in TOAST makes a sequential scan look cheap, and it never is.
            ("enable_seqscan", "off"),
            // The partition is named and the index is the only way: a plan is the same for all
            // parameters, and made once.
            ("plan_cache_mode", "force_generic_plan"),
            ("jit", "off"),
        ]);
        let leases = Leases::new(Arc::new(searching), connections);
        let control =
            PgPoolOptions::new().max_connections(CONTROL).connect_lazy_with(options.clone());
        let store = Self::new(leases, control, options, no_recheck);
        store.convert_filters(&mut first).await?;
        first.close().await?;
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

/// How many of the connections that are wanted for searching leave enough for everything else: for
/// this program's other ones, for those of an ingest, and for the operator.
async fn bounded(conn: &mut PgConnection, wanted: u32) -> Result<u32> {
    // A role and a database can have bounds of their own; -1 is none.
    let (most, reserved, used): (i64, i64, i64) = sqlx::query_as(
        "select least(current_setting('max_connections')::bigint,
                      (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
                      (select nullif(datconnlimit, -1) from pg_database where datname = current_database())),
                current_setting('superuser_reserved_connections')::bigint
                    + coalesce(current_setting('reserved_connections', true)::bigint, 0),
                (select coalesce(sum(numbackends), 1)::bigint - 1 from pg_stat_database)",
    )
    .fetch_one(conn)
    .await?;
    let cores = std::thread::available_parallelism().map_or(2, usize::from) as i64;
    // Each shard whose documents are derived takes two.
    let ingest = 1 + cores + cores.min(MAX_DERIVERS as i64) + i64::from(CONTROL);
    let beside = i64::from(CONTROL + PINS) + ingest + OPERATOR;
    let room = (most - reserved - used - beside).clamp(1, i64::from(u32::MAX)) as u32;
    if room < wanted {
        tracing::info!(
            "the database takes {most} connections, {reserved} of them reserved, {used} in use and {beside} \
             kept for an ingest, the operator and the like: searches use at most {room} instead of \
             {wanted}; raise max_connections for more"
        );
    }
    Ok(room.min(wanted))
}

pub(crate) async fn options(target: &Target) -> Result<PgConnectOptions> {
    let options = match target {
        Target::Url(url) => of_url(url)?,
        Target::Socket { folder, role, database } => {
            let options = PgConnectOptions::new_without_pgpass()
                .socket(folder)
                .port(5432)
                .username(role)
                .database("postgres");
            ensure_database(&options, database).await?;
            options.database(database)
        }
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

async fn ensure_database(postgres: &PgConnectOptions, database: &str) -> Result<()> {
    let mut conn = PgConnection::connect_with(postgres).await?;
    let (exists,): (bool,) =
        sqlx::query_as("select exists (select from pg_database where datname = $1)")
            .bind(database)
            .fetch_one(&mut conn)
            .await?;
    if !exists {
        let name = database.replace('"', "\"\"");
        let made = conn.execute(AssertSqlSafe(format!("create database \"{name}\""))).await;
        // Another program may have been faster: 42P04 duplicate_database, 23505 its race.
        if let Err(e) = made {
            let code =
                e.as_database_error().and_then(|e| e.code().map(std::borrow::Cow::into_owned));
            if !matches!(code.as_deref(), Some("42P04" | "23505")) {
                return Err(e.into());
            }
        }
    }
    conn.close().await?;
    Ok(())
}

async fn check_server(conn: &mut PgConnection) -> Result<()> {
    let (version, encoding, folds): (i32, String, bool) = sqlx::query_as(
        "select current_setting('server_version_num')::int,
                current_setting('server_encoding'),
                lower('ABCDEFGHIJKLMNOPQRSTUVWXYZ') = 'abcdefghijklmnopqrstuvwxyz'
                    and lower('ΟΔΟΣ') = lower('ΟΔΟ') || lower('Σ')",
    )
    .fetch_one(&mut *conn)
    .await?;
    if version < MIN_SERVER {
        return Err(Error::Unsuitable(format!(
            "the server is PostgreSQL {}; version {} or newer is needed",
            version / 10_000,
            MIN_SERVER / 10_000
        )));
    }
    if encoding != "UTF8" {
        return Err(Error::Unsuitable(format!(
            "the database is encoded in {encoding}; create one with: create database codesearch encoding \
             'UTF8' template template0"
        )));
    }
    // The planner folds ASCII letters itself (a Turkish locale makes I into a dotless ı), and a part
    // of a word must be folded as the word is (ICU gives a Greek word's last sigma a form of its own).
    if !folds {
        return Err(Error::Unsuitable(
            "the database's locale folds letters in a way that would lose matches; create a database with: \
             create database codesearch locale_provider libc locale 'C.UTF-8' template template0"
                .to_owned(),
        ));
    }
    Ok(())
}

async fn ensure_trgm(conn: &mut PgConnection) -> Result<()> {
    let (exists,): (bool,) =
        sqlx::query_as("select exists (select from pg_extension where extname = 'pg_trgm')")
            .fetch_one(&mut *conn)
            .await?;
    if exists {
        return Ok(());
    }
    conn.execute("create extension if not exists pg_trgm schema public").await.map_err(|e| {
        Error::Unsuitable(format!(
            "the database has no extension pg_trgm and it cannot be added ({e}); install the server's \
             contrib package, or have its administrator run: create extension pg_trgm"
        ))
    })?;
    Ok(())
}

/// Adds to the operators that a stock `gin_trgm_ops` index answers one that does not look at the
/// text: `lexemes @~~ pattern` has the same strategy as `LIKE` (3), so the index finds the same
/// candidates, but its function says yes to each, so Postgres neither decompresses nor rechecks
/// them. We do that ourselves.
///
/// Its function is one of the server's own, the step of the aggregate `bool_and`: of two values that
/// are passed by reference it says only that they are there. A function in PL/pgSQL that says yes took
/// as long as all the rest of a lookup of a common word (1.8 times the time in all).
///
/// The right-hand side is `bytea` because the family has a `(text, text)` operator for that
/// strategy already; the index reads the bytes as text. Only a superuser may change an operator
/// family. Where we are none, plain `ILIKE` does the same work with a recheck, and this returns
/// false. (`pg_dump` does not carry the operator: the family belongs to the extension. It is
/// therefore looked for at each start.)
async fn ensure_operator(conn: &mut PgConnection) -> Result<bool> {
    const EXISTS: &str = "select exists (
        select from pg_amop a join pg_opfamily f on f.oid = a.amopfamily
        where f.opfname = 'gin_trgm_ops' and a.amopstrategy = 3
          and a.amoprighttype = 'bytea'::regtype)";
    let (exists,): (bool,) = sqlx::query_as(EXISTS).fetch_one(&mut *conn).await?;
    if exists {
        return Ok(true);
    }
    let made = conn
        .execute(
            "begin;
             create or replace function no_recheck(text, bytea) returns boolean
                 language internal immutable strict parallel safe as 'booland_statefunc';
             create operator @~~ (leftarg = text, rightarg = bytea, function = no_recheck, restrict = contsel);
             alter operator family gin_trgm_ops using gin add operator 3 @~~ (text, bytea);
             commit",
        )
        .await;
    if let Err(error) = made {
        conn.execute("rollback").await?;
        let (exists,): (bool,) = sqlx::query_as(EXISTS).fetch_one(&mut *conn).await?;
        if !exists {
            tracing::info!(
                "the operator that never rechecks cannot be made, so candidates are rechecked by the server: {error}"
            );
        }
        return Ok(exists);
    }
    Ok(true)
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
