//! Writes terms of the query language, for callers that build a query.

/// Returns a pattern that matches the text literally.
pub fn escape(text: &str) -> String {
    regex_syntax::escape(text)
}

/// Returns a field that matches exactly this name or path: `repo:^github\.com/golang/go$`.
pub fn exactly(field: &str, name: &str) -> String {
    written(field, &format!("^{}$", escape(name)))
}

/// Returns a field that matches paths in a folder: `file:^src/`.
pub fn below(field: &str, folder: &str) -> String {
    written(field, &format!("^{}/", escape(folder)))
}

/// Returns the name or folder for which [`exactly`] or [`below`] wrote the pattern, for display; `None` if the pattern
/// may match others.
pub fn plain(pattern: &str) -> Option<String> {
    let inner = pattern.strip_prefix('^')?;
    let inner = inner.strip_suffix('$').or_else(|| inner.ends_with('/').then_some(inner))?;
    let mut name = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => name.push(chars.next().filter(|c| !c.is_alphanumeric())?),
            c if ".+*?()|[]{}^$".contains(c) => return None,
            c => name.push(c),
        }
    }
    (!name.is_empty()).then_some(name)
}

/// Returns a field with a value, in quotes if it needs them: `lang:"plain text"`.
pub fn written(field: &str, value: &str) -> String {
    // After a repository, an @ that is not in quotes begins a revision.
    let has_revision = ["repo", "r"].contains(&field.trim_start_matches('-'));
    let plain =
        |c: char| c.is_alphanumeric() || "^$./\\-_+#~".contains(c) || c == '@' && !has_revision;
    if value.chars().all(plain) && !value.starts_with(['/', '-']) && !value.is_empty() {
        return format!("{field}:{value}");
    }
    format!("{field}:{}", quoted(value))
}

/// Returns a value in quotes, in which `\"` stands for a quote and `\\` for a backslash.
pub fn quoted(value: &str) -> String {
    let mut text = String::with_capacity(value.len() + 2);
    text.push('"');
    let mut chars = value.chars().peekable();
    while let Some(c) = chars.next() {
        // Any other backslash stands for itself.
        if c == '"' || c == '\\' && matches!(chars.peek(), None | Some('"' | '\\')) {
            text.push('\\');
        }
        text.push(c);
    }
    text.push('"');
    text
}

/// Returns a term that matches the text literally: `lit:a[i]`, in quotes if it needs them.
pub fn literal(text: &str) -> String {
    let mut depth = 0_usize;
    let closes = |c: char| match c {
        '(' => {
            depth += 1;
            false
        }
        ')' if depth == 0 => true,
        ')' => {
            depth -= 1;
            false
        }
        c => c == '"' || c.is_whitespace(),
    };
    if text.is_empty() || text.starts_with(':') || text.chars().any(closes) {
        return format!("lit:{}", quoted(text));
    }
    format!("lit:{text}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Case, Field, Matcher, Query, Tree};

    #[test]
    fn texts_are_found_by_what_is_written() {
        for text in [
            "fmt.Println(",
            "a b",
            "f(x) + 1",
            "foo)",
            "(a))",
            "\"q",
            "back\\",
            "\\\\\" x",
            "::a",
            "[",
            "-x",
            "/x/",
            "lit:x",
            "\\\"",
            "\t",
        ] {
            let query = Query::parse(&literal(text), Case::Sensitive).unwrap();
            let Tree::Term(term) = &query.tree else { panic!("{text}: {:?}", query.tree) };
            assert_eq!(term.pattern.source(), escape(text));
        }
        assert_eq!(literal("a[i]"), "lit:a[i]");
        assert_eq!(literal("f(x) \"y\""), "lit:\"f(x) \\\"y\\\"\"");
    }

    #[test]
    fn names_are_found_by_what_is_written() {
        for name in [
            "github.com/golang/go",
            "a b",
            "x\"y",
            "back\\slash",
            "back\\\\slash\\",
            "back\\\"x \\\\\" y\\\\",
            "(a|b)[c]*+?{1}^$",
            "-x",
            "über",
            "/x/",
            "a@b",
        ] {
            let text = exactly("repo", name);
            let query = Query::parse(&text, Case::Sensitive).unwrap();
            let Tree::Term(term) = &query.tree else { panic!("{text}: {:?}", query.tree) };
            assert_eq!(term.field, Field::Repo, "{text}");
            let matcher = Matcher::new(&term.pattern).unwrap();
            assert!(matcher.is_match(name), "{text}");
            assert!(!matcher.is_match(&format!("{name}x")), "{text}");
        }
        assert_eq!(exactly("repo", "github.com/golang/go"), r"repo:^github\.com/golang/go$");
        assert_eq!(written("lang", "plain text"), "lang:\"plain text\"");
    }

    #[test]
    fn what_was_written_is_read_again() {
        for (pattern, name) in [
            (r"^github\.com/golang/go$", Some("github.com/golang/go")),
            ("^src/", Some("src/")),
            ("^a-b$", Some("a-b")),
            (r"^a\-b$", Some("a-b")),
            (r"^a\$", None),
            (r"^a\$$", Some("a$")),
            ("^a.b$", None),
            ("^$", None),
            ("go", None),
            (r"^\d$", None),
        ] {
            assert_eq!(plain(pattern).as_deref(), name, "{pattern}");
        }
    }
}
