//! Browsing: lists files and reads them, without a search.

mod file;
mod find;
mod left_out;

pub use file::{FileText, MAX_COPIES, file_text, file_text_at, file_text_of};
pub use find::{FindRequest, NearFile, find};
pub use left_out::{LeftOut, left_out_file, why_left_out};
