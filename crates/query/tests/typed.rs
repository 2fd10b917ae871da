//! Texts that people type in the search boxes of other engines: queries, or sentences with one.

use query::{Case, Query, QueryParts};

#[test]
fn what_is_typed_elsewhere_is_understood_or_mended() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for line in include_str!("typed.tsv").lines().filter(|line| !line.starts_with('#')) {
        count += 1;
        let [engine, typed, outcome] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not three columns: {line}")
        };
        assert!(["github", "sourcegraph", "zoekt", "ripgrep", "livegrep"].contains(&engine));
        let parsed = Query::parse(typed, Case::Smart);
        let (kind, expected) = outcome.split_once(' ').expect("a kind and what is expected");
        let got = match (kind, &parsed) {
            ("ok", Ok(_)) => continue,
            ("=", Ok(query)) => {
                let same = Query::parse(expected, Case::Smart).unwrap();
                if query.to_string() == same.to_string() {
                    continue;
                }
                query.to_string()
            }
            ("?", Ok(_)) => match QueryParts::of(typed).unwrap().as_text() {
                Some(text) if text == expected => continue,
                other => format!("{other:?}"),
            },
            (_, Ok(query)) => query.to_string(),
            (kind, Err(error)) => {
                let suggested = error.suggestion.as_ref().map(|found| found.query.as_str());
                if kind == "~" && suggested == Some(expected) {
                    Query::parse(expected, Case::Smart).unwrap();
                    continue;
                }
                format!("{suggested:?}: {}", error.message)
            }
        };
        wrong.push(format!("{line}\n    {got}"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 150, "only {count} queries");
}

/// Searches for these are followed by an answer in words if they find little.
#[test]
fn only_words_without_fields_and_operators_are_a_question() {
    let lines = include_str!("typed.tsv").lines().filter(|line| !line.starts_with('#'));
    let typed = lines.filter_map(|line| line.split('\t').nth(1));
    let words: Vec<&str> = typed.filter(|typed| query::is_only_words(typed)).collect();
    assert_eq!(words, ["Store and Berth", "Makefile"]);
    for question in [
        "how are validators plugged in?",
        "where is retry-backoff implemented",
        "what doesn't work, and why",
        "request throttling",
        "配置重试",
        "read_file",
    ] {
        assert!(query::is_only_words(question), "{question}");
    }
    for other in [
        "",
        "?",
        "file not found",
        "retry or backoff",
        "\"a phrase\" here",
        "retry -test",
        "lang:go retry",
        "json.Unmarshal",
        "retr(y|ies)",
        "retry.*backoff",
        "(retry backoff)",
    ] {
        assert!(!query::is_only_words(other), "{other}");
    }
}
