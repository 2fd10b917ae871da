//! Checks what was granted: rows that no version writes could show more than was meant, or less.

use access::{Who, check_glob};

use super::{Check, Problem};
use crate::error::Result;

impl Check {
    /// Returns the problem of grants that no program can read.
    ///
    /// # Errors
    /// The server cannot be reached or refuses a statement.
    pub(super) async fn grants(&mut self) -> Result<Option<Problem>> {
        let all: Vec<(String, String)> =
            sqlx::query_as("select who, pattern from grants order by who, pattern")
                .fetch_all(&mut self.conn)
                .await?;
        let is_wrong = |(who, pattern): &&(String, String)| {
            who.parse::<Who>().is_err() || check_glob(pattern).is_err()
        };
        let mut wrong = all.iter().filter(is_wrong);
        Ok(wrong.next().map(|(who, pattern)| {
            let more = wrong.count();
            let what = format!(
                "grants that cannot be read and grant nothing: {} ({} to {} is one)",
                more + 1,
                pattern.escape_debug(),
                who.escape_debug(),
            );
            Problem { shard: None, what, is_derived: false }
        }))
    }
}
