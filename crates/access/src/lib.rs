//! Who asks, and which repositories that principal may see. No I/O: grants are read by `store`, identities by `server`.

mod principal;

pub use principal::{Named, Principal};
