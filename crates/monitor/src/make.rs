//! Makes a stored monitor.

use settings::Allowed;
use store::{NewMonitor, Store};

use crate::address::Target;
use crate::name::check_name;
use crate::standing::{Invalid, Standing};
use crate::webhook::new_secret;

/// Most monitors of an index. Each costs time in each epoch.
const MAX_MONITORS: usize = 2000;

/// Why a monitor was not made.
#[derive(Debug, thiserror::Error)]
pub enum NotMade {
    /// Its query cannot be watched.
    #[error(transparent)]
    Query(#[from] Invalid),
    /// Something else about it is wrong; a sentence that says what to do.
    #[error("{0}")]
    Wrong(String),
    /// Its name is taken.
    #[error("there is already a monitor named {0}; choose another name, or remove that one")]
    Taken(String),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Makes a monitor, which delivers to an address if there is one. Returns the key of its signatures.
///
/// # Errors
/// It is invalid, its name is taken, or the database cannot be reached.
pub async fn make(
    store: &Store,
    mut new: NewMonitor,
    address: Option<&str>,
    allowed: &[Allowed],
) -> Result<Option<String>, NotMade> {
    check_name(&new.name).map_err(NotMade::Wrong)?;
    Standing::new(&new.query)?;
    let mut secret = None;
    if let Some(address) = address {
        let target = Target::of(address, allowed).await;
        target.map_err(|refusal| NotMade::Wrong(refusal.to_string()))?;
        let key = new_secret().map_err(NotMade::Wrong)?;
        new.delivery = Some((address.to_owned(), key.clone()));
        secret = Some(key);
    }
    if store.monitors().await?.len() >= MAX_MONITORS {
        let why = format!("there are {MAX_MONITORS} monitors already; remove some");
        return Err(NotMade::Wrong(why));
    }
    if store.add_monitor(&new).await? { Ok(secret) } else { Err(NotMade::Taken(new.name)) }
}
