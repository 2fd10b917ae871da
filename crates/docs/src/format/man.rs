//! Manual pages.

use crate::doc_text::DocText;

/// Reads a manual page: `.SH` and `.TH` of man(7), `.Sh` and `.Nd` of mdoc(7).
pub(super) fn read(text: &str) -> DocText {
    let mut doc = DocText::default();
    // Whether the current section is NAME, whose text describes the subject of the page.
    let mut name = false;
    let (mut title, mut about) = (String::new(), String::new());
    for line in text.lines() {
        let Some(macros) = line.strip_prefix(['.', '\'']) else {
            let line = plain(line);
            if name && !line.trim().is_empty() {
                about = format!("{about} {line}");
            }
            doc.line(&line);
            continue;
        };
        let (word, arguments) = macros.trim_start().split_once(' ').unwrap_or((macros, ""));
        let arguments = plain(arguments).replace('"', "");
        match word {
            "SH" | "Sh" | "SS" | "Ss" => {
                name = arguments.trim().eq_ignore_ascii_case("name");
                doc.head(&arguments);
            }
            "TH" | "Dt" => arguments.split_whitespace().next().unwrap_or("").clone_into(&mut title),
            "Nd" => {
                title = format!("{title} - {}", arguments.trim());
                doc.line(&arguments);
            }
            // Comments, settings and requests without text.
            "\\\"" | "Dd" | "Os" | "de" | "ds" | "nr" | "if" | "ie" | "el" | "so" | "sp" | "in"
            | "ta" => {}
            _ if word.starts_with('\\') => {}
            _ if arguments.trim().is_empty() => {}
            _ => doc.line(&arguments),
        }
    }
    // The first heading is NAME on all pages, so it is not a title.
    if let Some(title) = [about, title].into_iter().find(|title| !title.trim().is_empty()) {
        doc.title = title;
    }
    doc
}

/// Removes escapes from the text of a manual page: `\fBgit\fP\-log` becomes `git-log`.
fn plain(text: &str) -> String {
    let mut all = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            all.push(c);
            continue;
        }
        match chars.next() {
            Some('f') => match chars.next() {
                Some('(') => drop((chars.next(), chars.next())),
                Some('[') => drop(chars.by_ref().find(|c| *c == ']')),
                _ => {}
            },
            Some('(') => drop((chars.next(), chars.next())),
            Some('"' | '#') => break,
            Some('&' | '|' | '^' | '/' | ',' | 'c') | None => {}
            Some('e') => all.push('\\'),
            Some('s') => drop(chars.next()),
            Some(other) => all.push(other),
        }
    }
    all
}
