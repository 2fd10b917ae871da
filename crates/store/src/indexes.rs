//! The indexes of a server: the databases that have the program's tables.

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection};

use crate::error::{Error, Result};
use crate::target::{ANSWER, Target, answered, connect, options};

/// An index of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The name of its database.
    pub name: String,
    /// Bytes of the database on disk.
    pub disk_bytes: i64,
    /// Number of its repositories.
    pub repos: i64,
    /// Number of their files.
    pub files: i64,
    /// Bytes of their texts.
    pub bytes: i64,
    /// The time of its last ingest, as `2026-01-31 12:00:00Z`, if there was one.
    pub indexed_at: Option<String>,
}

/// Returns the indexes of a server that its role may read, by name.
///
/// # Errors
/// The server cannot be reached or refuses a statement.
pub async fn indexes(target: &Target) -> Result<Vec<Index>> {
    let options = options(target)?;
    let first = match target {
        Target::Socket { .. } => options.clone().database("postgres"),
        Target::Url(_) => options.clone(),
    };
    let mut conn = connect(&first).await?;
    let named = answered(ANSWER, names(&mut conn)).await?;
    let mut found = Vec::new();
    for name in named {
        let read = || answered(ANSWER, index(options.clone().database(&name), name.clone()));
        // Dropping a database ends its connections, and nobody can open another one.
        found.extend(match read().await {
            Ok(of) => of,
            Err(_) => read().await?,
        });
    }
    conn.close().await?;
    Ok(found)
}

/// Checks that a private server has the index of the target.
///
/// # Errors
/// [`Error::NoIndex`] if it has not; or the server cannot be reached.
pub async fn check_index(target: &Target) -> Result<()> {
    let Target::Socket { database, .. } = target else { return Ok(()) };
    let mut conn = connect(&options(target)?.database("postgres")).await?;
    let others = names(&mut conn).await?;
    conn.close().await?;
    if others.contains(database) {
        return Ok(());
    }
    Err(Error::NoIndex { name: database.clone(), others })
}

/// Returns the names of the databases that may be indexes.
pub(crate) async fn names(conn: &mut PgConnection) -> Result<Vec<String>, sqlx::Error> {
    let names = sqlx::query_scalar(
        "select datname::text from pg_database
         where not datistemplate and datallowconn and datname <> 'postgres'
           and has_database_privilege(oid, 'connect') order by datname",
    );
    names.fetch_all(conn).await
}

/// Returns what a database says of its index; `None` if it has none that can be read.
async fn index(options: PgConnectOptions, name: String) -> Result<Option<Index>> {
    // Another program may have dropped it meanwhile, or its rules of access may forbid this role.
    let Ok(mut conn) = connect(&options).await else { return Ok(None) };
    let is_index: bool = sqlx::query_scalar(
        "select coalesce(has_table_privilege(to_regclass('codesearch.repos'), 'select'), false)
             and has_schema_privilege('codesearch', 'usage')",
    )
    .fetch_one(&mut conn)
    .await
    .unwrap_or(false);
    let mut found = None;
    if is_index {
        let (disk_bytes, repos, files, bytes, indexed_at) = sqlx::query_as(
            "select pg_database_size(current_database()), count(*), coalesce(sum(files), 0)::bigint,
                    coalesce(sum(bytes), 0)::bigint,
                    to_char(max(indexed_at) at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS\"Z\"')
             from codesearch.repos where indexed_at is not null",
        )
        .fetch_one(&mut conn)
        .await?;
        found = Some(Index { name, disk_bytes, repos, files, bytes, indexed_at });
    }
    conn.close().await?;
    Ok(found)
}
