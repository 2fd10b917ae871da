//! Files on disk: opened without following links, decoded, hashed, recognised by `stat`; or the reason why one is left out.

pub mod beneath;
mod encoding;
mod fingerprint;
mod hash;
mod language;
mod secret;
mod skip;

pub use beneath::Folder;
pub use encoding::{Encoding, UNKNOWN, decode_lossy};
pub use fingerprint::{
    RACY, changed_at, fingerprint, fingerprint_of, fingerprint_of_name, languages_of, times,
};
pub use hash::{blob_oid, encoding_of, is_text_of};
pub use language::{language_named, language_of};
pub use secret::{SECRET, is_private_key, looks_secret};
pub use skip::{MAX_PATH_BYTES, SkipReason, shortened};
