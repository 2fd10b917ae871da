//! The words that a query looks for: the names that its terms spell, in order.

use query::{Field, Query, SymbolKind, SymbolKinds, Term, Tree};

use super::name::folded;

/// Words that introduce or modify a definition. Next to other words they are not names.
const KEYWORDS: [&str; 26] = [
    "async",
    "class",
    "const",
    "constexpr",
    "def",
    "defn",
    "enum",
    "extern",
    "fn",
    "fun",
    "func",
    "impl",
    "let",
    "mod",
    "mut",
    "namespace",
    "private",
    "protected",
    "pub",
    "public",
    "struct",
    "trait",
    "typedef",
    "val",
    "var",
    "void",
];

/// Further keywords that are also common names: keywords only next to a word written like a name.
const NOUNS: [&str; 16] = [
    "abstract",
    "alias",
    "define",
    "export",
    "final",
    "function",
    "inline",
    "interface",
    "macro",
    "module",
    "package",
    "protocol",
    "record",
    "static",
    "type",
    "union",
];

/// A searched name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// The word as typed.
    pub(super) typed: String,
    /// The same, [`folded`].
    pub(super) folded: String,
    /// The name before it, folded: `json` of `json.Decoder`.
    pub(super) qualifier: Option<String>,
    /// Whether it is a keyword next to names: it only affects whether words follow each other.
    pub(super) keyword: bool,
    /// The whole term that contains it, [`folded`]: `core.autocrlf`.
    pub(super) text: String,
    /// Whether it may match in paths.
    pub(super) in_paths: bool,
    /// Whether its case counts.
    pub(super) exact: bool,
}

/// Words that a file must all contain.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    /// In the order of the query.
    pub(super) words: Vec<Word>,
    /// Whether some terms are patterns that spell no words.
    pub(super) patterns: bool,
}

impl Group {
    /// Iterates over the words that are not keywords.
    pub(super) fn names(&self) -> impl Iterator<Item = &Word> + Clone {
        self.words.iter().filter(|word| !word.keyword)
    }

    /// Returns the kinds of definitions that its keywords introduce: all kinds if they introduce none in particular.
    pub(super) fn kinds(&self) -> SymbolKinds {
        let keywords = self.words.iter().filter(|word| word.keyword);
        keywords.filter_map(|word| introduced(&word.typed)).fold(
            SymbolKinds::DEFINITIONS,
            |all, kinds| {
                let both = all.and(kinds);
                // `const fn` defines a function, though const alone does not.
                if both.is_empty() { all.or(kinds) } else { both }
            },
        )
    }
}

/// Returns the kinds of definitions that a keyword introduces in some language; `None` if it only modifies others.
fn introduced(keyword: &str) -> Option<SymbolKinds> {
    use SymbolKind::{
        Class, Constant, Constructor, Enum, EnumMember, Field, Function, Interface, Macro, Method,
        Module, Namespace, Package, Property, Struct, Trait, Type, Union, Variable,
    };
    let kinds: &[SymbolKind] = match keyword {
        "class" => &[Class],
        "const" | "constexpr" | "let" | "val" | "var" => {
            &[Constant, Variable, Field, Property, EnumMember, Function, Method, Constructor]
        }
        "def" | "defn" | "fn" | "fun" | "func" | "function" => &[Function, Method, Constructor],
        "define" | "macro" => &[Macro, Constant, Function],
        "enum" => &[Enum],
        "interface" | "protocol" => &[Interface],
        "mod" | "module" | "namespace" | "package" => &[Module, Namespace, Package],
        "record" => &[Struct, Class],
        "struct" => &[Struct],
        "trait" => &[Trait],
        "alias" | "type" | "typedef" => &[Class, Struct, Enum, Interface, Trait, Union, Type],
        "union" => &[Union],
        _ => return None,
    };
    Some(kinds.iter().fold(SymbolKinds::NONE, |all, kind| all.or(SymbolKinds::one(*kind))))
}

/// Returns the words of a query: one group for each of its alternatives.
pub(super) fn groups(query: &Query) -> Vec<Group> {
    alternatives(&query.tree).into_iter().map(group).collect()
}

/// Returns the alternatives of a query.
pub(super) fn alternatives(tree: &Tree) -> Vec<&Tree> {
    match tree {
        Tree::Any(parts) => parts.iter().collect(),
        other => vec![other],
    }
}

fn group(tree: &Tree) -> Group {
    let mut group = Group::default();
    let parts = match tree {
        Tree::All(parts) => &parts[..],
        other => std::slice::from_ref(other),
    };
    for part in parts {
        match part {
            Tree::Term(term) => match of_term(term) {
                Some(words) => group.words.extend(words),
                None => group.patterns = true,
            },
            Tree::Any(_) | Tree::All(_) => group.patterns = true,
            Tree::Not(_) | Tree::Language(_) | Tree::InTree(_) | Tree::Property(_) => {}
        }
    }
    let like_a_name = |word: &Word| word.typed.contains(|c: char| c.is_uppercase() || c == '_');
    let nouns = if group.words.iter().any(like_a_name) { &NOUNS[..] } else { &[] };
    let is_keyword = |word: &Word| {
        let word = word.typed.as_str();
        KEYWORDS.binary_search(&word).is_ok() || nouns.binary_search(&word).is_ok()
    };
    if !group.words.iter().all(is_keyword) {
        for word in &mut group.words {
            word.keyword = word.qualifier.is_none() && is_keyword(word);
        }
    }
    group
}

