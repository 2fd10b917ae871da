//! Patterns of definitions: `sym:Foo.bar kind:method`. A pattern matches names. The parts of a qualified pattern before
//! the last one match the names of the containers.

use std::fmt;

use crate::error::QueryError;
use crate::kind::SymbolKind;
use crate::near::nearest;
use crate::pattern::{Case, Pattern};

/// Aliases of kinds.
const ALIASES: &[(&str, SymbolKind)] = &[
    ("func", SymbolKind::Function),
    ("fn", SymbolKind::Function),
    ("def", SymbolKind::Function),
    ("const", SymbolKind::Constant),
    ("var", SymbolKind::Variable),
    ("mod", SymbolKind::Module),
    ("prop", SymbolKind::Property),
    ("typedef", SymbolKind::Type),
    ("alias", SymbolKind::Type),
    ("protocol", SymbolKind::Interface),
    ("record", SymbolKind::Struct),
    ("enumerator", SymbolKind::EnumMember),
    ("enummember", SymbolKind::EnumMember),
    ("enum_member", SymbolKind::EnumMember),
    ("member", SymbolKind::Field),
    ("section", SymbolKind::Heading),
    ("impl", SymbolKind::Implementation),
    ("extension", SymbolKind::Implementation),
];

/// The separator of a qualified name's parts, as a name itself may contain it.
const BETWEEN: &str = r"(?:\.|::?|#|\\)";

/// A set of kinds of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolKinds(u32);

impl SymbolKinds {
    /// The kinds of definitions, including those that this program does not know. An implementation of a type does not
    /// define it.
    pub const DEFINITIONS: Self = Self(u32::MAX ^ 1 << SymbolKind::Implementation as u8);

    /// No kind.
    pub const NONE: Self = Self(0);

    /// Returns the set of one kind.
    pub fn one(kind: SymbolKind) -> Self {
        Self(1 << kind.byte())
    }

    /// Returns whether the set has the kind with this byte.
    pub fn has(self, byte: u8) -> bool {
        let bit = 1_u32.checked_shl(u32::from(byte));
        bit.map_or(self == Self::DEFINITIONS, |bit| self.0 & bit != 0)
    }

    /// Returns whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the kinds that are in both sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the kinds that are in either set.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the kinds of definitions that are not in the set.
    #[must_use]
    pub fn others(self) -> Self {
        Self(!self.0).and(Self::DEFINITIONS)
    }

    /// Reads `function,method`.
    pub(crate) fn read(value: &str) -> Result<Self, String> {
        let mut all = Self(0);
        for word in value.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let word = word.to_lowercase();
            // Accept, say, the plural "enums" for enumerations.
            let one = |word: &str| {
                let alias = ALIASES.iter().find(|(alias, _)| *alias == word);
                SymbolKind::from_word(word).or(alias.map(|(_, kind)| *kind))
            };
            let plural = || {
                let ies = word.strip_suffix("ies").map(|stem| format!("{stem}y"));
                ies.as_deref().and_then(one).or_else(|| one(word.strip_suffix("es")?))
            };
            let kind = one(&word).or_else(|| one(word.strip_suffix('s')?)).or_else(plural);
            let Some(kind) = kind else {
                let words = SymbolKind::ALL.map(SymbolKind::word);
                return Err(match nearest(&word, words) {
                    Some(near) => format!("unknown kind \"{word}\"; did you mean {near}?"),
                    None => {
                        format!("unknown kind \"{word}\"; use one or more of {}", words.join(", "))
                    }
                });
            };
            all = all.or(Self::one(kind));
        }
        if all.is_empty() {
            Err("kind: needs a kind, as in kind:function".to_owned())
        } else {
            Ok(all)
        }
    }

    /// Returns the kind to write instead of an unknown one, if one is similar.
    pub(crate) fn near(value: &str) -> Option<&'static str> {
        let words = SymbolKind::ALL.map(SymbolKind::word);
        nearest(value, words)
    }
}

