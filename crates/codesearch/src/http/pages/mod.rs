//! Pages for browsers, rendered from `web/templates`.

mod assets;
mod browse;
mod docs;
mod highlight;
mod link;
mod render;
mod results;
mod search_page;
mod status;
mod suggest;
mod view;

pub(crate) use assets::{FIRST, SCRIPT, STYLE};
pub(crate) use browse::{file, files, lines, raw, repos};
pub(crate) use docs::docs;
pub(crate) use results::{Search, page};
pub(crate) use search_page::{SEAM, failed, home};
pub(crate) use status::stats;
pub(crate) use suggest::suggest;
