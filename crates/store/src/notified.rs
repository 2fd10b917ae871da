//! Notifications of changes of the index.

use sqlx::postgres::PgListener;

use crate::error::{Error, Result};
use crate::freshness::FRESHNESS;
use crate::ingest::EPOCHS;
use crate::store::Store;

/// A connection that is notified when the index changes.
#[derive(Debug)]
pub struct Changes(PgListener);

/// What a server is notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// There is a new epoch.
    Epoch,
    /// Repositories were looked at, or that failed.
    Freshness,
}

impl Store {
    /// Opens a connection that is notified of every change of the index from now on.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub async fn changes(&self) -> Result<Changes> {
        self.changes_on(&[EPOCHS, FRESHNESS]).await
    }

    /// Opens a connection that is notified on some channels from now on.
    pub(crate) async fn changes_on(&self, channels: &[&str]) -> Result<Changes> {
        let mut listener = self.listener().await?;
        listener.listen_all(channels.iter().copied()).await?;
        Ok(Changes(listener))
    }
}

impl Changes {
    /// Waits for the next epoch.
    ///
    /// # Errors
    /// The connection broke, so changes may be missed.
    pub async fn next(&mut self) -> Result<()> {
        while self.told().await? != Told::Epoch {}
        Ok(())
    }

    /// Waits for the next notification.
    ///
    /// # Errors
    /// The connection broke, so notifications may be missed.
    pub async fn told(&mut self) -> Result<Told> {
        match self.0.try_recv().await? {
            Some(told) if told.channel() == FRESHNESS => Ok(Told::Freshness),
            Some(_) => Ok(Told::Epoch),
            None => Err(Error::Unreachable("the connection broke".to_owned())),
        }
    }
}
