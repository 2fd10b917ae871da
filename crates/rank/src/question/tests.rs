use words::question;

use super::*;

/// A file: its path, its BM25, and what it defines.
type Given<'a> = (&'a str, f32, &'a [(&'a str, SymbolKind)]);

/// Returns the points of files, given with their BM25 and definitions, for a question in which each word is equally rare.
fn points(text: &str, files: &[Given<'_>]) -> Vec<f32> {
    let words = question(text);
    let of = Question::of(text, &words, &vec![3.0; words.len()]);
    let score = |(path, bm25, definitions): &Given<'_>| {
        let definitions: Vec<Definition<'_>> = definitions
            .iter()
            .map(|(name, kind)| Definition { name, kind: *kind, top: true })
            .collect();
        of.score(&Candidate {
            repo: "hub/code",
            repo_rank: 0,
            path,
            language: Some("Rust"),
            bm25: *bm25,
            definitions: &definitions,
        })
        .points
    };
    files.iter().map(score).collect()
}

/// Checks that files stand in the order of their points.
fn in_order(text: &str, files: &[Given<'_>]) {
    let points = points(text, files);
    assert!(points.is_sorted_by(|a, b| a > b), "{text}: {points:?}");
}

use SymbolKind::{Function, Struct};

#[test]
fn names_decide_between_equal_texts() {
    in_order(
        "where is retry backoff implemented",
        &[
            ("src/retry_backoff.rs", 6.0, &[("RetryBackoff", Struct)]),
            ("src/client.rs", 6.0, &[("RetryBackoff", Struct)]),
            ("src/client.rs", 6.0, &[("retry", Function)]),
            ("src/client.rs", 6.0, &[("send", Function)]),
        ],
    );
}

#[test]
fn an_identifier_is_wanted_where_it_is_defined() {
    in_order(
        "how ReadFile works",
        &[
            ("src/io.rs", 3.0, &[("ReadFile", Struct)]),
            ("src/other.rs", 3.0, &[("read_file", Function)]),
            ("src/other.rs", 3.0, &[("ReadFileOptions", Struct)]),
            ("src/other.rs", 3.0, &[]),
        ],
    );
}

#[test]
fn code_comes_before_tests_and_prose() {
    let same = |path| (path, 6.0, &[][..]);
    in_order(
        "rate limit",
        &[same("src/x.rs"), same("docs/x.md"), same("tests/x.rs"), same("CHANGELOG.md")],
    );
}

#[test]
fn parts_explain_the_points() {
    let words = question("rate limiter");
    let of = Question::of("rate limiter", &words, &vec![2.0; words.len()]);
    let definitions = [Definition { name: "RateLimiter", kind: Struct, top: true }];
    let scored = of.score(&Candidate {
        repo: "limiter",
        repo_rank: 9,
        path: "tests/rate.rs",
        language: Some("Rust"),
        bm25: 4.0,
        definitions: &definitions,
    });
    let (kind, signals) = scored.parts.split_last().unwrap();
    let sum: f32 = signals.iter().map(|(_, points)| points).sum();
    assert!((scored.points - sum * kind.1).abs() < 1e-3, "{scored:?}");
    assert!(signals.iter().filter(|(_, points)| *points > 0.0).count() >= 5, "{scored:?}");
}

#[test]
fn odd_questions_have_finite_points() {
    for text in ["", "?", "the of and", "x", "\u{1f600}", "配置 重试", "a_b_c aB"] {
        let words = question(text);
        for idf in [0.0, 1e-9, 9.0] {
            let of = Question::of(text, &words, &vec![idf; words.len()]);
            let definitions = [Definition { name: "_", kind: Function, top: false }];
            for path in ["", "/", ".", "a/.b", "配置.md"] {
                let candidate = Candidate {
                    repo: "",
                    repo_rank: u16::MAX,
                    path,
                    language: None,
                    bm25: 0.0,
                    definitions: &definitions,
                };
                assert!(of.score(&candidate).points.is_finite(), "{text} {path}");
            }
            assert!(of.line("// x", &[0, 99], true).is_finite());
        }
    }
}
