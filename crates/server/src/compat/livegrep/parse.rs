//! livegrep's query language: one pattern for a line, and fields.

use std::collections::HashMap;

use super::query::LivegrepQuery;

/// The fields that a query may have besides its pattern.
const FIELDS: [&str; 11] = [
    "file",
    "-file",
    "path",
    "-path",
    "repo",
    "-repo",
    "tags",
    "-tags",
    "case",
    "lit",
    "max_matches",
];

/// A token of a query. The text before it is part of a pattern.
#[derive(Debug)]
enum Piece<'q> {
    Blank,
    Open(char),
    Escape,
    /// A word before a colon.
    Field(&'q str),
}

/// Returns the next token, with its start and end. A field is recognized only at the start.
fn piece(rest: &str) -> Option<(usize, usize, Piece<'_>)> {
    let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
    if end > 0 && rest[end..].starts_with(':') {
        return Some((0, end + 1, Piece::Field(&rest[..end])));
    }
    rest.char_indices().find_map(|(at, c)| match c {
        ' ' => Some((at, at + 1, Piece::Blank)),
        '(' | '[' => Some((at, at + 1, Piece::Open(c))),
        '\\' => {
            let next = rest[at + 1..].chars().next()?;
            Some((at, at + 1 + next.len_utf8(), Piece::Escape))
        }
        _ => None,
    })
}

/// Returns the length of a group after its opening character, up to its end or the end of the text.
fn group(rest: &str, open: char) -> usize {
    let close = if open == '(' { ')' } else { ']' };
    let (mut depth, mut escaped) = (1, false);
    for (at, c) in rest.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
        }
        if depth == 0 {
            return at + c.len_utf8();
        }
    }
    rest.len()
}

/// Parses a query. Its patterns are regular expressions with `regex`, otherwise literal texts.
pub(super) fn parse(query: &str, regex: bool) -> Result<LivegrepQuery, String> {
    // The values of each field; the pattern itself has an empty name.
    let mut said: HashMap<&str, Vec<String>> = HashMap::new();
    let (mut key, mut term) = ("", String::new());
    let (mut in_regex, mut after_blank) = (regex, true);
    let mut rest = query.trim();
    while let Some((from, upto, piece)) = piece(rest) {
        term.push_str(&rest[..from]);
        let text = &rest[from..upto];
        rest = &rest[upto..];
        after_blank = after_blank && from == 0;
        let is_blank = matches!(piece, Piece::Blank);
        match piece {
            Piece::Blank if key.is_empty() => term.push(' '),
            Piece::Blank => {
                said.entry(key).or_default().push(std::mem::take(&mut term));
                (key, in_regex) = ("", regex);
            }
            Piece::Open(open) if in_regex || after_blank => {
                let (inside, behind) = rest.split_at(group(rest, open));
                term.push_str(text);
                term.push_str(inside);
                rest = behind;
            }
            Piece::Field(name) if key.is_empty() && FIELDS.contains(&name) => {
                if !term.trim().is_empty() {
                    said.entry(key).or_default().push(std::mem::take(&mut term));
                }
                term.clear();
                key = name;
                in_regex = in_regex && key != "lit";
            }
            Piece::Open(_) | Piece::Escape | Piece::Field(_) => term.push_str(text),
        }
        after_blank = is_blank;
    }
    term.push_str(rest);
    said.entry(key).or_default().push(term);
    asked(&said, regex)
}

