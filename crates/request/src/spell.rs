//! Writes a query and its options as one query.

use query::{Case, QueryParts, escape, written};

use super::options::Options;

/// A pattern given besides a query: a regular expression, or literal text.
#[derive(Clone, Debug)]
pub enum LinePattern {
    /// A regular expression.
    Regexp(String),
    /// Literal text.
    Text(String),
}

/// Returns one query that includes the options and the patterns, one of which must match in a line. An invalid query is
/// returned unchanged.
pub fn as_one_query(text: &str, patterns: &[LinePattern], options: &Options) -> String {
    let content = |pattern: &LinePattern| match pattern {
        LinePattern::Regexp(pattern) => written("content", pattern),
        LinePattern::Text(text) => written("content", &escape(text)),
    };
    let terms = |field: &str, values: &[String]| -> Vec<String> {
        values.iter().map(|value| written(field, value)).collect()
    };
    let mut beside: Vec<String> = Vec::new();
    let any = [
        patterns.iter().map(content).collect(),
        terms("repo", &options.repos),
        terms("file", &options.files),
        terms("lang", &options.languages),
    ];
    for values in any {
        match &*values {
            [] => {}
            [one] => beside.push(one.clone()),
            several => beside.push(format!("({})", several.join(" or "))),
        }
    }
    // A later setting overrides an earlier one, so the query's own settings win.
    let mut all: Vec<String> = Vec::new();
    all.extend(match options.case {
        Case::Smart => None,
        Case::Sensitive => Some("case:yes".to_owned()),
        Case::Insensitive => Some("case:no".to_owned()),
    });
    all.extend(options.multiline.then(|| "multiline:yes".to_owned()));
    if all.is_empty() && beside.is_empty() {
        return text.to_owned();
    }
    if !text.trim().is_empty() {
        match QueryParts::of(text) {
            Ok(parts) => all.push(parts.with(|_| true)),
            Err(_) => return text.to_owned(),
        }
    }
    all.extend(beside);
    all.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_beside_a_query_is_said_in_it() {
        let none = Options::default();
        assert_eq!(as_one_query("a or b", &[], &none), "a or b");
        let options = Options {
            case: Case::Insensitive,
            repos: vec!["x".to_owned(), "y z".to_owned()],
            files: vec![r"\.go$".to_owned()],
            ..Options::default()
        };
        assert_eq!(
            as_one_query("a or b count:5", &[], &options),
            r#"case:no (a or b) count:5 (repo:x or repo:"y z") file:\.go$"#
        );
        let patterns = [LinePattern::Regexp("f o".to_owned()), LinePattern::Text("a(".to_owned())];
        assert_eq!(as_one_query("", &patterns, &none), r#"(content:"f o" or content:"a\(")"#);
        assert_eq!(as_one_query("a)", &patterns, &none), "a)");
    }
}
