//! Symbols as JSON.

use answer::symbol::{LineSymbol, Symbol};
use serde::Serialize;

/// A symbol whose name is a match in a line.
#[derive(Debug, Serialize)]
pub(crate) struct SymbolJson<'s> {
    name: &'s str,
    kind: &'s str,
    container: Option<&'s str>,
    line: u64,
    /// The byte range of the name in the line.
    start: usize,
    end: usize,
}

/// The symbol around a line.
#[derive(Debug, Serialize)]
pub(crate) struct EnclosingJson<'s> {
    name: &'s str,
    kind: &'s str,
    container: Option<&'s str>,
    line: u64,
}

impl<'s> From<&'s LineSymbol> for SymbolJson<'s> {
    fn from(found: &'s LineSymbol) -> Self {
        let LineSymbol { range, symbol } = found;
        Self {
            name: &symbol.name,
            kind: symbol.kind,
            container: container(symbol),
            line: symbol.line,
            start: range.start,
            end: range.end,
        }
    }
}

impl<'s> From<&'s Symbol> for EnclosingJson<'s> {
    fn from(symbol: &'s Symbol) -> Self {
        let container = container(symbol);
        Self { name: &symbol.name, kind: symbol.kind, container, line: symbol.line }
    }
}

/// Returns the name of a symbol's container.
fn container(symbol: &Symbol) -> Option<&str> {
    symbol.container.as_ref().map(|(name, _)| name.as_str())
}
