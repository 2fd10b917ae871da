//! Finds repositories and files whose names are similar to a missing one.

use std::collections::HashMap;

use browse::FindRequest;
use query::{Case, Matcher, Pattern, nearest};
use search::View;

/// Number of paths that are compared.
const NEAR: usize = 5;

/// Fewest letters of a word in a repository's name that a mistyped word may stand for: shorter words resemble too many.
const WORD_LETTERS: usize = 5;

/// Fewest letters of a name for which similar names are searched.
const LETTERS: usize = 3;

/// Checks whether a pattern matches the name of a repository. The error is the similar name that was probably meant.
/// `None` if the check is not possible.
pub(super) async fn repository(view: &View, pattern: &str) -> Option<Result<(), Option<String>>> {
    let catalog = view.catalog().await.ok()?;
    let parsed = Pattern::parse(pattern, Case::Insensitive, false).ok()?;
    let matcher = Matcher::new(&parsed).ok()?;
    let names: Vec<&str> = catalog.repos.values().map(|repo| repo.name.as_str()).collect();
    if names.iter().any(|name| matcher.is_match(name)) {
        return Some(Ok(()));
    }
    let plain = |c: char| !r"^$\".contains(c);
    let typed: String = pattern.chars().filter(|c| plain(*c)).collect();
    Some(Err(near_name(&typed, &names).map(str::to_owned)))
}

/// Returns a sentence about the first pattern that matches no repository, if there is one.
pub async fn missing_repository(view: &View, patterns: &[String]) -> Option<String> {
    for pattern in patterns {
        if let Some(Err(near)) = repository(view, pattern).await {
            let near = match (near, pattern.split_once('@')) {
                (_, Some((name, revision))) if !name.is_empty() && !revision.is_empty() => {
                    let revision = query::written("rev", revision);
                    format!("; for a revision of {name}, add {revision} to the query")
                }
                (Some(near), _) => format!("; did you mean {near}?"),
                (None, _) => String::new(),
            };
            return Some(format!("no repository matches {pattern}{near}"));
        }
    }
    None
}

/// Returns the path most similar to `path`, with its repository's name before it: one that contains all letters, or any
/// path whose last part is similar.
pub async fn near_path(view: &View, path: &str) -> Option<String> {
    let tree = view.tree().await.ok()?;
    let typed = path.to_owned();
    let work = tokio::task::spawn_blocking(move || {
        let request = FindRequest { query: &typed, limit: 1, ..FindRequest::default() };
        let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let near = browse::find(&tree, &request).ok()?.0.pop()?;
        nearest(&last(&typed), [last(&near.path).as_str()]).is_some().then_some(near)
    });
    let (repo, path) = match work.await.ok()? {
        Some(near) => (near.repo, near.path),
        None => file(view, path.rsplit('/').next()?).await?,
    };
    Some(format!("{repo}/{path}"))
}

/// Returns the name most similar to the typed one: as a whole, in its last part, or in its last two parts.
pub fn near_name<'n>(typed: &str, names: &[&'n str]) -> Option<&'n str> {
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    let last = |name: &str, parts: usize| -> String {
        let from = name.rmatch_indices('/').nth(parts - 1).map_or(0, |(at, _)| at + 1);
        name[from..].to_owned()
    };
    let short = last(typed, 1);
    let mut by_part: HashMap<String, &'n str> = HashMap::new();
    for name in sorted.into_iter().rev() {
        for parts in [1, 2] {
            by_part.insert(last(name, parts), name);
        }
        by_part.insert(name.to_owned(), name);
    }
    let mut parts: Vec<&str> = by_part.keys().map(String::as_str).collect();
    parts.sort_unstable();
    let found = nearest(typed, parts.iter().copied())
        .or_else(|| by_part.contains_key(&short).then_some(short.as_str()))
        .or_else(|| nearest(&short, parts.iter().copied()));
    if let Some(found) = found {
        return by_part.get(found).copied();
    }
    // A word of the name; if several names have it, the first.
    let is_word = |word: &&str| word.chars().count() >= WORD_LETTERS;
    let mut words: HashMap<&str, &'n str> = HashMap::new();
    let mut sorted = names.to_vec();
    sorted.sort_unstable();
    for name in sorted {
        for word in name.split(|c: char| !c.is_alphanumeric()).filter(is_word) {
            words.entry(word).or_insert(name);
        }
    }
    let mut all: Vec<&str> = words.keys().copied().collect();
    all.sort_unstable();
    words.get(nearest(&short, all)?).copied()
}

/// Returns the repository and path of a file with a name similar to the typed one.
pub(super) async fn file(view: &View, typed: &str) -> Option<(String, String)> {
    let is_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
    if typed.chars().count() < LETTERS || !typed.chars().all(is_name) {
        return None;
    }
    let tree = view.tree().await.ok()?;
    let typed = typed.to_owned();
    let work = tokio::task::spawn_blocking(move || {
        let request = FindRequest { query: &typed, limit: NEAR, ..FindRequest::default() };
        let (near, _) = browse::find(&tree, &request).ok()?;
        near.into_iter()
            .find(|near| {
                let name = near.path.rsplit('/').next().unwrap_or_default();
                let stem = name.split('.').next().unwrap_or_default();
                nearest(&typed, [name, stem]).is_some()
            })
            .map(|near| (near.repo, near.path))
    });
    work.await.ok()?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_near_in_its_last_parts() {
        let names = ["github.com/golang/go", "github.com/rust-lang/regex", "harbor"];
        for (typed, expected) in [
            ("habor", Some("harbor")),
            ("regx", Some("github.com/rust-lang/regex")),
            ("rust-lang/regx", Some("github.com/rust-lang/regex")),
            ("github.com/golang/goo", Some("github.com/golang/go")),
            ("gitlab.com/somebody/regex", Some("github.com/rust-lang/regex")),
            ("kubernetes", None),
            ("gitbuh", Some("github.com/golang/go")),
        ] {
            assert_eq!(near_name(typed, &names), expected, "{typed}");
        }
    }
}
