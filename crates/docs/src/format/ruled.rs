//! reStructuredText, plain text in its style, and `AsciiDoc`.

use crate::doc_text::{DocText, MAX_TITLE};

/// Returns whether a line is a rule: one punctuation mark, repeated.
fn is_rule(line: &str) -> bool {
    let mut marks = line.chars();
    let Some(first) = marks.next() else { return false };
    line.len() >= 3 && first.is_ascii_punctuation() && marks.all(|c| c == first)
}

/// Reads reStructuredText, or plain text in its style: a heading is a line with a rule below.
pub(super) fn read(text: &str, restructured: bool) -> DocText {
    let mut doc = DocText::default();
    let mut lines = text.lines().map(str::trim_end).peekable();
    // Whether this line is inside a comment of reStructuredText, which continues as long as lines are indented.
    let mut hidden = false;
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        if hidden && (trimmed.is_empty() || line.len() > trimmed.len()) {
            continue;
        }
        hidden = false;
        if is_rule(trimmed) {
            continue;
        }
        if let Some(mark) = trimmed.strip_prefix("..").filter(|_| restructured) {
            if let Some((_, text)) = mark.split_once("::") {
                doc.line(text.trim_start());
            } else if mark.is_empty() || mark.starts_with(' ') {
                hidden = true;
            }
            continue;
        }
        let length = trimmed.chars().count();
        let below = lines.peek().map_or("", |below| below.trim_start());
        // One or two marks do not look like a rule, and a rule much shorter than the line is not its underline.
        let ruled = is_rule(below) && below.len() + 3 >= length && length <= MAX_TITLE;
        if ruled && trimmed.contains(char::is_alphabetic) {
            doc.head(trimmed);
        } else {
            doc.line(line);
        }
    }
    doc
}

/// Reads `AsciiDoc`: a heading begins with equals signs.
pub(super) fn read_asciidoc(text: &str) -> DocText {
    let mut doc = DocText::default();
    for line in text.lines().map(str::trim_end) {
        let marks = line.len() - line.trim_start_matches('=').len();
        let (marked, rest) = line.split_at(marks);
        if !marked.is_empty() && rest.starts_with(' ') {
            doc.head(rest);
        } else if is_rule(line)
            || line.starts_with("//")
            || line.starts_with("include::")
            || line.starts_with("[[") && line.ends_with("]]")
            || line.starts_with(':') && line[1..].contains(':')
        {
            // A rule, a comment, an include, an anchor or a setting.
        } else {
            doc.line(line);
        }
    }
    doc
}
