//! Tests of the matcher.

use super::*;
use crate::Case;

/// Prints every match as `line:text[start-end ...]`.
fn check(pattern: &str, text: &str, expected: &[&str]) {
    let pattern = Pattern::parse(pattern, Case::Smart, false).unwrap();
    let mut got = Vec::new();
    let matcher = Matcher::new(&pattern).unwrap();
    matcher.lines(&mut matcher.scratch(), text.as_bytes(), &|| true, &mut |m| {
        let ranges: Vec<_> = m.ranges.iter().map(|r| format!("{}-{}", r.start, r.end)).collect();
        got.push(format!("{}:{:?}[{}]", m.line, &text[m.span], ranges.join(" ")));
        true
    });
    assert_eq!(got, expected, "{}", pattern.source());
}

#[test]
fn a_heavy_pattern_finds_the_same_some_lines_at_a_time() {
    let texts = ["", "a", "a b\n", "ab\nb\na b ab", "\n\nab", "b a\r\nab\n\n", "aaaa aaaa b\nb"];
    for pattern in [
        "a", "a*", "^a", "b$", "^", "$", "^$", r"\bb", r"a\s*b", "x?", r"b\n", r"\w+ b", "(?R)b$",
        "(?R)^$",
    ] {
        let pattern = Pattern::parse(pattern, Case::Smart, false).unwrap();
        let matcher = Matcher::new(&pattern).unwrap();
        for most in 1..8 {
            let heavy = Matcher { uninterrupted: most, ..matcher.clone() };
            for text in texts {
                let lines = |matcher: &Matcher| {
                    let mut lines = Vec::new();
                    let mut scratch = matcher.scratch();
                    matcher.lines(&mut scratch, text.as_bytes(), &|| true, &mut |line| {
                        lines.push(line);
                        true
                    });
                    lines
                };
                let source = pattern.source();
                let all = lines(&matcher);
                assert_eq!(lines(&heavy), all, "{source} {text:?} {most}");
                let first = heavy.first_line(&mut heavy.scratch(), text.as_bytes(), &|| true);
                assert_eq!(first.as_ref(), all.first(), "{source} {text:?} {most}");
            }
        }
    }
}

