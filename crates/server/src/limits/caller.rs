//! A client that has proven who it is.

use std::sync::Arc;

use access::Named;
use jiff::Timestamp;

use super::client::Client;
use super::token::Rights;

/// A client that has proven who it is.
#[derive(Clone, Debug)]
pub struct Caller {
    pub(super) named: Arc<Named>,
    pub(super) rights: Rights,
    pub(super) how: How,
    /// When the proof ends; `None` for never.
    pub(super) until: Option<Timestamp>,
    pub(super) client: Arc<Client>,
}

/// How a client has proven who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// By a token of the token file.
    Token,
    /// By headers of the server's proxy.
    Proxy,
    /// By a JWT of an identity provider.
    Jwt,
}

impl How {
    /// Returns its word, for programs.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Proxy => "proxy",
            Self::Jwt => "jwt",
        }
    }
}

impl Caller {
    /// Returns whether it may see what others search for.
    pub(crate) fn is_operator(&self) -> bool {
        self.rights.is_admin
    }

    /// Returns whether it may have repositories ingested.
    pub(crate) fn may_ingest(&self) -> bool {
        self.rights.is_admin || self.rights.may_ingest
    }

    /// Returns the name of the user.
    pub(crate) fn name(&self) -> &str {
        &self.named.name
    }

    /// Returns the user, and the user's groups.
    pub(crate) fn named(&self) -> &Arc<Named> {
        &self.named
    }

    /// Returns how it has proven who it is.
    pub(crate) fn how(&self) -> How {
        self.how
    }

    /// Returns when the proof ends; `None` for never.
    pub(crate) fn until(&self) -> Option<Timestamp> {
        self.until
    }
}
