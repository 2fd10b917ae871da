//! Literal queries: Boolean expressions over the strings that a text must contain.

use std::fmt;

use crate::trigram::{frequency, has_trigram};

/// The literals that a text must contain to match. A text that contains them may still not match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiteralQuery {
    /// No literal that a trigram index can look up: every text is a candidate.
    Anything,
    /// This folded string, in any case.
    Literal(String),
    /// All these; at least two.
    All(Vec<LiteralQuery>),
    /// At least one of these; at least two.
    Any(Vec<LiteralQuery>),
}

impl LiteralQuery {
    /// Returns the number of strings.
    pub fn strings(&self) -> usize {
        let mut count = 0;
        self.literals(&mut |_| count += 1);
        count
    }

    /// Returns the part that the trigram indexes can answer: [`LiteralQuery::Anything`] replaces each literal without a
    /// trigram.
    #[must_use]
    pub fn with_trigrams(&self) -> LiteralQuery {
        let each = |parts: &[LiteralQuery]| parts.iter().map(LiteralQuery::with_trigrams).collect();
        match self {
            LiteralQuery::Literal(text) if !has_trigram(text) => LiteralQuery::Anything,
            LiteralQuery::All(parts) => LiteralQuery::all(each(parts)),
            LiteralQuery::Any(parts) => LiteralQuery::any(each(parts)),
            other => other.clone(),
        }
    }

    /// Calls `seen` with each string.
    pub fn literals<'a>(&'a self, seen: &mut impl FnMut(&'a str)) {
        match self {
            LiteralQuery::Anything => {}
            LiteralQuery::Literal(text) => seen(text),
            LiteralQuery::All(parts) | LiteralQuery::Any(parts) => {
                for part in parts {
                    part.literals(seen);
                }
            }
        }
    }

    /// Returns an upper estimate of how many of 1000 chunks of ordinary code satisfy the query.
    pub fn frequency(&self) -> u32 {
        match self {
            LiteralQuery::Anything => 1000,
            LiteralQuery::Literal(text) => frequency(text),
            LiteralQuery::All(parts) => {
                parts.iter().map(LiteralQuery::frequency).min().unwrap_or(1000)
            }
            LiteralQuery::Any(parts) => {
                parts.iter().map(LiteralQuery::frequency).sum::<u32>().min(1000)
            }
        }
    }

    /// Returns the conjunction of some parts.
    pub(crate) fn all(parts: Vec<LiteralQuery>) -> LiteralQuery {
        let mut all = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                LiteralQuery::Anything => {}
                LiteralQuery::All(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        dedup(&mut all);
        match all.len() {
            0 => LiteralQuery::Anything,
            1 => all.remove(0),
            _ => LiteralQuery::All(all),
        }
    }

    /// Returns the disjunction of some parts.
    pub(crate) fn any(parts: Vec<LiteralQuery>) -> LiteralQuery {
        if parts.is_empty() || parts.contains(&LiteralQuery::Anything) {
            return LiteralQuery::Anything;
        }
        let mut any = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                LiteralQuery::Any(inner) => any.extend(inner),
                other => any.push(other),
            }
        }
        dedup(&mut any);
        if any.len() == 1 { any.remove(0) } else { LiteralQuery::Any(any) }
    }
}

/// Prints as a Boolean expression over quoted strings: `"foo" AND ("bar" OR "baz")`.
impl fmt::Display for LiteralQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, parts) = match self {
            LiteralQuery::Anything => return f.write_str("anything"),
            LiteralQuery::Literal(text) => return write!(f, "{text:?}"),
            LiteralQuery::All(parts) => (" AND ", parts),
            LiteralQuery::Any(parts) => (" OR ", parts),
        };
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                f.write_str(word)?;
            }
            match part {
                LiteralQuery::All(_) | LiteralQuery::Any(_) => write!(f, "({part})")?,
                _ => write!(f, "{part}")?,
            }
        }
        Ok(())
    }
}

/// Removes duplicates; keeps the first of each. Quadratic, for lists of a few dozen items.
pub(crate) fn dedup<T: PartialEq>(items: &mut Vec<T>) {
    let mut kept = Vec::with_capacity(items.len());
    for item in items.drain(..) {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    *items = kept;
}
