//! Entry point for the fuzzer in `fuzz/`. It checks that no input makes the crate panic, and that no filter rules out a
//! matching line. The unit tests replay the inputs in `fuzz/kept`.

use std::cell::Cell;

use ngram::{BloomFilter, FilterKind};

use crate::{Case, CompiledQuery, Plan, Query};

/// Number of calls of `go_on` after which a matcher is told to stop.
const PATIENCE: u32 = 2000;

/// Compiles the query before the first NUL, and matches it against the text after it.
pub fn query(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (asked, text) = text.split_once('\0').unwrap_or((&text, ""));
    let query = match Query::parse(asked, Case::Smart) {
        Ok(query) => query,
        Err(error) => {
            assert!(asked.is_char_boundary(error.position) && !error.message.is_empty());
            return;
        }
    };
    let Ok(compiled) = CompiledQuery::new(&query) else { return };
    let plan = Plan::of(&compiled.expr, &compiled);
    assert!(!format!("{} {plan}", compiled.tree).is_empty());
    for term in &compiled.terms {
        let left = Cell::new(PATIENCE);
        let go_on = || {
            left.set(left.get().saturating_sub(1));
            left.get() > 0
        };
        let mut last = None;
        term.matcher.lines(&mut term.matcher.scratch(), text.as_bytes(), &go_on, &mut |found| {
            assert!(last.is_none_or(|last| found.line > last), "lines in order");
            last = Some(found.line);
            let line = &text[found.span];
            assert!(found.ranges.iter().all(|range| line.get(range.clone()).is_some()));
            if !term.matcher.spans_lines() {
                for kind in [FilterKind::Block, FilterKind::Chunk] {
                    let mut filter = BloomFilter::new(kind);
                    filter.add(line);
                    assert!(
                        filter.may_hold(&term.ngrams),
                        "{} is ruled out in {line:?}",
                        term.name
                    );
                }
            }
            true
        });
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn inputs_that_were_kept() {
        let kept = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/kept/query");
        let mut tried = 0;
        for file in std::fs::read_dir(&kept).unwrap() {
            super::query(&std::fs::read(file.unwrap().path()).unwrap());
            tried += 1;
        }
        assert!(tried > 0, "{}", kept.display());
    }
}
