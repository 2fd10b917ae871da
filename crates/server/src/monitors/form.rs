//! What the forms of monitors send and get.

use serde::Deserialize;

/// A monitor to make, as it is sent.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) query: String,
    #[serde(default)]
    pub(super) address: String,
}

/// What a test found.
pub(super) struct Tested {
    /// What it says, in one sentence.
    pub(super) said: String,
    /// Places and texts of matches.
    pub(super) lines: Vec<(String, String)>,
}
