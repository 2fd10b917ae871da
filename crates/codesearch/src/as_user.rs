//! Whom `--as` names, and what that user sees.

use std::path::PathBuf;
use std::sync::Arc;

use access::{Named, Principal, Who};
use anyhow::{Result, bail, ensure};
use search::{Gate, Visible};
use settings::Settings;
use store::Store;

/// Returns whom an option names: a user and groups, or `*` for somebody without a name.
///
/// # Errors
/// It is neither.
pub(crate) fn principal(user: &str, groups: &[String]) -> Result<Principal> {
    if user == "*" {
        ensure!(groups.is_empty(), "somebody without a name has no groups; leave out --as-groups");
        return Ok(Principal::Anonymous);
    }
    let name = user.strip_prefix("user:").unwrap_or(user);
    ensure!(
        !user.starts_with("group:"),
        "{user} is a group; name a user, and --as-groups {}",
        &user[6..]
    );
    match format!("user:{name}").parse::<Who>() {
        Ok(Who::User(name)) => Ok(Principal::Named(Arc::new(Named::new(name, groups.to_vec())))),
        Ok(_) => bail!("{user} is not one user; name one"),
        Err(why) => bail!(why),
    }
}

/// Returns what somebody may see of the repositories that are shown, by the grants of the index and of the usual configuration
/// file.
///
/// # Errors
/// The file has mistakes, or the database cannot be reached.
pub(crate) async fn seen_by(
    store: &Store,
    shown: &Visible,
    principal: &Principal,
) -> Result<Visible> {
    // Commands that read have no --settings.
    let given = std::env::var_os(settings::VARIABLE).map(PathBuf::from);
    let settings = Settings::find(given.as_deref())?;
    let gate = Gate::new(store.clone(), shown.clone());
    Ok(gate.visible(principal, settings.access.as_ref()).await?)
}
