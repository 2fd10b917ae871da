//! Tests the languages of some hundred files: those that share an extension, have a name of their own, or begin with
//! `#!`. Each was written for this list, so that the share of correct files is known when a table changes.

use std::collections::{BTreeMap, HashSet};

/// The files: lines `>>> path: language`, and the beginning of each.
const FILES: &str = include_str!("recognised.txt");

/// Returns path, language and beginning of each file.
fn files() -> Vec<(&'static str, &'static str, &'static str)> {
    let file = |part: &'static str| {
        let (head, text) = part.split_once('\n').unwrap_or((part, ""));
        let (path, language) = head.split_once(": ").unwrap();
        (path, language.trim_end(), text)
    };
    FILES.strip_prefix(">>> ").unwrap().split("\n>>> ").map(file).collect()
}

#[test]
fn languages_are_told_by_names_and_contents() {
    let files = files();
    let languages: HashSet<&str> = files.iter().map(|(_, language, _)| *language).collect();
    assert!(files.len() >= 200 && languages.len() >= 40, "{} {}", files.len(), languages.len());
    let mut wrong: BTreeMap<&str, String> = BTreeMap::new();
    for (path, language, text) in &files {
        let told = query::language_of(path, text.as_bytes());
        if told != Some(language) {
            wrong.insert(path, format!("{told:?}, not {language}"));
        }
        assert_eq!(query::check_language(language), Ok(()), "{language} is no name of a language");
    }
    let right = files.len() - wrong.len();
    println!(
        "{right} of {} files in {} languages are right: {wrong:#?}",
        files.len(),
        languages.len()
    );
    assert!(right * 100 >= files.len() * 99, "{right} of {}: {wrong:#?}", files.len());
}
