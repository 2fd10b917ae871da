//! Extracts from a pattern the literals that every match contains.
//!
//! The walk keeps a *run*: the set of all strings that the pattern can have matched since the last part that could not
//! be enumerated. Small classes, alternations, options and bounded repetitions multiply the run. A part that cannot be
//! enumerated ends the run, and the finished run becomes one requirement ("one of these strings occurs"). The idea is
//! that of Russ Cox, *Regular Expression Matching with a Trigram Index* (<https://swtch.com/~rsc/regexp/regexp4.html>).
//!
//! Letters are folded, so that strings which a pattern matches in any case are one string. Documents and filters hold
//! folded texts.

use ngram::fold_beyond_ascii;
use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use crate::literals::{LiteralQuery, dedup};
use crate::pattern::Pattern;
use crate::trigram::has_trigram;

/// Maximum number of strings in a run. With more, planning the SQL statement takes longer than the trigrams save.
const MAX_RUN: usize = 16;

/// How deeply alternations may nest in a literal query. Each level of AND in OR multiplies the time that Postgres takes
/// to plan: 8 levels take milliseconds, 14 most of a second.
const MAX_DEPTH: usize = 3;

/// Bytes of the shortest n-gram in the filters. Filters have n-grams of any bytes, so `===` or `配置` can be looked up
/// there, although `pg_trgm` finds no trigram in them.
const FILTER_NGRAM: usize = 3;

/// Longest string in a run, in bytes. A longer literal is split into pieces, all of them required.
const MAX_STRING_BYTES: usize = 256;

impl LiteralQuery {
    /// Extracts the literals that every matching line contains. If the pattern spans lines, they are the literals that
    /// every matching text contains, each of them within one line.
    pub fn of(pattern: &Pattern) -> Self {
        of_tree(pattern.hir(), 0)
    }
}

/// Returns the only names that a pattern can match, with letters folded; `None` if it does not match whole names only,
/// or matches too many.
pub(crate) fn whole_names(pattern: &Pattern) -> Option<Vec<String>> {
    enumerate(&pattern.whole_line()?)
}

/// Characters that no string contains: chunks end at line feeds, and neither an SQL statement nor a stored text can
/// hold a NUL.
const BREAKS: [char; 2] = ['\n', '\0'];

fn of_tree(hir: &Hir, depth: usize) -> LiteralQuery {
    let mut walk = Walk { run: empty_run(), parts: Vec::new(), depth, in_repetition: false };
    walk.visit(hir);
    walk.end_run();
    LiteralQuery::all(walk.parts)
}

/// The strings that a run of a pattern can match. The set is never empty.
type Run = Vec<String>;

fn empty_run() -> Run {
    vec![String::new()]
}

struct Walk {
    run: Run,
    parts: Vec<LiteralQuery>,
    /// The number of alternations around the current node.
    depth: usize,
    in_repetition: bool,
}

impl Walk {
    fn visit(&mut self, hir: &Hir) {
        if let Some(strings) = enumerate(hir) {
            self.append(strings);
            return;
        }
        match hir.kind() {
            HirKind::Literal(literal) => {
                // Too long for one string, or it contains a break.
                let text = String::from_utf8_lossy(&literal.0);
                for (i, line) in text.split(BREAKS).enumerate() {
                    if i > 0 {
                        self.end_run();
                    }
                    for piece in pieces(line) {
                        self.append(vec![fold(piece)]);
                    }
                }
            }
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.visit(part)),
            HirKind::Capture(capture) => self.visit(&capture.sub),
            HirKind::Repetition(repetition) => self.visit_repetition(repetition),
            HirKind::Alternation(parts) => {
                self.end_run();
                if self.depth < MAX_DEPTH {
                    let depth = self.depth + 1;
                    let parts = parts.iter().map(|part| of_tree(part, depth)).collect();
                    self.parts.push(LiteralQuery::any(parts));
                }
            }
            HirKind::Class(_) | HirKind::Empty | HirKind::Look(_) => self.end_run(),
        }
    }

    /// Visits a repetition that cannot be enumerated. Its first copies continue the run, and its last copy begins a new
    /// one (`abc+d` gives `abc` and `cd`).
    fn visit_repetition(&mut self, repetition: &Repetition) {
        const MAX_COPIES: u32 = 8;
        // Visit a single copy of a repetition within another one: copies of copies multiply.
        let copies = if self.in_repetition { 1 } else { MAX_COPIES };
        let around = std::mem::replace(&mut self.in_repetition, true);
        for _ in 0..repetition.min.min(copies) {
            self.visit(&repetition.sub);
        }
        self.in_repetition = around;
        self.end_run();
        if repetition.min > 0
            && let Some(last) = enumerate(&repetition.sub)
        {
            self.run = last;
        }
    }

    fn append(&mut self, strings: Run) {
        match product(&self.run, &strings) {
            Some(run) => self.run = run,
            None => {
                self.end_run();
                self.run = strings;
            }
        }
    }

    /// Turns the run into a requirement, if each of its strings can be looked up.
    fn end_run(&mut self) {
        let run = std::mem::replace(&mut self.run, empty_run());
        if run.iter().all(|s| has_trigram(s) || s.len() >= FILTER_NGRAM) {
            self.parts
                .push(LiteralQuery::any(run.into_iter().map(LiteralQuery::Literal).collect()));
        }
    }
}

