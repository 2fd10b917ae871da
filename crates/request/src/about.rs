//! What is known of a repository besides its files: from its host, or from the configuration of its clone.

use jiff::Timestamp;
use serde_json::{Value, json};
use store::RepoMetadata;

use crate::human::count;

/// Returns what is known of a repository as JSON; null for what is unknown, and for all of it if nothing is known.
pub fn about_json(about: &RepoMetadata) -> Value {
    if about.is_empty() {
        return Value::Null;
    }
    let known = &about.properties;
    json!({
        "host": about.host,
        "description": about.description,
        "archived": known.archived,
        "fork": known.fork,
        "public": known.public,
        "topics": known.topics,
        "stars": about.stars,
        "pushed_at": pushed_at(about),
        "default_branch": about.default_branch,
        "meta": known.meta,
    })
}

/// Returns what tells a repository from others in a few words: `archived`, `fork`, `12 stars`.
pub fn about_words(about: &RepoMetadata) -> Vec<String> {
    let known = &about.properties;
    let switches = [
        (known.archived == Some(true), "archived"),
        (known.fork == Some(true), "fork"),
        (known.public == Some(false), "not public"),
    ];
    let words = switches.into_iter().filter(|(is, _)| *is).map(|(_, word)| word.to_owned());
    let stars = about.stars.filter(|stars| *stars > 0);
    words.chain(stars.map(|stars| count(stars as usize, "star"))).collect()
}

/// Returns when it last changed on its host, in RFC 3339.
pub fn pushed_at(about: &RepoMetadata) -> Option<String> {
    Some(Timestamp::from_second(about.pushed_at?).ok()?.to_string())
}
