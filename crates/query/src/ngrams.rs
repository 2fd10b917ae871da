//! Builds the n-gram query of a pattern from its literals.

use ngram::NgramQuery;
use regex_syntax::hir::{Hir, HirKind};

use crate::literals::LiteralQuery;
use crate::pattern::Pattern;

/// Returns the n-grams that a text must contain for the pattern to match: those of the literals that every match
/// contains, with letters folded, and those of literals that the pattern matches in exactly one case, unfolded.
pub fn ngram_query(literals: &LiteralQuery, pattern: &Pattern) -> NgramQuery {
    let mut exact = Vec::new();
    exact_literals(pattern.hir(), &mut exact);
    // A line lies in one chunk, while a literal with a line feed may lie in several.
    let with_capitals = exact.iter().flat_map(|text| text.split('\n')).map(NgramQuery::exact);
    NgramQuery::all(std::iter::once(ngrams_of_literals(literals)).chain(with_capitals).collect())
}

/// Returns the n-grams of the literals alone, with letters folded.
pub fn ngrams_of_literals(literals: &LiteralQuery) -> NgramQuery {
    match literals {
        LiteralQuery::Anything => NgramQuery::Anything,
        LiteralQuery::Literal(text) => {
            NgramQuery::all(text.split('\n').map(NgramQuery::folded).collect())
        }
        LiteralQuery::All(parts) => NgramQuery::All(parts.iter().map(ngrams_of_literals).collect()),
        LiteralQuery::Any(parts) => NgramQuery::Any(parts.iter().map(ngrams_of_literals).collect()),
    }
}

/// Collects the literals that every match contains in exactly this case.
fn exact_literals<'h>(hir: &'h Hir, found: &mut Vec<&'h str>) {
    match hir.kind() {
        HirKind::Literal(literal) => found.extend(std::str::from_utf8(&literal.0).ok()),
        HirKind::Concat(parts) => parts.iter().for_each(|part| exact_literals(part, found)),
        HirKind::Capture(capture) => exact_literals(&capture.sub, found),
        HirKind::Repetition(repetition) if repetition.min > 0 => {
            exact_literals(&repetition.sub, found);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use ngram::{BitSlices, BloomFilter, FilterKind};

    use super::*;
    use crate::Case;

    const KINDS: [FilterKind; 4] =
        [FilterKind::Block, FilterKind::Chunk, FilterKind::Dense, FilterKind::PathGroup];

    /// Builds one column for each text.
    fn slices(kind: FilterKind, texts: &[&str]) -> BitSlices {
        let filter = |text: &&str| {
            let mut filter = BloomFilter::new(kind);
            filter.add(text);
            filter
        };
        BitSlices::new(kind, &texts.iter().map(filter).collect::<Vec<_>>())
    }

    fn ngrams(pattern: &str) -> NgramQuery {
        let pattern = Pattern::parse(pattern, Case::Smart, false).unwrap();
        ngram_query(&LiteralQuery::of(&pattern), &pattern)
    }

    fn check_kind(kind: FilterKind, texts: &[&str], pattern: &str, expected: &[usize]) {
        let columns = slices(kind, texts).columns(&ngrams(pattern));
        assert_eq!(columns.iter().collect::<Vec<_>>(), expected, "{pattern} {kind:?}");
    }

    fn check(texts: &[&str], pattern: &str, expected: &[usize]) {
        for kind in KINDS {
            check_kind(kind, texts, pattern, expected);
        }
    }

    #[test]
    fn literals_in_any_case_are_never_ruled_out() {
        let texts = ["fn Main() {\n", "\tprintln!(\"Grüße, {}\", x.y);\n}", "a.b", "", "xyz"];
        for kind in KINDS {
            let slices = slices(kind, &texts);
            for (column, text) in texts.iter().enumerate() {
                for line in text.split('\n') {
                    for (from, _) in line.char_indices() {
                        for upto in (from..=line.len()).filter(|at| line.is_char_boundary(*at)) {
                            let literal = &line[from..upto];
                            for case in [Case::Sensitive, Case::Insensitive] {
                                let pattern = Pattern::literal(literal, case).unwrap();
                                let ngrams = ngram_query(&LiteralQuery::of(&pattern), &pattern);
                                assert!(slices.columns(&ngrams).contains(column), "{literal}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn other_texts_are_ruled_out() {
        let texts = ["bytes.Buffer b; fmt.Sprint(x)\n", "the long road", "Bytes from buffers"];
        check(&texts, "buffers", &[2]);
        check(&texts, r"bytes\.buffer", &[0]);
        check(&texts, "bytes.buffer", &[0, 2]);
        check(&texts, "bytes.Buffer", &[0]);
        check(&texts, "(Bytes)+.*", &[2]);
        check(&texts, "(?i)BYTES", &[0, 2]);
        check(&texts, "bytes.*road", &[]);
        check(&texts, r"fmt\.print", &[]);
        check(&texts, "ac8ac5d63b66b83b90ce41a2d4061635", &[]);
        check(&texts, "(road|sprint)", &[0, 1]);
        check(&texts, "=>", &[0, 1, 2]);
        check(&[], "road", &[]);
    }

    #[test]
    fn punctuation_rules_out_more_in_chunks() {
        let texts = ["let a = B.unwrap();\nc()?;\n", "let a = B.unwrap()?;\n", "B.unwrap( )?;"];
        check_kind(FilterKind::Chunk, &texts, r"\.unwrap\(\)\?;", &[1]);
        check_kind(FilterKind::Chunk, &texts, r"B\.unwrap\(\).?;", &[0, 1]);
    }

    #[test]
    fn characters_that_fold_to_ascii_letters_count_as_those() {
        check(&["\u{212a}ernel", "ernel"], "kernel", &[0]);
    }

    #[test]
    fn one_text_of_many_is_found() {
        let texts: Vec<String> = (0..200).map(|i| format!("text number_{i}_.")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        check(&texts, "number_7_", &[7]);
        check(&texts, "number_(70|190)_", &[70, 190]);
        check(&texts, "text", &(0..200).collect::<Vec<_>>());
    }
}
