//! Which repositories a view shows: those that the operator chose for all, and of them those that somebody may see.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use access::{Allowed, Ready};
use query::{Case, Matcher, Pattern, QueryError};
use store::{Catalog, CatalogRepo, InTree};

/// The visible repositories. Copies stand for the same set.
#[derive(Clone, Debug, Default)]
pub struct Visible(Option<Arc<Chosen>>);

/// Some repositories.
#[derive(Debug)]
struct Chosen {
    /// Stands for this set in catalogs' memories.
    number: u64,
    /// Patterns of which one must match; empty for no such condition.
    patterns: Arc<[Matcher]>,
    /// What somebody may see; `None` for all.
    allowed: Option<Allowed>,
}

impl Visible {
    /// All repositories.
    pub const ALL: Self = Self(None);

    /// Returns the repositories whose names match one of some patterns, or all if there is no pattern.
    ///
    /// # Errors
    /// A pattern is invalid.
    pub fn of(patterns: &[String]) -> Result<Self, QueryError> {
        if patterns.is_empty() {
            return Ok(Self::ALL);
        }
        let matcher =
            |pattern: &String| Matcher::new(&Pattern::of_repository(pattern, Case::Smart)?);
        let matchers: Result<Vec<_>, _> = patterns.iter().map(matcher).collect();
        Ok(Self::made(matchers?.into(), None))
    }

    /// Returns those of them that somebody may see.
    #[must_use]
    pub fn allowed(&self, allowed: Allowed) -> Self {
        let patterns = self.0.as_ref().map(|some| Arc::clone(&some.patterns)).unwrap_or_default();
        Self::made(patterns, Some(allowed))
    }

    fn made(patterns: Arc<[Matcher]>, allowed: Option<Allowed>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(Some(Arc::new(Chosen { number, patterns, allowed })))
    }

    /// Returns whether no condition restricts it.
    pub fn is_all(&self) -> bool {
        self.0.is_none()
    }

    /// Returns whether it is what somebody may see by grants.
    pub(crate) fn is_by_grants(&self) -> bool {
        self.0.as_ref().is_some_and(|chosen| chosen.allowed.is_some())
    }

    /// Returns what decides about repositories, for a while.
    pub fn ready(&self) -> ReadyVisible<'_> {
        let some = self.0.as_deref();
        ReadyVisible {
            patterns: some.map_or(&[], |some| &some.patterns),
            allowed: some.and_then(|some| some.allowed.as_ref()).map(Allowed::ready),
        }
    }

    /// Returns a catalog with only these repositories, and with some trees instead of main ones.
    pub(crate) fn restrict(&self, catalog: &Arc<Catalog>, trees: &[InTree]) -> Arc<Catalog> {
        match &self.0 {
            None => catalog.in_trees(trees),
            Some(some) => {
                let ready = || {
                    let ready = self.ready();
                    move |repo: &CatalogRepo| ready.shows(&repo.name, &repo.source)
                };
                catalog.only(some.number, ready, trees)
            }
        }
    }
}

/// [`Visible`], ready to decide.
#[derive(Debug)]
pub struct ReadyVisible<'v> {
    patterns: &'v [Matcher],
    allowed: Option<Ready>,
}

impl ReadyVisible<'_> {
    /// Returns whether the repository with a name, in a folder, is visible.
    pub fn shows(&self, name: &str, folder: &str) -> bool {
        (self.patterns.is_empty() || self.patterns.iter().any(|pattern| pattern.is_match(name)))
            && self.allowed.as_ref().is_none_or(|allowed| allowed.shows(name, folder))
    }
}
