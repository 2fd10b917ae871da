//! Connects a program to its database, and makes the partitions of an index.

use std::borrow::Cow;

use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, Connection, Executor};

use crate::error::{Error, Result};
use crate::indexes::check_index;
use crate::nodes;
use crate::pool::ConnectionPool;
use crate::prepare::{ServerProperties, encoding};
use crate::store::Store;
use crate::tables::{self, Groups};
use crate::target::{ANSWER, CONNECT, CONTROL, Target, answered, connect, for_searching, options};

/// What to do about a missing index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Make it.
    Make,
    /// Report an error: a user who only reads has mistyped its name, or is early.
    Refuse,
}

impl Store {
    /// Connects, checks that the server can be used, and brings the schema up to date. At most
    /// `connections` are used at once for searching, fewer if the server has no room for them.
    ///
    /// # Errors
    /// [`Error::Unreachable`]; [`Error::NoIndex`] and [`Error::Empty`] if there is no index and none is to be made;
    /// [`Error::Unsuitable`] if the server is too old, lacks an extension or a right, folds letters differently, or has
    /// the schema of a newer version.
    pub async fn connect(target: &Target, connections: u32, missing: Missing) -> Result<Self> {
        let options = options(target)?;
        let mut first = match connect(&options).await {
            Err(error) if is_of_encoding(&error) => return Err(encoding(None)),
            Err(error) if lacks_database(&error) && missing == Missing::Make => {
                make_database(target).await?;
                connect(&options).await?
            }
            Err(error) if lacks_database(&error) => return Err(no_index(target, error).await),
            connected => connected?,
        };
        let server = match answered(ANSWER, ServerProperties::of(&mut first)).await {
            Err(Error::Database(error)) if is_of_encoding(&error) => {
                let name: String =
                    sqlx::query_scalar("show server_encoding").fetch_one(&mut first).await?;
                return Err(encoding(Some(name.as_str())));
            }
            server => server?,
        };
        if missing == Missing::Refuse && !server.is_index {
            return Err(Error::Empty);
        }
        let mut searching = for_searching(&options);
        if server.is_citus {
            // Citus needs the parameters of a statement that joins tables of nodes with those of here, or asks several groups.
            searching = searching.options([("plan_cache_mode", "auto")]);
        }
        let control = PgPoolOptions::new().max_connections(CONTROL).acquire_timeout(CONNECT);
        let control = control.connect_lazy_with(options.clone());
        let pool = ConnectionPool::new(searching, server.room(connections), control);
        let mut store = Self::new(pool, options, server.no_recheck);
        match answered(ANSWER, server.prepared(&mut first)).await? {
            Some(groups) => store.keep_groups(groups),
            None => store.no_recheck = store.prepare(target, &mut first).await?,
        }
        *store.spare() = Some(first);
        Ok(store)
    }

    /// Makes the tables of `shards` shards unless their number is already fixed, and returns the number. On the
    /// coordinator of Citus, each group of shards is made on a node.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub async fn init(&self, shards: i16) -> Result<i16> {
        let counting = async {
            let mut conn = self.connection().await?;
            let nodes = nodes::count(&mut conn).await?;
            *self.spare() = Some(conn);
            Ok(nodes)
        };
        let nodes = self.in_time(counting).await?;
        let making = self.init_with(shards, Groups::of_new(shards, nodes));
        // On nodes, hundreds of tables may take minutes.
        if nodes == 0 { self.in_time(making).await } else { making.await }
    }

    /// Like [`init`](Self::init), with these groups.
    pub(crate) async fn init_with(&self, shards: i16, groups: Groups) -> Result<i16> {
        let mut conn = self.connection().await?;
        let mut tx = conn.begin().await?;
        tx.execute("lock table shards in exclusive mode").await?;
        let sql = "select group_shards, groups, (select count(*) from shards) from state";
        let (size, count, have): (i16, Option<i16>, i64) =
            sqlx::query_as(sql).fetch_one(&mut *tx).await?;
        if have > 0 {
            self.keep_groups(Groups::of_columns((size, count)));
            return Ok(have as i16);
        }
        sqlx::query("insert into shards (shard) select generate_series(0, $1 - 1)")
            .bind(i32::from(shards))
            .execute(&mut *tx)
            .await?;
        let (size, count) = groups.columns();
        sqlx::query("update state set group_shards = $1, groups = $2, words_format = $3")
            .bind(size)
            .bind(count)
            .bind(words::FORMAT)
            .execute(&mut *tx)
            .await?;
        if groups.are_distributed() {
            nodes::make(&mut tx, shards, groups, 0..groups.count(shards)).await?;
            nodes::set_up(&mut tx).await?;
        } else {
            for table in tables::ALL {
                tx.execute(AssertSqlSafe(table.make(shards, groups))).await?;
            }
        }
        tx.commit().await?;
        self.keep_groups(groups);
        Ok(shards)
    }
}

