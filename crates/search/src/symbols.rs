//! Decides which symbols of a blob match a term, and makes lines of them.

use std::collections::HashMap;

use query::{CompiledTerm, Scratch};
use store::{BlobId, SymbolNames, SymbolRow};

use super::verify::TextChunk;
use crate::cache::texts::DecompressBuffer;
use answer::Line;
use answer::apart;
use answer::symbol::{LineSymbol, Symbol, Symbols};

/// Returns the symbols of a blob that match a term, in order.
pub(crate) fn matching(
    term: &CompiledTerm,
    row: &SymbolRow,
    scratch: &mut Scratch,
    go_on: &dyn Fn() -> bool,
) -> Vec<Symbol> {
    let Some(asked) = &term.symbol else { return Vec::new() };
    let mut places = Vec::new();
    term.matcher.lines(scratch, row.names.as_bytes(), go_on, &mut |found| {
        if row.kinds.get(found.line).is_some_and(|kind| asked.kinds.has(*kind)) {
            places.push(found.line);
        }
        true
    });
    if places.is_empty() {
        return Vec::new();
    }
    let symbols = Symbols::of(row);
    let packages = if asked.containers.is_empty() { Vec::new() } else { symbols.packages() };
    places.retain(|at| is_contained(term, &symbols, &packages, *at, go_on));
    places.into_iter().map(|at| symbols.get(at)).collect()
}

/// Returns the blobs that define a name matching one of some terms, ascending.
pub(crate) fn defining(
    terms: &[&CompiledTerm],
    groups: &[SymbolNames],
    go_on: &dyn Fn() -> bool,
) -> Vec<BlobId> {
    let mut blobs = Vec::new();
    for term in terms {
        let mut scratch = term.matcher.scratch();
        for group in groups {
            if !go_on() {
                break;
            }
            term.matcher.lines(&mut scratch, group.names.as_bytes(), go_on, &mut |found| {
                blobs.extend(group.blob(found.line));
                true
            });
        }
    }
    blobs.sort_unstable();
    blobs.dedup();
    blobs
}

/// Returns whether the containers of a symbol match those of a term, or its own name contains all of them. A symbol
/// without a container is in the package named before it in its text.
fn is_contained(
    term: &CompiledTerm,
    symbols: &Symbols<'_>,
    packages: &[usize],
    at: usize,
    go_on: &dyn Fn() -> bool,
) -> bool {
    let Some(asked) = &term.symbol else { return true };
    let container = |of: usize| {
        let package = || {
            let before = packages.partition_point(|package| *package < of);
            let is_package = packages.get(before) == Some(&of);
            before.checked_sub(1).filter(|_| !is_package).map(|last| packages[last])
        };
        symbols.container(of).or_else(package)
    };
    let mut around = container(at);
    let by_containers = asked.containers.iter().rev().all(|name| {
        around.is_some_and(|of| {
            around = container(of);
            name.is_match_within(symbols.name(of), go_on)
        })
    });
    let in_its_name = |whole: &query::Matcher| whole.is_match_within(symbols.name(at), go_on);
    by_containers || asked.whole.as_ref().is_some_and(in_its_name)
}

/// Returns the lines of some symbols of a blob, given the chunks that contain them.
pub(crate) fn lines(
    symbols: &[Symbol],
    chunks: &HashMap<BlobId, Vec<TextChunk>>,
    blob: BlobId,
) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let Some(chunks) = chunks.get(&blob) else { return lines };
    DecompressBuffer::with(|buffer| {
        let mut rest = symbols;
        for chunk in chunks {
            let end = chunk.start + chunk.text.bytes() as u64;
            let skipped = rest.partition_point(|symbol| symbol.start < chunk.start);
            let here = rest.partition_point(|symbol| symbol.start < end);
            let some = &rest[skipped..here];
            rest = &rest[here..];
            let Ok(text) = str::from_utf8(chunk.text.read(buffer)) else { continue };
            let (mut counted, mut number) = (0, chunk.line);
            for symbol in some {
                let begin = (symbol.start - chunk.start) as usize;
                // A row that does not fit its text is damaged.
                if !text.get(begin..).is_some_and(|text| text.starts_with(&symbol.name)) {
                    continue;
                }
                let start = text[..begin].rfind('\n').map_or(0, |feed| feed + 1);
                let end = text[begin..].find('\n').map_or(text.len(), |feed| begin + feed);
                number += text[counted..start].matches('\n').count() as u64;
                counted = start;
                let range = begin - start..begin - start + symbol.name.len();
                let found = LineSymbol { range: range.clone(), symbol: symbol.clone().shown() };
                match lines.last_mut() {
                    Some(last) if last.number == number => {
                        last.ranges.push(range);
                        last.symbols.push(found);
                    }
                    _ => lines.push(Line {
                        number,
                        offset: chunk.start + start as u64,
                        text: text[start..end].to_owned(),
                        ended: end < text.len(),
                        ranges: vec![range],
                        symbols: vec![found],
                        ..Line::default()
                    }),
                }
            }
        }
    });
    for line in &mut lines {
        line.ranges = apart(std::mem::take(&mut line.ranges));
    }
    lines
}

