//! The parameters of addresses: each given once, none that the address does not know.

mod format;
mod search;
mod strict;

pub(crate) use format::wants_page;
pub(crate) use search::SearchParams;
pub(crate) use strict::{RejectedParams, StrictParams};
