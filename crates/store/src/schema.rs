//! The migrations that this program knows, and its name in Postgres, which contains their number.

use sqlx::migrate::Migrator;

pub(crate) static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations");

/// Returns this program's name in `pg_stat_activity`. Programs with another name are of another version.
pub(crate) fn program() -> String {
    format!("codesearch/{}", MIGRATIONS.iter().count())
}