/// Returns all strings that `hir` matches, folded, if they are few and short enough.
fn enumerate(hir: &Hir) -> Option<Run> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(empty_run()),
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).ok()?;
            let fits = text.len() <= MAX_STRING_BYTES && !text.contains(BREAKS);
            fits.then(|| vec![fold(text)])
        }
        HirKind::Class(class) => enumerate_class(class),
        HirKind::Capture(capture) => enumerate(&capture.sub),
        HirKind::Repetition(repetition) => enumerate_repetition(repetition),
        HirKind::Concat(parts) => {
            parts.iter().try_fold(empty_run(), |run, part| product(&run, &enumerate(part)?))
        }
        HirKind::Alternation(parts) => {
            let mut all = Run::new();
            for part in parts {
                all.extend(enumerate(part)?);
                dedup(&mut all);
                bounded(&all)?;
            }
            Some(all)
        }
    }
}

fn enumerate_class(class: &Class) -> Option<Run> {
    // Folding at most halves a class, so one much larger than a run is not worth listing.
    const MAX_LISTED: usize = 4 * MAX_RUN;
    let mut run = Run::new();
    match class {
        Class::Unicode(class) => {
            for range in class.ranges() {
                if run.len() + range.len() > MAX_LISTED {
                    return None;
                }
                run.extend((range.start()..=range.end()).map(|c| fold(c.encode_utf8(&mut [0; 4]))));
            }
        }
        Class::Bytes(class) => {
            for range in class.ranges() {
                if !range.end().is_ascii() || run.len() + range.len() > MAX_LISTED {
                    return None;
                }
                let bytes = range.start()..=range.end();
                run.extend(bytes.map(|b| char::from(b).to_ascii_lowercase().to_string()));
            }
        }
    }
    if run.iter().any(|text| text.contains(BREAKS)) {
        return None;
    }
    dedup(&mut run);
    // A class without members never matches; no set of strings expresses that.
    if run.is_empty() { None } else { bounded(&run).map(|()| run) }
}

fn enumerate_repetition(repetition: &Repetition) -> Option<Run> {
    let max = repetition.max?;
    let one = enumerate(&repetition.sub)?;
    let mut run = empty_run();
    for _ in 0..repetition.min {
        run = product(&run, &one)?;
    }
    let mut all = run.clone();
    for _ in repetition.min..max {
        run = product(&run, &one)?;
        all.extend(run.iter().cloned());
        dedup(&mut all);
        bounded(&all)?;
    }
    Some(all)
}

/// Returns each string of `left` followed by each string of `right`, if that stays within bounds.
fn product(left: &Run, right: &Run) -> Option<Run> {
    if left.len() * right.len() > 4 * MAX_RUN {
        return None;
    }
    let mut run: Run =
        left.iter().flat_map(|l| right.iter().map(move |r| format!("{l}{r}"))).collect();
    dedup(&mut run);
    bounded(&run).map(|()| run)
}

fn bounded(run: &Run) -> Option<()> {
    (run.len() <= MAX_RUN && run.iter().all(|s| s.len() <= MAX_STRING_BYTES)).then_some(())
}

/// Folds letters: strings that differ only in case become equal.
pub fn fold(text: &str) -> String {
    fold_beyond_ascii(text).to_ascii_lowercase()
}