/// Prints as `function,method`; nothing for all definitions.
impl fmt::Display for SymbolKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::DEFINITIONS {
            return Ok(());
        }
        let mut first = true;
        for kind in SymbolKind::ALL.into_iter().filter(|kind| self.has(kind.byte())) {
            write!(f, "{}{}", if first { "" } else { "," }, kind.word())?;
            first = false;
        }
        Ok(())
    }
}

/// A term's conditions on a definition besides the match of its name.
#[derive(Clone, Debug)]
pub struct SymbolPattern {
    /// The pattern as typed, with its qualifiers.
    pub(crate) source: String,
    /// Patterns of the whole names of its containers, outermost first.
    pub containers: Vec<Pattern>,
    /// An alternative to the containers: a pattern of a name that is itself qualified.
    pub whole: Option<Pattern>,
    /// The kinds that the definition may have.
    pub kinds: SymbolKinds,
}

impl SymbolPattern {
    /// Parses a pattern for definitions: returns the pattern of the name, and the rest.
    pub(crate) fn parse(source: &str, case: Case) -> Result<(Pattern, Self), QueryError> {
        let all = Pattern::of_name(source, case)?;
        let plain = Self {
            source: source.to_owned(),
            containers: Vec::new(),
            whole: None,
            kinds: SymbolKinds::DEFINITIONS,
        };
        let Some((flags, parts)) = qualified(source) else { return Ok((all, plain)) };
        // All parts together decide whether there is a capital.
        let case = if all.is_caseless() { Case::Insensitive } else { Case::Sensitive };
        let again = |text: String| {
            Pattern::of_name(&text, case).map_err(|error| QueryError::new(source, 0, error.message))
        };
        let (name, containers) = parts.split_last().expect("a qualified name has parts");
        let containers: Result<Vec<Pattern>, _> = containers
            .iter()
            .map(|part| again(format!("{flags}^(?:{})$", part.trim_start_matches('^'))))
            .collect();
        // The whole name begins where its last part does.
        let begins = if name.starts_with('^') { "^" } else { "" };
        let all: Vec<&str> = parts.iter().map(|part| part.trim_start_matches('^')).collect();
        let begins = if source[flags.len()..].starts_with('^') { "^" } else { begins };
        let whole = again(format!("{flags}{begins}{}", all.join(BETWEEN)))?;
        let rest = Self { containers: containers?, whole: Some(whole), ..plain };
        Ok((again(format!("{flags}{name}"))?, rest))
    }

    /// Returns the pattern for exactly these characters in a name.
    pub(crate) fn literal(text: &str, case: Case) -> Result<(Pattern, Self), QueryError> {
        let source = crate::write::escape(text);
        let pattern = Pattern::of_name(&source, case)?;
        let rest =
            Self { source, containers: Vec::new(), whole: None, kinds: SymbolKinds::DEFINITIONS };
        Ok((pattern, rest))
    }

    /// Returns the pattern for any definition of some kinds.
    pub(crate) fn any(kinds: SymbolKinds) -> (Pattern, Self) {
        let pattern = Pattern::of_name("", Case::Smart).expect("it is a pattern");
        (pattern, Self { source: String::new(), containers: Vec::new(), whole: None, kinds })
    }

    /// Returns whether another pattern has the same conditions.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (&self.source, self.kinds) == (&other.source, other.kinds)
    }
}

