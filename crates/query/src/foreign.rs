//! Fields and values of other engines that are not supported, with advice on what to write instead.

use crate::write::{escape, written};

/// Fields of other engines that share their advice.
struct Foreign {
    names: &'static [&'static str],
    /// Whether a lower-case value shows that a field is meant. Some names are also ordinary text before a colon.
    fits: fn(&str) -> bool,
    /// The rest of the error message: why the field is not supported, and what to use instead.
    advice: &'static str,
    /// Makes the replacement for the word from its value.
    instead: fn(&str) -> String,
}

const HISTORY: &str = "is not supported: history:PATTERN finds the commits that added or removed a line, and shows the \
                       author, date and summary of each; remove it";

const OF_REPOSITORIES: &str = "is not supported: of repositories, queries know repo:, topic:, archived:, fork:, public: \
                               and meta.NAME:";

const FOREIGN: &[Foreign] = &[
    Foreign {
        names: &["mirror", "template"],
        fits: |value| ["yes", "no", "only", "true", "false", "any"].contains(&value),
        advice: OF_REPOSITORIES,
        instead: nothing,
    },
    Foreign {
        names: &["visibility"],
        fits: |value| ["public", "private", "internal", "any"].contains(&value),
        advice: "is not supported: use public:yes or public:no",
        instead: property,
    },
    Foreign {
        names: &["license", "stars", "followers", "forks", "pushed", "created"],
        fits: any,
        advice: OF_REPOSITORIES,
        instead: nothing,
    },
    Foreign {
        names: &["meta"],
        fits: any,
        advice: "needs the name of a text about repositories: use meta.NAME:, as in meta.team:search",
        instead: nothing,
    },
    Foreign {
        names: &["is"],
        fits: |value| ["archived", "fork", "public", "private", "internal"].contains(&value),
        advice: "is not supported: use archived:yes, fork:yes or public:yes",
        instead: property,
    },
    Foreign {
        names: &["is"],
        fits: |value| ["mirror", "template", "vendored", "generated"].contains(&value),
        advice: "is not supported: use repo: for repository names and -file: for paths",
        instead: nothing,
    },
    Foreign {
        names: &["in"],
        fits: |value| {
            value
                .split(',')
                .all(|part| ["file", "path", "readme", "name", "description"].contains(&part))
        },
        advice: "is not supported: terms match lines and paths; use content: for lines only and file: for paths",
        instead: nothing,
    },
    Foreign {
        names: &["size"],
        fits: |value| value.starts_with(['<', '>']) || value.contains(".."),
        advice: "is not supported: the size of files is not searchable; remove it",
        instead: nothing,
    },
    Foreign {
        names: &["dir"],
        fits: any,
        advice: "is not supported: use file:, as in file:^src/",
        instead: |value| {
            written("file", &format!("(^|/){}/", escape(unquoted(value).trim_matches('/'))))
        },
    },
    Foreign {
        names: &["repohasfile", "reporegex", "repogroup"],
        fits: any,
        advice: "is not supported: first search for the repositories, as in file:go\\.mod type:repo",
        instead: nothing,
    },
    Foreign {
        names: &["max_matches", "maxmatches", "limit"],
        fits: |value| value.bytes().all(|b| b.is_ascii_digit()),
        advice: "is not supported: use count: for the number of files",
        instead: |value| format!("count:{value}"),
    },
    Foreign {
        names: &["tags", "stable", "index", "rule", "dedup", "saved", "enterprise"],
        fits: |value| ["yes", "no", "only", "true", "false"].contains(&value),
        advice: "is not supported: remove it",
        instead: nothing,
    },
    Foreign {
        names: &["author", "committer", "before", "after", "since", "until", "commit", "message"],
        fits: any,
        advice: HISTORY,
        instead: nothing,
    },
    definition(&["func", "function", "fn", "def", "defun"], |name| of_kind(name, "function")),
    definition(&["method"], |name| of_kind(name, "method")),
    definition(&["class"], |name| of_kind(name, "class")),
    definition(&["struct"], |name| of_kind(name, "struct")),
    definition(&["interface"], |name| of_kind(name, "interface")),
    definition(&["trait"], |name| of_kind(name, "trait")),
    definition(&["enum"], |name| of_kind(name, "enum")),
    definition(&["macro"], |name| of_kind(name, "macro")),
];

/// A field that asks for definitions in other engines, or looks as if it did.
const fn definition(names: &'static [&'static str], instead: fn(&str) -> String) -> Foreign {
    let fits = |value: &str| {
        value.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && value.chars().all(|c| c.is_alphanumeric() || "_.:".contains(c))
    };
    let advice = "is not supported: use sym: for names of definitions and kind: for their kinds; to search for the \
                  text itself, put it in quotes";
    Foreign { names, fits, advice, instead }
}

fn of_kind(name: &str, kind: &str) -> String {
    format!("sym:{name} kind:{kind}")
}

/// Returns the field for a property of repositories, as GitHub names it.
fn property(value: &str) -> String {
    let is = |name: &str| value.eq_ignore_ascii_case(name);
    let field = match value {
        _ if is("archived") => "archived:yes",
        _ if is("fork") => "fork:yes",
        _ if is("public") => "public:yes",
        _ if is("private") || is("internal") => "public:no",
        _ => "",
    };
    field.to_owned()
}

fn any(_: &str) -> bool {
    true
}

fn nothing(_: &str) -> String {
    String::new()
}

fn unquoted(value: &str) -> &str {
    value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value)
}

