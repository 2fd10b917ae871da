//! The kinds of files, by path: how likely a file of this kind answers a question about code.

use crate::path::{
    COPIED_FOLDERS, DOCS_SUFFIXES, GENERATED_FOLDERS, GENERATED_SUFFIXES, SECONDARY_FOLDERS,
    is_test,
};

/// Factors of files that are not code which people wrote for a purpose.
const TEST: f32 = 0.3;
const COPIED: f32 = 0.4;
const GENERATED: f32 = 0.3;
const SECONDARY: f32 = 0.7;
const PROSE: f32 = 0.4;
const CHANGE_LOG: f32 = 0.15;
/// Of a file whose language has no code: data, settings.
const DATA: f32 = 0.5;

/// Folders that are only for internal use in some languages, but for code all the same.
const CODE_FOLDERS: [&str; 2] = ["internal", "migrations"];

/// Names of files that tell of every change in words.
const CHANGE_LOGS: [&str; 7] =
    ["changelog", "changes", "history", "news", "releases", "release_notes", "release-notes"];

/// Languages of texts that are no code.
const TEXTS: [&str; 11] = [
    "json",
    "yaml",
    "toml",
    "ini",
    "csv",
    "xml",
    "text",
    "gettext catalog",
    "svg",
    "tsv",
    "json lines",
];

/// Returns the factor for the kind of a file.
pub(super) fn factor(path: &str, language: Option<&str>) -> f32 {
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", lower.as_str()));
    let within = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let stem = name.split('.').next().unwrap_or(name);
    let is_secondary =
        |folder: &&str| SECONDARY_FOLDERS.contains(folder) && !CODE_FOLDERS.contains(folder);
    if CHANGE_LOGS.contains(&stem) || stem.starts_with("changelog") {
        CHANGE_LOG
    } else if is_test(path) {
        TEST
    } else if within(&COPIED_FOLDERS) {
        COPIED
    } else if within(&GENERATED_FOLDERS) || ends(&GENERATED_SUFFIXES) {
        GENERATED
    } else if folders.trim_start_matches('_').split('/').any(|folder| is_secondary(&folder)) {
        SECONDARY
    } else if ends(&DOCS_SUFFIXES) {
        PROSE
    } else if language.is_none_or(|of| TEXTS.iter().any(|text| of.eq_ignore_ascii_case(text))) {
        DATA
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_paths() {
        for (path, language, expected) in [
            ("src/router.rs", Some("Rust"), 1.0),
            ("src/router_test.go", Some("Go"), TEST),
            ("tests/router.rs", Some("Rust"), TEST),
            ("vendor/x/router.go", Some("Go"), COPIED),
            ("_examples/router/main.go", Some("Go"), SECONDARY),
            ("internal/router.go", Some("Go"), 1.0),
            ("docs/routing.md", Some("Markdown"), PROSE),
            ("CHANGES.rst", Some("reStructuredText"), CHANGE_LOG),
            ("package.json", Some("JSON"), DATA),
            ("LICENSE", None, DATA),
        ] {
            let of = factor(path, language);
            assert!((of - expected).abs() < f32::EPSILON, "{path}: {of}");
        }
    }
}
