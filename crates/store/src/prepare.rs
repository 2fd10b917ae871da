//! Prepares a database: the requirements on the server, the schema, and the operator without a recheck.

use std::sync::atomic::Ordering;

use sqlx::{Executor, PgConnection};

use crate::error::{Error, Result};
use crate::filters;
use crate::ingest::MAX_DERIVERS;
use crate::locks::SETUP_LOCK;
use crate::nodes;
use crate::reader::prepare_reader;
use crate::schema::{self, MIGRATIONS, OLDEST};
use crate::store::Store;
use crate::tables::Groups;
use crate::target::{CONTROL, Target};

/// The oldest supported server (as `server_version_num`).
const MIN_SERVER: i32 = 150_000;

/// Connections with which a program pins the newest epoch and a few earlier ones.
const PINS: u32 = 5;

/// Connections on which a program is notified: of epochs and freshness, once for searches and once for monitors, of the
/// queue, once for the ingester and once for mirrors, and of other servers. (`Store::listener`)
const LISTENERS: u32 = 5;

/// Connections that it holds as long as it runs: for the rights to watch, to mirror and to look for monitors, and to write
/// the audit.
const HELD: u32 = 4;

/// Connections left to the operator, besides those that the server reserves for its superuser.
const OPERATOR: i64 = 3;

/// The properties of a server. One statement reads them all, since each statement is a round trip and every command of
/// the command line begins with this one.
#[derive(Debug, sqlx::FromRow)]
#[expect(clippy::struct_excessive_bools, reason = "they are columns of one row")]
pub(crate) struct ServerProperties {
    version: i32,
    encoding: String,
    /// Whether it folds letters as [`query`] does.
    folds: bool,
    /// Whether it knows non-ASCII letters: with `LC_CTYPE=C` it does not.
    letters: bool,
    /// Whether the schema exists, in any version; and `pg_trgm`, too.
    pub(crate) is_index: bool,
    has_schema: bool,
    /// Whether the operator without a recheck exists.
    pub(crate) no_recheck: bool,
    /// Whether the database has the extension Citus.
    pub(crate) is_citus: bool,
    /// Connections that it allows; that it reserves for superusers and the like; and that are in use, without this one.
    connections: i64,
    reserved: i64,
    used: i64,
}

/// SQL: whether the operator without a recheck exists. Citus brings only that of the extension to all nodes.
const HAS_OPERATOR: &str = "select case
    when exists (select from pg_extension where extname = 'citus')
    then exists (select from pg_extension where extname = 'codesearch_trgm')
    else exists (
        select from pg_amop a join pg_opfamily f on f.oid = a.amopfamily
        where f.opfname = 'gin_trgm_ops' and a.amopstrategy = 3 and a.amoprighttype = 'bytea'::regtype) end";

/// SQL: whether the server has the files of the extension with that operator, and this database could have it.
const HAS_EXTENSION: &str = "select exists (select from pg_available_extensions
    where name = 'codesearch_trgm' and installed_version is null)";

