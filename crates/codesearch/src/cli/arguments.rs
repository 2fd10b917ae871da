//! Separates the options of a command from the words of its query.
//!
//! A query and its words may begin with a minus: `-test` excludes files, `->next` is text. clap reads such arguments as
//! options: `-error` as `-e rror`, which searches for text that was to be excluded. So [`sorted`] puts the words of the
//! query after `--`, where clap takes them literally. An ambiguous argument is refused, with both ways to write it.

use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _};
use ignore::types::TypesBuilder;

use super::Cli;
use request::shell;

/// The names of arguments that are queries.
const QUERIES: [&str; 3] = ["QUERY", "NAME", "STATEMENT"];

/// Longest cluster of letters with an inner capital (`-cIf`) that is read as options, in letters: hardly a word.
const MAX_CLUSTER: usize = 4;

/// Returns the arguments with the words of the query moved after `--`, in order. A command without a query keeps its
/// arguments unchanged.
///
/// # Errors
/// A sentence that says how to write an argument that may be options or a word.
pub(super) fn sorted(typed: Vec<OsString>, top: &Command) -> Result<Vec<OsString>, String> {
    let Some((command, first)) = subcommand(&typed, top) else { return Ok(typed) };
    let (command, first) = inner(&typed, command, first).unwrap_or((command, first));
    let is_query = |arg: &Arg| {
        arg.get_value_names()
            .is_some_and(|names| names.iter().any(|name| QUERIES.contains(&&**name)))
    };
    if !command.get_positionals().any(is_query) {
        return Ok(typed);
    }
    let mut options: Vec<OsString> = typed[..first].to_vec();
    let (mut words, mut rest) = (Vec::new(), typed[first..].iter());
    while let Some(arg) = rest.next() {
        let text = arg.to_str().unwrap_or_default();
        if text == "--" {
            words.extend(rest.cloned());
            break;
        }
        let (is_option, takes_next) = match Kind::of(text, command, !words.is_empty()) {
            Kind::Word => (false, false),
            Kind::Option { takes_next } => (true, takes_next),
            Kind::Either(reading) => return Err(either(text, &reading, &typed, first, command)),
        };
        if is_option { &mut options } else { &mut words }.push(arg.clone());
        if takes_next {
            options.extend(rest.next().cloned());
        }
    }
    if !words.is_empty() {
        options.push("--".into());
        options.extend(words);
    }
    Ok(options)
}

/// The words of a command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommandLine {
    /// From the name of the program on.
    pub(crate) words: Vec<OsString>,
    /// The number of words after the command's name that come from the configuration file.
    pub(crate) configured: usize,
}

/// An option as typed: `-w`, or with its value, in one argument or in two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypedOption {
    pub(crate) flag: String,
    /// The next argument, if it is the option's value.
    pub(crate) value: Option<String>,
}

/// Returns the typed options of a command line, in order, to repeat in a suggested command.
pub(crate) fn typed_options(line: &CommandLine) -> Vec<TypedOption> {
    let mut top = Cli::command();
    top.build();
    let Some((command, first)) = subcommand(&line.words, &top) else { return Vec::new() };
    let typed = line.words.get(first + line.configured..).unwrap_or_default();
    let mut rest = typed.iter().map_while(|arg| arg.to_str());
    let (mut options, mut beside) = (Vec::new(), false);
    while let Some(text) = rest.next().filter(|text| *text != "--") {
        let Kind::Option { takes_next } = Kind::of(text, command, beside) else {
            beside = true;
            continue;
        };
        let value = if takes_next { rest.next().map(str::to_owned) } else { None };
        options.push(TypedOption { flag: text.to_owned(), value });
    }
    options
}

/// Returns the command that was typed, and the index of its first argument.
pub(super) fn subcommand<'c>(typed: &[OsString], top: &'c Command) -> Option<(&'c Command, usize)> {
    let mut at = 1;
    while let Some(word) = typed.get(at).and_then(|word| word.to_str()) {
        if let Some(found) = top.find_subcommand(word) {
            return Some((found, at + 1));
        }
        let takes_next = match Kind::of(word, top, false) {
            Kind::Option { takes_next } => takes_next,
            Kind::Word | Kind::Either(_) => return None,
        };
        at += 1 + usize::from(takes_next);
    }
    None
}

/// Returns the command of a command that was typed, as in `monitor list`, and the index of its first argument.
fn inner<'c>(typed: &[OsString], of: &'c Command, first: usize) -> Option<(&'c Command, usize)> {
    let mut at = first;
    while let Some(word) = typed.get(at).and_then(|word| word.to_str()) {
        if let Some(found) = of.find_subcommand(word) {
            return Some((found, at + 1));
        }
        let Kind::Option { takes_next } = Kind::of(word, of, false) else { return None };
        at += 1 + usize::from(takes_next);
    }
    None
}

/// The kind of an argument.
enum Kind {
    /// A word of the query.
    Word,
    /// One or more options; the last one takes the next argument as its value if `takes_next`.
    Option { takes_next: bool },
    /// Ambiguous; its reading as options.
    Either(String),
}

