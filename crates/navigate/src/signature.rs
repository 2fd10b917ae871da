//! The lines that a definition's signature takes: from its first line to the one on which its body begins.

use std::ops::Range;

/// Most lines of a signature.
const MAX_LINES: usize = 12;

/// Returns the lines of the signature of a definition whose name stands in line `at`, all counted from 0. It begins
/// with the line of the name or, as in C, with the type above it, and ends where its parentheses are closed, with the
/// clauses that follow.
pub fn signature(lines: &[&str], at: usize) -> Range<usize> {
    let Some(line) = lines.get(at) else { return at..at };
    let mut first = at;
    // `static int`, and the name at the beginning of the next line.
    if line.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && line.find('(').is_some_and(|open| !line[..open].trim().contains(char::is_whitespace))
        && at > 0
        && is_type(lines[at - 1])
    {
        first = at - 1;
    }
    let mut depth = 0_i32;
    let mut end = at;
    for (n, line) in lines.iter().enumerate().skip(at).take(MAX_LINES) {
        for c in line.chars() {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                // What follows is the body.
                '{' if depth <= 0 => return first..n + 1,
                _ => {}
            }
        }
        end = n + 1;
        if depth <= 0 && !lines.get(n + 1).is_some_and(|next| goes_on(next)) {
            return first..end;
        }
    }
    // Something is open that is none of a signature.
    if depth > 0 && end - at == MAX_LINES { first..at + 1 } else { first..end }
}

/// Returns whether a line is a type before a name: words and stars only.
fn is_type(line: &str) -> bool {
    line.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && line.chars().all(|c| c.is_alphanumeric() || "_ *&:<>,".contains(c))
        && !line.trim_end().ends_with([':', ','])
}

/// Returns whether a line continues the signature of the line before.
fn goes_on(line: &str) -> bool {
    let line = line.trim_start();
    ["->", "where ", "throws ", "noexcept", "extends ", "implements ", ": "]
        .iter()
        .any(|word| line.starts_with(word))
        || line.trim_end() == "where"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_shown_whole() {
        for (text, at, expected) in [
            ("type Handler interface {\n\tServe()\n}", 0, 0..1),
            ("// x\npub fn f<'a>(\n    a: &'a A,\n    b: [u8; 4],\n) -> B {\n    b\n}", 1, 1..5),
            ("fn f<T>(t: T)\nwhere\n    T: A,\n{", 0, 0..2),
            ("fn f(t: T) -> U\nwhere T: A,\n{", 0, 0..2),
            ("static struct page *\nalloc(int a,\n      int b)\n{\n", 1, 0..3),
            ("return x;\nalloc(a);\n", 1, 1..2),
            ("def f(a,\n      b=(1, 2)):\n    pass\n", 0, 0..2),
            ("int x = 3;\nint y;", 0, 0..1),
            ("macro(\n".repeat(30).as_str(), 0, 0..1),
            ("", 0, 0..0),
        ] {
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(signature(&lines, at), expected, "{text}");
        }
    }
}