/// Returns the error message for `name:value` and the replacement for it; `None` if no other engine has such a field.
pub(crate) fn find(name: &str, value: &str) -> Option<(String, String)> {
    let (name, value_lower) = (name.to_lowercase(), value.to_lowercase());
    let fits = |one: &&Foreign| one.names.contains(&&*name) && (one.fits)(&value_lower);
    let found = FOREIGN.iter().find(fits)?;
    Some((format!("{name}: {}", found.advice), (found.instead)(value)))
}

/// Checks whether the value of `repo:` or `file:` is a call, as in `repo:has.path(go.mod)`. Returns the error message,
/// the replacement for the word, and the length of the call in bytes; `None` if the value is not a call. `alone` tells
/// that the query has nothing else.
pub(crate) fn call(field: &str, value: &str, alone: bool) -> Option<(String, String, usize)> {
    // A parenthesis of another word may be far away, and this code runs for each field.
    let open = value.find(|c: char| !c.is_ascii_lowercase() && c != '.')?;
    let function = &value[..open];
    if !value[open..].starts_with('(') {
        return None;
    }
    let called = function == "contains"
        || function.starts_with("has.")
        || function == "has"
        || function.starts_with("contains.");
    if !called {
        return None;
    }
    let close = closing(&value[open..]).map_or(value.len(), |close| open + close);
    let argument = value[open + 1..close].trim();
    let length = (close + 1).min(value.len());
    let kind = function.rsplit('.').next().unwrap_or_default();
    let file = field.eq_ignore_ascii_case("file") || field.eq_ignore_ascii_case("f");
    let part = if argument.contains(':') {
        argument.to_owned()
    } else {
        let of_path = matches!(kind, "path" | "file") && !file;
        written(if of_path { "file" } else { "content" }, argument)
    };
    let of_repository = match kind {
        "topic" if !argument.is_empty() => Some(written("topic", argument)),
        "meta" | "tag" if !argument.is_empty() => {
            let (name, text) = argument.split_once(':').unwrap_or((argument, ""));
            let text = if text.is_empty() { ".".to_owned() } else { format!("^{}$", escape(text)) };
            let name = format!("meta.{}", name.trim());
            crate::field::is_field(&name).then(|| written(&name, &text))
        }
        _ => None,
    };
    if let Some(instead) = of_repository.filter(|_| !file) {
        let message = format!("{field}:{function}() is not supported: use {instead}");
        return Some((message, instead, length));
    }
    let searched = matches!(kind, "path" | "file" | "content" | "contains") && !argument.is_empty();
    let (advice, instead) = if !searched {
        ("only names, paths and lines are indexed".to_owned(), String::new())
    } else if file {
        ("content: in the same query does this".to_owned(), part)
    } else {
        let other = format!("{part} type:repo");
        (
            format!("to list such repositories, search for {other}"),
            if alone { other } else { String::new() },
        )
    };
    Some((format!("{field}:{function}() is not supported: {advice}"), instead, length))
}

/// Checks whether the value of `rev:` is a time, as in Sourcegraph's `rev:at.time(yesterday)`. Returns the error message
/// and the length of the call in bytes.
pub(crate) fn time(field: &str, value: &str) -> Option<(String, usize)> {
    let open = "at.time".len();
    value.strip_prefix("at.time(")?;
    let length = closing(&value[open..]).map_or(value.len(), |close| open + close + 1);
    let message = format!(
        "{field}:at.time() is not supported: use a commit, branch or tag, as in {field}:v1.2.0"
    );
    Some((message, length))
}

/// Returns the position of the parenthesis that closes the one at the start of `text`.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_ordinary_text_besides_are_told_by_their_values() {
        let instead = |name, value| find(name, value).map(|(_, instead)| instead);
        assert_eq!(instead("author", "jane"), Some(String::new()));
        assert_eq!(instead("branch", "main"), None);
        assert_eq!(instead("is", "fork"), Some("fork:yes".to_owned()));
        assert_eq!(instead("is", "None"), None);
        assert_eq!(instead("size", ">100"), Some(String::new()));
        assert_eq!(instead("size", "10px"), None);
        assert_eq!(instead("symbol", "Foo"), None);
        assert_eq!(instead("func", "main"), Some("sym:main kind:function".to_owned()));
        assert_eq!(instead("class", "a.Command"), Some("sym:a.Command kind:class".to_owned()));
        assert_eq!(instead("class", "\"row\""), None);
        assert_eq!(instead("dir", "src/"), Some(r#"file:"(^|/)src/""#.to_owned()));
        assert_eq!(instead("max_matches", "7"), Some("count:7".to_owned()));
    }

    #[test]
    fn calls_are_told_with_what_to_search_for() {
        let called =
            |field, value| call(field, value, true).map(|(_, instead, length)| (instead, length));
        assert_eq!(called("file", "has.content(x) y"), Some(("content:x".to_owned(), 14)));
        assert_eq!(
            called("repo", "has.path(go.mod)"),
            Some(("file:go.mod type:repo".to_owned(), 16))
        );
        assert_eq!(
            called("repo", "has.file(path:a content:b)"),
            Some(("path:a content:b type:repo".to_owned(), 26))
        );
        assert_eq!(called("repo", "has.topic(db)"), Some(("topic:db".to_owned(), 13)));
        assert_eq!(called("repo", "has.meta(a:b)"), Some(("meta.a:^b$".to_owned(), 13)));
        assert_eq!(called("repo", "has.description(db)"), Some((String::new(), 19)));
        assert_eq!(call("repo", "has.path(x)", false).unwrap().1, "");
        assert_eq!(called("repo", "hash(x)"), None);
        assert_eq!(called("repo", "(a|b)"), None);
    }
}
