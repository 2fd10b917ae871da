//! Writing terms of a query, for programs that put one together.

/// A pattern for these very characters.
pub fn escape(text: &str) -> String {
    regex_syntax::escape(text)
}

/// A field for exactly this name or path: `repo:^github\.com/golang/go$`.
pub fn exactly(field: &str, name: &str) -> String {
    written(field, &format!("^{}$", escape(name)))
}

/// A field for what lies in a folder: `file:^src/`.
pub fn below(field: &str, folder: &str) -> String {
    written(field, &format!("^{}/", escape(folder)))
}

/// A field with a value, in quotes if it needs them: `lang:"plain text"`.
pub fn written(field: &str, value: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "^$./\\-_+#@~".contains(c);
    if value.chars().all(plain) && !value.starts_with(['/', '-']) && !value.is_empty() {
        return format!("{field}:{value}");
    }
    // In quotes, two backslashes are one of the expression.
    let value = value.replace("\\\\", "\\\\\\\\").replace('"', "\\\"");
    format!("{field}:\"{value}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Case, Field, Matcher, Query, Tree};

    #[test]
    fn names_are_found_by_what_is_written() {
        for name in [
            "github.com/golang/go",
            "a b",
            "x\"y",
            "back\\slash",
            "back\\\\slash\\",
            "(a|b)[c]*+?{1}^$",
            "-x",
            "über",
            "/x/",
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
}
