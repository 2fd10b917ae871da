//! Turns definitions, as found, into the symbols of a text: in order, each once, with its container.

use std::collections::HashMap;

use query::SymbolKind;

use crate::guard::{MAX_NAME_BYTES, MAX_SYMBOLS, Reason};
use crate::reserved::Reserved;
use crate::walk::{Found, Owner, Parent, is_type};
use crate::{Symbol, Taken};

/// Makes symbols of the definitions found. Names that are reserved words are left out here.
pub(crate) fn finish<'g>(
    mut found: Vec<Found>,
    text: &str,
    reserved: &Reserved,
    node_kind: impl Fn(u16) -> &'g str,
) -> Taken {
    let mut given_up = None;
    name_owners(&mut found, text);
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_key(|at| found[*at].name.start);
    let mut symbols: Vec<Symbol> = Vec::with_capacity(order.len());
    // The index of each symbol, or of another one at the same place; `None` for one that is left out.
    let mut places: Vec<Option<usize>> = vec![None; found.len()];
    for at in order {
        let Found { kind, name, end, row, node, .. } = &found[at];
        let text = &text[name.clone()];
        if reserved.forbids(text, *kind, || node_kind(*node)) {
            continue;
        }
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
            let parent = placed(*parent, &found, &places).filter(|parent| parent != place);
            symbols[*place].parent = symbols[*place].parent.or(parent);
        }
    }
    cut_circles(&mut symbols);
    Taken { symbols, given_up }
}

/// Returns the index of a symbol; for one that is left out, that of its container.
fn placed(mut at: usize, found: &[Found], places: &[Option<usize>]) -> Option<usize> {
    for _ in 0..found.len() {
        match (places[at], &found[at].parent) {
            (Some(place), _) => return Some(place),
            (None, Parent::Symbol(parent)) => at = *parent,
            (None, _) => return None,
        }
    }
    None
}

/// Finds the types named as owners of members. Adds those not defined in this text as implementations.
fn name_owners(found: &mut Vec<Found>, text: &str) {
    let members: Vec<(usize, Owner)> = (0..)
        .zip(&*found)
        .filter_map(|(at, symbol)| match &symbol.parent {
            Parent::Named(owner) => Some((at, owner.clone())),
            _ => None,
        })
        .collect();
    if members.is_empty() {
        return;
    }
    let mut types: HashMap<&str, usize> = HashMap::new();
    let is_type = |kind: SymbolKind| {
        kind.defines() && is_type(kind) && kind != SymbolKind::EnumMember
            || kind == SymbolKind::Variable
    };
    for is_owner in [is_type, is_scope] {
        for (at, symbol) in found.iter().enumerate().filter(|(_, symbol)| is_owner(symbol.kind)) {
            types.entry(&text[symbol.name.clone()]).or_insert(at);
        }
    }
    // Owners with a longer name, by their container.
    let mut within: HashMap<(Option<usize>, &str), usize> = HashMap::new();
    let may_own =
        |kind: SymbolKind| is_type(kind) || is_scope(kind) || kind == SymbolKind::Implementation;
    for (at, symbol) in found.iter().enumerate().filter(|(_, symbol)| may_own(symbol.kind)) {
        if let Parent::Symbol(parent) = symbol.parent {
            within.entry((Some(parent), &text[symbol.name.clone()])).or_insert(at);
        }
    }
    let mut rows = Rows::default();
    for (at, Owner { path, around }) in members {
        let mut owner = None;
        for part in path {
            let name = &text[part.clone()];
            let known = if owner.is_none() { types.get(name).copied() } else { None };
            let around = owner.or(around);
            owner = Some(known.unwrap_or_else(|| {
                *within.entry((around, name)).or_insert_with(|| {
                    let parent = around.map_or(Parent::None, Parent::Symbol);
                    let (kind, end, row) =
                        (SymbolKind::Implementation, part.end, rows.row(text, part.start));
                    found.push(Found { kind, name: part, end, row, parent, node: 0 });
                    found.len() - 1
                })
            }));
        }
        found[at].parent = match owner {
            Some(owner) if owner != at => Parent::Symbol(owner),
            _ => Parent::None,
        };
    }
}

/// Returns whether symbols of a kind contain parts of a qualified name, without being types.
fn is_scope(kind: SymbolKind) -> bool {
    matches!(kind, SymbolKind::Namespace | SymbolKind::Module)
}

/// Counts lines up to places, most of them in order.
#[derive(Default)]
struct Rows {
    at: usize,
    row: usize,
}

impl Rows {
    fn row(&mut self, text: &str, at: usize) -> usize {
        if at < self.at {
            *self = Self::default();
        }
        self.row += text[self.at..at].matches('\n').count();
        self.at = at;
        self.row
    }
}

/// Removes cycles of containers: after errors in a text, two symbols may contain one another.
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
