//! What a name is where it stands.

use std::ops::Range;

use crate::search::rank::{is_comment, is_import};

/// What a name is where it stands, as far as its line tells. What is likely to be wanted comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    /// It is defined.
    Definition,
    /// It is called.
    Call,
    /// It is used as a type.
    Type,
    /// It is used in another way.
    Use,
    /// It is imported.
    Import,
    /// It is a part of a comment.
    Comment,
    /// It is a part of a text.
    String,
}

impl Label {
    /// Returns its name in small letters.
    pub fn word(self) -> &'static str {
        match self {
            Label::Definition => "definition",
            Label::Call => "call",
            Label::Type => "type",
            Label::Use => "use",
            Label::Import => "import",
            Label::Comment => "comment",
            Label::String => "string",
        }
    }

    /// Returns whether it is code, and not only mentioned.
    pub fn is_code(self) -> bool {
        !matches!(self, Label::Comment | Label::String)
    }
}

/// Returns what the names at some places of a text are, by its syntax tree; `None` if its language has no grammar, or it
/// cannot be parsed in time.
pub(super) fn by_tree(
    _language: &str,
    _text: &str,
    _places: &[Range<usize>],
) -> Option<Vec<Label>> {
    None
}

/// Returns what a name in a line is, by the line alone.
pub(super) fn by_line(text: &str, name: &Range<usize>) -> Label {
    let (before, after) = (&text[..name.start], &text[name.end..]);
    if is_comment(text) || before.contains("// ") {
        return Label::Comment;
    }
    if is_import(text) {
        return Label::Import;
    }
    for quote in ['"', '\'', '`'] {
        let open = before.matches(quote).count() - before.matches(&format!("\\{quote}")).count();
        // An apostrophe is no quote.
        if open % 2 == 1 && after.contains(quote) {
            return Label::String;
        }
    }
    let next = after.trim_start();
    if next.starts_with('(') || next.starts_with("!(") || next.starts_with("::<") {
        return Label::Call;
    }
    Label::Use
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_what_a_name_is() {
        for (text, expected) in [
            ("  x = name(1)", Label::Call),
            ("name!(1)", Label::Call),
            ("let x: name = y;", Label::Use),
            ("// name is", Label::Comment),
            ("x() // name is", Label::Comment),
            ("import name", Label::Import),
            ("print(\"a name here\")", Label::String),
            ("print(\"a\", name)", Label::Use),
        ] {
            let at = text.find("name").unwrap();
            assert_eq!(by_line(text, &(at..at + 4)), expected, "{text}");
        }
    }
}
