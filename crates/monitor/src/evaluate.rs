//! The matches of a standing query in one version of a file.

use std::time::{Duration, Instant};

use ngram::BloomFilter;
use query::{Predicate, Scratch, Select, Shown};
use store::CatalogRepo;

use crate::standing::Standing;

/// A version of a file.
pub(crate) struct Side<'t> {
    pub(crate) repo: &'t CatalogRepo,
    pub(crate) path: &'t str,
    pub(crate) language: Option<&'t str>,
    pub(crate) text: &'t Text,
}

/// A text, with the n-grams in it.
pub(crate) struct Text {
    text: String,
    filter: BloomFilter,
}

impl Text {
    pub(crate) fn new(text: String) -> Self {
        // Larger than the filter of a chunk: it lives for a moment, and each query that passes it costs a search.
        let mut filter = BloomFilter::for_text(4 * text.len());
        filter.add(&text);
        Self { text, filter }
    }
}

/// The matches in a version of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Matches {
    /// Whether the file itself is a match: its path matches, or no line is shown.
    pub(crate) file: bool,
    /// The matching lines that are shown: number from 1, and text.
    pub(crate) lines: Vec<(u32, String)>,
}

/// The scratch space of a query's matchers, and its time.
pub(crate) struct Work {
    scratches: Vec<Option<Scratch>>,
    left: Duration,
}

/// The query took too long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Late;

impl Work {
    /// Makes the work of a query, which may take some time in all.
    pub(crate) fn new(standing: &Standing, time: Duration) -> Self {
        let mut scratches = Vec::new();
        scratches.resize_with(standing.query().terms.len(), || None);
        Self { scratches, left: time }
    }
}

impl Standing {
    /// Returns whether a version of a file can match, as its names tell.
    pub(crate) fn may_match(&self, repo: &CatalogRepo, path: &str, language: Option<&str>) -> bool {
        let known = |of: Predicate| self.by_name(repo, path, language, of);
        self.expr().eval(&known) != Some(false)
    }

    /// Returns the value of a predicate that names decide.
    fn by_name(
        &self,
        repo: &CatalogRepo,
        path: &str,
        language: Option<&str>,
        of: Predicate,
    ) -> Option<bool> {
        match of {
            Predicate::Path(term) => Some(self.query().terms[term].matcher.is_match(path)),
            Predicate::Language(index) => {
                let names = &self.query().languages[index];
                Some(language.is_some_and(|language| names.contains(&language.to_lowercase())))
            }
            // A monitor has none of these.
            Predicate::Symbol(_)
            | Predicate::InTree(_)
            | Predicate::Added(_)
            | Predicate::Removed(_) => Some(false),
            Predicate::Content(_) => None,
            other => self.in_repo(repo, other),
        }
    }

    /// Returns the matches in a version of a file; `None` if it does not match.
    ///
    /// # Errors
    /// The query has taken too long.
    pub(crate) fn matches(
        &self,
        side: &Side<'_>,
        work: &mut Work,
    ) -> Result<Option<Matches>, Late> {
        let query = self.query();
        let Side { repo, path, language, text } = side;
        // For each term, the lines in which it matches, once they are known.
        let mut found: Vec<Option<Vec<(u32, String)>>> = vec![None; query.terms.len()];
        let known = |found: &[Option<Vec<(u32, String)>>], of: Predicate| match of {
            Predicate::Content(term) => match &found[term] {
                Some(lines) => Some(!lines.is_empty()),
                None => (!text.filter.may_hold(&query.terms[term].ngrams)).then_some(false),
            },
            other => self.by_name(repo, path, *language, other),
        };
        loop {
            if query.expr.eval(&|of| known(&found, of)) == Some(false) {
                return Ok(None);
            }
            let mut wanted = None;
            let mut want = |of| {
                if let Predicate::Content(term) = of
                    && found[term].is_none()
                {
                    wanted.get_or_insert(term);
                }
            };
            let known = |of| known(&found, of);
            if query.select == Select::Lines {
                // Those that do not decide are shown.
                query.expr.involved(&known, &mut want);
            } else {
                query.expr.resolve(&known).predicates(&mut want);
            }
            let Some(term) = wanted else { break };
            found[term] = Some(self.lines(term, text, work)?);
        }
        let known = |of| known(&found, of);
        if query.expr.eval(&known) != Some(true) {
            return Ok(None);
        }
        let mut matches = Matches::default();
        query.expr.shown(&known, &mut |of| match of {
            Predicate::Content(term)
                if query.select == Select::Lines && query.terms[term].shown != Shown::Nothing =>
            {
                matches.lines.extend(found[term].iter().flatten().cloned());
            }
            Predicate::Path(term) => matches.file |= query.terms[term].shown != Shown::Nothing,
            _ => {}
        });
        matches.lines.sort_unstable();
        matches.lines.dedup_by_key(|(number, _)| *number);
        matches.file |= matches.lines.is_empty();
        Ok(Some(matches))
    }

