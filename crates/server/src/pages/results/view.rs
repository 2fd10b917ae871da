//! The data that a page of results shows.

use crate::pages::link;
use crate::pages::view::FileView;
use request::hints::{FileCount, Hint};

/// The results of a search, as a page shows them.
pub(crate) struct Results {
    /// The number of results, and the duration of the search.
    pub(crate) summary: String,
    /// Why the result is incomplete; `None` if it is complete.
    pub(crate) stopped: Option<String>,
    /// How long ago its oldest repository was looked at, and that repository with the time.
    pub(crate) age: Option<(String, String)>,
    /// A sentence about shown files that have changed on disk since they were indexed.
    pub(crate) stale: Option<String>,
    /// A sentence about left-out files that might match, and the address of their list.
    pub(crate) skipped: Option<(String, String)>,
    /// The fields of the query, each with a link that removes it.
    pub(crate) chosen: Vec<Chosen>,
    pub(crate) explanation: Option<String>,
    pub(crate) facets: Vec<Facet>,
    /// The address of this page with all values of its facets.
    pub(crate) all_values: String,
    /// Each order, its address, and whether it is the current one.
    pub(crate) orders: Vec<(&'static str, String, bool)>,
    /// Files that define the name in the query but do not match it.
    pub(crate) near: Vec<FileView>,
    pub(crate) files: Vec<FileView>,
    /// Files that do not match but have some words of the query, if few files match.
    pub(crate) by_words: Option<ByWords>,
    /// Whether more files follow in a second part of the page.
    pub(crate) goes_on: bool,
    /// The names and addresses of repositories, if the query asks for repositories.
    pub(crate) repos: Vec<(String, String)>,
    /// Whether the counts are incomplete.
    pub(crate) cut: bool,
    /// The address of the next page.
    pub(crate) next: Option<String>,
    /// Whether a complete search found nothing.
    pub(crate) nothing: bool,
    /// Changes to the query that may help.
    pub(crate) hints: Vec<HintView>,
}

/// Files ranked by words.
pub(crate) struct ByWords {
    /// Why they are shown.
    pub(crate) why: String,
    /// The address of all of them.
    pub(crate) href: String,
    pub(crate) files: Vec<FileView>,
}

/// A change to the query that may help: a sentence, the number of files that it finds, and a link.
pub(crate) struct HintView {
    pub(crate) message: String,
    pub(crate) count: String,
    /// The changed query, or the words for a search in documents, and the address.
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
            count: hint.count.map_or_else(String::new, FileCount::text),
            link: link.map(|(address, query)| (query, address)),
        }
    }
}

/// A property by which the results can be narrowed.
pub(crate) struct Facet {
    pub(crate) title: &'static str,
    /// Whether the ends of long values tell them apart.
    pub(crate) ends: bool,
    /// The most frequent values.
    pub(crate) values: Vec<FacetValue>,
    /// Further values, initially hidden.
    pub(crate) rest: Vec<FacetValue>,
    /// The number of all values.
    pub(crate) all: usize,
    /// The number of values that the page does not show.
    pub(crate) more: usize,
}

/// A value of a facet.
pub(crate) struct FacetValue {
    pub(crate) name: String,
    /// Number of files with this value, if it is counted.
    pub(crate) count: Option<usize>,
    /// The address of the search for those files.
    pub(crate) href: String,
    /// The address of the search for all other files.
    pub(crate) without: Option<String>,
}

/// A field of the query that narrows the search.
pub(crate) struct Chosen {
    /// The field as it was typed.
    pub(crate) typed: String,
    /// The name of the property: `language`, `not in repository`.
    pub(crate) name: String,
    pub(crate) value: String,
    /// The address of the search without the field.
    pub(crate) href: String,
}
