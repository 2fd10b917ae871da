//! Pages for browsers, rendered from `web/templates`.

mod assets;
mod browse;
mod docs;
mod highlight;
mod link;
mod render;
mod results;
mod search_page;
mod sign_in;
mod status;
mod suggest;
mod view;

pub(crate) use assets::{FIRST, SCRIPT, STYLE};
pub(crate) use browse::{FILE, FILES, LINES, RAW, REPOS};
pub(crate) use docs::DOCS;
pub(crate) use results::{Prepared, page};
pub(crate) use search_page::{SEAM, failed, home};
pub(crate) use sign_in::sign_in;
pub(crate) use status::STATS;
pub(crate) use suggest::SUGGEST;
