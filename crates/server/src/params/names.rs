//! The parameters of a search, by their names in the address.

use query::{MAX_PATTERN_BYTES, MAX_QUERY_BYTES};

use super::param::{Kind, Param};
use request::cursor::MAX_CURSOR;

/// A limit on files, with 0 for no limit.
const FILES: Kind =
    Kind::Number { least: 0, most: u32::MAX as usize, instead: "a number of files, 0 for all" };

/// Longest list of languages, in bytes.
const MAX_LANGUAGES: usize = 512;

pub(crate) const Q: Param =
    Param::text("q", "The query; see /syntax.").at_most(MAX_QUERY_BYTES).required();
pub(crate) const LIMIT: Param = Param {
    kind: FILES,
    ..Param::text(
        "limit",
        "Maximum number of files or repositories; 0 for all. Default 100, or count: in the query.",
    )
};
pub(crate) const NUM: Param = Param { kind: FILES, ..Param::text("num", "The same as limit.") };
pub(crate) const CASE: Param = Param::one_of(
    "case",
    &["yes", "no", "auto"],
    "Whether to match case; auto: if a term has a capital letter.",
);
pub(crate) const REPO: Param =
    Param::text("repo", "A pattern for repository names.").at_most(MAX_PATTERN_BYTES);
pub(crate) const FILE: Param =
    Param::text("file", "A pattern for paths.").at_most(MAX_PATTERN_BYTES);
pub(crate) const LANG: Param =
    Param::text("lang", "A language, by its name or file extension: c++, rs.")
        .at_most(MAX_LANGUAGES);
pub(crate) const TIMEOUT: Param = Param::word("timeout", "Timeout: 500ms, 5s, 2m.");
pub(crate) const CONTEXT: Param =
    Param::word("context", "Number of context lines, up to 100: 2, or 1,3 for before and after.");
pub(crate) const CURSOR: Param =
    Param::text("cursor", "The cursor of the previous answer, from next.").at_most(MAX_CURSOR);
pub(crate) const FIELDS: Param =
    Param::text("fields", "Fields of a file to send, separated by commas.").at_most(512);
pub(crate) const EXPLAIN: Param = Param::word(
    "explain",
    "1 for the parsed query and its plan; with sort=relevance, also the parts of each file's score.",
);
pub(crate) const COPIES: Param = Param::word(
    "copies",
    "1 to list all identical copies of each result of a ranked search, not only the first ones.",
);
pub(crate) const STALE: Param = Param::word(
    "stale",
    "1 to tell which files of the answer have changed on disk since they were indexed; always on with sort.",
);
pub(crate) const ENCLOSING: Param = Param::word(
    "enclosing",
    "1 for the innermost symbol that encloses each matching line, if known.",
);
pub(crate) const HINTS: Param =
    Param::word("hints", "1 for suggested queries if nothing is found; takes up to 100 ms.");
pub(crate) const FORMAT: Param =
    Param::one_of("format", &["json", "html"], "json or html; overrides the Accept header.");
pub(crate) const SORT: Param = Param::one_of(
    "sort",
    &["relevance", "path", "oldest"],
    "The order of results. `relevance`: ranks the first 500 matching files, and files that define the name; each \
     cursor ranks the next 500. `path`: by repository and path. `oldest`: the oldest \
     commit of `history:` first. Except for this one, `limit` may be at most 1000. Without sort, JSON is \
     ordered by repository and path; large answers are in the order of the search.",
);
pub(crate) const FRESH: Param = Param::word(
    "fresh",
    "1 to wait, up to the timeout, until the known changes of the searched repositories are indexed.",
);
/// Makes a page list all values that narrow its search.
pub(crate) const FACETS: Param =
    Param::one_of("facets", &["all"], "all for a page with all values of its filters.");
/// Tells that the user is still typing the query of a page.
pub(crate) const TYPED: Param = Param::word(
    "typed",
    "1 for a page that is sent only if it is complete at once, while the query is being typed.",
);
/// Makes a page wait for the whole answer.
pub(crate) const WAIT: Param =
    Param::word("wait", "1 for a page that is sent when it is complete.");
