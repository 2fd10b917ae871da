//! The configuration file: hosts and git addresses to mirror, folders to index, webhooks, deliveries of monitors, who
//! clients are.
//!
//! One TOML file says all of it. [`Settings::read`] reads it; [`Watched`] reads it again when it has changed and keeps the
//! last good state. A wrong file is told with line, column and what to write instead ([`Error`]). [`read`] makes the types
//! of [`types`] of the file's tables, with help of [`table`]; [`value`] reads durations and sizes, [`patterns`] globs,
//! [`address`] git addresses. Secrets do not stand in the file: a [`Secret`] says where to read one.

mod address;
mod error;
mod identity;
mod patterns;
mod read;
mod secret;
mod table;
#[cfg(test)]
mod tests;
mod types;
mod value;
mod watched;

use std::path::PathBuf;

pub use address::GitAddress;
pub use error::{Error, Problem};
pub use identity::{Identity, Jwt, KeySource};
pub use patterns::Patterns;
pub use secret::{Hidden, Secret, SecretError};
pub use types::{
    Allowed, Folder, GitList, Hook, Host, HostKind, Indexing, Mirror, Monitor, Settings, Transport,
    Visibility, Watch,
};
pub use value::{duration, interval, size, written_duration, written_size};
pub use watched::Watched;

/// The variable that names the file. If it is empty, there is none.
pub const VARIABLE: &str = "CODESEARCH_SETTINGS";

/// Returns the file in the user's folder for configuration, whether it exists or not; `None` if the user has no such folder.
pub fn usual_file() -> Option<PathBuf> {
    let folder = std::env::var_os("XDG_CONFIG_HOME").filter(|v| !v.is_empty()).map(PathBuf::from);
    let folder = folder.or_else(|| Some(std::env::home_dir()?.join(".config")))?;
    Some(folder.join("codesearch/codesearch.toml"))
}
