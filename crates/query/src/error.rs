//! The error of a query that cannot be parsed: a message, the position, and a query to run instead.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// Longest query, in bytes, that is printed under an error with a caret below it: about one terminal line.
const MAX_SHOWN_BYTES: usize = 120;

/// Longest message, in bytes. A message quotes what was typed; the beginning of a long word is enough.
const MAX_MESSAGE_BYTES: usize = 1000;

/// An error in a query: what is wrong, where, and a query to run instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// A sentence that says what is wrong and what to type instead, without a full stop.
    pub message: String,
    /// The byte offset in the query at which the error is.
    pub position: usize,
    /// A query to run instead, if one is known.
    pub suggestion: Option<Box<Suggestion>>,
    /// The edit that corrects the query, if the place that raised the error knows one.
    pub(crate) edit: Option<Box<Edit>>,
    source: String,
}

/// A query to run instead of a wrong one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The query.
    pub query: String,
    /// The literal text that it searches for, if it treats the whole wrong query as literal text.
    pub text: Option<String>,
}

/// An edit of a query: replaces a range, then appends a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// The bytes of the query that are replaced.
    pub(crate) range: Range<usize>,
    /// The replacement. If it is empty, operators left without a term are removed, too.
    pub(crate) with: String,
    /// Text to append at the end of the query.
    pub(crate) append: String,
}

impl QueryError {
    pub(crate) fn new(source: &str, position: usize, message: impl Into<String>) -> Self {
        let position = source.floor_char_boundary(position);
        let message = shortened(&message.into(), MAX_MESSAGE_BYTES).into_owned();
        let source = source.to_owned();
        Self { message, position, suggestion: None, edit: None, source }
    }

    /// Returns the error with an edit that replaces a range of the query; an empty replacement deletes it.
    pub(crate) fn with_replacement(self, range: Range<usize>, with: impl Into<String>) -> Self {
        let edit = Edit { range, with: with.into(), append: String::new() };
        Self { edit: Some(Box::new(edit)), ..self }
    }

    /// Returns the error with an edit that replaces a range of the query, and appends a text to it.
    pub(crate) fn with_replacement_and_end(
        self,
        range: Range<usize>,
        with: impl Into<String>,
        append: &str,
    ) -> Self {
        let edit = Edit { range, with: with.into(), append: append.to_owned() };
        Self { edit: Some(Box::new(edit)), ..self }
    }

    /// Returns the error with an edit that appends a text to the query.
    pub(crate) fn with_end(self, append: &str) -> Self {
        let source = self.source.clone();
        self.with_replacement_and_end(0..source.len(), source, append)
    }

    /// Returns the error with an edit that moves a range of the query to its end.
    pub(crate) fn with_move_to_end(self, range: Range<usize>) -> Self {
        let append = self.source[range.clone()].to_owned();
        let edit = Edit { range, with: String::new(), append };
        Self { edit: Some(Box::new(edit)), ..self }
    }
}

/// Returns a text of at most about `most` bytes. Of a longer text, keeps its beginning and its end, which says what to
/// do.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most {
        return text.into();
    }
    let begin = &text[..text.floor_char_boundary(most / 2)];
    let end = &text[text.ceil_char_boundary(text.len() - most / 2)..];
    format!("{begin} ... {end}").into()
}

/// Prints the message, and the query with a caret below the character at fault.
impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = self.source[..self.position].chars().count();
        write!(f, "{} (at character {})", self.message, column + 1)?;
        if self.source.len() <= MAX_SHOWN_BYTES && !self.source.contains('\n') {
            // Control characters could change the state of the terminal.
            let shown = self.source.replace(char::is_control, "\u{fffd}");
            write!(f, "\n    {shown}\n    {}^", " ".repeat(column))?;
        }
        Ok(())
    }
}

impl std::error::Error for QueryError {}