fn asked(said: &HashMap<&str, Vec<String>>, regex: bool) -> Result<LivegrepQuery, String> {
    let all = |name: &str| said.get(name).map_or(&[][..], Vec::as_slice);
    let pattern = |text: &String| if regex { text.clone() } else { escape(text) };
    let both = |name: &str, other: &str| -> Vec<String> {
        all(name).iter().chain(all(other)).map(pattern).collect()
    };
    let single = |name: &str| match all(name) {
        [] => Ok(String::new()),
        [one] => Ok(pattern(one)),
        _ => Err(format!("{name}: can be given only once")),
    };
    if all("").len() > 1 {
        return Err(
            "the pattern is in two places: put file:, repo: and others before or after all of it"
                .to_owned(),
        );
    }
    let mut lines = Vec::new();
    for name in ["", "case", "lit"] {
        let text = all(name).first().map_or("", |text| text.trim());
        if !text.is_empty() {
            let literal = name == "lit" || !regex;
            lines.push(if literal { escape(text) } else { text.to_owned() });
        }
    }
    if lines.len() > 1 {
        return Err("give one of case:, lit: and a pattern without a name, not several".to_owned());
    }
    let files = both("file", "path");
    let mut line = lines.pop().unwrap_or_default();
    let paths_only = line.is_empty() && !files.is_empty();
    if paths_only {
        line.clone_from(&files[0]);
    }
    let exact = !all("case").is_empty() || !all("lit").is_empty();
    let max_matches = match all("max_matches").first().map_or("", String::as_str) {
        "" => 0,
        number => number
            .parse()
            .map_err(|_| format!("max_matches:{number}: use a number, negative for all"))?,
    };
    Ok(LivegrepQuery {
        fold_case: !exact && !has_capital(&line),
        line,
        files,
        not_files: both("-file", "-path"),
        repo: single("repo")?,
        not_repo: single("-repo")?,
        tags: said.get("tags").map(|all| all.iter().map(pattern).collect()),
        not_tags: said.get("-tags").map(|all| all.iter().map(pattern).collect()),
        max_matches,
        paths_only,
    })
}

pub(super) fn has_capital(pattern: &str) -> bool {
    pattern.contains(|c: char| c.is_ascii_uppercase())
}

/// Returns a pattern that matches exactly a text.
pub(super) fn escape(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the parsed query: `/line/`, with `i` for any case, then the other fields.
    #[track_caller]
    fn check(query: &str, regex: bool, expected: &str) {
        let asked = parse(query, regex).unwrap();
        let mut shown = vec![format!("/{}/{}", asked.line, if asked.fold_case { "i" } else { "" })];
        shown.extend(asked.files.iter().map(|file| format!("file:{file}")));
        shown.extend(asked.not_files.iter().map(|file| format!("-file:{file}")));
        for (name, text) in [("repo", &asked.repo), ("-repo", &asked.not_repo)] {
            shown.extend((!text.is_empty()).then(|| format!("{name}:{text}")));
        }
        for (name, tags) in [("tags", &asked.tags), ("-tags", &asked.not_tags)] {
            shown.extend(tags.iter().flatten().map(|tag| format!("{name}:{tag}")));
        }
        shown.extend((asked.max_matches != 0).then(|| format!("max:{}", asked.max_matches)));
        shown.extend(asked.paths_only.then(|| "paths".to_owned()));
        assert_eq!(shown.join(" "), expected, "{query}");
    }

    #[test]
    fn a_query_is_one_pattern_and_what_stands_beside_it() {
        check(" static int  x ", true, "/static int  x/i");
        check("Static", true, "/Static/");
        check("case:static file:^src/", true, "/static/ file:^src/");
        check("lit:a(b file:c", true, r"/a\(b/ file:c");
        check("x (y file:z)", true, "/x (y file:z)/i");
        check("[ ] path:( ) file:b", true, "/[ ]/i file:b file:( )");
        check(r"a file:\(", true, r"/a/i file:\(");
        check("std::string", true, "/std::string/i");
        check("-file:b -path:c -repo:d repo:e x", true, "/x/i -file:b -file:c repo:e -repo:d");
        check("x max_matches:7", true, "/x/i max:7");
        check("x tags:f -tags:method", true, "/x/i tags:f -tags:method");
        check("x max_matches:", true, "/x/i");
        check("file:Makefile", true, "/Makefile/ file:Makefile paths");
        check("(unclosed file:a", true, "/(unclosed file:a/i");
    }

    #[test]
    fn a_query_of_texts() {
        check("a( file:b.c", false, r"/a\(/i file:b\.c");
        check("(file:a) repo:b", false, r"/\(file:a\)/i repo:b");
        check("a (file:b", false, r"/a \(file:b/i");
        check("file:a( b", false, r"/b/i file:a\(");
    }

    #[test]
    fn what_a_query_cannot_be() {
        for query in ["case:a b", "lit:a b", "a max_matches:x", "a file:b c", "a repo:b repo:c"] {
            assert!(parse(query, true).is_err(), "{query}");
        }
    }
}
