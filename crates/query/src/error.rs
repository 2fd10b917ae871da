//! Why a text is not a query, and where.

use std::fmt;

/// Longest query repeated under an error with a caret below it: about one terminal line.
const MAX_SHOWN_BYTES: usize = 120;

/// Why a text is not a query, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// A sentence that says what is wrong and what to type instead, without a full stop.
    pub message: String,
    /// The byte of the query at which it is wrong.
    pub position: usize,
    source: String,
}

impl QueryError {
    pub(crate) fn new(source: &str, position: usize, message: impl Into<String>) -> Self {
        let position = source.floor_char_boundary(position);
        Self { message: message.into(), position, source: source.to_owned() }
    }
}

/// The message, and the query with a caret below the character it is about.
impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = self.source[..self.position].chars().count();
        write!(f, "{} (at character {})", self.message, column + 1)?;
        if self.source.len() <= MAX_SHOWN_BYTES && !self.source.contains('\n') {
            // A character that cannot be seen might control the terminal.
            let shown = self.source.replace(char::is_control, "\u{fffd}");
            write!(f, "\n    {shown}\n    {}^", " ".repeat(column))?;
        }
        Ok(())
    }
}

impl std::error::Error for QueryError {}
