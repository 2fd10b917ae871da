//! Random input: nothing panics, and no plan under-matches.
//!
//! To run longer: `PROPTEST_CASES=100000 cargo test --release -p query --test fuzz`

use ngram::{BloomFilter, FilterKind, fold_beyond_ascii};
use proptest::prelude::*;
use query::{
    Case, CompiledQuery, Expr, LiteralQuery, Matcher, Pattern, Plan, Query, QueryParts, Suggestion,
    Tree, escape, ngram_query, rarest_parts, trigrams,
};

/// Parses, compiles, plans and prints any text.
fn run(text: &str) {
    for case in [Case::Smart, Case::Sensitive, Case::Insensitive] {
        match Query::parse(text, case) {
            Ok(query) => {
                let parts = QueryParts::of(text).unwrap();
                let others = [parts.with(|_| true), parts.ignoring_case(), parts.any_term()];
                for other in others.into_iter().chain(parts.as_text()) {
                    // A query of settings alone has no terms.
                    let empty = other.trim().is_empty() || other.starts_with("()");
                    assert!(empty || Query::parse(&other, case).is_ok(), "{text:?} {other:?}");
                }
                if let Ok(program) = CompiledQuery::new(&query) {
                    let plan = Plan::of(&program.expr, &program);
                    assert!(!format!("{} {plan}", program.tree).is_empty());
                    assert_eq!(program.expr.eval(&|_| None).is_some(), is_const(&program.expr));
                }
            }
            Err(error) => {
                assert!(text.is_char_boundary(error.position), "{error:?}");
                assert!(!error.message.is_empty() && !error.to_string().is_empty());
                if let Some(suggested) = &error.suggestion {
                    check_suggestion(text, suggested, case);
                }
            }
        }
    }
}

/// Checks that a suggestion is a query, and means what was typed: exactly that text if literal; else it matches every
/// line only if the typed query does.
fn check_suggestion(typed: &str, suggested: &Suggestion, case: Case) {
    let query = Query::parse(&suggested.query, case);
    let query = query.unwrap_or_else(|error| panic!("{typed:?} {suggested:?}: {error}"));
    if let Some(text) = &suggested.text {
        let bare = |text: &str| text.replace(['"', '\\', '/'], "");
        assert_eq!(bare(text).trim(), bare(typed).trim(), "{suggested:?}");
        let Tree::Term(term) = &query.tree else { panic!("{typed:?} {suggested:?}") };
        assert_eq!(term.pattern.source(), escape(text), "{typed:?}");
    }
    for term in query.terms() {
        let everywhere = Matcher::new(&term.pattern).is_ok_and(|matcher| matcher.is_match(""));
        assert!(!everywhere || typed.contains(term.pattern.source()), "{typed:?} {suggested:?}");
    }
}

fn is_const(expr: &Expr) -> bool {
    matches!(expr, Expr::Const(_))
}

/// Returns whether a text has the literals that a query needs, each string within a line.
fn meets(literals: &LiteralQuery, text: &str) -> bool {
    match literals {
        LiteralQuery::Anything => true,
        LiteralQuery::Literal(literal) => text.split('\n').any(|line| {
            let line = fold_beyond_ascii(line).to_ascii_lowercase();
            line.contains(literal.as_str()) && looked_up(literal, &line)
        }),
        LiteralQuery::All(parts) => parts.iter().all(|part| meets(part, text)),
        LiteralQuery::Any(parts) => parts.iter().any(|part| meets(part, text)),
    }
}

/// Returns whether `LIKE '%part%part%'` holds for the parts that are looked up.
fn looked_up(literal: &str, line: &str) -> bool {
    let mut rest = line;
    rarest_parts(literal).into_iter().all(|part| {
        let found = rest.find(part);
        if let Some(at) = found {
            rest = &rest[at + part.len()..];
        }
        found.is_some()
    })
}

