//! Converts places in a text to lines of a matching file.

use query::SymbolKind;
use store::{Occurrence, ScipPlace, SymbolRow};

use answer::symbol::{LineSymbol, Symbol, Symbols};
use answer::{FileMatch, Line};
use symbols::scip::Parts;

/// An occurrence of a symbol in a document: the document, the symbol and its place.
pub(super) type SymbolPlace<'p> = (&'p ScipPlace, &'p str, &'p Occurrence);

/// Makes a file from places in one text, which may come from several documents; `None` if there are no places.
pub(super) fn file_match(
    mut told: Vec<SymbolPlace<'_>>,
    (repo, rank): (&str, u16),
    text: &str,
    row: Option<&SymbolRow>,
) -> Option<FileMatch> {
    told.sort_by_key(|(_, _, one)| (one.start, std::cmp::Reverse(one.len)));
    told.dedup_by_key(|(_, _, one)| one.start);
    let (place, ..) = *told.first()?;
    let mut lines: Vec<Line> = Vec::new();
    let mut counted = (1, 0);
    for (place, symbol, one) in told {
        let start = one.start as usize;
        // A document of another text is rejected earlier; a damaged one is skipped here.
        if text.get(start..one.end() as usize).is_none() {
            continue;
        }
        let offset = text[..start].rfind('\n').map_or(0, |at| at + 1);
        counted.0 += text[counted.1..offset.max(counted.1)].matches('\n').count() as u64;
        counted.1 = offset.max(counted.1);
        if lines.last().is_none_or(|line| line.offset != offset as u64) {
            let end = text[offset..].find('\n').map(|len| offset + len);
            lines.push(Line {
                number: counted.0,
                offset: offset as u64,
                text: text[offset..end.unwrap_or(text.len())].to_owned(),
                ended: end.is_some(),
                ..Line::default()
            });
        }
        let line = lines.last_mut().expect("there is one");
        let range = start - offset..(one.end() as usize - offset).min(line.text.len());
        line.ranges.push(range.clone());
        if one.defines() {
            let symbol = defined(place, symbol, one, (text, counted.0), row);
            line.symbols.push(LineSymbol { range, symbol });
        }
    }
    (!lines.is_empty()).then(|| FileMatch {
        repo_id: place.repo,
        blob_key: (place.shard, place.blob),
        repo: repo.to_owned(),
        rank,
        path: place.path.clone(),
        path_ranges: Vec::new(),
        language: place.language.clone(),
        bytes: text.len(),
        lines,
        trees: Vec::new(),
        commit: None,
        renamed_from: None,
        copies: Vec::new(),
    })
}

/// Returns the definitions in a document that others may mention, in order, each with the number of its containers.
pub(crate) fn outline(told: &ScipPlace, text: &str) -> Vec<(Symbol, usize)> {
    let names = told.document.symbols();
    let mut found: Vec<(Symbol, usize)> = Vec::new();
    // The containers of the next symbol.
    let mut around: Vec<&str> = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for one in &told.document.occurrences {
        let Some(symbol) = names.get(one.symbol as usize) else { continue };
        let start = one.start as usize;
        let is_shown = Parts::of(symbol).is_some_and(|parts| parts.name().1.is_of_outline());
        if !one.defines()
            || one.len == 0
            || !is_shown
            || text.get(start..one.end() as usize).is_none()
        {
            continue;
        }
        line += text[counted..start].matches('\n').count() as u64;
        counted = start;
        // The symbol of a container is a prefix of its members' symbols.
        around.retain(|of| symbol.starts_with(of) && of.len() < symbol.len());
        found.push((defined(told, symbol, one, (text, line), None), around.len()));
        around.push(symbol);
    }
    found
}

/// Returns the symbol defined at a place: from the file's own symbols if they contain it, else from the SCIP index.
fn defined(
    place: &ScipPlace,
    symbol: &str,
    one: &Occurrence,
    (text, line): (&str, u64),
    row: Option<&SymbolRow>,
) -> Symbol {
    if let Some(row) = row
        && let Ok(at) = row.starts.binary_search(&(one.start as i32))
        && one.len > 0
    {
        return Symbols::of(row).get(at);
    }
    let parts = Parts::of(symbol);
    let said = &text[one.start as usize..one.end() as usize];
    let name = match &parts {
        _ if !said.is_empty() => said,
        Some(parts) => parts.name().0,
        None => symbol,
    };
    let told = place.document.kinds.get(one.symbol as usize).copied();
    let kind = told.and_then(SymbolKind::from_byte);
    let kind = kind.or_else(|| parts.as_ref().map(Parts::kind)).unwrap_or(SymbolKind::Variable);
    let container = parts.as_ref().and_then(Parts::container);
    Symbol {
        name: name.to_owned(),
        kind: kind.word(),
        container: container.map(|(name, kind)| (name.to_owned(), kind.word())),
        line,
        start: u64::from(one.start),
        end: u64::from(one.enclosing.as_ref().map_or(one.end(), |around| around.end)),
    }
}
