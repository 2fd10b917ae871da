//! Syntax highlighting: finds the comments, strings, keywords and so on in a line.
//!
//! The grammars are those of Sublime Text, run by `syntect`. Their many scopes are mapped to the few classes of the
//! style sheet.

use std::ops::Range;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

/// Largest text that is highlighted, in bytes. A larger one would take too long.
pub(crate) const MAX_COLOURED: usize = 256 * 1024;

/// Longest line that is highlighted, in bytes.
const MAX_LINE: usize = 2000;

/// Longest time to highlight one text. The lines after it stay plain.
const MAX_TIME: Duration = Duration::from_millis(500);

/// All grammars, unpacked when first used.
static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// Maps scopes to classes of the style sheet, the more specific scopes first.
static CLASSES: LazyLock<Vec<(Scope, &'static str)>> = LazyLock::new(|| {
    [
        ("comment", "c"),
        ("string", "s"),
        ("constant.character.escape", "n"),
        ("constant", "n"),
        ("keyword.operator", ""),
        ("keyword", "k"),
        ("storage", "k"),
        ("variable.language", "k"),
        ("entity.name.function", "f"),
        ("entity.name.tag", "k"),
        ("entity.name", "t"),
        ("entity.other.attribute-name", "f"),
        ("support.function", "f"),
        ("support.macro", "f"),
        ("support", "t"),
        ("markup.heading", "k"),
    ]
    .into_iter()
    .filter_map(|(name, class)| Some((Scope::new(name).ok()?, class)))
    .collect()
});

/// A grammar.
#[derive(Clone, Copy)]
pub(crate) struct Grammar(&'static SyntaxReference);

/// A range of a line and its class. The bytes between ranges have none.
pub(crate) type Coloured = (Range<usize>, &'static str);

impl Grammar {
    /// Returns the grammar for a file, by its language or its name.
    pub(crate) fn of(language: Option<&str>, path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let extension = name.rsplit_once('.').map_or(name, |(_, extension)| extension);
        language
            .and_then(|language| {
                SYNTAXES
                    .find_syntax_by_name(language)
                    .or_else(|| SYNTAXES.find_syntax_by_token(&language.to_lowercase()))
            })
            .or_else(|| SYNTAXES.find_syntax_by_extension(name))
            .or_else(|| SYNTAXES.find_syntax_by_extension(extension))
            .filter(|syntax| syntax.name != "Plain Text")
            .map(Self)
    }

    /// Highlights consecutive lines, each without its line feed.
    pub(crate) fn colour<'t>(self, lines: impl Iterator<Item = &'t str>) -> Vec<Vec<Coloured>> {
        let (mut state, mut stack) = (ParseState::new(self.0), ScopeStack::new());
        let mut ended = String::new();
        let begun = Instant::now();
        lines
            .map(|line| {
                if line.len() > MAX_LINE || begun.elapsed() > MAX_TIME {
                    return Vec::new();
                }
                ended.clear();
                ended.push_str(line);
                ended.push('\n');
                // If the grammar fails on a line, the line stays plain.
                let Ok(changes) = state.parse_line(&ended, &SYNTAXES) else { return Vec::new() };
                let mut coloured: Vec<Coloured> = Vec::new();
                let mut from = 0;
                let mut class = class_of(&stack);
                let mut push = |range: Range<usize>, class: &'static str| {
                    if range.is_empty() || class.is_empty() {
                        return;
                    }
                    match coloured.last_mut() {
                        Some((last, same)) if *same == class && last.end == range.start => {
                            last.end = range.end;
                        }
                        _ => coloured.push((range, class)),
                    }
                };
                for (at, change) in changes {
                    let at = at.min(line.len());
                    push(from..at, class);
                    from = at;
                    if stack.apply(&change).is_err() {
                        break;
                    }
                    class = class_of(&stack);
                }
                push(from..line.len(), class);
                coloured
            })
            .collect()
    }
}

/// Returns the class of the innermost scope that has one.
fn class_of(stack: &ScopeStack) -> &'static str {
    stack
        .as_slice()
        .iter()
        .rev()
        .find_map(|scope| {
            CLASSES.iter().find(|(prefix, _)| prefix.is_prefix_of(*scope)).map(|(_, class)| *class)
        })
        .unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coloured(language: &str, line: &str) -> Vec<(String, &'static str)> {
        let grammar = Grammar::of(Some(language), "").unwrap();
        let colours = grammar.colour(std::iter::once(line)).remove(0);
        colours.into_iter().map(|(range, class)| (line[range].to_owned(), class)).collect()
    }

    #[test]
    fn words_have_classes() {
        let found = coloured("Go", "func f() string { return \"x\" } // why");
        for expected in
            [("func", "k"), ("f", "f"), ("return", "k"), ("\"x\"", "s"), ("// why", "c")]
        {
            assert!(
                found.iter().any(|(text, class)| (text.trim(), *class) == expected),
                "{found:?}"
            );
        }
    }

    #[test]
    fn lines_after_the_time_is_up_stay_plain() {
        let late = std::iter::once_with(|| {
            std::thread::sleep(MAX_TIME);
            "return 1"
        });
        let grammar = Grammar::of(Some("Go"), "").unwrap();
        let colours = grammar.colour(std::iter::once("return 0").chain(late));
        assert!(!colours[0].is_empty() && colours[1].is_empty(), "{colours:?}");
    }

    #[test]
    fn grammars_are_found_by_language_or_name() {
        for (language, path) in [
            (Some("Rust"), "x"),
            (Some("C++"), "x"),
            (Some("TypeScript"), "x"),
            (Some("Shell"), "x.sh"),
            (Some("TOML"), "x"),
            (None, "a/Makefile"),
            (None, "a/b.py"),
        ] {
            assert!(Grammar::of(language, path).is_some(), "{language:?} {path}");
        }
        assert!(Grammar::of(None, "a/LICENSE").is_none());
    }
}
