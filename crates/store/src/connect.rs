//! Connecting a program to its database, and making the partitions of an index.

use std::borrow::Cow;
use std::sync::Arc;

use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, Connection, Executor};

use crate::ShardId;
use crate::error::Result;
use crate::filters::GROUP_SHARDS;
use crate::pool::ConnectionPool;
use crate::prepare::ServerProperties;
use crate::store::Store;
use crate::target::{ANSWER, CONNECT, CONTROL, Target, answered, connect, options};

impl Store {
    /// Connects, checks that the server can be used, and brings the schema up to date. At most
    /// `connections` are used at once for searching, fewer if the server has no room for them.
    ///
    /// # Errors
    /// [`Error::Unreachable`]; [`Error::Unsuitable`] if the server is too old, lacks an extension
    /// or a right, folds letters differently, or has the schema of a newer version.
    pub async fn connect(target: &Target, connections: u32) -> Result<Self> {
        let options = options(target)?;
        let mut first = match connect(&options).await {
            Err(error) if lacks_database(&error) => {
                make_database(target).await?;
                connect(&options).await?
            }
            connected => connected?,
        };
        let server = answered(ANSWER, ServerProperties::of(&mut first)).await?;
        let searching = options.clone().options([
            // Since lexemes lie in TOAST, a sequential scan looks cheap to the planner, but never
            // is.
            ("enable_seqscan", "off"),
            // Each statement names its partition and has only one useful index, so one plan fits
            // all parameters.
            ("plan_cache_mode", "force_generic_plan"),
            ("jit", "off"),
            // Shards are searched side by side; starting workers takes longer than a statement.
            ("max_parallel_workers_per_gather", "0"),
        ]);
        let pool = ConnectionPool::new(Arc::new(searching), server.room(connections));
        let control = PgPoolOptions::new().max_connections(CONTROL).acquire_timeout(CONNECT);
        let control = control.connect_lazy_with(options.clone());
        let mut store = Self::new(pool, control, options, server.no_recheck);
        if !answered(ANSWER, server.is_prepared(&mut first)).await? {
            store.no_recheck = store.prepare(target, &mut first).await?;
        }
        *store.spare() = Some(first);
        Ok(store)
    }

    /// Makes `shards` partitions of each table unless their number is already fixed, and returns
    /// the number.
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
        for first in (0..shards).step_by(GROUP_SHARDS as usize) {
            // Slices of filters stay in their rows; of the others, see below.
            for (table, parent, toast) in [
                (ShardId(first).filters(), "filters", 8160),
                (ShardId(first).chunk_filters(), "chunk_filters", 8160),
                (ShardId(first).scip(), "scip", 128),
            ] {
                let sql = format!(
                    "create table {table} partition of {parent} for values from ({first}) to ({})
                         with (toast_tuple_target = {toast})",
                    first + GROUP_SHARDS
                );
                tx.execute(AssertSqlSafe(sql)).await?;
            }
        }
        for n in 0..shards {
            // The low targets have Postgres compress the texts of chunks, which stay in their rows
            // (storage main), and move lexemes to TOAST, so that lookups read only short rows.
            let sql = format!(
                "insert into shards (shard) values ({n});
                 create table chunks_{n:03} partition of chunks for values in ({n})
                     with (toast_tuple_target = 128);
                 create table documents_{n:03} partition of documents for values in ({n})
                     with (toast_tuple_target = 128);
                 create table docs_{n:03} partition of docs for values in ({n})
                     with (toast_tuple_target = 128);
                 create table symbols_{n:03} partition of symbols for values in ({n})
                     with (toast_tuple_target = 128);
                 create table files_{n:03} partition of files for values in ({n})"
            );
            tx.execute(AssertSqlSafe(sql)).await?;
        }
        tx.commit().await?;
        Ok(shards)
    }
}

/// Returns whether a connection failed because the database does not exist (3D000,
/// `invalid_catalog_name`).
fn lacks_database(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("3D000"))
}

/// Creates the database on a private server. The database of a URL is its owner's to create.
async fn make_database(target: &Target) -> Result<()> {
    let Target::Socket { database, .. } = target else { return Ok(()) };
    let mut conn = connect(&options(target)?.database("postgres")).await?;
    let name = database.replace('"', "\"\"");
    let made = conn.execute(AssertSqlSafe(format!("create database \"{name}\""))).await;
    // Another program may have created it meanwhile: 42P04 is duplicate_database, 23505 the race
    // for it.
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
    use crate::testing::{on_index, value};

    #[test]
    fn an_index_keeps_its_number_of_shards() {
        on_index(3, async |store| {
            assert_eq!(store.init(9).await.unwrap(), 3);
            let parts = "select count(*) from pg_inherits i join pg_class c on c.oid = i.inhparent
                         where c.relname = '";
            for table in ["chunks", "documents", "docs", "symbols", "files"] {
                let sql = format!("{parts}{table}'");
                assert_eq!(value::<i64>(store, &sql).await, 3, "{table}");
            }
            for table in ["filters", "chunk_filters", "scip"] {
                let sql = format!("{parts}{table}'");
                assert_eq!(value::<i64>(store, &sql).await, 1, "{table}");
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
}
