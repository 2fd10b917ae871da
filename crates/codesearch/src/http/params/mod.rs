//! The parameters of addresses: each is declared once, checked before a handler runs, and told in the `OpenAPI` document.

mod format;
mod given;
pub(crate) mod names;
mod param;
mod search;

pub(crate) use format::wants_page;
pub(crate) use given::{Given, Pairs, RejectedParams, StrictParams, read_address};
pub(crate) use param::{Kind, Known, Param};
pub(crate) use search::SearchParams;
