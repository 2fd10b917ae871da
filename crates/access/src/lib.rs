//! Who asks, and which repositories that principal may see. No I/O: grants are read by `store` and `settings`, identities by
//! `server`, and a view enforces what [`Rules`] say.
//!
//! A [`Principal`] is who asks. [`Grants`] say to whom ([`Who`]) repositories are shown, by globs of their names. [`Rules`]
//! are the grants of all sources, and [`Allowed`] is what one principal may see by them.

mod allowed;
mod grants;
mod pattern;
mod principal;
mod who;

pub use allowed::{Allowed, Ready, Rules, Why};
pub use grants::{Grants, HostShows};
pub use pattern::{check_glob, is_match, matching_none};
pub use principal::{Named, Principal};
pub use who::Who;
