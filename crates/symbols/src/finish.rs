//! From definitions as they were found to the symbols of a text: in order, each once, with its container.

use std::collections::HashMap;
use std::ops::Range;

use query::SymbolKind;

use crate::guard::{MAX_NAME_BYTES, MAX_SYMBOLS, Reason};
use crate::walk::{Found, Parent, is_type};
use crate::{Symbol, Taken};

/// Makes symbols of what was found.
pub(crate) fn finish(mut found: Vec<Found>, text: &str) -> Taken {
    let mut given_up = None;
    name_owners(&mut found, text);
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|at| found[*at].name.start);
    let mut symbols: Vec<Symbol> = Vec::with_capacity(order.len());
    // The index of each symbol, or of the one that was found at the same place; none for one that was left out.
    let mut places: Vec<Option<usize>> = vec![None; found.len()];
    for at in order {
        let Found { kind, name, end, row, .. } = &found[at];
        let text = &text[name.clone()];
        if text.len() > MAX_NAME_BYTES {
            given_up.get_or_insert(Reason::LongName);
            continue;
        }
        if text.trim().is_empty() || text.contains('\n') {
            continue;
        }
        if symbols.last().is_some_and(|last| last.name.start == name.start) {
            places[at] = Some(symbols.len() - 1);
            continue;
        }
        if symbols.len() == MAX_SYMBOLS {
            given_up = Some(Reason::TooMany);
            break;
        }
        places[at] = Some(symbols.len());
        symbols.push(Symbol {
            kind: *kind,
            name: name.clone(),
            end: (*end).max(name.end),
            line: row + 1,
            parent: None,
        });
    }
    for (at, place) in places.iter().enumerate() {
        if let (Some(place), Parent::Symbol(parent)) = (place, &found[at].parent) {
            let parent = places[*parent].filter(|parent| parent != place);
            symbols[*place].parent = symbols[*place].parent.or(parent);
        }
    }
    cut_circles(&mut symbols);
    Taken { symbols, given_up }
}

/// Finds the types that are named as owners of members, and adds those that are not defined in this text as
/// implementations.
fn name_owners(found: &mut Vec<Found>, text: &str) {
    let members: Vec<(usize, Range<usize>, usize)> = (0..)
        .zip(&*found)
        .filter_map(|(at, symbol)| match &symbol.parent {
            Parent::Named(name, row) => Some((at, name.clone(), *row)),
            _ => None,
        })
        .collect();
    if members.is_empty() {
        return;
    }
    let mut types: HashMap<&str, usize> = HashMap::new();
    for (at, symbol) in found.iter().enumerate() {
        if (is_type(symbol.kind) && symbol.kind.defines()) || symbol.kind == SymbolKind::Variable {
            types.entry(&text[symbol.name.clone()]).or_insert(at);
        }
    }
    for (at, name, row) in members {
        let owner = *types.entry(&text[name.clone()]).or_insert_with(|| {
            let (kind, end) = (SymbolKind::Implementation, name.end);
            found.push(Found { kind, name, end, row, parent: Parent::None });
            found.len() - 1
        });
        found[at].parent = if owner == at { Parent::None } else { Parent::Symbol(owner) };
    }
}

/// Makes sure that containers end: errors in a text may have made two symbols contain one another.
fn cut_circles(symbols: &mut [Symbol]) {
    for at in 0..symbols.len() {
        let mut above = symbols[at].parent;
        let mut steps = 0;
        while let Some(next) = above {
            steps += 1;
            if next == at || steps > symbols.len() {
                symbols[at].parent = None;
                break;
            }
            above = symbols[next].parent;
        }
    }
}
