//! What a host says of a repository.

use serde::{Deserialize, Serialize};

/// A repository, as a host lists it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// Its id, which it keeps when it is renamed.
    pub id: String,
    /// Its path on the host, such as `golang/go`.
    pub path: String,
    /// What git clones by SSH, if the host says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh: Option<String>,
    /// Its address on the web.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web: Option<String>,
    /// What it is, in words of its owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Who sees it.
    pub seen_by: SeenBy,
    /// Whether it is a fork of another one.
    pub fork: bool,
    /// Whether it is archived.
    pub archived: bool,
    /// Whether nothing was pushed to it yet, as far as the host says.
    #[serde(default)]
    pub empty: bool,
    /// Its topics.
    #[serde(default)]
    pub topics: Vec<String>,
    /// Number of its stars.
    #[serde(default)]
    pub stars: u32,
    /// Its size in bytes, if the host says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// When something was last pushed to it, in seconds since 1970, if the host says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pushed_at: Option<i64>,
    /// Its default branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_branch: Option<String>,
}

/// Who sees a repository.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeenBy {
    /// Everybody.
    Public,
    /// Everybody who is signed in.
    Internal,
    /// Its members.
    #[default]
    Private,
}

impl SeenBy {
    /// Returns the word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Internal => "internal",
            Self::Private => "private",
        }
    }
}

/// Reads a time as the hosts write it (RFC 3339), in seconds since 1970.
pub(crate) fn seconds(time: &str) -> Option<i64> {
    time.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second)
}
