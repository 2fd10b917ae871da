//! Who asks.

use std::fmt;
use std::sync::Arc;

/// Who asks.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Principal {
    /// The owner of the index's folder, who sees all.
    Owner,
    /// A person or program with a name.
    Named(Arc<Named>),
    /// Anybody else.
    Anonymous,
}

/// A person or program with a name.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Named {
    /// Its name, as grants have it.
    pub name: String,
    /// The names of its groups, ascending and distinct.
    pub groups: Vec<String>,
    /// Globs of the repositories to which its token is narrowed; empty for no narrowing. They widen nothing.
    pub repos: Vec<String>,
}

impl Principal {
    /// Returns the principal with a name and groups, in any order.
    pub fn named(name: impl Into<String>, groups: Vec<String>) -> Self {
        Self::Named(Arc::new(Named::new(name, groups)))
    }

    /// Returns the name; `None` for the owner and for anybody.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Named(named) => Some(&named.name),
            Self::Owner | Self::Anonymous => None,
        }
    }

    /// Returns whether it is the owner of the index's folder, who sees all.
    pub fn is_owner(&self) -> bool {
        matches!(self, Self::Owner)
    }
}

impl Named {
    /// Returns the principal with a name and groups, in any order, whose token is not narrowed.
    pub fn new(name: impl Into<String>, mut groups: Vec<String>) -> Self {
        groups.sort_unstable();
        groups.dedup();
        Self { name: name.into(), groups, repos: Vec::new() }
    }
}

/// The name, as logs and the audit show it.
impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner => f.write_str("(owner)"),
            Self::Named(named) => f.write_str(&named.name),
            Self::Anonymous => f.write_str("(anonymous)"),
        }
    }
}
