//! What the pages have in common on which people ask in words: `/ask` and `/docs`.

use std::time::Duration;

use request::human::duration;
use search::Covered;

/// The words of such a page about itself.
#[derive(Debug)]
pub(super) struct AskedPage {
    pub(super) path: &'static str,
    /// What its form is.
    pub(super) about: &'static str,
    /// What its box holds.
    pub(super) input: &'static str,
    pub(super) example: &'static str,
    /// Maximum number of characters in the box.
    pub(super) most: usize,
    pub(super) button: &'static str,
    /// Examples of languages.
    pub(super) languages: &'static str,
}

/// What the boxes of a page hold.
pub(super) struct Form<'a> {
    pub(super) of: &'static AskedPage,
    pub(super) words: &'a str,
    /// A query that searches code for the same.
    pub(super) code: String,
    pub(super) repo: String,
    pub(super) lang: &'a str,
}

/// What an answer says about itself.
pub(super) struct Truth {
    pub(super) summary: String,
    /// Why it is incomplete.
    pub(super) stopped: Option<String>,
    /// How long ago its oldest repository was looked at, and that repository with the time.
    pub(super) age: Option<(String, String)>,
}

impl Truth {
    pub(super) fn of(
        summary: &str,
        took: Duration,
        stopped: Option<(&'static str, String)>,
        covered: &Covered,
    ) -> Self {
        Self {
            summary: format!("{summary} in {}", duration(took)),
            stopped: stopped.map(|(_, why)| why),
            age: request::fresh::dated_age(covered),
        }
    }
}
