//! The queue of changes: what is known to have changed since the last ingest, until an ingest has published it.

use crate::error::Result;
use crate::store::Store;

/// The channel on which ingesters are notified of new rows in the queue.
pub(crate) const PENDING: &str = "codesearch_pending";

/// Why something is in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Somebody asked for it: `ingest --now`, `POST /ingest`.
    Asked,
    /// The system told of a change.
    Watched,
    /// A host told of a push.
    Hook,
    /// A clone was fetched.
    Fetched,
    /// Its time had come, since no event tells of its changes.
    Polled,
}

impl Reason {
    /// Returns the word for it: `pending.reason`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Watched => "watched",
            Self::Hook => "hook",
            Self::Fetched => "fetched",
            Self::Polled => "polled",
        }
    }
}

/// A change to put into the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The folder of a repository, of a worktree, or one in which there may be new repositories; absolute.
    pub source: String,
    /// Files and folders below it that have changed, with slashes; `None` if that is unknown.
    pub paths: Option<Vec<String>>,
    /// How it was noticed.
    pub reason: Reason,
}

impl Store {
    /// Puts changes into the queue, and notifies ingesters. Returns the largest number of a row, after which nothing of
    /// them is in the queue.
    ///
    /// # Errors
    /// The server cannot be reached or refuses the statement.
    pub async fn enqueue(&self, changes: &[Change]) -> Result<i64> {
        let mut last = 0;
        let mut tx = self.control().begin().await?;
        for change in changes {
            last = sqlx::query_scalar(
                "insert into pending (source, paths, reason) values ($1, $2, $3) returning id",
            )
            .bind(&change.source)
            .bind(change.paths.as_deref())
            .bind(change.reason.word())
            .fetch_one(&mut *tx)
            .await?;
        }
        sqlx::query("select pg_notify($1, '')").bind(PENDING).execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(last)
    }
}
