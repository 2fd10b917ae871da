//! Who asks, and what each of them is given when neither its query nor its options say anything.

use std::time::Duration;

use engine::search::{DEFAULT_LIMIT, DEFAULT_TIMEOUT};
use query::Count;

/// What a client is given that says nothing, and what it may not exceed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    /// Results.
    pub(crate) limit: Count,
    /// Most results, whatever is said; none for no bound.
    pub(crate) most: Option<usize>,
    /// How long a search may take.
    pub(crate) timeout: Duration,
    /// This time holds for a search for everything, too; else that takes as long as it takes.
    pub(crate) bounds_all: bool,
    /// Patterns may match across lines.
    pub(crate) multiline: bool,
    /// It is told how many files were left out of the index.
    pub(crate) skipped: bool,
}

impl Client {
    /// The command line.
    pub(crate) const COMMAND_LINE: Self = Self {
        limit: Count::Most(DEFAULT_LIMIT),
        most: None,
        timeout: DEFAULT_TIMEOUT,
        bounds_all: false,
        multiline: false,
        skipped: false,
    };

    /// A program that asks for JSON over HTTP.
    pub(crate) const PROGRAM: Self = Self { skipped: true, ..Self::COMMAND_LINE };

    /// Somebody who looks at a page: nobody looks at an empty one for longer, whatever was asked for.
    pub(crate) const PAGE: Self = Self { bounds_all: true, ..Self::PROGRAM };

    /// An agent: answers have to fit what it can read.
    pub(crate) const AGENT: Self =
        Self { limit: Count::Most(50), most: Some(500), ..Self::PROGRAM };

    /// A client of Zoekt, with Zoekt's own time. Its caps decide how many results there are.
    pub(crate) const ZOEKT: Self = Self {
        limit: Count::All,
        timeout: Duration::from_secs(20),
        bounds_all: true,
        multiline: true,
        ..Self::COMMAND_LINE
    };

    /// A client of livegrep, with livegrep's own number of lines.
    pub(crate) const LIVEGREP: Self =
        Self { limit: Count::Most(50), bounds_all: true, ..Self::COMMAND_LINE };
}
