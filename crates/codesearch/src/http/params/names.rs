//! The parameters of a search, by their names in the address.

use super::param::{Kind, Param};

/// A limit on files, with 0 for no limit.
const FILES: Kind =
    Kind::Number { least: 0, most: u32::MAX as usize, instead: "a number of files, 0 for all" };

pub(crate) const Q: Param = Param::text("q", "The query; see /syntax.").required();
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
pub(crate) const REPO: Param = Param::text("repo", "A pattern for names of repositories.");
pub(crate) const FILE: Param = Param::text("file", "A pattern for paths.");
pub(crate) const LANG: Param =
    Param::text("lang", "A language, by its name or the extension of its files: c++, rs.");
pub(crate) const TIMEOUT: Param = Param::text("timeout", "How long it may take: 500ms, 5s, 2m.");
pub(crate) const CONTEXT: Param = Param::text(
    "context",
    "Lines to show around each match, up to 100: 2, or 1,3 for before and after.",
);
pub(crate) const CURSOR: Param =
    Param::text("cursor", "Where to go on: what an answer gave as next.");
pub(crate) const FIELDS: Param =
    Param::text("fields", "Which fields of a file to send, with commas between them.");
pub(crate) const EXPLAIN: Param = Param::text(
    "explain",
    "1 to be told how the query was understood and planned; with sort=relevance also how the score of each file came \
         about.",
);
pub(crate) const ENCLOSING: Param = Param::text(
    "enclosing",
    "1 to be told the innermost symbol around each matching line, as far as symbols are known.",
);
pub(crate) const HINTS: Param = Param::text(
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
pub(crate) const TYPED: Param = Param::text(
    "typed",
    "1 for a page that is sent only if all of it is there at once: its query is still being typed.",
);
/// Makes a page wait for the whole answer.
pub(crate) const WAIT: Param =
    Param::text("wait", "1 for a page that is sent when all of it is there.");
