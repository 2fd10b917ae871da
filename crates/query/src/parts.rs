//! The top-level parts of a query, from which callers build variants: the query without one of its terms, or with `or`
//! between them.

use std::ops::Range;

use crate::error::QueryError;
use crate::field::FieldName;
use crate::group::{Parser, Part, is_setting};
use crate::lex::opens_group;
use crate::pattern::{Case, Pattern};
use crate::write::{escape, literal, quoted, written};

/// A query as a list of parts that must all match, and its settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryParts {
    /// The parts, in order. A top-level alternation is one part.
    pub parts: Vec<QueryPart>,
    /// The settings as typed.
    settings: Vec<String>,
}

/// A part of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryPart {
    /// The part as typed, or in quotes if it could absorb the text after it.
    pub text: String,
    /// The kind of part.
    pub kind: PartKind,
    /// The part with its pattern as literal text, if that is another pattern.
    pub as_text: Option<String>,
    /// The pattern or name, without field and quotes; empty for groups and exclusions.
    pub value: String,
    /// The part with a pattern in which a carriage return before a line feed belongs to the end of a line, if that is
    /// another pattern.
    crlf: Option<String>,
    /// Whether it searches for the name of a symbol.
    is_symbol: bool,
}

/// The kinds of parts of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// A term that must match in a file's lines or path.
    Term,
    /// Several terms in parentheses, or the alternatives of a query.
    Group,
    /// A condition on the names of repositories.
    Repo,
    /// A condition on the paths of files.
    Path,
    /// A condition on the language of files.
    Language,
    /// A condition on what else is known of repositories.
    Property,
    /// The kinds of symbols.
    Kind,
    /// A condition on the trees that have the file.
    Tree,
    /// A pattern that makes the query a search of the history: `history:`.
    History,
    /// A pattern that must not match.
    Exclusion,
}

impl QueryParts {
    /// Splits a query into its parts.
    ///
    /// # Errors
    /// The query cannot be parsed.
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
                vec![QueryPart::group(in_parentheses(&any.join(" or ")))]
            }
        };
        Ok(Self { parts, settings })
    }

    /// Returns the query made of the parts for which `wanted` is true, and the settings.
    pub fn with(&self, wanted: impl Fn(&QueryPart) -> bool) -> String {
        self.together(self.parts.iter().filter(|part| wanted(part)).map(|part| part.text.clone()))
    }

    /// Returns the query in which any term may match, instead of all.
    pub fn any_term(&self) -> String {
        let is_term = |part: &&QueryPart| part.kind == PartKind::Term;
        let terms: Vec<&str> =
            self.parts.iter().filter(is_term).map(|part| part.text.as_str()).collect();
        let any = match terms[..] {
            [term] => term.to_owned(),
            _ => in_parentheses(&terms.join(" or ")),
        };
        let others = self.parts.iter().filter(|part| !is_term(part)).map(|part| part.text.clone());
        self.together(std::iter::once(any).chain(others))
    }

    /// Returns the query with the patterns of its terms as literal text, if that is another query.
    pub fn as_text(&self) -> Option<String> {
        let changes = |part: &QueryPart| part.kind == PartKind::Term && part.as_text.is_some();
        let text = |part: &QueryPart| match &part.as_text {
            Some(text) if part.kind == PartKind::Term => text.clone(),
            _ => part.text.clone(),
        };
        self.parts.iter().any(changes).then(|| self.together(self.parts.iter().map(text)))
    }

    /// Returns the query in whose terms a carriage return before a line feed belongs to the end of a line, if that is
    /// another query.
    pub fn with_crlf(&self) -> Option<String> {
        let written = |part: &QueryPart| part.crlf.as_ref().unwrap_or(&part.text).clone();
        let changes = self.parts.iter().any(|part| part.crlf.is_some());
        changes.then(|| self.together(self.parts.iter().map(written)))
    }

    /// Returns the query that searches for the names of symbols as text, if it has any.
    pub fn symbols_as_text(&self) -> Option<String> {
        let written = |part: &QueryPart| {
            if part.is_symbol { literal(&part.value) } else { part.text.clone() }
        };
        let others = self.parts.iter().filter(|part| part.kind != PartKind::Kind);
        self.parts.iter().any(|part| part.is_symbol).then(|| self.together(others.map(written)))
    }

    /// Returns the query with `case:no`.
    pub fn ignoring_case(&self) -> String {
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
        let (as_text, crlf, value) = (None, None, String::new());
        Self { text, kind: PartKind::Group, as_text, value, crlf, is_symbol: false }
    }

    fn of(part: &Part, text: String) -> Self {
        let word = match part {
            Part::Group(..) => return Self::group(text),
            Part::Not(..) => {
                let kind = PartKind::Exclusion;
                return Self { kind, ..Self::group(text) };
            }
            Part::Word(_, word) => word,
        };
        let kind = match word.field {
            Some(FieldName::Path | FieldName::Extension | FieldName::FileName) => PartKind::Path,
            Some(FieldName::Repo | FieldName::Owner) => PartKind::Repo,
            Some(FieldName::Language) => PartKind::Language,
            Some(FieldName::Switch(_) | FieldName::Topic | FieldName::Meta) => PartKind::Property,
            Some(FieldName::Kind) => PartKind::Kind,
            Some(FieldName::Tree(_)) => PartKind::Tree,
            Some(FieldName::History) => PartKind::History,
            _ => PartKind::Term,
        };
        let value = word.text[..word.revision.unwrap_or(word.text.len())].to_owned();
        let escaped = escape(&value);
        let as_text = match word.field {
            _ if escaped == value => None,
            None | Some(FieldName::Regex) => Some(literal(&value)),
            Some(FieldName::Content) => Some(written("content", &escaped)),
            Some(FieldName::History) => Some(written("history", &escaped)),
            Some(FieldName::Added) => Some(written("added", &escaped)),
            Some(FieldName::Removed) => Some(written("removed", &escaped)),
            _ => None,
        };
        // A slash or an open parenthesis at the start would search for its end in the text after it.
        let field = text.find(':').filter(|_| word.field.is_some()).map_or("", |at| &text[..=at]);
        let typed = &text[field.len()..];
        let takes_more = typed.starts_with('/')
            || typed.starts_with('(') && field.is_empty() && opens_group(&format!("{typed} "));
        let text = match word.field {
            None
            | Some(
                FieldName::Regex
                | FieldName::Content
                | FieldName::Added
                | FieldName::Removed
                | FieldName::History,
            ) if takes_more => {
                format!("{field}{}", quoted(&value))
            }
            _ => text,
        };
        let is_symbol = word.field == Some(FieldName::Symbol);
        let crlf = crlf(word.field, &value);
        Self { text, kind, as_text, value, crlf, is_symbol }
    }
}

