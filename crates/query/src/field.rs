//! The fields of the language: `file:`, `lang:` and so on.

use crate::near::nearest;
use crate::property::Switch;
use crate::revision::TreeField;
use crate::settings::{self, Setting};
use crate::write::literal;

/// The meaning of a field's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldName {
    Regex,
    Literal,
    Content,
    Path,
    Extension,
    FileName,
    Repo,
    Owner,
    Language,
    Symbol,
    /// Restricts symbols.
    Kind,
    /// A property that a repository has or has not.
    Switch(Switch),
    /// A topic of its repository.
    Topic,
    /// A text about its repository: `meta.NAME:`.
    Meta,
    /// Names trees: `worktree:`, `branch:`, `rev:`.
    Tree(TreeField),
    /// Compares two revisions.
    Diff,
    History,
    Added,
    Removed,
    Case,
    Multiline,
    Setting(Setting),
}

/// The names of fields; those of settings are in [`settings::NAMES`].
const NAMES: &[(&str, FieldName)] = &[
    ("regex", FieldName::Regex),
    ("lit", FieldName::Literal),
    ("content", FieldName::Content),
    ("c", FieldName::Content),
    ("file", FieldName::Path),
    ("f", FieldName::Path),
    ("path", FieldName::Path),
    ("ext", FieldName::Extension),
    ("extension", FieldName::Extension),
    ("filename", FieldName::FileName),
    ("repo", FieldName::Repo),
    ("r", FieldName::Repo),
    ("org", FieldName::Owner),
    ("user", FieldName::Owner),
    ("owner", FieldName::Owner),
    ("lang", FieldName::Language),
    ("l", FieldName::Language),
    ("language", FieldName::Language),
    ("sym", FieldName::Symbol),
    ("symbol", FieldName::Symbol),
    ("kind", FieldName::Kind),
    ("archived", FieldName::Switch(Switch::Archived)),
    ("fork", FieldName::Switch(Switch::Fork)),
    ("public", FieldName::Switch(Switch::Public)),
    ("topic", FieldName::Topic),
    ("worktree", FieldName::Tree(TreeField::Worktree)),
    ("branch", FieldName::Tree(TreeField::Branch)),
    ("b", FieldName::Tree(TreeField::Branch)),
    ("rev", FieldName::Tree(TreeField::Revision)),
    ("revision", FieldName::Tree(TreeField::Revision)),
    ("diff", FieldName::Diff),
    ("history", FieldName::History),
    ("added", FieldName::Added),
    ("removed", FieldName::Removed),
    ("case", FieldName::Case),
    ("multiline", FieldName::Multiline),
];

/// The beginning of the names of fields that ask for texts about a repository.
const META: &str = "meta.";

/// Words to suggest to users who type a query; those of settings are in [`settings::SUGGESTIONS`].
const SUGGESTIONS: &[(&str, &str)] = &[
    ("repo:", "repository name"),
    ("lang:", "language of the file: go, c++, rs"),
    ("file:", "path: file:\\.go$, file:^src/, file:*.go"),
    ("-file:", "exclude paths"),
    ("ext:", "file extension: ext:go"),
    ("filename:", "file name: filename:go.mod"),
    ("org:", "owner in the repository name"),
    ("content:", "lines only, not paths"),
    ("sym:", "name of a definition: sym:^New, sym:Buffer.Write"),
    ("kind:", "kind of definition: kind:function, kind:class,struct"),
    ("lit:", "exactly these characters, not a regular expression"),
    ("worktree:", "another worktree of a clone, by name or glob"),
    ("rev:", "branch, tag or commit: rev:v1.2.0, rev:HEAD~3"),
    ("branch:", "part of the name of an indexed branch or tag"),
    ("diff:", "changes between two revisions: diff:main..HEAD"),
    ("archived:no", "not in archived repositories"),
    ("fork:no", "not in forks"),
    ("public:yes", "in repositories that everybody may see on their host"),
    ("topic:", "topic of the repository on its host"),
    ("history:", "commits that added or removed a line with this pattern"),
    ("added:", "added lines, with diff: or history:*"),
    ("removed:", "removed lines, with diff: or history:*"),
    ("case:yes", "match case exactly"),
    ("case:no", "ignore case"),
    ("multiline:yes", "terms may match across lines"),
    ("or", "either of two terms"),
];

/// Returns the words to suggest to users who type a query, each with its meaning.
pub fn suggestions() -> impl Iterator<Item = (&'static str, &'static str)> {
    SUGGESTIONS.iter().chain(settings::SUGGESTIONS).copied()
}

/// Returns all names.
fn names() -> impl Iterator<Item = (&'static str, FieldName)> {
    let of_settings = settings::NAMES.iter().map(|(name, one)| (*name, FieldName::Setting(*one)));
    NAMES.iter().copied().chain(of_settings)
}

/// Returns the field called `name`, in any case.
pub(crate) fn find(name: &str) -> Option<FieldName> {
    let found = names().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, field)| field);
    found.or_else(|| meta(name).map(|_| FieldName::Meta))
}

/// Returns the name of the text that a field of the form `meta.NAME` asks for.
pub(crate) fn meta(name: &str) -> Option<&str> {
    let begin = name.get(..META.len()).filter(|begin| begin.eq_ignore_ascii_case(META))?;
    let of = &name[begin.len()..];
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    (!of.is_empty() && of.chars().all(is_plain)).then_some(of)
}

/// Returns whether a query can have `name:value`.
pub fn is_field(name: &str) -> bool {
    find(name).is_some()
}

/// Returns the canonical name of a field, the same for all its aliases.
pub(crate) fn name(field: FieldName) -> &'static str {
    let found = names().find(|(_, known)| *known == field);
    found.map_or(META.trim_end_matches('.'), |(name, _)| name)
}

/// Returns the error message for `name:value` with an unknown name, and the replacement for the word; an empty one
/// deletes it.
pub(crate) fn unknown(name: &str, value: &str) -> (String, String) {
    let names = names().map(|(known, _)| known).filter(|known| known.len() > 1);
    let text = format!("{name}:{value}");
    match nearest(name, names) {
        Some(nearest) => {
            let message = format!(
                "unknown field {name}:; did you mean {nearest}:? To search for the text itself, put it in quotes"
            );
            (message, format!("{nearest}:{value}"))
        }
        None => {
            let message =
                format!("unknown field {name}:; to search for the text itself, put it in quotes");
            (message, literal(&text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_field_is_named() {
        for (typo, nearest) in [
            ("fiel", "file"),
            ("lnag", "lang"),
            ("reop", "repo"),
            ("tiemout", "timeout"),
            ("cass", "case"),
        ] {
            let (message, instead) = unknown(typo, "x");
            assert!(message.contains(&format!("did you mean {nearest}:?")), "{message}");
            assert_eq!(instead, format!("{nearest}:x"));
        }
        for text in ["key", "foo", "localhost", "width", "a"] {
            let (message, instead) = unknown(text, "x");
            assert!(message.starts_with(&format!("unknown field {text}:; to search")), "{message}");
            assert_eq!(instead, format!("lit:{text}:x"));
        }
        // Of another engine.
        assert!(crate::foreign::find("author", "x").unwrap().0.contains("history:"));
    }
}
