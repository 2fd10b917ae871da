//! Why a text is not a query, and where.

use std::fmt;
use std::ops::Range;

/// Longest query repeated under an error with a caret below it: about one terminal line.
const MAX_SHOWN_BYTES: usize = 120;

/// Why a text is not a query, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// A sentence that says what is wrong and what to type instead, without a full stop.
    pub message: String,
    /// The byte of the query at which it is wrong.
    pub position: usize,
    /// A query to run instead, if one can be told.
    pub suggestion: Option<Box<Suggestion>>,
    /// The change of the query that mends it, if that is known where the error is.
    pub(crate) edit: Option<Box<Edit>>,
    source: String,
}

/// A query to run instead of one that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The query.
    pub query: String,
    /// The text that it searches for, if it takes the whole of the wrong query as a text.
    pub text: Option<String>,
}

/// A change of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// The bytes of the query that are replaced.
    pub(crate) range: Range<usize>,
    /// What stands there afterwards; with nothing, operators that were left without a term go, too.
    pub(crate) with: String,
    /// What is put at the end.
    pub(crate) append: String,
}

impl QueryError {
    pub(crate) fn new(source: &str, position: usize, message: impl Into<String>) -> Self {
        let position = source.floor_char_boundary(position);
        let (message, source) = (message.into(), source.to_owned());
        Self { message, position, suggestion: None, edit: None, source }
    }

    /// The same, and what to write in place of a part of the query; nothing to leave it out.
    pub(crate) fn replacing(self, range: Range<usize>, with: impl Into<String>) -> Self {
        let edit = Edit { range, with: with.into(), append: String::new() };
        Self { edit: Some(Box::new(edit)), ..self }
    }

    /// The same; a part of the query belongs at its end.
    pub(crate) fn moving(self, range: Range<usize>) -> Self {
        let append = self.source[range.clone()].to_owned();
        let edit = Edit { range, with: String::new(), append };
        Self { edit: Some(Box::new(edit)), ..self }
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
