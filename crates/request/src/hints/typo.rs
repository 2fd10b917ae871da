//! Finds the name that a mistyped word probably stands for.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use answer::FileMatch;
use query::{Case, Count, distance};
use search::View;
use tokio::sync::mpsc;
use tokio::time::timeout_at;

use super::count::QueryContext;
use crate::{Client, Options};

/// Lengths of words, in letters, for which names are searched: shorter ones resemble too many, longer ones take long.
const LETTERS: std::ops::RangeInclusive<usize> = 4..=40;

/// Most files with a similar name that are looked at.
const MOST: usize = 200;

/// Batches of files that the search may be ahead of the reader.
const FOUND_AHEAD: usize = 2;

/// Returns the name most similar to a word: a defined one or, if there is none, any word of the texts. `None` if the
/// word itself occurs, or nothing is one typing error away.
pub(super) async fn near_word(
    view: &View,
    typed: &str,
    beside: &QueryContext,
    until: Instant,
) -> Option<String> {
    let pattern = one_slip(typed)?;
    for query in [format!("sym:^{pattern}$"), format!(r"\b{pattern}\b")] {
        let names = timeout_at(until.into(), names(view, &query, beside, until)).await.ok()??;
        if !names.is_empty() {
            return nearest(typed, names);
        }
    }
    None
}

/// Returns the defined name that a mistyped name of a symbol probably stands for: Foo.bar keeps its container.
pub async fn near_symbol(view: &View, typed: &str, within: Duration) -> Option<String> {
    let last = typed.rfind(['.', ':']).map_or(0, |at| at + 1);
    let (container, name) = typed.split_at(last);
    let beside = QueryContext { options: Options::default(), client: Client::AGENT };
    let near = near_word(view, name, &beside, Instant::now() + within).await?;
    Some(format!("{container}{near}"))
}

/// Returns a pattern of the words that are one typing error away from a word, and of the word itself.
fn one_slip(typed: &str) -> Option<String> {
    let letters: Vec<char> = typed.chars().collect();
    let is_word = letters.iter().all(|c| c.is_alphanumeric() || *c == '_');
    if !is_word || !LETTERS.contains(&letters.len()) {
        return None;
    }
    let part = |part: &[char]| part.iter().collect::<String>();
    let mut slips = Vec::with_capacity(2 * letters.len());
    for at in 0..letters.len() {
        let (before, after) = (part(&letters[..at]), part(&letters[at + 1..]));
        // Another letter, none, or one more beside it.
        slips.push(format!(r"{before}\w{{0,2}}{after}"));
        if let Some(next) = letters.get(at + 1) {
            slips.push(format!("{before}{next}{}{}", letters[at], part(&letters[at + 2..])));
        }
    }
    Some(format!("(?:{})", slips.join("|")))
}

/// Returns the names that a query finds, each with its number of lines.
async fn names(
    view: &View,
    query: &str,
    beside: &QueryContext,
    until: Instant,
) -> Option<HashMap<String, usize>> {
    let options = Options { case: Case::Insensitive, ..Options::default() };
    let mut parsed = crate::parse(query, &options, &beside.client).ok()?;
    parsed.settings.count = Some(Count::Most(MOST));
    let mut request = crate::build(parsed, &options, &beside.client).ok()?;
    request.timeout = Some(until.saturating_duration_since(Instant::now()));
    request.skipped = false;
    let (found, mut files) = mpsc::channel::<Vec<FileMatch>>(FOUND_AHEAD);
    let read = async {
        let mut names: HashMap<String, usize> = HashMap::new();
        while let Some(some) = files.recv().await {
            for line in some.into_iter().flat_map(|file| file.lines) {
                if line.symbols.is_empty() {
                    for range in &line.ranges {
                        let name = line.text.get(range.clone()).unwrap_or_default();
                        *names.entry(name.to_owned()).or_default() += 1;
                    }
                }
                for found in line.symbols {
                    *names.entry(found.symbol.name).or_default() += 1;
                }
            }
        }
        names
    };
    let request = Arc::new(request);
    let (_, names) = tokio::join!(view.search(&request, found), read);
    Some(names)
}

/// Returns the most similar name, of equally similar ones the most frequent.
fn nearest(typed: &str, names: HashMap<String, usize>) -> Option<String> {
    let lower = typed.to_lowercase();
    if names.keys().any(|name| name.to_lowercase() == lower) {
        return None;
    }
    let slips = |name: &str| (distance(&name.to_lowercase(), &lower), distance(name, typed));
    let near = names
        .into_iter()
        .min_by_key(|(name, lines)| (slips(name), std::cmp::Reverse(*lines), name.clone()));
    near.map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_typing_error_away() {
        let pattern = format!("^{}$", one_slip("ReadFiel").unwrap());
        let pattern = query::Pattern::parse(&pattern, Case::Sensitive, false).unwrap();
        let pattern = query::Matcher::new(&pattern).unwrap();
        for near in ["ReadFile", "ReadFiel", "ReadFel", "ReadFielx", "xReadFiel", "RaedFiel"] {
            assert!(pattern.is_match(near), "{near}");
        }
        for far in ["Read", "ReadFiles", "WriteFiel", "RFiel"] {
            assert!(!pattern.is_match(far), "{far}");
        }
        for none in ["abc", "a b c d", "foo.bar", &"x".repeat(100)] {
            assert_eq!(one_slip(none), None);
        }
        let names = |all: &[(&str, usize)]| -> HashMap<String, usize> {
            all.iter().map(|(name, lines)| ((*name).to_owned(), *lines)).collect()
        };
        let near = names(&[("ReadFile", 2), ("readFile", 9)]);
        assert_eq!(nearest("ReadFiel", near).as_deref(), Some("ReadFile"));
        let near = names(&[("handled", 2), ("handles", 9)]);
        assert_eq!(nearest("handlex", near).as_deref(), Some("handles"));
        assert_eq!(nearest("handles", names(&[("Handles", 1), ("handled", 1)])), None);
    }
}
