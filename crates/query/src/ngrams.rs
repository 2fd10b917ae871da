//! What the n-gram filters are asked of a pattern: the n-grams of its literals.

use ngram::NgramQuery;
use regex_syntax::hir::{Hir, HirKind};

use crate::literals::LiteralQuery;
use crate::pattern::Pattern;

/// The n-grams that a text must have for the pattern to match: those of the literals that every match contains, folded, and
/// where the pattern itself names capitals, as they are.
pub fn ngram_query(literals: &LiteralQuery, pattern: &Pattern) -> NgramQuery {
    let mut exact = Vec::new();
    exact_literals(pattern.hir(), &mut exact);
    // A line lies in one chunk; what spans lines may not.
    let with_capitals = exact.iter().flat_map(|text| text.split('\n')).map(NgramQuery::exact);
    NgramQuery::all(std::iter::once(ngrams_of_literals(literals)).chain(with_capitals).collect())
}

/// The n-grams of the literals alone, whose letters may be of any case.
pub fn ngrams_of_literals(literals: &LiteralQuery) -> NgramQuery {
    match literals {
        LiteralQuery::Anything => NgramQuery::Anything,
        LiteralQuery::NonAsciiFold => NgramQuery::non_ascii_fold(),
        LiteralQuery::Literal(text) => {
            NgramQuery::all(text.split('\n').map(NgramQuery::folded).collect())
        }
        LiteralQuery::All(parts) => NgramQuery::All(parts.iter().map(ngrams_of_literals).collect()),
        LiteralQuery::Any(parts) => NgramQuery::Any(parts.iter().map(ngrams_of_literals).collect()),
    }
}