impl ServerProperties {
    /// Reads the properties of a server.
    ///
    /// # Errors
    /// The server is unsuitable regardless of the database, or cannot be reached.
    pub(crate) async fn of(conn: &mut PgConnection) -> Result<Self> {
        // A role and a database can have connection limits of their own; -1 is none.
        let sql = format!(
            "select current_setting('server_version_num')::int as version,
                    current_setting('server_encoding') as encoding,
                    lower('ABCDEFGHIJKLMNOPQRSTUVWXYZ') = 'abcdefghijklmnopqrstuvwxyz'
                        and lower('ΟΔΟΣ') = lower('ΟΔΟ') || lower('Σ') as folds,
                    lower('ÄД') = 'äд' as letters,
                    to_regclass('codesearch._sqlx_migrations') is not null as is_index,
                    exists (select from pg_extension where extname = 'pg_trgm')
                        and to_regclass('codesearch._sqlx_migrations') is not null as has_schema,
                    ({HAS_OPERATOR}) as no_recheck,
                    exists (select from pg_extension where extname = 'citus') as is_citus,
                    least(current_setting('max_connections')::bigint,
                          (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
                          (select nullif(datconnlimit, -1) from pg_database
                           where datname = current_database())) as connections,
                    current_setting('superuser_reserved_connections')::bigint
                        + coalesce(current_setting('reserved_connections', true)::bigint, 0) as reserved,
                    (select coalesce(sum(numbackends), 1)::bigint - 1 from pg_stat_database) as used"
        );
        let server: Self = sqlx::query_as(sqlx::AssertSqlSafe(sql)).fetch_one(conn).await?;
        server.check()?;
        Ok(server)
    }

    fn check(&self) -> Result<()> {
        let Self { version, encoding: name, folds, letters, is_index, .. } = self;
        if *version < MIN_SERVER {
            return Err(Error::Unsuitable(format!(
                "the server is PostgreSQL {}; version {} or newer is needed",
                version / 10_000,
                MIN_SERVER / 10_000
            )));
        }
        if name != "UTF8" {
            return Err(encoding(Some(name.as_str())));
        }
        // The planner folds ASCII letters by the locale (Turkish makes I a dotless ı), and a part of a word must fold
        // as it does within the word (ICU folds a final Greek sigma to a form of its own).
        if !folds {
            return Err(Error::Unsuitable(
                "the database's locale folds case in a way that would lose matches; create a database with: \
                 create database codesearch locale_provider libc locale 'C.UTF-8' template template0"
                    .to_owned(),
            ));
        }
        // Lookups find documents by lowercase words. An index that was made there is still searched.
        if !letters && !is_index {
            return Err(Error::Unsuitable(
                "the database's locale knows only ASCII letters, so other documents would not be found; create a \
                 database with: create database codesearch locale_provider libc locale 'C.UTF-8' template \
                 template0"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// Returns how many of the `wanted` connections may be used for searching. The remaining connections must suffice
    /// for the rest of this program, an ingest, and the operator.
    pub(crate) fn room(&self, wanted: u32) -> u32 {
        let Self { connections, reserved, used, .. } = self;
        let cores = std::thread::available_parallelism().map_or(2, usize::from) as i64;
        // One shard more than cores is being derived or indexed, and deriving takes two connections.
        let working = cores + 1;
        let ingest = 1 + working + working.min(MAX_DERIVERS as i64) + i64::from(CONTROL);
        let beside = i64::from(CONTROL + PINS + LISTENERS + HELD) + ingest + OPERATOR;
        let room = (connections - reserved - used - beside).clamp(1, i64::from(u32::MAX)) as u32;
        if room < wanted {
            tracing::info!(
                "the database allows {connections} connections: {reserved} are reserved, {used} in use, and {beside} \
                 kept for an ingest and operators; searches use at most {room} instead of {wanted}; raise \
                 max_connections for more"
            );
        }
        room.min(wanted)
    }

    /// Returns the index's groups if there is nothing to prepare: the schema is this program's, or a newer one
    /// that does not disturb it, and the format of the filters is this program's.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub(crate) async fn prepared(&self, conn: &mut PgConnection) -> Result<Option<Groups>> {
        if !(self.has_schema && self.no_recheck) {
            return Ok(None);
        }
        match applied(conn).await? {
            Applied::Others => return Ok(None),
            Applied::More => schema::check(conn).await?,
            Applied::Ours => {}
        }
        let (format, groups) = filters::format(conn).await?;
        if groups.are_distributed() && !nodes::is_set_up(conn).await? {
            return Ok(None);
        }
        Ok((format == filters::FORMAT).then_some(groups))
    }
}

/// The migrations of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Applied {
    /// Those that this program knows.
    Ours,
    /// Those that this program knows, and later ones.
    More,
    /// Fewer, or others.
    Others,
}

/// Returns which migrations a database has that has any.
async fn applied(conn: &mut PgConnection) -> Result<Applied> {
    let applied: Vec<(i64, Vec<u8>)> = sqlx::query_as(
        "select version, checksum from codesearch._sqlx_migrations where success order by version",
    )
    .fetch_all(conn)
    .await?;
    let same = |(migration, (version, checksum)): (&sqlx::migrate::Migration, &(i64, Vec<u8>))| {
        migration.version == *version && *migration.checksum == **checksum
    };
    let count = MIGRATIONS.iter().count();
    let has_ours = applied.len() >= count && MIGRATIONS.iter().zip(&applied).all(same);
    Ok(match applied.len() - count.min(applied.len()) {
        0 if has_ours => Applied::Ours,
        _ if has_ours => Applied::More,
        _ => Applied::Others,
    })
}

/// Returns the error about a database that is not encoded in UTF-8.
pub(crate) fn encoding(name: Option<&str>) -> Error {
    Error::Unsuitable(format!(
        "the database is encoded in {}; create one with: create database codesearch encoding 'UTF8' locale 'C.UTF-8' \
         template template0",
        name.unwrap_or("something other than UTF-8")
    ))
}

impl Store {
    /// Brings the database up to date for this program, and returns whether it has the operator without a recheck.
    ///
    /// # Errors
    /// The database lacks something that this role may not add, or has the schema of a newer version; the server cannot
    /// be reached or refuses a statement.
    pub(crate) async fn prepare(&self, target: &Target, conn: &mut PgConnection) -> Result<bool> {
        // If several programs start at once, only one prepares the database.
        let backend: i32 = sqlx::query_scalar("select pg_backend_pid() from pg_advisory_lock($1)")
            .bind(SETUP_LOCK)
            .fetch_one(&mut *conn)
            .await?;
        self.writer.store(backend, Ordering::Relaxed);
        schema::check(conn).await?;
        refuse_beside_others(conn).await?;
        conn.execute("create schema if not exists codesearch").await?;
        ensure_trgm(conn).await?;
        if !is_made(conn).await? || applied(conn).await? == Applied::Others {
            let is_citus = nodes::is_citus(conn).await?;
            if is_citus {
                conn.execute(nodes::QUIET).await?;
            }
            MIGRATIONS.run(&mut *conn).await?;
            if is_citus {
                conn.execute("reset client_min_messages").await?;
            }
        }
        sqlx::query("update state set oldest_program = $1 where oldest_program < $1")
            .bind(OLDEST as i32)
            .execute(&mut *conn)
            .await?;
        let no_recheck = ensure_operator(conn).await?;
        let (format, groups) = filters::format(conn).await?;
        self.keep_groups(groups);
        if groups.are_distributed() && !nodes::is_set_up(conn).await? {
            nodes::set_up(conn).await?;
        }
        self.convert_derived(conn, format).await?;
        prepare_reader(target, conn).await;
        sqlx::query("select pg_advisory_unlock($1)").bind(SETUP_LOCK).execute(conn).await?;
        Ok(no_recheck)
    }
}

/// Returns whether the schema exists, in any version.
async fn is_made(conn: &mut PgConnection) -> Result<bool> {
    let sql = "select to_regclass('codesearch._sqlx_migrations') is not null";
    Ok(sqlx::query_scalar(sql).fetch_one(conn).await?)
}

/// Refuses to change the schema while programs of a version are connected that would misread it or stop: those that do not
/// know [`OLDEST`].
async fn refuse_beside_others(conn: &mut PgConnection) -> Result<()> {
    if !is_made(conn).await? {
        return Ok(());
    }
    let applied: i64 = sqlx::query_scalar(
        "select coalesce(max(version), 0) from codesearch._sqlx_migrations where success",
    )
    .fetch_one(&mut *conn)
    .await?;
    if applied >= schema::newest() {
        return Ok(());
    }
    let others: i64 = sqlx::query_scalar(
        "select count(*) from pg_stat_activity where datname = current_database()
             and application_name like 'codesearch%'
             and coalesce(substring(application_name from '^codesearch/([0-9]{1,9})$')::bigint, 0) < $1",
    )
    .bind(OLDEST)
    .fetch_one(conn)
    .await?;
    if others == 0 {
        return Ok(());
    }
    Err(Error::Unsuitable(format!(
        "the index is from an earlier version of codesearch, and {} of programs of that version {} open; stop them, \
         and this version upgrades the index",
        if others == 1 { "a connection".to_owned() } else { format!("{others} connections") },
        if others == 1 { "is" } else { "are" },
    )))
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
            "the database lacks the extension pg_trgm, and it cannot be added ({e}); install the server's \
             contrib package, or have its administrator run: create extension pg_trgm"
        ))
    })?;
    Ok(())
}

