//! Known items: names that are defined exactly once, and the files that define them.

use std::collections::HashMap;
use std::io::Error;

use serde_json::Value;

use crate::Result;
use crate::args::Args;
use crate::queries::{Answer, Query, Set};
use crate::shared::server::{codesearch, run};

/// The languages of known items, as the index names them, in lowercase.
const LANGUAGES: [&str; 12] = [
    "go",
    "rust",
    "c",
    "c++",
    "python",
    "javascript",
    "typescript",
    "java",
    "c#",
    "ruby",
    "php",
    "lua",
];

/// The kinds of known items: those that people search by name.
const KINDS: [&str; 12] = [
    "class",
    "struct",
    "enum",
    "interface",
    "trait",
    "union",
    "type",
    "macro",
    "function",
    "method",
    "constant",
    "constructor",
];

/// Words that are operators of a query.
const OPERATORS: [&str; 3] = ["and", "or", "not"];

/// Number of names requested from the index for each language; some have only one word.
const ASKED: usize = 400;

/// A name, and the file that defines it.
pub(crate) struct Item {
    language: String,
    name: String,
    /// The repository's name, a slash, and the path.
    path: String,
}

/// Returns the known items: from the file, if it exists, else as many of each language as requested; `None` without an
/// index.
pub(crate) fn items(args: &Args) -> Result<Option<Vec<Item>>> {
    if let Some(text) = args.known.as_ref().and_then(|file| std::fs::read_to_string(file).ok()) {
        return text
            .lines()
            .map(read)
            .collect::<Option<Vec<_>>>()
            .map(Some)
            .ok_or_else(|| Error::other("the file of --known is none of this program; remove it"));
    }
    if args.home.is_none() {
        return Ok(None);
    }
    let items = take(args)?;
    if let Some(file) = &args.known {
        let line = |item: &Item| format!("{}\t{}\t{}\n", item.language, item.name, item.path);
        std::fs::write(file, items.iter().map(line).collect::<String>())?;
    }
    Ok(Some(items))
}

fn read(line: &str) -> Option<Item> {
    let mut columns = line.split('\t').map(str::to_owned);
    Some(Item { language: columns.next()?, name: columns.next()?, path: columns.next()? })
}

/// Takes known items from the index: of all names that are defined once, ignoring case and underscores, those with the
/// lowest hashes.
fn take(args: &Args) -> Result<Vec<Item>> {
    let quoted = |words: &[&str]| {
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ")
    };
    let statement = format!(
        "with once as (
             select min(lower(language)) as language, min(symbol) as symbol, min(kind) as kind,
                    min(repository || '/' || path) as path
             from symbols group by lower(replace(symbol, '_', '')) having count(*) = 1),
         numbered as (
             select *, row_number() over (partition by language order by md5('{} ' || symbol), path) as n
             from once
             where language in ({}) and kind in ({}) and symbol ~ '^[A-Za-z_][A-Za-z0-9_]{{5,39}}$')
         select language, symbol, path from numbered where n <= {ASKED} order by language, n",
        args.seed,
        quoted(&LANGUAGES),
        quoted(&KINDS)
    );
    let mut command = codesearch(args.home.as_deref(), args.index.as_deref());
    command.args(["sql", "--format", "json", &statement]);
    let rows = run(command)?;
    let mut counts: HashMap<String, usize> = HashMap::new();
    let mut items = Vec::new();
    for row in rows.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let text = |column: &str| row[column].as_str().unwrap_or_default().to_owned();
        let item = Item { language: text("language"), name: text("symbol"), path: text("path") };
        let count = counts.entry(item.language.clone()).or_default();
        if *count < args.items && words(&item.name).is_some() {
            *count += 1;
            items.push(item);
        }
    }
    for language in LANGUAGES {
        let count = counts.get(language).copied().unwrap_or(0);
        if count < args.items {
            eprintln!("judged: only {count} known items of {language}");
        }
    }
    Ok(items)
}

/// Returns the queries for known items.
pub(crate) fn queries(items: &[Item]) -> Vec<Query> {
    let query = |class: &str, item: &Item, text: String| Query {
        class: class.to_owned(),
        set: Set::Made,
        text,
        answers: vec![Answer { grade: 3, path: item.path.clone(), repo: None }],
        repo: None,
    };
    let exact = items.iter().map(|item| query("known, exact", item, item.name.clone()));
    let split = items
        .iter()
        .filter_map(|item| Some(query("known, split words", item, words(&item.name)?.join(" "))));
    exact.chain(split).collect()
}

/// Returns the words of a name in lowercase, if they are two to four; `None` if a word is too short to type, or an
/// operator.
fn words(name: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let chars: Vec<char> = name.chars().collect();
    for (at, c) in chars.iter().enumerate().filter(|(_, c)| **c != '_') {
        let last = at.checked_sub(1).map_or('_', |last| chars[last]);
        let ends = chars.get(at + 1).is_some_and(char::is_ascii_lowercase);
        let begins = last == '_'
            || c.is_ascii_uppercase() && (!last.is_ascii_uppercase() || ends)
            || c.is_ascii_digit() != last.is_ascii_digit();
        if begins {
            words.push(String::new());
        }
        words.last_mut()?.push(c.to_ascii_lowercase());
    }
    let is_typed = |word: &String| word.len() > 1 && !OPERATORS.contains(&word.as_str());
    ((2..=4).contains(&words.len()) && words.iter().all(is_typed)).then_some(words)
}
