//! Pages for browsers, rendered from `web/templates`.

mod ask;
mod asked;
mod assets;
mod audit;
mod browse;
mod diff;
mod docs;
mod highlight;
mod history;
mod home;
mod link;
mod markdown;
mod narrow;
mod navigate;
mod render;
mod results;
mod search_page;
mod sign_in;
mod status;
mod suggest;
mod syntax;
mod view;

pub(crate) use ask::{ASK, asked};
pub(crate) use assets::{FIRST, SCRIPT, STYLE};
pub(crate) use audit::AUDIT;
pub(crate) use browse::{FILE, FILES, LINES, RAW, REPOS, not_in_index};
pub(crate) use diff::DIFF;
pub(crate) use docs::DOCS;
pub(crate) use history::{BLAME, HISTORY};
pub(crate) use home::home;
pub(crate) use link::{file_in as file_address, folder as folder_address, to as link_to};
pub(crate) use navigate::{DEFINITIONS, OUTLINE, REFERENCES};
pub(crate) use render::{protect, render};
pub(crate) use results::{Prepared, page, typed};
pub(crate) use search_page::{REST_PLACEHOLDER, failed};
pub(crate) use sign_in::sign_in;
pub(crate) use status::STATS;
pub(crate) use suggest::SUGGEST;
pub(crate) use syntax::SYNTAX;

/// Highlights a text, and checks that the ranges lie within their lines and in order.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz(bytes: &[u8]) {
    const LANGUAGES: [&str; 16] = [
        "Rust",
        "Go",
        "C",
        "C++",
        "Python",
        "JavaScript",
        "TypeScript",
        "HTML",
        "CSS",
        "JSON",
        "YAML",
        "Markdown",
        "Shell",
        "Java",
        "Ruby",
        "PHP",
    ];
    let Some((first, text)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let language = LANGUAGES[usize::from(*first) % LANGUAGES.len()];
    let Some(grammar) = highlight::Grammar::of(Some(language), "x.sh") else { return };
    let lines: Vec<&str> = text.lines().collect();
    let coloured = grammar.colour(lines.iter().copied());
    assert_eq!(coloured.len(), lines.len());
    for (line, colours) in lines.iter().zip(coloured) {
        let mut from = 0;
        for (range, _) in colours {
            assert!(range.start >= from && line.get(range.clone()).is_some(), "{line:?} {range:?}");
            from = range.end;
        }
    }
}
