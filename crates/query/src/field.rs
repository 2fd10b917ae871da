//! The fields of the language: `file:`, `lang:` and so on, and what other engines call them.

use crate::settings::Setting;

/// The meaning of a word before a colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldName {
    Regex,
    Literal,
    Content,
    Path,
    Repo,
    Language,
    Case,
    Multiline,
    Setting(Setting),
}

const NAMES: &[(&str, FieldName)] = &[
    ("regex", FieldName::Regex),
    ("lit", FieldName::Literal),
    ("content", FieldName::Content),
    ("c", FieldName::Content),
    ("file", FieldName::Path),
    ("f", FieldName::Path),
    ("path", FieldName::Path),
    ("repo", FieldName::Repo),
    ("r", FieldName::Repo),
    ("lang", FieldName::Language),
    ("l", FieldName::Language),
    ("language", FieldName::Language),
    ("case", FieldName::Case),
    ("multiline", FieldName::Multiline),
    ("type", FieldName::Setting(Setting::Select)),
    ("t", FieldName::Setting(Setting::Select)),
    ("select", FieldName::Setting(Setting::Select)),
    ("count", FieldName::Setting(Setting::Count)),
    ("timeout", FieldName::Setting(Setting::Timeout)),
];

/// The words that a program may suggest to somebody who types a query, each with its meaning.
pub const SUGGESTIONS: [(&str, &str); 14] = [
    ("repo:", "in the name of the repository"),
    ("lang:", "files in a language: go, c++, rs"),
    ("file:", "in the path: file:\\.go$, file:^src/"),
    ("-file:", "not in the path"),
    ("content:", "in the lines only"),
    ("lit:", "these very characters, no expression"),
    ("case:yes", "exactly this case"),
    ("case:no", "any case"),
    ("type:file", "paths only"),
    ("type:repo", "repositories only"),
    ("multiline:yes", "terms may match across lines"),
    ("count:all", "everything there is"),
    ("timeout:30s", "how long it may take"),
    ("or", "one of two terms"),
];

/// Fields of other engines that nothing here corresponds to, and what to do instead.
const FOREIGN: &[(&[&str], &str)] = &[
    (&["branch", "b", "rev"], "what is searched is what lay in the folder when it was ingested"),
    (&["sym", "symbol"], "search for a definition by its keyword, such as func\\s+NAME"),
    (
        &["archived", "fork", "public", "visibility", "meta"],
        "only names of repositories are known: use repo:",
    ),
    (&["ext", "extension", "filename", "dir"], "use file:, as in file:\\.go$ or file:^src/"),
    (&["patterntype"], "a term is a regular expression; for text use lit:"),
    (
        &["author", "committer", "message", "before", "after", "since", "until", "diff", "commit"],
        "what is searched is files, not their history",
    ),
    (&["org", "user", "owner"], "use repo:, as in repo:^github\\.com/NAME/"),
];

/// The field called `name`, whatever its case.
pub(crate) fn find(name: &str) -> Option<FieldName> {
    NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, field)| *field)
}

/// The message for a name that is no field.
pub(crate) fn unknown(name: &str) -> String {
    let foreign = FOREIGN.iter().find(|(names, _)| names.contains(&name.to_lowercase().as_str()));
    if let Some((_, advice)) = foreign {
        return format!("there is no field {name}: here; {advice}");
    }
    let lower = name.to_lowercase();
    let nearest = NAMES
        .iter()
        .filter(|(known, _)| known.len() > 1)
        .map(|(known, _)| (strsim::damerau_levenshtein(known, &lower), *known))
        .min_by_key(|(distance, _)| *distance);
    let (distance, nearest) = nearest.unwrap_or((0, "file"));
    // Beyond that it is no slip of a finger.
    let of_all = if distance * 2 > lower.len() {
        " of content, file, repo, lang, case and others"
    } else {
        ""
    };
    format!(
        "there is no field {name}:, the nearest{of_all} is {nearest}:; to search for the text itself, put it in quotes"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_field_is_named() {
        for (typo, nearest) in [
            ("fiel", "file"),
            ("lnag", "lang"),
            ("reop", "repo"),
            ("tiemout", "timeout"),
            ("cass", "case"),
        ] {
            assert!(unknown(typo).contains(&format!("nearest is {nearest}:")), "{}", unknown(typo));
        }
        assert!(unknown("branch").contains("ingested"));
    }
}