/// The literals that are in every match as they are, capitals and all.
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

    const KINDS: [FilterKind; 5] = [
        FilterKind::Block,
        FilterKind::Chunk,
        FilterKind::Kept,
        FilterKind::Dense,
        FilterKind::Paths,
    ];

    /// A part for each text.
    fn grams(kind: FilterKind, texts: &[&str]) -> BitSlices {
        let set = |text: &&str| {
            let mut set = BloomFilter::new(kind);
            set.add(text);
            set
        };
        BitSlices::new(kind, &texts.iter().map(set).collect::<Vec<_>>())
    }

    fn ngrams(pattern: &str) -> NgramQuery {
        let pattern = Pattern::parse(pattern, Case::Smart, false).unwrap();
        ngram_query(&LiteralQuery::of(&pattern), &pattern)
    }

    fn check(texts: &[&str], pattern: &str, expected: &[usize]) {
        for kind in KINDS {
            let parts: Vec<usize> = grams(kind, texts).parts(&ngrams(pattern)).iter().collect();
            assert_eq!(parts, expected, "{pattern} {kind:?}");
        }
    }

    #[test]
    fn what_is_in_a_text_is_never_ruled_out() {
        let texts = ["fn Main() {\n", "\tprintln!(\"Grüße, {}\", x.y);\n}", "a.b", "", "xyz"];
        for kind in KINDS {
            let grams = grams(kind, &texts);
            for (part, text) in texts.iter().enumerate() {
                for line in text.split('\n') {
                    for (from, _) in line.char_indices() {
                        for upto in (from..=line.len()).filter(|at| line.is_char_boundary(*at)) {
                            let literal = &line[from..upto];
                            for case in [Case::Sensitive, Case::Insensitive] {
                                let pattern = Pattern::literal(literal, case).unwrap();
                                let ngrams = ngram_query(&LiteralQuery::of(&pattern), &pattern);
                                assert!(grams.parts(&ngrams).contains(part), "{literal}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn parts_are_ruled_out() {
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
    fn parts_stand_beside_others() {
        let texts = |n: usize, word: &str| -> Vec<String> {
            (0..n).map(|i| format!("{word}_{i}_in_a_text")).collect()
        };
        for kind in KINDS {
            let of = |texts: &[String]| {
                grams(kind, &texts.iter().map(String::as_str).collect::<Vec<_>>())
            };
            let (a, none, b) = (of(&texts(11, "long")), of(&[]), of(&texts(20, "short")));
            let both =
                BitSlices::beside(kind, &[(&b, 1..2), (&none, 0..0), (&a, 0..2), (&b, 0..3)]);
            assert_eq!(both.width(), 6);
            assert_eq!(both.parts(&NgramQuery::Anything).count(), 8 + 11 + 20, "{kind:?}");
            for pattern in ["long_7_in", "short_(7|10)_in", "short", "(?i)LONG_1", "nowhere"] {
                let (ngrams, found) = (ngrams(pattern), both.parts(&ngrams(pattern)));
                assert_eq!(found.within(&(0..1)), b.parts(&ngrams).within(&(1..2)), "{pattern}");
                assert_eq!(found.within(&(1..3)), a.parts(&ngrams), "{pattern} {kind:?}");
                assert_eq!(found.within(&(3..6)), b.parts(&ngrams), "{pattern} {kind:?}");
                assert_eq!(both.parts_within(&(1..3), &ngrams), a.parts(&ngrams), "{pattern}");
            }
        }
    }

    #[test]
    fn a_set_of_another_size_holds_the_same() {
        let numbers: Vec<String> = (0..3000).map(|i| (i * 7919).to_string()).collect();
        let text = numbers.join(" ");
        let lengths = [40, 1000, text.len(), 131_072, 131_100, 200_000, 1_000_000];
        let sets = lengths.map(|bytes| {
            let mut set = BloomFilter::for_text(bytes);
            set.add(&text);
            set
        });
        let grams = BitSlices::new(FilterKind::Block, &sets);
        for number in &numbers {
            assert_eq!(grams.parts(&ngrams(number)).count(), lengths.len(), "{number}");
        }
        // The small ones are full.
        let found = grams.parts(&ngrams("some Text that is not in it"));
        assert!(found.iter().all(|part| part < 2), "{found:?}");
    }

    #[test]
    fn signs_that_stand_together_tell_more() {
        let texts = ["let a = B.unwrap();\nc()?;\n", "let a = B.unwrap()?;\n", "B.unwrap( )?;"];
        let parts = |kind, pattern| grams(kind, &texts).parts(&ngrams(pattern)).iter().collect();
        let found: Vec<usize> = parts(FilterKind::Chunk, r"\.unwrap\(\)\?;");
        assert_eq!(found, [0, 1]);
        let found: Vec<usize> = parts(FilterKind::Kept, r"\.unwrap\(\)\?;");
        assert_eq!(found, [1]);
        let found: Vec<usize> = parts(FilterKind::Kept, r"B\.unwrap\(\).?;");
        assert_eq!(found, [0, 1]);
        let texts = ["a.unwrap();\nb.pop()?;\n", "a.unwrap()?;\n"];
        let found = grams(FilterKind::Kept, &texts).parts(&ngrams(r"\.unwrap\(\)\?;"));
        assert_eq!(found.iter().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn odd_letters_count_as_what_they_fold_to() {
        check(&["\u{212a}ernel", "ernel"], "kernel", &[0]);
    }

    #[test]
    fn parts_outside_of_ranges_are_dropped() {
        let texts: Vec<String> = (0..30).map(|i| format!("text {i}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let kept = |ranges: &[(usize, usize)]| {
            let mut parts = grams(FilterKind::Kept, &texts).parts(&ngrams("text 2"));
            parts.keep(ranges.iter().map(|(start, end)| *start..*end));
            parts.iter().collect::<Vec<_>>()
        };
        assert_eq!(kept(&[(0, 99)]), [2, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
        assert_eq!(kept(&[(0, 2), (3, 21), (23, 24), (29, 30)]), [20, 23, 29]);
        assert!(kept(&[]).is_empty() && kept(&[(30, 40)]).is_empty());
    }

    #[test]
    fn many_parts() {
        let texts: Vec<String> = (0..200).map(|i| format!("text number_{i}_.")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        check(&texts, "number_7_", &[7]);
        check(&texts, "number_(70|190)_", &[70, 190]);
        for kind in KINDS {
            assert_eq!(grams(kind, &texts).parts(&ngrams("text")).count(), 200);
            let all = grams(kind, &texts).parts(&NgramQuery::Anything);
            assert_eq!(all.count(), 200);
            for first in [0, 7, 64, 71, 198, 200, 999] {
                assert!(all.iter_from(first).eq(first..200), "{first}");
            }
        }
    }

    #[test]
    fn a_set_is_kept_as_bytes() {
        for mut set in [BloomFilter::new(FilterKind::Block), BloomFilter::for_text(9)] {
            set.add("some Text");
            assert_eq!(BloomFilter::from_bytes(&set.to_bytes()), set);
            assert!(set.may_hold(&ngrams("me Text")) && set.may_hold(&ngrams("x|text")));
        }
    }

    #[test]
    fn sets_are_the_same_however_they_are_made() {
        let text = "Some::Text(){}\nof \u{212a}elvin, in FOUR lines\n\nab\nthe END";
        let set = |kind| {
            let mut set = BloomFilter::new(kind);
            set.add(text);
            set
        };
        assert_eq!(BloomFilter::of_chunk(text), set(FilterKind::Chunk));
        assert_eq!(BloomFilter::of_kept(text), set(FilterKind::Kept));
        let mut block = BloomFilter::new(FilterKind::Block);
        assert_eq!(block.add_chunk(text, &mut Vec::new()), None);
        assert_eq!(block, set(FilterKind::Block));
        let numbers = (0..4000_u32).map(|n| n.wrapping_mul(0x9e37_79b9).to_string());
        let dense: String = numbers.collect();
        let mut own = BloomFilter::new(FilterKind::Dense);
        own.add(&dense);
        assert_eq!(block.add_chunk(&dense, &mut Vec::new()), Some(own));
    }

    #[test]
    fn a_dense_chunk_has_a_set_of_its_own() {
        let mut block = BloomFilter::new(FilterKind::Block);
        assert_eq!(block.add_chunk("fn main() {}\n", &mut Vec::new()), None);
        assert!(block.may_hold(&ngrams("main")));
        let before = block.clone();
        let mut random = 1_u64;
        let mut next = || {
            random = random.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
            char::from(b'!' + (random >> 60) as u8 * 5 + (random >> 57) as u8 % 5)
        };
        let data: String = (0..4096).map(|_| next()).collect();
        let own = block.add_chunk(&data, &mut Vec::new()).unwrap();
        assert_eq!(block, before);
        assert!(own.may_hold(&ngrams(&regex_syntax::escape(&data[100..120]))));
        assert!(!own.may_hold(&ngrams("not in this data")));
        assert_eq!(BloomFilter::from_bytes(&own.to_bytes()), own);
    }

    #[test]
    fn a_text_may_have_a_set_of_its_own() {
        let numbers: Vec<String> = (0..5000).map(|i| (i * 7919).to_string()).collect();
        let text = numbers.join(" ");
        let mut set = BloomFilter::for_text(text.len());
        set.add(&text);
        assert!(set.may_hold(&ngrams(&text[1000..1100])));
        assert!(!set.may_hold(&ngrams("some Text that is not in it")));
        assert!(set.memory() < text.len() / 2);
    }
}