/// Returns the words that a term spells; `None` if it is a pattern for something else. Terms that narrow the search to
/// some files spell no words, nor do signs.
pub(super) fn of_term(term: &Term) -> Option<Vec<Word>> {
    let in_paths = match term.field {
        Field::Anywhere => true,
        Field::Content | Field::Symbol | Field::Added | Field::Removed => false,
        Field::Path | Field::Repo => return Some(Vec::new()),
    };
    let mut words: Vec<Word> = Vec::new();
    // The text between the last word and the next.
    let text = as_text(term.pattern.source())?;
    let whole = folded(text.trim());
    let mut between = String::new();
    for run in text.chars().collect::<Vec<_>>().chunk_by(|a, b| is_name(*a) == is_name(*b)) {
        let run: String = run.iter().collect();
        if !run.starts_with(is_name) {
            between = run;
            continue;
        }
        let joins = matches!(between.as_str(), "." | "::" | "->" | "#");
        let qualifier = words.pop_if(|_| joins).map(|word| word.folded);
        let folded = folded(&run);
        let exact = !term.pattern.is_caseless();
        words.push(Word {
            typed: run,
            folded,
            qualifier,
            keyword: false,
            text: whole.clone(),
            in_paths,
            exact,
        });
        between.clear();
    }
    words.retain(|word| !word.folded.is_empty());
    Some(words)
}

pub(super) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the text that a pattern approximately stands for, if any: a dot between names is itself, and `\s+` is a
/// space.
fn as_text(pattern: &str) -> Option<String> {
    let mut text = String::new();
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next()? {
                'b' => {}
                's' => {
                    chars.next_if(|next| matches!(next, '+' | '*'));
                    text.push(' ');
                }
                c if c.is_alphanumeric() => return None,
                c => text.push(c),
            },
            '.' if chars.peek().is_some_and(|next| is_name(*next)) && text.ends_with(is_name) => {
                text.push('.');
            }
            '.' | '(' | ')' | '[' | ']' | '{' | '}' | '*' | '+' | '?' | '|' => return None,
            '^' | '$' => {}
            c => text.push(c),
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use query::Case;

    use super::*;

    /// Prints words with a plus before keywords and with qualifiers; `?` for patterns; bars between alternatives.
    fn told(text: &str) -> String {
        let query = Query::parse(text, Case::Smart).unwrap();
        let word = |word: &Word| {
            let qualifier =
                word.qualifier.iter().flat_map(|q| [q.as_str(), ">"]).collect::<String>();
            format!("{}{qualifier}{}", if word.keyword { "+" } else { "" }, word.typed)
        };
        let group = |group: &Group| {
            let mut words: Vec<String> = group.words.iter().map(word).collect();
            words.extend(group.patterns.then(|| "?".to_owned()));
            words.join(" ")
        };
        groups(&query).iter().map(group).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn keywords_are_in_order() {
        assert!(KEYWORDS.is_sorted() && NOUNS.is_sorted());
    }

    #[test]
    fn keywords_introduce_kinds() {
        use SymbolKind::{Class, Function, Interface, Method, Struct};
        let has = |text: &str, kind: SymbolKind| {
            groups(&Query::parse(text, Case::Smart).unwrap())[0].kinds().has(kind.byte())
        };
        for (text, kind, expected) in [
            ("ReadFile", Class, true),
            ("func ReadFile", Method, true),
            ("func ReadFile", Struct, false),
            ("type Reader interface", Interface, true),
            ("type Reader interface", Struct, false),
            ("public static void main", Class, true),
            ("public class Main", Class, true),
            ("const fn new_in", Function, true),
        ] {
            assert_eq!(has(text, kind), expected, "{text} {kind:?}");
        }
    }

    #[test]
    fn terms_spell_words() {
        for (query, expected) in [
            ("read file", "read file"),
            ("func ReadFile", "+func ReadFile"),
            ("\"func ReadFile\"", "+func ReadFile"),
            ("func", "func"),
            ("type interface", "type interface"),
            ("type checker", "type checker"),
            ("type Reader interface", "+type Reader +interface"),
            ("json.Unmarshal", "json>Unmarshal"),
            (r"fs::read_dir", "fs>read_dir"),
            (r"lit:json.Unmarshal", "json>Unmarshal"),
            (r"a.b.c", "b>c"),
            (r"\bfoo\b", "foo"),
            (r"fn\s+main", "+fn main"),
            (r"Read\w+", "?"),
            ("foo.*bar baz", "baz ?"),
            ("foo lang:go -bar file:x repo:y", "foo"),
            ("foo or bar baz", "foo | bar baz"),
            ("(a or b) c", "c ?"),
            (r"lit:a[i]", "a i"),
            ("=>", ""),
            ("ErrEOF = errors", "ErrEOF errors"),
        ] {
            assert_eq!(told(query), expected, "{query}");
        }
    }
}
