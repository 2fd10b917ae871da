//! Parameters of addresses. Each is declared once, and its check and its entry in the `OpenAPI` document follow from
//! the declaration.

mod format;
mod given;
pub(crate) mod names;
mod param;
mod search;

pub(crate) use format::{is_browser, wants_page};
pub(crate) use given::{CheckedParams, Pairs, RejectedParams, StrictParams, read_address};
pub(crate) use param::{DeclaredParams, Kind, Param};
pub(crate) use search::SearchParams;