/// Returns a term in which `$` matches before a carriage return and a line feed, too; `None` if that matches the same.
fn crlf(field: Option<FieldName>, value: &str) -> Option<String> {
    let pattern = Pattern::parse(value, Case::Smart, false).ok()?;
    if !pattern.ends_at_line_feed() {
        return None;
    }
    let value = format!("(?R){value}");
    match field {
        None | Some(FieldName::Regex | FieldName::Content) => Some(written("content", &value)),
        _ => None,
    }
}

/// Returns a query as a group. A space keeps the parenthesis out of a last term with an unclosed one, such as `lit:f(`.
fn in_parentheses(query: &str) -> String {
    let group = format!("({query})");
    if Parser::new(&group).whole().is_ok() { group } else { format!("({query} )") }
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
        assert_eq!(parts.ignoring_case(), "(Foo or b.r) case:no");
        let parts = QueryParts::of("sym:Read(er)? kind:class lang:go").unwrap();
        assert_eq!(parts.symbols_as_text().unwrap(), "lit:Read(er)? lang:go");
        assert_eq!(QueryParts::of("Read").unwrap().symbols_as_text(), None);
        let parts = QueryParts::of("x$ \"a b$|^$\" y lit:z$ -file:q$ sym:n$").unwrap();
        assert_eq!(
            parts.with_crlf().unwrap(),
            "content:\"(?R)x$\" content:\"(?R)a b$|^$\" y lit:z$ -file:q$ sym:n$"
        );
        assert_eq!(QueryParts::of(r"x\$ [$]").unwrap().with_crlf(), None);
        let parts = QueryParts::of("a diff:x..y added:b rev:c repo:d@e").unwrap();
        assert_eq!(parts.any_term(), "(a or added:b) rev:c repo:d@e diff:x..y");
        assert_eq!(parts.parts[3].value, "d");
        let parts = QueryParts::of("history:a b added:c").unwrap();
        assert_eq!(parts.any_term(), "(b or added:c) history:a");
        assert_eq!(parts.parts[0].kind, PartKind::History);
        let parts = QueryParts::of("history:* added:/x/ y").unwrap();
        assert_eq!(parts.any_term(), "(added:\"x\" or y) history:*");
        let parts = QueryParts::of("/a b/\\\t-").unwrap();
        assert_eq!(QueryParts::of("(]\")\"").unwrap().ignoring_case(), "\"(])\" case:no");
        assert_eq!(parts.as_text().unwrap(), "\"/a\" lit:\"b/\t-\"");
        let parts = QueryParts::of("not lit:/ content:/ ]").unwrap();
        assert_eq!(parts.any_term(), "(content:\"/\" or ]) not lit:/");
        let parts = QueryParts::of("a or lit:f(").unwrap();
        assert_eq!(parts.with(|_| true), "(a or lit:f( )");
        assert_eq!(QueryParts::of("lit:f( lang:c").unwrap().any_term(), "lit:f( lang:c");
        assert_eq!(QueryParts::of("lit:f( x").unwrap().any_term(), "(lit:f( or x)");
        assert_eq!(QueryParts::of("x lit:f(").unwrap().any_term(), "(x or lit:f( )");
        let parts = QueryParts::of("a[i] lit:b( content:c.d (x y)").unwrap();
        assert_eq!(parts.as_text().unwrap(), r"lit:a[i] lit:b( content:c\.d (x y)");
    }
}