/// Returns the flags before a qualified name, and its parts: `std::vector`, `Foo.bar`; `None` for another pattern.
///
/// Separators are `::`, `\.`, `\\`, or a dot between two names: there, it hardly ever means any character.
fn qualified(source: &str) -> Option<(&str, Vec<&str>)> {
    let flags = flags(source);
    let text = &source[flags.len()..];
    let bytes = text.as_bytes();
    let is_name = |byte: Option<&u8>| {
        byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b >= 0x80)
    };
    let (mut parts, mut begin) = (Vec::new(), 0);
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        // A name, a group or a class may begin after a separator, and end before it.
        let ends = at > begin
            && (is_name(bytes.get(at - 1)) || matches!(bytes[at - 1], b')' | b']' | b'*' | b'+'));
        let begins = |at: usize| {
            is_name(bytes.get(at))
                || matches!(bytes.get(at), Some(b'(' | b'[' | b'~' | b'$' | b'\\'))
        };
        let length = match bytes[at] {
            b':' if depth == 0 && ends && bytes[at..].starts_with(b"::") => 2,
            b'\\'
                if depth == 0
                    && ends
                    && matches!(bytes.get(at + 1), Some(b'.' | b'\\'))
                    && begins(at + 2) =>
            {
                2
            }
            b'.' if depth == 0 && ends && begins(at + 1) => 1,
            b'|' if depth == 0 => return None,
            b'\\' => {
                at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8);
                continue;
            }
            b'[' => {
                at += class_length(&bytes[at..]);
                continue;
            }
            b'(' => {
                depth += 1;
                0
            }
            b')' => {
                depth = depth.saturating_sub(1);
                0
            }
            _ => 0,
        };
        if length > 0 {
            parts.push(&text[begin..at]);
            begin = at + length;
        }
        at += length.max(1);
    }
    parts.push(&text[begin..]);
    (parts.len() > 1).then_some((flags, parts))
}

/// Returns flags such as `(?i)` at the beginning.
fn flags(source: &str) -> &str {
    let Some(rest) = source.strip_prefix("(?") else { return "" };
    let end = rest.find(|c: char| !(c.is_ascii_alphabetic() || c == '-')).unwrap_or(rest.len());
    if rest[end..].starts_with(')') && end > 0 { &source[..end + 3] } else { "" }
}

/// Returns the length of the class at the beginning; 1 if it is unclosed.
fn class_length(bytes: &[u8]) -> usize {
    let (mut at, mut depth) = (1 + usize::from(bytes.get(1) == Some(&b'^')), 1_usize);
    at += usize::from(bytes.get(at) == Some(&b']'));
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'[' => depth += 1,
            b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return at;
        }
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_qualified_name_has_parts() {
        let parts = |source: &'static str| qualified(source).map(|(_, parts)| parts);
        for (source, expected) in [
            ("Foo.bar", vec!["Foo", "bar"]),
            ("Foo::bar", vec!["Foo", "bar"]),
            (r"Foo\.bar$", vec!["Foo", "bar$"]),
            ("^a.b::c", vec!["^a", "b", "c"]),
            ("std::(vec|list)", vec!["std", "(vec|list)"]),
            ("Foo::", vec!["Foo", ""]),
            (r"Foo\w*.bar", vec![r"Foo\w*", "bar"]),
            (r"App\\Models\\User", vec!["App", "Models", "User"]),
            ("größe.x", vec!["größe", "x"]),
            ("(?i)Foo.bar", vec!["Foo", "bar"]),
            ("Foo::~Foo", vec!["Foo", "~Foo"]),
        ] {
            assert_eq!(parts(source), Some(expected), "{source}");
        }
        for source in [
            "foo", "foo.*bar", "foo.+", "foo.?x", ".foo", "foo.", "a[.]b", "(a.b)", "a.b|c", "::a",
            r"\.x", "a.{2}b",
        ] {
            assert_eq!(parts(source), None, "{source}");
        }
    }

    #[test]
    fn kinds_are_read_by_their_names() {
        let read = |value: &str| SymbolKinds::read(value).map(|kinds| kinds.to_string());
        assert_eq!(read("function").unwrap(), "function");
        assert_eq!(read("Methods,func, class").unwrap(), "class,function,method");
        assert_eq!(read("classes,properties").unwrap(), "class,property");
        assert!(read("functoin").unwrap_err().contains("did you mean function?"));
        assert!(read("goto").unwrap_err().contains("enum-member"));
        assert!(read(",").is_err());
        let all = SymbolKinds::DEFINITIONS;
        assert!(!all.has(SymbolKind::Implementation.byte()));
        assert!(all.has(200) && !SymbolKinds::one(SymbolKind::Class).has(200));
        let others = SymbolKinds::one(SymbolKind::Class).others();
        assert!(!others.has(SymbolKind::Class.byte()) && others.has(SymbolKind::Method.byte()));
    }
}