/// Returns whether a connection failed because the database does not exist (3D000,
/// `invalid_catalog_name`).
fn lacks_database(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.code().as_deref() == Some("3D000"))
}

/// Returns whether an error is about characters that the database's encoding lacks, or that the server cannot convert
/// to UTF-8 at all: the codes `untranslatable_character`, and `invalid_parameter_value` of `client_encoding`.
fn is_of_encoding(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| match error.code().as_deref() {
        Some("22P05") => true,
        Some("22023" | "0A000") => {
            error.message().contains("client_encoding")
                || error.message().contains("conversion between")
        }
        _ => false,
    })
}

/// Returns the error about a missing index.
async fn no_index(target: &Target, error: sqlx::Error) -> Error {
    match check_index(target).await {
        Ok(()) => error.into(),
        Err(error) => error,
    }
}

/// Creates the database on a private server. The owner of a URL's database creates it.
async fn make_database(target: &Target) -> Result<()> {
    let Target::Socket { database, .. } = target else { return Ok(()) };
    let mut conn = connect(&options(target)?.database("postgres")).await?;
    let name = database.replace('"', "\"\"");
    let made = conn.execute(AssertSqlSafe(format!("create database \"{name}\""))).await;
    // Another program may have created it meanwhile: 42P04 is duplicate_database, 23505 the race for it.
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
    use sqlx::{AssertSqlSafe, Executor};

    use super::Missing;
    use crate::error::Error;
    use crate::store::Store;
    use crate::target::Target;
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
    fn a_database_that_would_lose_matches_is_refused_before_anything_is_made() {
        on_index(1, async |store| {
            let mut conn = store.connection().await.unwrap();
            let icu: bool = sqlx::query_scalar(
                "select exists (select from pg_collation where collprovider = 'i')",
            )
            .fetch_one(&mut conn)
            .await
            .unwrap();
            let turkish = "UTF8' locale_provider icu icu_locale 'tr-TR";
            for (encoding, told) in [
                ("LATIN1", "is encoded in LATIN1; create one with: create database"),
                ("SQL_ASCII", "is encoded in SQL_ASCII; create one with: create database"),
                ("EUC_JP", "is encoded in EUC_JP; create one with: create database"),
                ("MULE_INTERNAL", "is encoded in something other than UTF-8; create one"),
                ("ISO_8859_7", "is encoded in ISO_8859_7; create one with: create database"),
                ("WIN1251", "is encoded in WIN1251; create one with: create database"),
                ("KOI8R", "is encoded in KOI8R; create one with: create database"),
                ("UTF8", "'s locale knows only ASCII letters"),
                (turkish, "'s locale folds case in a way that would lose matches"),
            ] {
                if encoding == turkish && !icu {
                    continue;
                }
                let database = format!("{}_other", store.options.get_database().unwrap());
                let sql = format!(
                    "create database \"{database}\" encoding '{encoding}' locale 'C' template template0"
                );
                conn.execute(AssertSqlSafe(sql)).await.unwrap();
                let folder = store.options.get_socket().unwrap().clone();
                let target = Target::Socket {
                    folder,
                    role: "codesearch".to_owned(),
                    database: database.clone(),
                };
                for missing in [Missing::Make, Missing::Refuse] {
                    let refused =
                        Store::connect(&target, 1, missing).await.unwrap_err().to_string();
                    assert!(
                        refused.starts_with("the database") && refused.contains(told),
                        "{refused}"
                    );
                }
                let sql = format!("drop database \"{database}\" with (force)");
                conn.execute(AssertSqlSafe(sql)).await.unwrap();
            }
        });
    }

    #[test]
    fn an_index_that_is_not_there_is_made_only_if_asked_for() {
        on_index(1, async |store| {
            let database = |name: &str| Target::Socket {
                folder: store.options.get_socket().unwrap().clone(),
                role: "codesearch".to_owned(),
                database: name.to_owned(),
            };
            let name = format!("{}_x", store.options.get_database().unwrap());
            let refused =
                Store::connect(&database(&name), 1, Missing::Refuse).await.unwrap_err().to_string();
            assert!(
                refused.starts_with(&format!("there is no index named '{name}'; there is: ")),
                "{refused}"
            );
            let made = format!("select count(*) from pg_database where datname = '{name}'");
            assert_eq!(value::<i64>(store, &made).await, 0);
            // A database without an index does not get one.
            let refused =
                Store::connect(&database("postgres"), 1, Missing::Refuse).await.unwrap_err();
            assert!(matches!(refused, Error::Empty), "{refused}");
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
