//! Change logs among docs: they name everything, and explain nothing.

use super::types::Doc;

/// Beginnings of the names of files that are change logs, in lowercase.
const NAMES: [&str; 9] = [
    "changelog",
    "change-log",
    "change_log",
    "changes",
    "history",
    "news",
    "release-notes",
    "release_notes",
    "releasenotes",
];

/// Names of folders of change logs, in lowercase.
const FOLDERS: [&str; 6] =
    ["changelog", "changelogs", "changes", "release-notes", "release_notes", "releasenotes"];

/// Words of a query that looks for change logs.
const WORDS: [&str; 7] =
    ["changelog", "changelogs", "changes", "history", "news", "release", "releases"];

/// Moves change logs behind the other docs, unless the query looks for them.
pub(super) fn change_logs_last(docs: Vec<Doc>, query: &str) -> Vec<Doc> {
    let mut words = query.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    if words.any(|word| WORDS.contains(&word.as_str())) {
        return docs;
    }
    let (logs, mut others): (Vec<Doc>, Vec<Doc>) =
        docs.into_iter().partition(|doc| is_change_log(&doc.path));
    others.extend(logs);
    others
}

/// Returns whether a path is that of a change log: `CHANGELOG.md`, `docs/release-notes/1.2.md`, `NEWS`.
fn is_change_log(path: &str) -> bool {
    let path = path.to_lowercase();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let stem = name.split('.').next().unwrap_or(name);
    let is_named = NAMES.iter().any(|log| {
        let rest = stem.strip_prefix(log);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
    });
    let is_text = name.rsplit_once('.').is_none_or(|(_, ending)| {
        ["md", "markdown", "rst", "txt", "adoc", "org"].contains(&ending)
            || ending.bytes().all(|byte| byte.is_ascii_digit())
    });
    is_text && (is_named || folders.split('/').any(|folder| FOLDERS.contains(&folder)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_logs_are_known_by_their_names() {
        for (path, expected) in [
            ("CHANGELOG.md", true),
            ("a/Changes", true),
            ("HISTORY.rst", true),
            ("NEWS.1", true),
            ("docs/release-notes/1.2.md", true),
            ("changelog-2024.md", true),
            ("src/history.rs", false),
            ("docs/newsletter.md", false),
            ("docs/changing.md", false),
            ("README.md", false),
        ] {
            assert_eq!(is_change_log(path), expected, "{path}");
        }
    }
}
