//! The symbols of a text: its definitions, with the kind, the container and the extent of each.
//!
//! [`take`] parses the text with tree-sitter and walks the tree with a table of its language: the nodes that define
//! symbols, the kinds, and where the names are ([`grammar`], one small file for each language in [`languages`]). It
//! gives up texts that exceed the limits, with a [`Reason`].
//!
//! This crate does no I/O.

mod blanks;
mod finish;
mod grammar;
mod guard;
mod label;
mod languages;
mod markdown;
mod reserved;
pub mod scip;
mod traverse;
mod walk;

use std::ops::Range;

use query::SymbolKind;
use tree_sitter::Tree;

use crate::grammar::{Grammar, Neighbour};

pub use guard::{
    MAX_BYTES, MAX_LINE_BYTES, MAX_NAME_BYTES, MAX_NESTING, MAX_SECONDS, MAX_SYMBOLS, Reason,
};
pub use label::{Label, labels};

/// The version of what [`take`] returns. Raise it when symbols must be extracted again.
pub const FORMAT: i32 = 5;

/// A definition in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its kind.
    pub kind: SymbolKind,
    /// The byte range of its name.
    pub name: Range<usize>,
    /// The end of its definition, in bytes.
    pub end: usize,
    /// The line of its name, from 1.
    pub line: usize,
    /// The index of the symbol that contains it.
    pub parent: Option<usize>,
}

/// The symbols of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The symbols, in the order in which their names begin. No two begin at the same place.
    pub symbols: Vec<Symbol>,
    /// Why some symbols are missing.
    pub given_up: Option<Reason>,
}

/// Returns the names of the languages that have symbols, in lowercase.
pub fn languages() -> Vec<&'static str> {
    let mut names: Vec<&str> = markdown::NAMES.to_vec();
    names.extend(languages::ALL.iter().flat_map(|grammar| grammar.names));
    names.sort_unstable();
    names
}

/// Parses a text. A text in a given language may really be in a neighbouring one: C++ in C headers, elements (`<a/>`)
/// in TypeScript.
fn parse(grammar: &'static Grammar, text: &str) -> Result<(&'static Grammar, Tree), Reason> {
    if let Some(Neighbour { grammar: other, signs }) = grammar.neighbour
        && signs.iter().any(|sign| text.contains(sign))
    {
        let tree = guard::parse(other, text)?;
        if !tree.root_node().has_error() {
            return Ok((other, tree));
        }
        let plain = guard::parse(grammar, text)?;
        let is_plain = !plain.root_node().has_error();
        return Ok(if is_plain { (grammar, plain) } else { (other, tree) });
    }
    guard::parse(grammar, text).map(|tree| (grammar, tree))
}

/// Returns the symbols of a text in a language, given in lowercase; `None` if the language has no symbols.
pub fn take(language: &str, text: &str) -> Option<Taken> {
    let grammar = languages::ALL.iter().find(|grammar| grammar.names.contains(&language));
    if grammar.is_none() && !markdown::NAMES.contains(&language) {
        return None;
    }
    if let Err(reason) = guard::check(text) {
        return Some(Taken { symbols: Vec::new(), given_up: Some(reason) });
    }
    let found = match grammar {
        None => Ok(finish::finish(markdown::headings(text), text, &reserved::NONE, |_| "")),
        Some(grammar) => parse(grammar, text).map(|(grammar, tree)| {
            let language = grammar.language();
            let kind = |id| language.node_kind_for_id(id).unwrap_or_default();
            let found = traverse::definitions(grammar, &tree, text);
            finish::finish(found, text, grammar.reserved, kind)
        }),
    };
    Some(match found {
        Ok(taken) => taken,
        Err(reason) => Taken { symbols: Vec::new(), given_up: Some(reason) },
    })
}
