//! The rights of those who have made monitors: what a token allowed ends with the token.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use search::Visible;
use store::{Monitor, Store};
use tokio::sync::Notify;

use crate::sight::Sight;

/// Time after which rights are checked without being told of a change.
const CHECK_EVERY: Duration = Duration::from_secs(30);

/// Returns whether a token with this name counts.
type HasToken = dyn Fn(&str) -> bool + Send + Sync;

/// The rights of the owners of monitors, as one server knows them.
#[derive(Clone, Default)]
pub struct Rights {
    /// `None` if the server has no tokens, so that it knows no owner.
    has_token: Option<Arc<HasToken>>,
    /// The patterns of the repositories that the server shows: monitors of other servers are not its own.
    repos: Arc<[String]>,
    changed: Arc<Notify>,
    /// `None` if owners see what the monitors were made for.
    sight: Option<Sight>,
}

impl fmt::Debug for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rights").field("repos", &self.repos).finish_non_exhaustive()
    }
}

impl Rights {
    /// Makes the rights of a server with tokens that shows some repositories: `has_token` says whether a token of a name
    /// counts now.
    pub fn new(repos: &[String], has_token: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self { has_token: Some(Arc::new(has_token)), repos: repos.into(), ..Self::default() }
    }

    /// Has owners see only what they may see when their monitors look, and when news are sent.
    #[must_use]
    pub fn with_sight(self, sight: Sight) -> Self {
        Self { sight: Some(sight), ..self }
    }

    pub(crate) fn sight(&self) -> Option<&Sight> {
        self.sight.as_ref()
    }

    /// Returns the repositories that the owner of a monitor may see now, of those that it is about.
    ///
    /// # Errors
    /// The database does not say what is granted.
    pub(crate) async fn visible(
        &self,
        monitor: &Monitor,
        among: &Visible,
    ) -> Result<Visible, store::Error> {
        match &self.sight {
            Some(sight) => sight.visible(monitor, among).await,
            None => Ok(among.clone()),
        }
    }

    /// Has them checked soon: tokens have changed.
    pub fn notify(&self) {
        self.changed.notify_one();
    }

    /// Returns why a monitor of an owner may not go on, in one sentence; `None` if it may. `repos` are the patterns of the
    /// repositories that the owner sees.
    pub fn refuse(&self, owner: Option<&str>, repos: &[String]) -> Option<String> {
        let (Some(has_token), Some(owner)) = (&self.has_token, owner) else { return None };
        let is_own = *repos == *self.repos;
        (is_own && !has_token(owner)).then(|| {
            format!(
                "its owner {owner} has no token of the server any more; give {owner} a token and resume the monitor, or \
                 remove it"
            )
        })
    }

    /// Pauses monitors whose owners have lost their rights, as soon as they have, until it is dropped.
    pub(crate) async fn keep(&self, store: &Store) -> Infallible {
        loop {
            if let Err(error) = self.check(store).await {
                tracing::debug!("the owners of monitors are checked later: {error}");
            }
            let _ = tokio::time::timeout(CHECK_EVERY, self.changed.notified()).await;
        }
    }

    async fn check(&self, store: &Store) -> Result<(), store::Error> {
        if self.has_token.is_none() {
            return Ok(());
        }
        for monitor in store.monitors().await?.iter().filter(|of| !of.paused) {
            if let Some(why) = self.refuse(monitor.owner.as_deref(), &monitor.repos) {
                tracing::warn!("monitor {} is paused: {why}", monitor.name);
                store.pause_monitor(monitor.id, true, Some(&why)).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_owners_of_the_servers_own_monitors_need_its_tokens() {
        let view = ["^shop".to_owned()];
        let rights = Rights::new(&view, |name| name == "ann");
        assert_eq!(rights.refuse(Some("ann"), &view), None);
        let why = rights.refuse(Some("bob"), &view).unwrap();
        assert!(why.starts_with("its owner bob has no token"), "{why}");
        // The operator's, and one that another server made.
        assert_eq!(rights.refuse(None, &view), None);
        assert_eq!(rights.refuse(Some("bob"), &[]), None);
        assert_eq!(Rights::default().refuse(Some("bob"), &[]), None);
    }
}
