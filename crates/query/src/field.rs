//! The fields of the language: `file:`, `lang:` and so on, and what other engines call them.

/// What a word before a colon means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Regex,
    Literal,
    Content,
    Path,
    Repo,
    Language,
    Case,
    Multiline,
    Select,
    Count,
    Timeout,
}

const NAMES: &[(&str, Field)] = &[
    ("regex", Field::Regex),
    ("lit", Field::Literal),
    ("content", Field::Content),
    ("c", Field::Content),
    ("file", Field::Path),
    ("f", Field::Path),
    ("path", Field::Path),
    ("repo", Field::Repo),
    ("r", Field::Repo),
    ("lang", Field::Language),
    ("l", Field::Language),
    ("language", Field::Language),
    ("case", Field::Case),
    ("multiline", Field::Multiline),
    ("type", Field::Select),
    ("t", Field::Select),
    ("select", Field::Select),
    ("count", Field::Count),
    ("timeout", Field::Timeout),
];

/// Fields of other engines that nothing here corresponds to, and what to do instead.
const FOREIGN: &[(&[&str], &str)] = &[
    (&["branch", "b", "rev"], "what is searched is what lay in the folder when it was ingested"),
    (&["sym", "symbol"], "search for a definition by its keyword, such as func\\s+NAME"),
    (
        &["archived", "fork", "public", "visibility", "meta"],
        "only names of repositories are known: use repo:",
    ),
    (&["org", "user", "owner"], "use repo:, as in repo:^github\\.com/NAME/"),
];

/// The field called `name`, whatever its case.
pub(crate) fn find(name: &str) -> Option<Field> {
    NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, field)| *field)
}

/// What to say of a name that is no field.
pub(crate) fn unknown(name: &str) -> String {
    let foreign = FOREIGN.iter().find(|(names, _)| names.contains(&name.to_lowercase().as_str()));
    if let Some((_, advice)) = foreign {
        return format!("there is no field {name}: here; {advice}");
    }
    let lower = name.to_lowercase();
    let nearest = NAMES
        .iter()
        .filter(|(known, _)| known.len() > 1)
        .min_by_key(|(known, _)| strsim::damerau_levenshtein(known, &lower))
        .map_or("file", |(known, _)| known);
    format!(
        "there is no field {name}:, the nearest is {nearest}:; to search for the text itself, put it in quotes"
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
