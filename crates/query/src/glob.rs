//! Translates globs, which people type for paths (`*.go`, `src/**/test_*.py`), into regular expressions.

use regex_syntax::ast::parse::Parser;

/// Translation of a single star: in a path it stays within a folder, in the name of a repository it does not.
const IN_FOLDER: &str = "[^/]*";
const IN_REPOSITORY: &str = ".*";

/// Returns the regular expression for a path pattern that is meant as a glob. A pattern is a glob if it is not a valid
/// regular expression, or has a star where a regular expression never needs one (`**`, `/*`, at the beginning, or at
/// the end of a name, as in `go*`), and has none of the characters that only regular expressions use.
pub fn glob(text: &str) -> Option<String> {
    is_glob(text).then(|| regex(text))
}

/// Returns the regular expression for a pattern of repositories that is meant as a glob, by the rules of [`glob`].
pub(crate) fn repository_glob(text: &str) -> Option<String> {
    is_glob(text).then(|| translated(text, IN_REPOSITORY))
}

fn is_glob(text: &str) -> bool {
    let starred = text.starts_with('*') || text.contains("**");
    let only_regex = |c: char| r"\^$()|".contains(c);
    if text.contains(only_regex) || !text.contains(['*', '?', '{']) {
        return false;
    }
    let of_name = |c: char| c.is_alphanumeric() || "_-/".contains(c);
    let ends = text.strip_suffix('*').is_some_and(|name| name.chars().all(of_name));
    let dots = text.contains(".*") || text.contains(".+");
    starred || ends || !dots && (text.contains("/*") || Parser::new().parse(text).is_err())
}

/// Translates a glob for paths into a regular expression. As on GitHub, a glob may begin to match at any folder, unless
/// it begins with a slash, and a single star stays within a folder.
pub(crate) fn regex(glob: &str) -> String {
    translated(glob, IN_FOLDER)
}

fn translated(glob: &str, star: &str) -> String {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let (mut regex, mut rest) = match glob.strip_prefix('/') {
        Some(rest) => ("^".to_owned(), rest),
        None => ("(^|/)".to_owned(), glob),
    };
    // The last closing brace and bracket.
    let closes = (rest.rfind('}'), rest.rfind(']'));
    let (whole, mut braces) = (rest.len(), 0);
    while let Some(c) = rest.chars().next() {
        let (mut length, at) = (c.len_utf8(), whole - rest.len());
        match c {
            '*' if rest.starts_with("**/") => {
                length = 3;
                regex += "(.*/)?";
            }
            '*' if rest.starts_with("**") => {
                length = rest.len() - rest.trim_start_matches('*').len();
                regex += ".*";
            }
            '*' => regex += star,
            '?' => regex += "[^/]",
            '{' if closes.0 > Some(at) => {
                braces += 1;
                regex.push('(');
            }
            '}' if braces > 0 => {
                braces -= 1;
                regex.push(')');
            }
            ',' if braces > 0 => regex.push('|'),
            '[' if closes.1 > Some(at) => {
                let members = rest[1..].split(']').next().unwrap_or_default();
                length = members.len() + 2;
                let (not, members) = match members.strip_prefix('!') {
                    Some(members) => ("^", members),
                    None => ("", members),
                };
                regex.extend(["[", not, members, "]"]);
            }
            '[' => regex += r"\[",
            _ => regex += &regex_syntax::escape(&rest[..length]),
        }
        rest = &rest[length..];
    }
    // An unclosed brace would make an invalid expression.
    regex += &")".repeat(braces);
    regex.push('$');
    regex
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Case, Matcher, Pattern};

    #[test]
    fn a_glob_is_told_from_an_expression() {
        for text in [
            "*.go",
            "**/test/*.py",
            "src/**",
            "src/*.rs",
            "*",
            "{a,b}.go",
            "src/{a,b}/x",
            "*_test.*",
            "go*",
            "src/lib_*",
        ] {
            assert!(glob(text).is_some(), "{text}");
        }
        for text in [
            r"\.go$",
            "src/",
            "^src/.*",
            ".*/main",
            "main.*",
            "a|b",
            "foo",
            "[",
            "(a",
            "x.*",
            "a.*/*b",
            "lib[a-z]*",
        ] {
            assert_eq!(glob(text), None, "{text}");
        }
    }

    #[test]
    fn a_star_of_a_repository_goes_on_through_its_folders() {
        for (text, name, expected) in [
            ("go*", "golang.org/net", true),
            ("go*", "mirror/go", true),
            ("go*", "cargo", false),
            ("*/net", "golang.org/x/net", true),
            ("*net*", "golang.org/x/net", true),
        ] {
            let regex = repository_glob(text).unwrap();
            let pattern = Pattern::parse(&regex, Case::Sensitive, false).unwrap();
            assert_eq!(Matcher::new(&pattern).unwrap().is_match(name), expected, "{text} {name}");
        }
        assert_eq!(repository_glob("^go"), None);
    }

    #[test]
    fn a_glob_matches_what_it_matches_on_github() {
        let check = |glob: &str, path: &str, expected: bool| {
            let pattern = Pattern::parse(&regex(glob), Case::Sensitive, false).unwrap();
            assert_eq!(Matcher::new(&pattern).unwrap().is_match(path), expected, "{glob} {path}");
        };
        for (glob, path) in [
            ("*.go", "main.go"),
            ("*.go", "a/b/main.go"),
            ("src/*.js", "app/src/main.js"),
            ("/src/*.js", "src/main.js"),
            ("src/**/*.js", "src/a/b/main.js"),
            ("src/**/*.js", "src/main.js"),
            ("src/**", "src/a/b"),
            ("**/test/*.py", "test/a.py"),
            ("*.{ts,tsx}", "a.tsx"),
            ("[!a]?.c", "xy.c"),
            ("c++/[*", "c++/[x"),
        ] {
            check(glob, path, true);
        }
        for (glob, path) in [
            ("*.go", "main.gox"),
            ("*.go", "mainxgo"),
            ("/src/*.js", "app/src/main.js"),
            ("src/*.js", "src/a/main.js"),
            ("src/**", "xsrc/a"),
            ("[!a]?.c", "ay.c"),
        ] {
            check(glob, path, false);
        }
    }
}
