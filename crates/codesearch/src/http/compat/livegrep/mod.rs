//! livegrep's JSON: `/api/v1/search/`, asked by GET or POST.
//!
//! A query is livegrep's: one pattern for a line, which may have blanks in it, with `file:`, `repo:` and
//! others beside it. Bounds count characters, and lines before a match are told from the nearest on.

mod answer;
mod params;
mod parse;
mod query;

pub(crate) use answer::ENDPOINTS;