/// Adds an operator without a recheck to those that a stock `gin_trgm_ops` index answers: `lexemes @~~ pattern` has the
/// strategy number of `LIKE` (3), so the index finds the same candidates. But the operator's function is true for every
/// row, so Postgres neither decompresses nor rechecks the text; this program does the recheck.
///
/// The function is one of the server's own, the transition function of the aggregate `bool_and`: given two values
/// passed by reference, it only tests that they are not null pointers. A function in PL/pgSQL that returns true took as
/// long as the rest of a lookup of a common word (1.8 times the time in all).
///
/// It never fails and never looks at its arguments, so it is declared leakproof: behind the barrier of a view
/// (`codesearch_visible`), the trigram index is asked by no other condition. It lies in `public`, so that statements of
/// others find it.
///
/// The right-hand side is `bytea` because the family already has a `(text, text)` operator for that strategy; the index
/// reads the bytes as text. Only a superuser may change an operator family. The trusted extension of the folder `extension`
/// does so for others, if its files are installed. Without both this returns false, and
/// plain `ILIKE` finds the same rows with a recheck. (`pg_dump` omits the operator's place in the family, which belongs
/// to the extension, so each start looks for it.)
async fn ensure_operator(conn: &mut PgConnection) -> Result<bool> {
    let (exists,): (bool,) = sqlx::query_as(HAS_OPERATOR).fetch_one(&mut *conn).await?;
    if exists {
        // That of an earlier version.
        let moved = conn
            .execute(
                "do $$
                 begin
                     if to_regoperator('codesearch.@~~(text, bytea)') is not null then
                         alter operator codesearch.@~~ (text, bytea) set schema public;
                         alter function codesearch.no_recheck(text, bytea) leakproof;
                     end if;
                 end $$",
            )
            .await;
        if let Err(error) = moved {
            tracing::info!("the operator without rechecks is not leakproof: {error}");
        }
        return Ok(true);
    }
    let (offered,): (bool,) = sqlx::query_as(HAS_EXTENSION).fetch_one(&mut *conn).await?;
    if offered {
        // An operator of before that a restore left without its place would be in the way.
        let made = conn
            .execute(
                "begin;
                 drop operator if exists public.@~~ (text, bytea);
                 drop function if exists public.no_recheck(text, bytea);
                 create extension if not exists codesearch_trgm;
                 commit",
            )
            .await;
        match made {
            Ok(_) => return Ok(true),
            Err(error) => {
                conn.execute("rollback").await?;
                tracing::info!("cannot create the extension codesearch_trgm: {error}");
            }
        }
    }
    if nodes::is_citus(conn).await? {
        tracing::info!(
            "nodes recheck candidates; install the files of the extension codesearch_trgm on the servers of all nodes to \
             avoid it"
        );
        return Ok(false);
    }
    let made = conn
        .execute(
            "begin;
             create or replace function no_recheck(text, bytea) returns boolean
                 language internal immutable strict parallel safe leakproof as 'booland_statefunc';
             -- A restore brings the operator, and not its place in the family, which belongs to the extension.
             drop operator if exists codesearch.@~~ (text, bytea);
             drop operator if exists public.@~~ (text, bytea);
             create operator public.@~~ (leftarg = text, rightarg = bytea, function = no_recheck, restrict = contsel);
             alter operator family gin_trgm_ops using gin add operator 3 public.@~~ (text, bytea);
             commit",
        )
        .await;
    if let Err(error) = made {
        conn.execute("rollback").await?;
        let (exists,): (bool,) = sqlx::query_as(HAS_OPERATOR).fetch_one(&mut *conn).await?;
        if !exists {
            tracing::info!(
                "cannot create the operator without rechecks, so the server rechecks candidates: {error}"
            );
        }
        return Ok(exists);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_index;

    #[test]
    fn the_operator_finds_its_family_again_after_a_restore() {
        on_index(1, async |store| {
            assert!(store.no_recheck());
            let mut conn = store.connection().await.unwrap();
            // A dump has the operator, but not its place in the extension's operator family.
            conn.execute(
                "alter operator family gin_trgm_ops using gin drop operator 3 (text, bytea)",
            )
            .await
            .unwrap();
            assert!(!ServerProperties::of(&mut conn).await.unwrap().no_recheck);
            assert!(ensure_operator(&mut conn).await.unwrap());
            let server = ServerProperties::of(&mut conn).await.unwrap();
            assert!(server.no_recheck && server.prepared(&mut conn).await.unwrap().is_some());
        });
    }

    #[test]
    fn filters_of_a_newer_program_are_refused() {
        on_index(1, async |store| {
            let mut conn = store.connection().await.unwrap();
            conn.execute("update state set filters_format = 1000").await.unwrap();
            let server = ServerProperties::of(&mut conn).await.unwrap();
            assert_eq!(server.prepared(&mut conn).await.unwrap(), None);
            let target = Target::Url(String::new());
            let refused = store.prepare(&target, &mut conn).await.unwrap_err().to_string();
            assert!(refused.contains("newer version"), "{refused}");
        });
    }
}