/// Adds to matching lines the symbol around each: the innermost one that contains its first match and does not begin in
/// the line itself.
pub(crate) fn enclose(lines: &mut [Line], row: &SymbolRow) {
    let symbols = Symbols::of(row);
    for line in lines {
        let Some(first) = line.ranges.first() else { continue };
        let mut around = symbols.enclosing(line.offset + first.start as u64);
        while let Some(at) =
            around.filter(|at| row.lines.get(*at).is_some_and(|n| *n as u64 == line.number))
        {
            around = symbols.container(at);
        }
        line.enclosing = around.map(|at| Box::new(symbols.get(at).shown()));
    }
}

#[cfg(test)]
mod tests {
    use query::{Case, CompiledQuery, Query, SymbolKind};

    use super::super::verify::ChunkText;
    use super::*;

    const TEXT: &str =
        "class Foo {\n  int a, b;\n  void bar() {}\n};\nvoid Foo::baz() {}\nint Foo_bar;\n";

    fn row() -> SymbolRow {
        let names = ["Foo", "a", "b", "bar", "Foo", "baz", "Foo_bar"];
        let mut from = 0;
        let starts = names.iter().map(|name| {
            let at = from + TEXT[from..].find(name).unwrap();
            from = at + 1;
            at as i32
        });
        let starts: Vec<i32> = starts.collect();
        let line = |at: &i32| TEXT[..*at as usize].matches('\n').count() as i32 + 1;
        SymbolRow {
            blob: BlobId(3),
            names: names.join("\n"),
            kinds: vec![0, 11, 11, 9, 20, 9, 13],
            lines: starts.iter().map(line).collect(),
            ends: starts.iter().map(|at| at + 3).collect(),
            starts,
            parents: vec![-1, 0, 0, 0, -1, 4, -1],
        }
    }

    /// Returns the lines of the symbols that a query finds: `2:a,b`.
    fn found(query: &str) -> Vec<String> {
        let query = CompiledQuery::new(&Query::parse(query, Case::Smart).unwrap()).unwrap();
        let term = &query.terms[0];
        let found = matching(term, &row(), &mut term.matcher.scratch(), &|| true);
        let half = TEXT.find("void Foo::baz").unwrap();
        let chunk = |n: i32, at: usize, text: &str| TextChunk {
            n,
            blob: BlobId(3),
            line: TEXT[..at].matches('\n').count() as u64 + 1,
            start: at as u64,
            text: ChunkText::Owned(text.to_owned()),
        };
        let chunks = vec![chunk(3, 0, &TEXT[..half]), chunk(4, half, &TEXT[half..])];
        let lines = lines(&found, &HashMap::from([(BlobId(3), chunks)]), BlobId(3));
        let shown = lines.iter().map(|line| {
            assert_eq!(line.text, TEXT.lines().nth(line.number as usize - 1).unwrap());
            let names: Vec<&str> = line.ranges.iter().map(|at| &line.text[at.clone()]).collect();
            format!("{}:{}", line.number, names.join(","))
        });
        shown.collect()
    }

    #[test]
    fn symbols_are_found_by_name_kind_and_container() {
        assert_eq!(found("sym:^[ab]$"), ["2:a,b"]);
        assert_eq!(found("sym:foo"), ["1:Foo", "6:Foo_bar"]);
        assert_eq!(found("sym:^Foo$ kind:implementation"), ["5:Foo"]);
        assert_eq!(found("sym:ba kind:method"), ["3:bar", "5:baz"]);
        assert_eq!(found("sym:Foo.ba"), ["3:bar", "5:baz"]);
        assert_eq!(found("sym:Foo::baz$"), ["5:baz"]);
        assert_eq!(found("sym:fo::baz"), [""; 0]);
        assert_eq!(found("sym:x.Foo.bar"), [""; 0]);
        assert_eq!(found("sym:Foo::").len(), 3);
        assert_eq!(found("kind:field"), ["2:a,b"]);
    }

    #[test]
    fn what_nothing_contains_is_in_the_package_of_its_text() {
        let text = "package com.sea\nclass Ship { fun sail() {} }\nfun free() {}\n";
        let names = ["com", "sea", "Ship", "sail", "free"];
        let at = |name: &&str| text.find(name).unwrap() as i32;
        let row = SymbolRow {
            blob: BlobId(1),
            names: names.join("\n"),
            kinds: [SymbolKind::Package, SymbolKind::Package, SymbolKind::Class]
                .into_iter()
                .chain([SymbolKind::Method, SymbolKind::Function])
                .map(SymbolKind::byte)
                .collect(),
            starts: names.iter().map(at).collect(),
            ends: names.iter().map(|name| at(name) + name.len() as i32).collect(),
            lines: vec![1, 1, 2, 2, 3],
            parents: vec![-1, 0, -1, 2, -1],
        };
        let found = |query: &str| {
            let query = CompiledQuery::new(&Query::parse(query, Case::Smart).unwrap()).unwrap();
            let term = &query.terms[0];
            let found = matching(term, &row, &mut term.matcher.scratch(), &|| true);
            found.into_iter().map(|symbol| symbol.name).collect::<Vec<_>>()
        };
        assert_eq!(found("sym:com.sea"), ["sea"]);
        assert_eq!(found("sym:com.sea.Ship"), ["Ship"]);
        assert_eq!(found("sym:sea.Ship.sail"), ["sail"]);
        assert_eq!(found("sym:com.sea.free"), ["free"]);
        assert_eq!(found("sym:sea.sail"), [""; 0]);
        assert_eq!(found("sym:sea.com"), [""; 0]);
    }
}
