//! The tokens of a language.

/// A pair of marks around a string.
#[derive(Debug)]
pub(crate) struct Quote {
    pub(crate) open: &'static str,
    pub(crate) close: &'static str,
    pub(crate) escape: Escape,
    /// Whether the string may continue in the next line.
    pub(crate) lines: bool,
}

/// How a string escapes its own closing mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escape {
    /// With a backslash.
    Backslash,
    /// By doubling it.
    Doubled,
    /// Not at all.
    None,
}

/// The form of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Code,
    /// Tags with attributes.
    Markup,
    /// Rules: selectors with properties in braces.
    Styles,
    /// A key at the beginning of each line, before a colon.
    Colons,
    /// A key at the beginning of each line, before an equals sign.
    Equations,
    /// Text with headings.
    Prose,
}

/// Other features of a language, one bit each.
pub(crate) mod trait_bits {
    /// `'a'` is a character; an apostrophe alone is not.
    pub(crate) const CHARS: u32 = 1;
    /// `/a/` is a regular expression where a value may be.
    pub(crate) const REGEX: u32 = 1 << 1;
    /// `#include <file>`.
    pub(crate) const DIRECTIVES: u32 = 1 << 2;
    /// `@Name` and `@name`.
    pub(crate) const ANNOTATIONS: u32 = 1 << 3;
    /// Names of types begin with a capital letter.
    pub(crate) const CAPITALS: u32 = 1 << 4;
    /// `:name` is a constant.
    pub(crate) const SYMBOLS: u32 = 1 << 5;
    /// `name!(` is a call.
    pub(crate) const MACROS: u32 = 1 << 6;
    /// Words may be in any case.
    pub(crate) const ANY_CASE: u32 = 1 << 7;
    /// A line comment has a space before it, or begins the line.
    pub(crate) const SPACED: u32 = 1 << 8;
    /// A line comment begins its line.
    pub(crate) const LINE_START: u32 = 1 << 9;
    /// Names have hyphens, and a call begins with a bracket: `(name`.
    pub(crate) const LISP: u32 = 1 << 10;
    /// `<<WORD` begins a text that ends at the line `WORD`; with regular expressions, `<<-WORD` does.
    pub(crate) const HEREDOCS: u32 = 1 << 11;
    /// `name_t` is a type.
    pub(crate) const T_TYPES: u32 = 1 << 12;
    /// `\name` is a command.
    pub(crate) const COMMANDS: u32 = 1 << 13;
    /// `name:` at the beginning of a line is a target.
    pub(crate) const TARGETS: u32 = 1 << 14;
    /// Block comments nest.
    pub(crate) const NESTED: u32 = 1 << 15;
    /// Names may end with apostrophes.
    pub(crate) const PRIMES: u32 = 1 << 16;
    /// A string of several lines that begins a line is a comment.
    pub(crate) const DOCSTRINGS: u32 = 1 << 17;
}

/// The tokens of a language, or of several similar ones.
#[derive(Debug)]
pub struct Syntax {
    /// Names of the languages, in lower case.
    pub(crate) names: &'static [&'static str],
    pub(crate) form: Form,
    /// Marks of comments that end with the line.
    pub(crate) lines: &'static [&'static str],
    /// Opening and closing marks of block comments.
    pub(crate) blocks: &'static [(&'static str, &'static str)],
    /// Strings; of two marks with the same beginning, the longer is first.
    pub(crate) quotes: &'static [Quote],
    /// Lists of words, separated by spaces.
    pub(crate) keywords: &'static [&'static str],
    pub(crate) constants: &'static [&'static str],
    /// Keywords before the name of a function, and those before the name of a type.
    pub(crate) functions: &'static [&'static str],
    pub(crate) types: &'static [&'static str],
    /// Bits of [`trait_bits`].
    pub(crate) traits: u32,
}

impl Syntax {
    /// Returns whether the language has some of [`trait_bits`].
    pub(crate) fn has(&self, traits: u32) -> bool {
        self.traits & traits != 0
    }
}
