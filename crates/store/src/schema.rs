//! The migrations that this program knows, and its name, which says how many they are.

use sqlx::migrate::Migrator;

pub(crate) static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations");

/// What programs of this version are called in `pg_stat_activity`: those of another name are of another version.
pub(crate) fn program() -> String {
    format!("codesearch/{}", MIGRATIONS.iter().count())
}