    /// Returns the lines in which a term matches; the first one if only files are shown.
    fn lines(&self, term: usize, text: &Text, work: &mut Work) -> Result<Vec<(u32, String)>, Late> {
        let matcher = &self.query().terms[term].matcher;
        let Work { scratches, left } = work;
        let scratch = scratches[term].get_or_insert_with(|| matcher.scratch());
        let (begun, most) = (Instant::now(), *left);
        let go_on = || begun.elapsed() < most;
        let mut lines = Vec::new();
        let first_only = self.query().select != Select::Lines;
        matcher.lines(scratch, text.text.as_bytes(), &go_on, &mut |line| {
            lines.push((line.line as u32 + 1, text.text[line.span].to_owned()));
            !first_only
        });
        *left = left.saturating_sub(begun.elapsed());
        if left.is_zero() { Err(Late) } else { Ok(lines) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the matches of a query in a text as `file 1:text 3:text`; `None` if it does not match.
    fn told(query: &str, path: &str, text: &str) -> Option<String> {
        let standing = Standing::new(query).unwrap();
        let text = Text::new(text.to_owned());
        let repo = CatalogRepo { name: "acme/shop".to_owned(), ..CatalogRepo::default() };
        let side = Side { repo: &repo, path, language: Some("Rust"), text: &text };
        let mut work = Work::new(&standing, Duration::from_mins(1));
        let matches = standing.matches(&side, &mut work).unwrap()?;
        assert!(standing.may_match(&repo, path, Some("Rust")));
        let file = matches.file.then(|| "file".to_owned());
        let lines = matches.lines.iter().map(|(number, text)| format!("{number}:{text}"));
        Some(file.into_iter().chain(lines).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn a_query_matches_a_version_as_a_search_does() {
        let text = "one\ntwo\nthree\none two\n";
        for (query, expected) in [
            ("one", Some("1:one 4:one two")),
            ("one two", Some("1:one 2:two 4:one two")),
            ("one four", None),
            ("one -three", None),
            ("one -four", Some("1:one 4:one two")),
            ("one or four", Some("1:one 4:one two")),
            ("-four", Some("file")),
            ("file:a.rs", Some("file")),
            ("a.rs", Some("file")),
            ("two file:a", Some("file 2:two 4:one two")),
            ("two file:b", None),
            ("two repo:acme", Some("2:two 4:one two")),
            ("two repo:other", None),
            ("two lang:rust", Some("2:two 4:one two")),
            ("two lang:go", None),
            ("type:file two", Some("file")),
            ("two\\nthree", Some("2:two 3:three")),
            ("TWO", None),
            ("^$", None),
        ] {
            assert_eq!(told(query, "src/a.rs", text).as_deref(), expected, "{query}");
        }
        assert_eq!(told("one", "x", ""), None);
        assert_eq!(told("-one", "x", "").as_deref(), Some("file"));
        // Letters that fold to ASCII ones.
        assert_eq!(told("kelvin", "x", "\u{212a}elvin\n").as_deref(), Some("1:\u{212a}elvin"));
    }

    #[test]
    fn a_query_that_takes_too_long_is_late() {
        let standing = Standing::new("one").unwrap();
        let text = Text::new("one\n".to_owned());
        let repo = CatalogRepo::default();
        let side = Side { repo: &repo, path: "p", language: None, text: &text };
        let mut work = Work::new(&standing, Duration::ZERO);
        assert_eq!(standing.matches(&side, &mut work), Err(Late));
    }
}
