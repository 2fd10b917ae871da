//! The kinds of clients, and the defaults and bounds of each.

use std::time::Duration;

use query::Count;
use search::{DEFAULT_LIMIT, DEFAULT_TIMEOUT};

/// The defaults of a client, and the bounds it may not exceed.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    /// Default number of results.
    pub limit: Count,
    /// Most results, whatever is requested; `None` for no bound.
    pub most: Option<usize>,
    /// Default timeout of a search.
    pub timeout: Duration,
    /// Whether the default timeout also applies to a search for all results, which otherwise has none.
    pub bounds_all: bool,
    /// Whether patterns may match across lines.
    pub multiline: bool,
    /// Whether answers report how many files were left out of the index.
    pub skipped: bool,
}

impl Client {
    /// The command line.
    pub const COMMAND_LINE: Self = Self {
        limit: Count::Most(DEFAULT_LIMIT),
        most: None,
        timeout: DEFAULT_TIMEOUT,
        bounds_all: false,
        multiline: false,
        skipped: false,
    };

    /// A program that asks for JSON over HTTP.
    pub const PROGRAM: Self = Self { skipped: true, ..Self::COMMAND_LINE };

    /// A person with a browser. The default timeout bounds every search, since nobody looks at an empty page for
    /// longer.
    pub const PAGE: Self = Self { bounds_all: true, ..Self::PROGRAM };

    /// An agent, whose answers must fit what it can read.
    pub const AGENT: Self = Self { limit: Count::Most(50), most: Some(500), ..Self::PROGRAM };

    /// A client of Zoekt, with Zoekt's own timeout. The limits in its request bound the number of results.
    pub const ZOEKT: Self = Self {
        limit: Count::All,
        timeout: Duration::from_secs(20),
        bounds_all: true,
        multiline: true,
        ..Self::COMMAND_LINE
    };

    /// A client of livegrep, with livegrep's own number of lines.
    pub const LIVEGREP: Self =
        Self { limit: Count::Most(50), bounds_all: true, ..Self::COMMAND_LINE };
}
