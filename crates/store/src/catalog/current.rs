//! The current state of the index.

use sqlx::PgConnection;

use crate::error::{Error, Result};
use crate::{Epoch, Switch};

/// The current state of the index.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Current {
    pub(super) identity: i64,
    pub(super) epoch: Epoch,
    pub(super) switch: Switch,
}

/// Reads the current state.
///
/// # Errors
/// [`Error::Empty`] if nothing was ever indexed.
pub(super) async fn current_epoch(conn: &mut PgConnection) -> Result<Current> {
    let (identity, epoch, switch): (i64, i32, Option<i64>) = sqlx::query_as(
        "select identity, epoch, (select number from switches where epoch = state.epoch) from state",
    )
    .fetch_one(conn)
    .await?;
    let switch = Switch(switch.unwrap_or_default());
    if epoch == 0 {
        Err(Error::Empty)
    } else {
        Ok(Current { identity, epoch: Epoch(epoch), switch })
    }
}
