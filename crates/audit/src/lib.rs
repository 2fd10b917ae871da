//! What a server was asked, by whom, and what it answered.
//!
//! The code that answers a request tells what is in the answer by [`told`]. When the answer has ended, the server puts an
//! event into the queue of its [`Audit`], and [`write()`] moves the queue into the database, in batches. No request waits
//! for the database: while it is away, the queue is bounded, and what does not fit is counted and noted later.

mod queue;
mod shown;
mod told;
mod write;

pub use queue::{Audit, Counts};
pub use shown::{contents, cursor, json, micros, now, of_cursor, outcome, time, utc, who};
pub use told::{Answer, Told, told};
pub use write::write;

/// The interfaces of events. Of the last one are those that servers note of the audit itself.
pub const INTERFACES: [&str; 6] = ["page", "api", "mcp", "sql", "command", "server"];

/// Longest query that is kept, in bytes.
pub const MAX_QUERY: usize = 1024;

/// Longest text of the other parameters that is kept, in bytes.
pub const MAX_PARAMETERS: usize = 512;

/// Shortens a text to at most so many bytes, and marks it if it was longer.
pub fn shortened(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push_str(" [cut]");
    }
    text
}
