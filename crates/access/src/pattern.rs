//! Globs of repositories' names.

use std::collections::{BTreeSet, HashSet};
use std::ops::Bound::{Excluded, Unbounded};

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

/// Longest glob, in bytes.
const MAX_GLOB: usize = 1000;

/// Checks a glob of repositories' names: `*` matches within a part of a name, `**` over several, and letters are compared
/// exactly. Unlike the globs of hosts to mirror, one matches nothing below what it names.
///
/// # Errors
/// A sentence that says what to write, without a full stop.
pub fn check_glob(glob: &str) -> Result<(), String> {
    let shown = || glob.chars().take(100).collect::<String>();
    if glob.trim().is_empty() {
        return Err("an empty glob matches nothing; write NAME, OWNER/* or **".to_owned());
    }
    if glob.len() > MAX_GLOB {
        return Err(format!("a glob has more than {MAX_GLOB} bytes; shorten it"));
    }
    if glob != glob.trim() || glob.chars().any(char::is_control) {
        return Err(format!(
            "\"{}\" has spaces at its ends or control characters; take them away",
            shown()
        ));
    }
    if glob.contains("://") {
        return Err(format!("\"{}\" is an address; write the repository's name", shown()));
    }
    // Most need no automaton, and a file may have tens of thousands.
    if is_plain(glob.strip_suffix("/**").unwrap_or(glob)) {
        return Ok(());
    }
    match compiled(glob) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("\"{}\" is invalid: {}", shown(), error.kind())),
    }
}

/// Returns whether a glob matches only its own text.
fn is_plain(glob: &str) -> bool {
    !glob.contains(['*', '?', '[', ']', '{', '}', '\\', '!'])
}

fn compiled(glob: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build()
}

/// Some globs, ready to match. Most name one repository or all below a folder, which needs no automaton.
#[derive(Debug, Default)]
pub(crate) struct Globs {
    all: bool,
    exact: HashSet<String>,
    /// `a/` for `a/**`.
    below: Vec<String>,
    others: GlobSet,
}

impl Globs {
    /// Compiles globs. One that is invalid matches nothing.
    pub(crate) fn new<'g>(globs: impl IntoIterator<Item = &'g str>) -> Self {
        let mut made = Self::default();
        let mut others = GlobSetBuilder::new();
        for glob in globs {
            match glob.strip_suffix("**") {
                Some("") => made.all = true,
                Some(folder) if folder.ends_with('/') && is_plain(folder) => {
                    made.below.push(folder.to_owned());
                }
                None if is_plain(glob) => {
                    made.exact.insert(glob.to_owned());
                }
                _ => {
                    if let Ok(glob) = compiled(glob) {
                        others.add(glob);
                    }
                }
            }
        }
        made.below.sort_unstable();
        made.below.dedup();
        // Too many for one automaton match nothing: nobody sees more than was granted.
        made.others = others.build().unwrap_or_default();
        made
    }

    pub(crate) fn is_match(&self, name: &str) -> bool {
        self.all
            || self.exact.contains(name)
            || self.below.iter().any(|folder| name.len() > folder.len() && name.starts_with(folder))
            || self.others.is_match(name)
    }
}

/// Returns whether a glob matches a name.
pub fn is_match(glob: &str, name: &str) -> bool {
    Globs::new([glob]).is_match(name)
}

/// Returns those of some globs that match none of some names. Takes less than a millisecond for each 1,000 globs that name one
/// repository or all below a folder, and more for others.
pub fn matching_none<'g>(
    globs: impl IntoIterator<Item = &'g str>,
    names: &BTreeSet<&str>,
) -> Vec<&'g str> {
    let matches_none = |glob: &&str| {
        let Globs { all, exact, below, others } = Globs::new([*glob]);
        let is_below = |folder: &String| {
            let first = names.range::<str, _>((Excluded(&**folder), Unbounded)).next();
            first.is_some_and(|name| name.starts_with(&**folder))
        };
        let is_one = all && !names.is_empty()
            || exact.iter().any(|name| names.contains(&**name))
            || below.iter().any(is_below)
            || !others.is_empty() && names.iter().any(|name| others.is_match(name));
        !is_one
    };
    globs.into_iter().filter(matches_none).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_matches_whole_names() {
        for (glob, name, expected) in [
            ("**", "a/b", true),
            ("*", "a", true),
            ("*", "a/b", false),
            ("a/**", "a/b/c", true),
            ("a/**", "a", false),
            ("a/**", "ab/c", false),
            ("a/*", "a/b", true),
            ("a/*", "a/b/c", false),
            ("a", "a", true),
            ("a", "A", false),
            ("a", "a/b", false),
            ("**/secret-*", "x/y/secret-z", true),
            ("{a,b}/c", "b/c", true),
            ("a[bc]", "ac", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
        ] {
            assert!(check_glob(glob).is_ok(), "{glob}");
            assert_eq!(is_match(glob, name), expected, "{glob} {name}");
            // What is compiled at once matches as the library says.
            let library = compiled(glob).unwrap().compile_matcher().is_match(name);
            assert_eq!(library, expected, "{glob} {name}");
            let names = BTreeSet::from(["0", name, "zz"]);
            assert_eq!(
                matching_none([glob], &names).is_empty(),
                expected || glob == "*",
                "{glob} {name}"
            );
        }
        assert_eq!(matching_none(["a/**", "**", "b"], &BTreeSet::new()), ["a/**", "**", "b"]);
        for wrong in ["", " ", "a ", "https://x/y", "a[", "{a", "a\nb", &"x".repeat(2000)] {
            assert!(check_glob(wrong).is_err(), "{wrong:.20}");
        }
    }
}
