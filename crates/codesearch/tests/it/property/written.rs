//! Writes generated queries as text.

use std::fmt;

use fastrand::Rng;

use super::generate::{Case, Field, Node, Query, Select};

/// Writes a pattern for a query: bare if possible, else in quotes or slashes.
pub(super) fn write(rng: &mut Rng, pattern: &str) -> String {
    let plain = |c: char| {
        c.is_alphanumeric()
            || matches!(c, '_' | '.' | '\\' | '*' | '+' | '?' | '$' | '^' | '=' | '>')
    };
    let bare = !pattern.is_empty()
        && pattern.chars().all(plain)
        && !matches!(pattern, "or" | "and" | "not")
        && !pattern.ends_with('\\');
    match rng.u8(0..3) {
        0 | 1 if bare => pattern.to_owned(),
        0 if !pattern.is_empty() && !pattern.contains('/') => {
            format!("regex:\"{}\"", quoted(pattern))
        }
        _ => format!("\"{}\"", quoted(pattern)),
    }
}

pub(super) fn quoted(pattern: &str) -> String {
    pattern.replace('\\', "\\\\").replace('"', "\\\"")
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        settings(
            f,
            Some(self.case).filter(|case| *case != Case::Auto),
            self.multiline.then_some(true),
        )?;
        match self.select {
            Select::Lines => {}
            Select::Files => f.write_str("type:file ")?,
            Select::Repos => f.write_str("type:repo ")?,
        }
        // In parentheses, so that neighbours do not become part of an alternative.
        write!(f, "( {} )", self.node)
    }
}

fn settings(
    f: &mut fmt::Formatter<'_>,
    case: Option<Case>,
    multiline: Option<bool>,
) -> fmt::Result {
    match case {
        None => {}
        Some(Case::Yes) => f.write_str("case:yes ")?,
        Some(Case::No) => f.write_str("case:no ")?,
        Some(Case::Auto) => f.write_str("case:auto ")?,
    }
    match multiline {
        None => Ok(()),
        Some(true) => f.write_str("multiline:yes "),
        Some(false) => f.write_str("multiline:no "),
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::Term(term) => {
                let field = match term.field {
                    Field::Any => "",
                    Field::Content => "content:",
                    Field::Path => "file:",
                    Field::Repo => "repo:",
                    Field::Symbol => "sym:",
                    Field::Added => "added:",
                    Field::Removed => "removed:",
                };
                let written = match term.field {
                    Field::Any => &term.written,
                    _ => term.written.trim_start_matches("regex:"),
                };
                if term.kinds.is_empty() {
                    return write!(f, "{field}{written}");
                }
                let kinds: Vec<&str> = term.kinds.iter().map(|(_, word)| *word).collect();
                write!(f, "( {field}{written} kind:{} )", kinds.join(","))
            }
            Node::Language(name) => write!(f, "lang:{}", name.to_lowercase()),
            Node::Property(field) => f.write_str(field),
            Node::Not(inner) => write!(f, "-( {inner} )"),
            Node::And(parts) => join(f, parts, " "),
            Node::Or(parts) => join(f, parts, " or "),
            Node::Group(inner, case, multiline) => {
                f.write_str("( ")?;
                settings(f, *case, *multiline)?;
                write!(f, "{inner} )")
            }
        }
    }
}

fn join(f: &mut fmt::Formatter<'_>, parts: &[Node], word: &str) -> fmt::Result {
    f.write_str("( ")?;
    for (i, part) in parts.iter().enumerate() {
        f.write_str(if i > 0 { word } else { "" })?;
        write!(f, "{part}")?;
    }
    f.write_str(" )")
}
