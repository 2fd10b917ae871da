//! The words of documents, pages, messages and doc comments: none is in the last column of the table "Words" in
//! `CONTRIBUTING.md`.

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// The root of the checkout.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Words and phrases that have a better alternative, as regular expressions for whole words in any case.
const BANNED: &[&str] = &[
    "anew",
    "mend(s|ed|ing)?",
    "small letters?",
    "(broke|broken|breaks) off",
    "cannot stand here",
    "is not closed",
    "the time was up",
    "very characters",
    "nothing to look for",
    "this is no cursor",
    "there is nothing here",
    "the nearest is",
];

/// Also banned, except in `crates/symbols`: there, "to blank" is to overwrite with spaces.
const BLANK: &str = "blanks?";

/// Returns the files below a folder whose names have one of the extensions, sorted.
fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extensions));
        } else if path.extension().is_some_and(|own| extensions.iter().any(|one| own == *one)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns Rust code with everything but string literals and doc comments replaced by spaces. Line feeds stay.
fn prose_of(code: &str) -> String {
    let parts = Regex::new(concat!(
        r"(?s)(?<doc>//[/!][^\n]*)|//[^\n]*|/\*.*?\*/",
        r#"|b?'(?:\\u\{[0-9a-fA-F]+\}|\\x..|\\.|[^\\'])'|'\w+"#,
        r###"|\b[bc]?r(?:(?<bare>"[^"]*")|#(?<one>".*?")#|##(?<two>".*?")##)"###,
        r#"|(?<text>"(?:\\.|[^"\\])*")"#,
    ))
    .unwrap();
    let mut prose: Vec<u8> = code.bytes().map(|b| if b == b'\n' { b } else { b' ' }).collect();
    for part in parts.captures_iter(code) {
        for name in ["doc", "bare", "one", "two", "text"] {
            if let Some(found) = part.name(name) {
                prose[found.range()].copy_from_slice(found.as_str().as_bytes());
            }
        }
    }
    String::from_utf8(prose).unwrap()
}

/// Returns a text with code replaced by spaces: text in backticks, and the names of values in messages.
fn without_code(text: &str) -> String {
    let code = Regex::new(r"`[^`\n]*`|\{[a-z_.]*\}").unwrap();
    code.replace_all(text, |found: &regex::Captures<'_>| " ".repeat(found[0].len())).into_owned()
}

/// Adds the banned words of a text, each with its place: `README.md:12: anew`.
fn check(path: &Path, text: &str, banned: &Regex, faults: &mut Vec<String>) {
    let shown = path.strip_prefix(ROOT).unwrap().display();
    for (at, line) in without_code(text).lines().enumerate() {
        for found in banned.find_iter(line) {
            faults.push(format!("{shown}:{}: {}", at + 1, found.as_str()));
        }
    }
}

#[test]
fn documents_messages_and_comments_have_no_banned_words() {
    let all = |words: &[&str]| Regex::new(&format!(r"(?i)\b({})\b", words.join("|"))).unwrap();
    let (banned, in_symbols) = (all(&[BANNED, &[BLANK]].concat()), all(BANNED));
    let root = Path::new(ROOT);
    let mut faults = Vec::new();

    let names = ["README.md", "CHANGELOG.md", "SECURITY.md", "ARCHITECTURE.md"];
    let mut documents: Vec<PathBuf> = names.iter().map(|name| root.join(name)).collect();
    documents.extend(files(&root.join("docs"), &["md"]));
    documents.extend(files(&root.join("web/templates"), &["html"]));
    for path in documents {
        check(&path, &fs::read_to_string(&path).unwrap(), &banned, &mut faults);
    }
    // The table itself names them.
    let path = root.join("CONTRIBUTING.md");
    let rules = fs::read_to_string(&path).unwrap();
    let kept: Vec<&str> =
        rules.lines().map(|line| if line.starts_with("| ") { "" } else { line }).collect();
    assert!(rules.contains("| Say | for | instead of |") && rules.contains("blank"), "no table");
    check(&path, &kept.join("\n"), &banned, &mut faults);

    for entry in fs::read_dir(root.join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let words = if folder.ends_with("symbols") { &in_symbols } else { &banned };
        for path in files(&folder.join("src"), &["rs"]) {
            let code = fs::read_to_string(&path).unwrap();
            check(&path, &prose_of(&code), words, &mut faults);
        }
    }
    assert!(faults.is_empty(), "see the table in CONTRIBUTING.md:\n{}", faults.join("\n"));
}

#[test]
fn literals_and_doc_comments_are_told_from_code() {
    let code = "/// Doc.\nlet anew = 'x'; // plain\nlet b: &'a str = \"said \\\" {anew}\";\nr#\"raw \"x\" \"#; '\"'; \"end\"\n";
    let prose = prose_of(code);
    assert_eq!(prose.len(), code.len());
    let words: Vec<&str> = prose.split_whitespace().collect();
    let expected = ["///", "Doc.", "\"said", "\\\"", "{anew}\"", "\"raw", "\"x\"", "\"", "\"end\""];
    assert_eq!(words, expected);
    assert_eq!(without_code("a `blank` {blank} b"), format!("a {} b", " ".repeat(15)));
}