/// Pieces of queries, so that random ones get beyond the first error.
const PIECES: &[&str] = &[
    "foo",
    "Bar",
    "\"",
    "\"a b\"",
    "/",
    "/a b/",
    "(",
    ")",
    " ",
    " ",
    " or ",
    " and ",
    " not ",
    "-",
    "|",
    "file:",
    "lang:go",
    "repo:x",
    "repo:x@y",
    "@",
    "worktree:a",
    "rev:",
    "branch:b",
    "diff:a..b",
    "diff:",
    "..",
    "history:",
    "history:*",
    "added:",
    "removed:c",
    "case:yes",
    "case:",
    "multiline:yes",
    "count:3",
    "type:repo",
    "lit:",
    "\\",
    "\\n",
    "[",
    "]",
    "[^\\]]",
    ".*",
    "{2}",
    "+",
    "?",
    "é",
    "日本",
    "🚢",
    "\u{17f}",
    "timeout:1s",
    ":",
    "(?i)",
    "(?s)",
    "\\b",
    "\\",
    "\t",
    "\n",
    "\0",
    "x:y",
    "::",
    "^",
    "$",
    "=>",
    "--",
];

fn query_text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..20).prop_map(|pieces| pieces.concat())
}

/// Pieces of regular expressions that are often valid.
const LEAVES: &[&str] = &[
    "a", "b", "k", "s", "S", "K", "é", "É", "ſ", "\u{212a}", "ab", "abc", "Foo", "foobar", "_",
    "\\.", " ", "0", "1", ".", "\\w", "\\s", "[ab]", "[a-f]", "[^a]", "[sk]", "\\n", "[a\\n]", "^",
    "$", "\\b", "日本", "(?i)", "(?-i)", "(?s)", "ss", "static", "kernel_", "::", "=>",
];

fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(LEAVES).prop_map(str::to_owned);
    leaf.prop_recursive(4, 24, 5, |inner| {
        let many = prop::collection::vec(inner.clone(), 1..5);
        prop_oneof![
            4 => many.clone().prop_map(|parts| parts.concat()),
            1 => many.prop_map(|parts| format!("({})", parts.join("|"))),
            1 => (inner, prop::sample::select(&["?", "*", "+", "{2}", "{1,3}", "{2,}", "+?"][..]))
                .prop_map(|(part, times)| format!("(?:{part}){times}")),
        ]
    })
}

/// Pieces of texts in which they match.
const WORDS: &[&str] = &[
    "a", "b", "s", "k", "S", "K", "ab", "abc", "Foo", "foobar", "FOOBAR", "_", ".", " ", "\n",
    "\r\n", "0", "1", "é", "É", "ſ", "\u{212a}", "日本", "static", "Static", "ſtatic", "kernel_",
    "::", "=>", "aab", "ss",
];

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS), 0..24).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_query_or_a_clear_error(text in any::<String>()) {
        run(&text);
    }

    #[test]
    fn any_bytes_read_as_text_are_too(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        run(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn pieces_of_queries_are_too(text in query_text()) {
        run(&text);
    }

    #[test]
    fn what_matches_has_what_is_needed(
        pattern in pattern(),
        text in text(),
        multiline in any::<bool>(),
        case in prop::sample::select(&[Case::Smart, Case::Sensitive, Case::Insensitive][..]),
    ) {
        let Ok(pattern) = Pattern::parse(&pattern, case, multiline) else { return Ok(()) };
        let literals = LiteralQuery::of(&pattern);
        let mut lines = Vec::new();
        let matcher = Matcher::new(&pattern).unwrap();
        matcher.lines(&mut matcher.scratch(), text.as_bytes(), &|| true, &mut |found| {
            lines.push(text[found.span].to_owned());
            true
        });
        if pattern.spans_lines() {
            // Each required string must be within a line of the text.
            prop_assert!(lines.is_empty() || meets(&literals, &text), "{pattern} needs {literals}");
        } else {
            let ngrams = ngram_query(&literals, &pattern);
            for line in lines {
                for kind in [FilterKind::Block, FilterKind::Chunk, FilterKind::PathGroup] {
                    let mut filter = BloomFilter::new(kind);
                    filter.add(&line);
                    prop_assert!(filter.may_hold(&ngrams), "{pattern} is ruled out in {line:?}");
                }
                prop_assert!(meets(&literals, &line), "{pattern} needs {literals}, and matches {line:?}");
            }
        }
    }

    #[test]
    fn what_is_looked_up_is_part_of_the_literal(literal in "[a-cA-C0-1_. (é]{0,12}") {
        for trigram in trigrams(&literal) {
            prop_assert_eq!(trigram.text.chars().count(), 3);
            prop_assert!(literal.get(trigram.span).is_some());
        }
        prop_assert!(looked_up(&literal, &literal));
        prop_assert_eq!(rarest_parts(&literal).is_empty(), trigrams(&literal).is_empty() && literal.is_ascii());
    }
}
