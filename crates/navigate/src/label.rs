//! Guesses what a name is from its line, for texts that cannot be parsed.

use std::ops::Range;

use symbols::Label;

use rank::{is_comment, is_import};

/// Returns what a name in a line is, judging by the line alone.
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
        // A single apostrophe is not a quote.
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
