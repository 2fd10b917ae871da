//! Builds a search for documents from a query that may have fields, as a query for code does.

use query::{Case, Matcher, Pattern, TypedField, typed_fields};
use search::docs::DocsRequest;

use super::refused::{Refused, option};

/// A query for documents: its words and fields. People often reuse their query for code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocsQuery {
    /// The words to search for.
    pub words: String,
    /// Values of `repo:`.
    pub repos: Vec<String>,
    /// Values of `lang:`.
    pub languages: Vec<String>,
    /// Fields that do not apply to documents, as they were typed.
    pub ignored: Vec<String>,
}

impl DocsQuery {
    /// Parses a query text. An invalid query has no fields and is all words.
    pub fn of(text: &str) -> Self {
        let mut query = Self::default();
        let mut from = 0;
        for TypedField { name, negated, value, revision, range } in typed_fields(text) {
            query.words.push_str(&text[from..range.start]);
            from = range.end;
            if let Some(revision) = revision.filter(|_| !negated) {
                query.ignored.push(format!("@{revision}"));
            }
            match name {
                "repo" if !negated => query.repos.push(value),
                "lang" if !negated => query.languages.push(value),
                "content" | "lit" | "regex" => {
                    let minus = if negated { "-" } else { "" };
                    let quote = if value.contains(char::is_whitespace) { "\"" } else { "" };
                    query.words.push_str(&format!("{minus}{quote}{value}{quote}"));
                }
                _ => query.ignored.push(text[range].to_owned()),
            }
        }
        query.words.push_str(&text[from..]);
        query.words = query.words.trim().to_owned();
        query
    }

    /// Returns a sentence about the ignored fields.
    pub fn notice(&self) -> Option<String> {
        let fields = self.ignored.join(" ");
        (!fields.is_empty()).then(|| format!("ignored in a search of documents: {fields}"))
    }
}

/// Restricts a search for documents and comments to repositories and languages. Of each kind, one value must match.
///
/// # Errors
/// [`Refused::Option`] for an invalid pattern (`repo`), and for an unknown language (`lang`).
pub fn docs(
    mut request: DocsRequest,
    repos: &[String],
    languages: &[String],
) -> Result<DocsRequest, Refused> {
    for pattern in repos {
        let matcher = Pattern::of_repository(pattern, Case::Smart);
        let matcher = matcher.and_then(|pattern| Matcher::new(&pattern));
        request.repos.push(matcher.map_err(|error| option("repo", &error))?);
    }
    for language in languages {
        request.languages.extend(query::languages(language).map_err(|why| option("lang", &why))?);
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, words: &str, repos: &[&str], languages: &[&str], ignored: &[&str]) {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        let (repos, languages, ignored) = (owned(repos), owned(languages), owned(ignored));
        let expected = DocsQuery { words: words.to_owned(), repos, languages, ignored };
        assert_eq!(DocsQuery::of(text), expected, "{text}");
    }

    #[test]
    fn fields_of_a_query_for_code_become_filters() {
        check("mutex lang:go", "mutex", &[], &["go"], &[]);
        check("repo:^a$ rate limit l:md r:b", "rate limit", &["^a$", "b"], &["md"], &[]);
        check("x -file:_test case:yes y", "x   y", &[], &[], &["-file:_test", "case:yes"]);
        check("-lang:go x", "x", &[], &[], &["-lang:go"]);
        check("lit:\"two words\" -c:one", "\"two words\" -one", &[], &[], &[]);
    }

    #[test]
    fn plain_words_stay() {
        for text in [
            "how do I configure retries",
            "\"a phrase\" or b -c",
            "note: this",
            "a (b",
            "don't \"x",
        ] {
            check(text, text, &[], &[], &[]);
        }
        let notice = DocsQuery::of("x type:file").notice();
        assert_eq!(notice.as_deref(), Some("ignored in a search of documents: type:file"));
    }
}
