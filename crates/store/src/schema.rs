//! The migrations that this program knows, its name in Postgres, which contains their number, and which programs work with
//! one schema beside each other.
//!
//! Servers are restarted one after the other, so programs of two versions work on one index for a while. That is possible
//! if the migrations between them disturb no program that knows [`OLDEST`]: they add tables, columns with a default, and
//! functions, and the formats of derived data stay. The newer program migrates while the older ones go on.

use sqlx::PgConnection;
use sqlx::migrate::Migrator;

use crate::error::{Error, Result};

pub(crate) static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations");

/// The last migration that a program must know to work with the schema of this one. A migration that changes what older
/// programs read or write, and a new format of derived data, set it to their own number.
pub(crate) const OLDEST: i64 = 40;

/// Returns the number of the last migration that this program knows.
pub(crate) fn newest() -> i64 {
    MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or_default()
}

/// Returns this program's name in `pg_stat_activity`. Programs with another name are of another version.
pub(crate) fn program() -> String {
    format!("codesearch/{}", newest())
}

/// Checks that this program knows the schema of the index well enough. A schema of before is none of its concern.
///
/// # Errors
/// [`Error::Unsuitable`]: a newer version of codesearch has changed what this one reads or writes. Or the server cannot be
/// reached or refuses a statement.
pub(crate) async fn check(conn: &mut PgConnection) -> Result<()> {
    let told: bool = sqlx::query_scalar(
        "select exists (
             select from pg_attribute
             where attrelid = to_regclass('codesearch.state') and attname = 'oldest_program' and not attisdropped)",
    )
    .fetch_one(&mut *conn)
    .await?;
    if !told {
        return Ok(());
    }
    let needed: Option<i32> = sqlx::query_scalar("select oldest_program from codesearch.state")
        .fetch_optional(&mut *conn)
        .await?;
    let (needed, newest) = (needed.map_or(0, i64::from), newest());
    if needed <= newest {
        return Ok(());
    }
    Err(Error::Unsuitable(format!(
        "the index was upgraded by a newer version of codesearch (migration {needed}; this one knows {newest}); install \
         that version, and start it instead of this one"
    )))
}
