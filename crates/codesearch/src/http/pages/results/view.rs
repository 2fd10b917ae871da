//! What a page of results shows.

use crate::hints::{FileCount, Hint};
use crate::http::pages::link;
use crate::http::pages::view::FileView;

/// What a page shows of a search.
pub(crate) struct Results {
    /// How much was found, in how long.
    pub(crate) summary: String,
    /// Why that is not all there is; none if it is.
    pub(crate) stopped: Option<String>,
    /// What was left out of the index and might match, and where it is listed.
    pub(crate) skipped: Option<(String, String)>,
    /// Fields of the query, each to be taken away.
    pub(crate) chosen: Vec<Chosen>,
    pub(crate) explanation: Option<String>,
    pub(crate) facets: Vec<Facet>,
    /// The address of this page with all values of these.
    pub(crate) all_values: String,
    /// Each order, its address, and whether it is this one.
    pub(crate) orders: Vec<(&'static str, String, bool)>,
    pub(crate) files: Vec<FileView>,
    /// Others follow them, in a part of their own.
    pub(crate) goes_on: bool,
    /// Repositories, when only those were asked for: name and address.
    pub(crate) repos: Vec<(String, String)>,
    /// There is more than was counted.
    pub(crate) cut: bool,
    /// The address of the next page.
    pub(crate) next: Option<String>,
    /// Nothing was found, and everything was looked at.
    pub(crate) nothing: bool,
    /// What may help.
    pub(crate) hints: Vec<HintView>,
}

/// Something that may help: what it is, what it finds, and where.
pub(crate) struct HintView {
    pub(crate) message: String,
    pub(crate) count: String,
    /// The query or the words that do it, and their address.
    pub(crate) link: Option<(String, String)>,
}

impl From<Hint> for HintView {
    fn from(hint: Hint) -> Self {
        let link = match (hint.query, hint.docs) {
            (Some(query), _) => Some((link::to("/search", &[("q", &query)]), query)),
            (None, Some(words)) => Some((link::to("/docs", &[("q", &words)]), words)),
            (None, None) => None,
        };
        Self {
            message: hint.message,
            count: hint.count.map_or_else(String::new, FileCount::told),
            link: link.map(|(address, query)| (query, address)),
        }
    }
}

/// By what the results can be narrowed.
pub(crate) struct Facet {
    pub(crate) title: &'static str,
    /// The most frequent values.
    pub(crate) values: Vec<FacetValue>,
    /// Others, which are shown when somebody asks for them.
    pub(crate) rest: Vec<FacetValue>,
    /// How many values there are.
    pub(crate) all: usize,
    /// Values that are not shown.
    pub(crate) more: usize,
}

/// A value by which results can be narrowed.
pub(crate) struct FacetValue {
    pub(crate) name: String,
    /// Files that have it.
    pub(crate) count: usize,
    /// The address of the search for those.
    pub(crate) href: String,
    /// The address of the search for all others.
    pub(crate) without: String,
}

/// A field of the query that narrows the search.
pub(crate) struct Chosen {
    /// It as it was typed.
    pub(crate) typed: String,
    /// What it is about: `language`, `not in repository`.
    pub(crate) name: String,
    pub(crate) value: String,
    /// The address of the search without it.
    pub(crate) href: String,
}