#[test]
fn every_line_once_with_every_range() {
    check("o", "foo\nbar\nboo\n", &[r#"0:"foo"[1-2 2-3]"#, r#"2:"boo"[1-2 2-3]"#]);
    check("foo|bar", "a foo bar\n\nbar", &[r#"0:"a foo bar"[2-5 6-9]"#, r#"2:"bar"[0-3]"#]);
}

#[test]
fn no_match_crosses_a_line() {
    check(r"a\s+b", "a\nb a b", &[r#"1:"b a b"[2-5]"#]);
    check("[^x]+", "a\nb", &[r#"0:"a"[0-1]"#, r#"1:"b"[0-1]"#]);
}

#[test]
fn a_pattern_that_asks_to_spans_lines() {
    check("(?s)a.*b", "a\nb\nab", &[r#"0:"a"[0-1]"#, r#"1:"b"[0-1]"#, r#"2:"ab"[0-2]"#]);
    check(r"a\nb", "xa\nby a\nb", &[r#"0:"xa"[1-2]"#, r#"1:"by a"[0-1 3-4]"#, r#"2:"b"[0-1]"#]);
    check(r"a\n", "a\nb\na\n", &[r#"0:"a"[0-1]"#, r#"2:"a"[0-1]"#]);
    check(
        r"a\n\n\nb",
        "a\n\n\nb",
        &[r#"0:"a"[0-1]"#, r#"1:""[0-0]"#, r#"2:""[0-0]"#, r#"3:"b"[0-1]"#],
    );
    check(r"\n", "a\n\nb", &[r#"0:"a"[1-1]"#, r#"1:""[0-0]"#]);
    check(r"\n*", "a\n", &[r#"0:"a"[0-0 1-1]"#]);
    check(r"^b\n", "ab\nb\nb", &[r#"1:"b"[0-1]"#]);
    check(r"\n\z", "a\nb\n", &[r#"1:"b"[1-1]"#]);
    check(r"\A\n|x", "a\n", &[]);
    check("(?s).", "é\n", &[r#"0:"é"[0-2 2-2]"#]);
    check(r"\n", "", &[]);
    check("(?s).*", "", &[]);
}

#[test]
fn anchors_hold_at_the_ends_of_each_line() {
    check("^b", "ab\nba\n", &[r#"1:"ba"[0-1]"#]);
    check(r"\Ab|a\z", "ab\nba\n", &[r#"1:"ba"[0-1 1-2]"#]);
    check("^$", "a\n\nb\n", &[r#"1:""[0-0]"#]);
    check("$", "a\n", &[r#"0:"a"[1-1]"#]);
    check("^", "a\nb", &[r#"0:"a"[0-0]"#, r#"1:"b"[0-0]"#]);
}

#[test]
fn a_carriage_return_belongs_to_its_line() {
    check("a$", "a\r\na\n", &[r#"1:"a"[0-1]"#]);
    check(r"a\r$", "a\r\n", &[r#"0:"a\r"[0-2]"#]);
    check("(?R)a$", "a\r\n", &[r#"0:"a\r"[0-1]"#]);
}

#[test]
fn empty_matches_advance_by_characters() {
    check("x*", "xa ab", &[r#"0:"xa ab"[0-1 2-2 3-3 4-4 5-5]"#]);
    check("x*", "é", &[r#"0:"é"[0-0 2-2]"#]);
    check("", "\n\n", &[r#"0:""[0-0]"#, r#"1:""[0-0]"#]);
    check("", "", &[]);
}

#[test]
fn smart_case_as_ripgrep_has_it() {
    check("foo", "FOO\nfoo", &[r#"0:"FOO"[0-3]"#, r#"1:"foo"[0-3]"#]);
    check("Foo", "FOO\nFoo", &[r#"1:"Foo"[0-3]"#]);
    check(r"\Soo", "FOO", &[r#"0:"FOO"[0-3]"#]);
    check(r"\x46oo", "foo\nFoo", &[r#"1:"Foo"[0-3]"#]);
    check("[A-F]oo", "foo", &[]);
    check(r"\p{Lu}", "a\nA", &[r#"1:"A"[0-1]"#]);
}

#[test]
fn a_pattern_that_explodes_is_refused() {
    let pattern = Pattern::parse(r"(\w{500}){50}", Case::Smart, false).unwrap();
    let error = Matcher::new(&pattern).unwrap_err();
    assert!(error.message.contains("too large"), "{error}");
}

#[test]
fn a_carriage_return_may_be_part_of_the_end_of_a_line() {
    let text = "a b\r\nb\r\n\r\nb\nc b";
    for (pattern, strict, expected) in [
        ("(?R)b$", false, &[0, 1, 3, 4][..]),
        ("(?R:^b$)", false, &[1, 3]),
        ("(?R)^$", false, &[2]),
        ("(?R)^.*$", false, &[0, 1, 2, 3, 4]),
        (r"(?R)b\s", false, &[0, 1]),
        ("b$", false, &[3, 4]),
        ("(?R:b$)", true, &[0, 1, 3, 4]),
        (r"(?R:b\s|a)", true, &[0]),
        (r"(?R:b[^x]|c)", true, &[4]),
    ] {
        let parsed = Pattern::parse(pattern, Case::Smart, false).unwrap();
        let parsed = if strict { parsed.without_carriage_returns().unwrap() } else { parsed };
        let matcher = Matcher::new(&parsed).unwrap();
        let mut got = Vec::new();
        matcher.lines(&mut matcher.scratch(), text.as_bytes(), &|| true, &mut |line| {
            got.push(line.line);
            assert!(
                !strict
                    || line
                        .ranges
                        .iter()
                        .all(|range| { !text[line.span.clone()][range.clone()].contains('\r') })
            );
            true
        });
        assert_eq!(got, expected, "{pattern}");
    }
    let only = Pattern::parse(r"\r", Case::Smart, false).unwrap();
    assert!(only.without_carriage_returns().is_err());
    let ends =
        |pattern: &str| Pattern::parse(pattern, Case::Smart, false).unwrap().ends_at_line_feed();
    for pattern in ["b$", "^$", "(?m)b$|c", r"b\z"] {
        assert!(ends(pattern), "{pattern}");
    }
    for pattern in ["b", "^b", r"b\$", "(?R)b$", r"b\s*"] {
        assert!(!ends(pattern), "{pattern}");
    }
}