impl Kind {
    /// Returns the kind of an argument. `beside` says that it follows words of the query.
    fn of(text: &str, command: &Command, beside: bool) -> Self {
        if let Some(long) = text.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
            return match option(command, |arg| has_long(arg, name)) {
                Some(arg) => Self::Option { takes_next: takes_value(arg) && value.is_none() },
                None if name.contains(char::is_whitespace) || name.is_empty() => Self::Word,
                // clap reports the unknown option.
                None if name.starts_with(char::is_alphanumeric) => {
                    Self::Option { takes_next: false }
                }
                None => Self::Word,
            };
        }
        let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            return Self::Word;
        };
        let cluster = Cluster::of(letters, command).filter(|cluster| !cluster.is_invalid());
        let Some(cluster) = cluster else { return Self::Word };
        let field = letters.split_once(':').filter(|(_, value)| !value.is_empty());
        if field.is_some_and(|(name, _)| query::is_field(name)) {
            return Self::Word;
        }
        if letters.chars().count() == 1 || cluster.is_clear(letters, beside) {
            return Self::Option { takes_next: cluster.takes_next };
        }
        Self::Either(cluster.reading)
    }
}

/// Short options in one argument, as clap reads them.
struct Cluster {
    /// The options written apart: `-n -e rror`.
    reading: String,
    /// The last option, if it takes a value, and the text after it as the value.
    value: Option<(char, String)>,
    takes_next: bool,
}

impl Cluster {
    /// Reads letters as options; `None` if one of them is not an option.
    fn of(letters: &str, command: &Command) -> Option<Self> {
        let mut apart = Vec::new();
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            let arg = option(command, |arg| arg.get_short() == Some(letter))?;
            if takes_value(arg) {
                let value = rest.as_str().to_owned();
                let takes_next = value.is_empty();
                apart.push(format!("-{letter} {}", shell::word(&value)).trim_end().to_owned());
                let reading = apart.join(" ");
                return Some(Self { reading, value: Some((letter, value)), takes_next });
            }
            apart.push(format!("-{letter}"));
        }
        Some(Self { reading: apart.join(" "), value: None, takes_next: false })
    }

    /// Returns whether the text after the last option cannot be its value: `-windows` is not `-d ows`.
    fn is_invalid(&self) -> bool {
        let Some((letter, value)) = self.value.as_ref().filter(|_| !self.takes_next) else {
            return false;
        };
        match letter {
            'A' | 'B' | 'C' | 'M' | 'd' | 'j' | 'm' => value.parse::<usize>().is_err(),
            't' | 'T' => !is_type(value),
            'f' => value != "-" && !Path::new(value).exists(),
            'E' => !value.contains(|c: char| c.is_ascii_digit()),
            _ => false,
        }
    }

    /// Returns whether the letters can hardly be an excluded word.
    fn is_clear(&self, letters: &str, beside: bool) -> bool {
        if let Some((letter, value)) = self.value.as_ref().filter(|_| !self.takes_next) {
            let is_glob = |value: &str| value.contains(['*', '?', '!', '/', '.', '[', '{']);
            return match letter {
                'e' | 'f' | 'r' => false,
                'g' => is_glob(value),
                _ => true,
            };
        }
        let is_word = letters.chars().all(char::is_alphabetic);
        let inner = |c: char| c.is_uppercase();
        let has_inner_capital =
            letters.starts_with(char::is_lowercase) && letters.chars().skip(1).any(inner);
        let length = letters.chars().count();
        // Before the query, two options may be joined, as in `grep -in`.
        !is_word || (has_inner_capital && length <= MAX_CLUSTER) || (!beside && length == 2)
    }
}

/// What an argument of the configuration file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// One or more options; the last one takes the next argument as its value if `takes_next`.
    Option { takes_next: bool },
    /// An option that the command does not have.
    Unknown,
    /// No option.
    Word,
}

impl Reading {
    pub(super) fn is_option(self) -> bool {
        matches!(self, Self::Option { .. })
    }
}

/// Returns what an argument is where no words are expected.
pub(super) fn reading(text: &str, command: &Command) -> Reading {
    if let Some(long) = text.strip_prefix("--") {
        let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
        return match option(command, |arg| has_long(arg, name)) {
            Some(arg) => Reading::Option { takes_next: takes_value(arg) && value.is_none() },
            None => Reading::Unknown,
        };
    }
    match text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
        None => Reading::Word,
        Some(letters) => match Cluster::of(letters, command) {
            Some(cluster) => Reading::Option { takes_next: cluster.takes_next },
            None => Reading::Unknown,
        },
    }
}

pub(super) fn option(command: &Command, is_it: impl Fn(&Arg) -> bool) -> Option<&Arg> {
    command.get_arguments().find(|arg| !arg.is_positional() && is_it(arg))
}