/// Cuts a text into strings of at most [`MAX_STRING_BYTES`].
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.len().min(MAX_STRING_BYTES);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn repetitions_of_repetitions_are_not_multiplied() {
        // Expanding eight copies at each of 40 levels would never end.
        let tree = regex_syntax::parse(&format!("alpha{}", "{9999}".repeat(40))).unwrap();
        assert_ne!(of_tree(&tree, 0), LiteralQuery::Anything);
    }

    #[test]
    fn patterns_for_whole_names() {
        let names = |pattern: &str| {
            let pattern = Pattern::parse(pattern, Case::Smart, false).unwrap();
            whole_names(&pattern).map(|names| names.join(" "))
        };
        for (pattern, expected) in [
            ("^read$", Some("read")),
            ("^(?:Read_?File)$", Some("readfile read_file")),
            ("^^(?:a|Größe)$", Some("a größe")),
            (r"\Aa[bc]\z", Some("ab ac")),
            ("^read", None),
            ("read$", None),
            ("^read.*$", None),
            ("^a$|^b$", None),
        ] {
            assert_eq!(names(pattern).as_deref(), expected, "{pattern}");
        }
    }

    use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

    use super::*;
    use crate::Case;

    fn check(pattern: &str, expected: &str) {
        let parsed = Pattern::parse(pattern, Case::Smart, false).unwrap();
        assert_eq!(LiteralQuery::of(&parsed).to_string(), expected, "{pattern}");
    }

    #[test]
    fn literals_are_folded() {
        check("var", r#""var""#);
        check("bytes.Buffer", r#""bytes" AND "buffer""#);
        check(r"fmt\.Print.*", r#""fmt.print""#);
        check("(?i)deadlock", r#""deadlock""#);
        check("(?i)success", r#""success""#);
        check("Success", r#""success""#);
        check("\u{17f}esam", r#""sesam""#);
        check(r"(?i)\w+kelvin.*foo", r#""kelvin" AND "foo""#);
        check("ÉTÉ", r#""été""#);
        check("(?i)größe|файл", r#""größe" OR "файл""#);
    }

    #[test]
    fn characters_that_match_each_other_in_any_case_fold_to_one() {
        for c in '\0'..=char::MAX {
            let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
            class.try_case_fold_simple().unwrap();
            let folded = fold(&c.to_string());
            for other in class.ranges().iter().flat_map(|range| range.start()..=range.end()) {
                assert_eq!(fold(&other.to_string()), folded, "{c:?} {other:?}");
            }
        }
    }

    #[test]
    fn the_reference_experiments_patterns() {
        check("123456789", r#""123456789""#);
        check(r"fmt\.Error", r#""fmt.error""#);
        check("ac8ac5d63b66b83b90ce41a2d4061635", r#""ac8ac5d63b66b83b90ce41a2d4061635""#);
        check(
            "d97f1d3ff91543[e-f]49.8B07517548877",
            r#"("d97f1d3ff91543e49" OR "d97f1d3ff91543f49") AND "8b07517548877""#,
        );
    }

    #[test]
    fn classes_options_and_alternations_expand() {
        check("Colou?r", r#""color" OR "colour""#);
        check("(foo|bar)Baz", r#""foobaz" OR "barbaz""#);
        check("X{2,3}yz", r#""xxyz" OR "xxxyz""#);
        check("TODO|FIXME", r#""todo" OR "fixme""#);
        check("(Foo.*bar|baz)qux", r#"(("foo" AND "bar") OR "baz") AND "qux""#);
        check("Foo.*bar|b", "anything");
    }

    #[test]
    fn repetitions_keep_their_first_and_last_copy() {
        check("Abc+d", r#""abc""#);
        check("A(bcd)+e", r#""abcd" AND "bcde""#);
        check("A(bcd)*efg", r#""efg""#);
        check("A{3,}", r#""aaa""#);
    }

    #[test]
    fn what_has_no_trigram_is_left_out() {
        for pattern in ["=>", "a.b", r"\d+", "", "^$", "[a-z]+", "Fo", "."] {
            check(pattern, "anything");
        }
        check("A b", r#""a b""#);
        check(r"X if \(", r#""x if (""#);
        check(r"[a-z]+_alloc\(", r#""_alloc(""#);
        check(r"Func \w+\(ctx context\.Context", r#""func " AND "(ctx context.context""#);
    }

    #[test]
    fn bounds_cut_a_run_in_two() {
        let long = "abcdefghij".repeat(60);
        let parsed = Pattern::parse(&long, Case::Sensitive, false).unwrap();
        let LiteralQuery::All(parts) = LiteralQuery::of(&parsed) else {
            panic!("expected several literals")
        };
        assert_eq!(parts.len(), 3);
        check("[a-z]{3}Xyzzy", r#""xyzzy""#);
        check("[abcd][abcd][abcd]Xyz", r#""axyz" OR "bxyz" OR "cxyz" OR "dxyz""#);
    }

    #[test]
    fn what_spans_lines_is_required_line_by_line() {
        check(r"func Foo\(\)\n\{\n\treturn", r#""func foo()" AND "\treturn""#);
        check(r"Abc[\nx]def", r#""abc" AND "def""#);
        check(r"(Abc\ndef|ghi)", r#"("abc" AND "def") OR "ghi""#);
        check(r"(?s)Begin.*end", r#""begin" AND "end""#);
        check(r"(Abc\n)+", r#""abc""#);
        check(r"Abc\x00def", r#""abc" AND "def""#);
    }

    #[test]
    fn alternations_in_alternations_are_bounded() {
        let nested =
            (0..20).fold("Xyz".to_owned(), |inner, n| format!("(Aa{n}.*{inner}.*b|Cc{n}.*)"));
        let literals = LiteralQuery::of(&Pattern::parse(&nested, Case::Smart, false).unwrap());
        assert!(literals.strings() <= 10, "{literals}");
    }
}
