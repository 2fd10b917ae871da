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
        "Most files (or repositories); 0 for all. 100 unless the query says otherwise (count:).",
    )
};
pub(crate) const NUM: Param = Param { kind: FILES, ..Param::text("num", "The same as limit.") };
pub(crate) const CASE: Param = Param::one_of(
    "case",
    &["yes", "no", "auto"],
    "Whether case counts; auto: if a term has a capital.",
);
pub(crate) const REPO: Param =
    Param::text("repo", "A pattern for names of repositories.").at_most(MAX_PATTERN_BYTES);
pub(crate) const FILE: Param =
    Param::text("file", "A pattern for paths.").at_most(MAX_PATTERN_BYTES);
pub(crate) const LANG: Param =
    Param::text("lang", "A language, by its name or the extension of its files: c++, rs.")
        .at_most(MAX_LANGUAGES);
pub(crate) const TIMEOUT: Param = Param::word("timeout", "How long it may take: 500ms, 5s, 2m.");
pub(crate) const CONTEXT: Param = Param::word(
    "context",
    "Lines to show around each match, up to 100: 2, or 1,3 for before and after.",
);
pub(crate) const CURSOR: Param =
    Param::text("cursor", "Where to go on: what an answer gave as next.").at_most(MAX_CURSOR);
pub(crate) const FIELDS: Param =
    Param::text("fields", "Which fields of a file to send, with commas between them.").at_most(512);
pub(crate) const EXPLAIN: Param = Param::word(
    "explain",
    "1 to be told how the query was understood and planned; with sort=relevance also how the score of each file came \
         about.",
);
pub(crate) const ENCLOSING: Param = Param::word(
    "enclosing",
    "1 to be told the innermost symbol around each matching line, as far as symbols are known.",
);
pub(crate) const HINTS: Param = Param::word(
    "hints",
    "1 to be told what finds something where nothing was found; it takes up to 100 ms.",
);
pub(crate) const FORMAT: Param =
    Param::one_of("format", &["json", "html"], "json or html, whatever the Accept header says.");
pub(crate) const SORT: Param = Param::one_of(
    "sort",
    &["relevance", "path"],
    "In which order, as on the page: by `relevance` the best of the first 500 files that are found and of \
     those that define what is looked for, and with the cursors that follow of the next 500; by `path` those that come \
     first of all, by repository and path. `limit` says how many are sent, 1000 at most. Without it JSON comes by repository and path, or as it is found when it is large.",
);
/// Makes a page list all values that narrow its search.
pub(crate) const FACETS: Param =
    Param::one_of("facets", &["all"], "all for a page with all values that narrow its search.");
/// Says that the query of a page is still being typed.
pub(crate) const TYPED: Param = Param::word(
    "typed",
    "1 for a page that is sent only if all of it is there at once: its query is still being typed.",
);
/// Makes a page wait for the whole answer.
pub(crate) const WAIT: Param =
    Param::word("wait", "1 for a page that is sent when all of it is there.");
