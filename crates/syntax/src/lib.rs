//! A table of comments, strings, numbers and words in many languages, and a lexer that finds them in lines.
//!
//! The lexer knows tokens, but no grammar. So it accepts any part of a text, reads each byte a bounded number of times,
//! and compiles no expressions. Where only a grammar could decide (a cast or a call), it guesses from the text around a
//! name.

mod code;
mod languages;
mod lexer;
mod markup;
mod scan;
mod table;
#[cfg(test)]
mod tests;
mod words;

use std::ops::Range;

pub use languages::Syntax;
pub use lexer::Lexer;

/// The class of a part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A comment, with its marks.
    Comment,
    /// A string, a character or a regular expression.
    String,
    /// A number, an escape within a string, or a word such as `true`.
    Constant,
    /// A word of the language, or a tag.
    Keyword,
    /// The name of a function where it is defined or called, or the name of an attribute or annotation.
    Function,
    /// The name of a type, or of a property.
    Type,
}

/// A part of a line, in bytes. Parts do not overlap, and are in order.
pub type Token = (Range<usize>, Class);
