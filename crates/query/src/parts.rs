//! A query in parts, to be put together anew: for programs that tell what a query without a term, or with `or` between
//! its terms, would find.

use std::ops::Range;

use crate::error::QueryError;
use crate::field::FieldName;
use crate::group::{Parser, Part, is_setting};
use crate::write::{escape, literal, written};

/// A query in parts that must all hold, and its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryParts {
    /// The parts, in order. Alternatives are one part together.
    pub parts: Vec<QueryPart>,
    /// The settings, as they were typed.
    settings: Vec<String>,
}

/// A part of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryPart {
    /// As it was typed.
    pub text: String,
    /// What it is.
    pub kind: PartKind,
    /// The same with its pattern taken as a text, if that is another pattern.
    pub as_text: Option<String>,
    /// The pattern or the name that it asks for, without field and quotes; empty for a group.
    pub value: String,
}

/// What a part of a query is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// A term that must match in a file's lines or path.
    Term,
    /// Several of them.
    Group,
    /// The names of repositories.
    Repo,
    /// The paths of files.
    Path,
    /// The language of files.
    Language,
    /// The kinds of symbols.
    Kind,
    /// What must not match.
    Exclusion,
}

impl QueryParts {
    /// The parts of a query.
    ///
    /// # Errors
    /// It is none.
    pub fn of(query: &str) -> Result<Self, QueryError> {
        let group = Parser::new(query).whole()?;
        let mut settings = Vec::new();
        let mut alternatives: Vec<Vec<Part>> = Vec::new();
        for alternative in group.alternatives {
            let mut parts = Vec::new();
            for part in alternative {
                match part {
                    Part::Word(_, word) if is_setting(&word) => {
                        settings.push(query[word.range].to_owned());
                    }
                    other => parts.push(other),
                }
            }
            alternatives.push(parts);
        }
        let text = |range: Range<usize>| query[range].to_owned();
        let parts = match alternatives.len() {
            1 => {
                let parts = alternatives.remove(0).into_iter();
                parts.map(|part| QueryPart::of(&part, text(part.range()))).collect()
            }
            _ => {
                let all = |parts: &Vec<Part>| -> String {
                    let parts: Vec<String> = parts.iter().map(|part| text(part.range())).collect();
                    parts.join(" ")
                };
                let any: Vec<String> = alternatives.iter().map(all).collect();
                vec![QueryPart::group(format!("({})", any.join(" or ")))]
            }
        };
        Ok(Self { parts, settings })
    }

    /// The query of some of its parts.
    pub fn with(&self, wanted: impl Fn(&QueryPart) -> bool) -> String {
        self.together(self.parts.iter().filter(|part| wanted(part)).map(|part| part.text.clone()))
    }

    /// The query in which one of the terms suffices.
    pub fn any_term(&self) -> String {
        let is_term = |part: &&QueryPart| part.kind == PartKind::Term;
        let terms: Vec<&str> =
            self.parts.iter().filter(is_term).map(|part| part.text.as_str()).collect();
        let any = format!("({})", terms.join(" or "));
        let others = self.parts.iter().filter(|part| !is_term(part)).map(|part| part.text.clone());
        self.together(std::iter::once(any).chain(others))
    }

    /// The query in which the patterns of its terms are texts, if that is another one.
    pub fn as_text(&self) -> Option<String> {
        let changes = |part: &QueryPart| part.kind == PartKind::Term && part.as_text.is_some();
        let text = |part: &QueryPart| match &part.as_text {
            Some(text) if part.kind == PartKind::Term => text.clone(),
            _ => part.text.clone(),
        };
        self.parts.iter().any(changes).then(|| self.together(self.parts.iter().map(text)))
    }

    /// The query in any case.
    pub fn in_any_case(&self) -> String {
        let mut other = self.clone();
        let is_case = |setting: &String| setting.to_ascii_lowercase().starts_with("case:");
        other.settings.retain(|setting| !is_case(setting));
        other.settings.push("case:no".to_owned());
        other.with(|_| true)
    }

    fn together(&self, parts: impl Iterator<Item = String>) -> String {
        let all: Vec<String> = parts.chain(self.settings.iter().cloned()).collect();
        all.join(" ")
    }
}

impl QueryPart {
    fn group(text: String) -> Self {
        Self { text, kind: PartKind::Group, as_text: None, value: String::new() }
    }

    fn of(part: &Part, text: String) -> Self {
        let word = match part {
            Part::Group(..) => return Self::group(text),
            Part::Not(..) => {
                let kind = PartKind::Exclusion;
                return Self { text, kind, as_text: None, value: String::new() };
            }
            Part::Word(_, word) => word,
        };
        let kind = match word.field {
            Some(FieldName::Path | FieldName::Extension | FieldName::FileName) => PartKind::Path,
            Some(FieldName::Repo | FieldName::Owner) => PartKind::Repo,
            Some(FieldName::Language) => PartKind::Language,
            Some(FieldName::Kind) => PartKind::Kind,
            _ => PartKind::Term,
        };
        let value = word.text.clone();
        let escaped = escape(&value);
        let as_text = match word.field {
            _ if escaped == value => None,
            None | Some(FieldName::Regex) => Some(literal(&value)),
            Some(FieldName::Content) => Some(written("content", &escaped)),
            _ => None,
        };
        Self { text, kind, as_text, value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PartKind::{Exclusion, Language, Repo, Term};

    #[test]
    fn a_query_is_put_together_anew() {
        let parts = QueryParts::of("foo count:5 \"a b\" lang:go -file:_test repo:x").unwrap();
        let kinds: Vec<PartKind> = parts.parts.iter().map(|part| part.kind).collect();
        assert_eq!(kinds, [Term, Term, Language, Exclusion, Repo]);
        assert_eq!(
            parts.with(|part| part.kind != Language),
            "foo \"a b\" -file:_test repo:x count:5"
        );
        assert_eq!(parts.any_term(), "(foo or \"a b\") lang:go -file:_test repo:x count:5");
        assert_eq!(parts.as_text(), None);
        let parts = QueryParts::of("Foo or b.r case:yes").unwrap();
        assert_eq!(parts.in_any_case(), "(Foo or b.r) case:no");
        let parts = QueryParts::of("a[i] lit:b( content:c.d (x y)").unwrap();
        assert_eq!(parts.as_text().unwrap(), r"lit:a[i] lit:b( content:c\.d (x y)");
    }
}