pub(super) fn has_long(arg: &Arg, name: &str) -> bool {
    let is_alias = |names: Option<Vec<&str>>| names.is_some_and(|names| names.contains(&name));
    arg.get_long() == Some(name) || is_alias(arg.get_all_aliases())
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

/// Whether ripgrep has a type of this name.
fn is_type(name: &str) -> bool {
    let mut types = TypesBuilder::new();
    types.add_defaults();
    types.definitions().iter().any(|known| known.name() == name)
}

/// Returns the sentence that refuses an ambiguous argument.
fn either(
    text: &str,
    reading: &str,
    typed: &[OsString],
    first: usize,
    command: &Command,
) -> String {
    // As in `grep -rn`.
    if letters_of_grep(text) {
        return format!(
            "{text}: -r takes a text that replaces each match; leave out {text}, since a search is recursive and \
             prints line numbers anyway"
        );
    }
    let (mut query, mut rest) = (Vec::new(), typed[first..].iter().map_while(|arg| arg.to_str()));
    while let Some(word) = rest.next() {
        match Kind::of(word, command, true) {
            Kind::Option { takes_next: true } => drop(rest.next()),
            Kind::Option { takes_next: false } => {}
            Kind::Word | Kind::Either(_) => query.push(shell::word(word)),
        }
    }
    format!(
        "{} may be options or a word of the query; for options, write {reading}; for the word, write codesearch {} -- \
         {}",
        shell::word(text),
        command.get_name(),
        query.join(" ")
    )
}

fn letters_of_grep(text: &str) -> bool {
    text.strip_prefix("-r").is_some_and(|rest| rest.chars().all(|c| "nRiIlwHs".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the arguments after sorting, or the sentence that refuses them.
    fn of(typed: &[&str]) -> Result<Vec<String>, String> {
        let mut top = Cli::command();
        top.build();
        let typed = ["codesearch"].iter().chain(typed).map(OsString::from).collect();
        let sorted = sorted(typed, &top)?;
        Ok(sorted.into_iter().skip(1).map(|word| word.into_string().unwrap()).collect())
    }

    /// Tests every beginning of a query, alone and after a word, in every command with a query.
    #[test]
    fn what_begins_with_a_minus_is_a_word_or_is_refused() {
        let words = [
            "-windows",
            "-lang:go",
            "-lang:c/c++",
            "-f:x",
            "-r:b",
            "-repo:b",
            "-file:test",
            "-lit:x",
            "-sym:Foo",
            "-c:x y",
            "-(a or b)",
            "-(a",
            "->x",
            "->",
            "-=",
            "-\"a b\"",
            "-/x y/",
            "-[ab]",
            "-foo bar",
            "-über",
            "-x1y",
            "--(",
            "-- x",
            "-_x",
            "-ERROR",
            "-foo",
            "-test",
            "-deep",
            "-tgoo",
            "-test lang:go",
            "-k",
        ];
        for command in ["search", "docs", "files", "def", "refs", "grep"] {
            for word in words {
                assert_eq!(of(&[command, word]).unwrap(), [command, "--", word]);
                assert_eq!(of(&[command, "foo", word]).unwrap(), [command, "--", "foo", word]);
                assert_eq!(of(&[command, word, "foo"]).unwrap(), [command, "--", word, "foo"]);
                let with = of(&[command, "--limit", "5", word]).unwrap();
                assert_eq!(with, [command, "--limit", "5", "--", word]);
            }
        }
        for word in [
            "-error",
            "-nil",
            "-word",
            "-else",
            "-slow",
            "-repo",
            "-enum",
            "-rX",
            "-gabc",
            "-eFoo::bar",
            "-brunch:main",
        ] {
            for typed in [&["search", "foo", word][..], &["search", word, "foo"], &["rg", word]] {
                let refused = of(typed).unwrap_err();
                assert!(refused.contains(" -- ") && refused.contains(word), "{refused}");
            }
        }
        assert_eq!(
            of(&["search", "foo", "-error", "-C", "3"]).unwrap_err(),
            "-error may be options or a word of the query; for options, write -e rror; for the word, write codesearch \
             search -- foo -error"
        );
        // After a word, two letters are more likely a word.
        assert!(of(&["search", "foo", "-in"]).is_err());
    }

    #[test]
    fn options_stay_options() {
        for typed in [
            &["search", "-C3", "-m1", "-l0", "--limit=5", "--", "foo"][..],
            &["search", "-il", "-tgo", "-g!vendor/", "-g", "-x", "--", "foo"],
            &["search", "-e", "-foo", "-r", "-x", "-cIf", "file"],
            &["--index", "search", "search", "-i", "--", "foo"],
            &["search", "-i", "--sort", "path", "--", "->", "Bool"],
            &["def", "--from", "-x", "--", "-main"],
            &["sql", "--", "-- rows\nselect 1"],
            &["search", "--hidden", "--no-such-option", "--", "x"],
            &["repos", "-x"],
            &["ingest", "-repo"],
        ] {
            assert_eq!(of(typed).unwrap(), typed);
        }
        assert_eq!(of(&["search", "a", "-i", "b"]).unwrap(), ["search", "-i", "--", "a", "b"]);
        assert_eq!(of(&["search", "--", "-error"]).unwrap(), ["search", "--", "-error"]);
        assert_eq!(of(&["search", "-5"]).unwrap(), ["search", "--", "-5"]);
    }
}
