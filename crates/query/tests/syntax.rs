//! The language: a table of queries and their trees.

use query::{Case, MAX_QUERY_BYTES, MAX_TERMS, Query};

/// Returns the tree of a query, or the position and message of its error.
fn parsed(query: &str) -> Result<String, (usize, String)> {
    match Query::parse(query, Case::Smart) {
        Ok(query) => Ok(query.to_string()),
        Err(error) => Err((query[..error.position].chars().count() + 1, error.message)),
    }
}

#[test]
fn queries_and_their_trees() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for line in include_str!("syntax.txt").lines() {
        if line.is_empty() || line.starts_with("# ") {
            continue;
        }
        count += 1;
        if let Some((query, expected)) = line.rsplit_once(" !! ") {
            let (at, words) = expected.split_once(' ').expect("a character and words");
            let got = parsed(query);
            let fits = matches!(&got, Err((place, message))
                if place.to_string() == at && message.contains(words));
            if !fits {
                wrong.push(format!("{line}\n    {got:?}"));
            }
        } else {
            let (query, expected) = line.rsplit_once(" => ").expect("a query and its tree");
            let got = parsed(query);
            if got != Ok(expected.to_owned()) {
                wrong.push(format!("{line}\n    {got:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 150, "only {count} queries");
}

#[test]
fn bounds_are_named() {
    let check = |query: &str, words: &str| {
        let (_, message) = parsed(query).unwrap_err();
        assert!(message.contains(words), "{message}");
    };
    check(&"a".repeat(100 * 1024), &format!("longer than {MAX_QUERY_BYTES} bytes"));
    check(&"é".repeat(MAX_QUERY_BYTES), "longer than");
    check(&"x ".repeat(8000), &format!("more than {MAX_TERMS} terms"));
    check(&format!("{}x", "not ".repeat(1000)), "deeper than 100 levels");
    check(&format!("{}a b{}", "( ".repeat(3000), ")".repeat(3000)), "deeper than 100 levels");
    check(&format!("{}a b{}", "(".repeat(3000), ")".repeat(3000)), "deeper than 100 levels");
    check(&"[".repeat(9000), "longer than 8192 bytes");
    check("", "empty");
    check(" \t\n", "empty");
    assert!(parsed(&"x ".repeat(MAX_TERMS)).is_ok());
}
