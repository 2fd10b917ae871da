//! Random files and queries, from so few words that they often match.

use fastrand::Rng;

use super::written::{quoted, write};
use crate::harness::{Defined, Fixture};

const WORDS: &[&str] = &[
    "foo",
    "Foo",
    "FOO",
    "bar",
    "baz",
    "error",
    "Error",
    "deadlock",
    "kernel",
    "Kelvin",
    "status",
    "static",
    "int",
    "func",
    "return",
    "Println",
    "fmt.Println",
    "bytes.Buffer",
    "ctx",
    "Context",
    "TODO",
    "FIXME",
    "x",
    "ab",
    "s",
    "k",
    "_alloc(",
    "=>",
    "->",
    "{",
    "}",
    "123456789",
    "49",
    "a_b",
    "100%",
    "\\",
    "\"",
    "'",
    "/*",
    "std::vector",
    "日本語",
    "ταχύτητα",
    "ΤΑΧΎΤΗΤΑ",
    "straße",
    "ſtatus",
    "\u{212a}ernel",
    "é",
    "É",
    "İ",
    "🚢",
    "or",
    "and",
    "not",
];

/// The last kind only contains others, and defines nothing.
const KINDS: &[(u8, &str)] =
    &[(0, "class"), (8, "function"), (9, "method"), (11, "field"), (20, "implementation")];

const EXTENSIONS: &[(&str, &str)] =
    &[("go", "Go"), ("py", "Python"), ("md", "Markdown"), ("css", "CSS"), ("toml", "TOML")];

#[derive(Debug)]
pub(crate) struct File {
    pub(crate) repo: String,
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) language: &'static str,
    /// The symbols that it defines.
    pub(crate) symbols: Vec<Defined>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Case {
    Yes,
    No,
    Auto,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Field {
    Any,
    Content,
    Path,
    Repo,
    Symbol,
    /// Lines that a change added, or removed.
    Added,
    Removed,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Select {
    Lines,
    Files,
    Repos,
}

/// A regular expression, and properties that its generator knows.
#[derive(Clone, Debug)]
pub(crate) struct Term {
    pub(crate) field: Field,
    pub(crate) pattern: String,
    /// Its spelling in a query.
    pub(super) written: String,
    /// Whether it has literal characters.
    pub(crate) letters: bool,
    /// Whether one of them is a capital letter.
    pub(crate) capital: bool,
    /// Whether it asks to match across lines by itself.
    pub(crate) spans: bool,
    /// The accepted kinds of symbols, each with its word; all but containers if the list is empty.
    pub(crate) kinds: Vec<(u8, &'static str)>,
}

#[derive(Clone, Debug)]
pub(crate) enum Node {
    Term(Term),
    Language(&'static str),
    /// A field that asks for what is known of repositories: one of [`PROPERTIES`].
    Property(&'static str),
    Not(Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Group(Box<Node>, Option<Case>, Option<bool>),
}

impl Node {
    /// Returns whether a pattern may match across the ends of lines.
    pub(crate) fn spans(&self) -> bool {
        match self {
            Self::Term(term) => term.spans,
            Self::Language(_) | Self::Property(_) => false,
            Self::Not(node) => node.spans(),
            Self::And(nodes) | Self::Or(nodes) => nodes.iter().any(Self::spans),
            Self::Group(node, _, multiline) => *multiline == Some(true) || node.spans(),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) node: Node,
    pub(crate) case: Case,
    pub(crate) multiline: bool,
    pub(crate) select: Select,
    pub(crate) limit: Option<usize>,
}

/// Repositories of which something is known: the configuration that says it, and the fields that hold for them.
const PROPERTIES: &[(&str, &str, &[&str])] = &[
    (
        "alpha",
        "[codesearch]\n\tarchived = true\n\ttopics = x\n[codesearch \"meta\"]\n\tteam = core\n",
        &["archived:yes", "topic:x", "meta.team:^c"],
    ),
    (
        "beta",
        "[codesearch]\n\tfork = true\n\tpublic = yes\n\ttopics = x,y\n[codesearch \"meta\"]\n\tteam = kernel\n",
        &["fork:yes", "public:yes", "topic:x", "topic:y", "meta.team:er"],
    ),
];

/// Writes the configurations of the repositories of which something is known, below what is in them.
pub(super) fn configure(fixture: &Fixture) {
    for (repo, config, _) in PROPERTIES {
        let file = format!("{repo}/.git/config");
        if fixture.path().join(repo).exists() {
            let before = std::fs::read_to_string(fixture.path().join(&file)).unwrap_or_default();
            fixture.write(&file, before + config);
        }
    }
}

/// Returns whether a field that asks for what is known holds for a repository.
pub(super) fn is_known(repo: &str, field: &str) -> bool {
    let of = PROPERTIES.iter().filter(|(known, ..)| *known == repo);
    of.flat_map(|(_, _, fields)| *fields).any(|known| *known == field)
}

pub(crate) fn files(rng: &mut Rng) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    for n in 0..rng.usize(30..60) {
        let repo = pick(rng, &["alpha", "beta", "Kernel-x", "status"]);
        let (extension, language) = pick(rng, EXTENSIONS);
        let mut folders = String::new();
        for _ in 0..rng.usize(0..3) {
            folders.push_str(pick(rng, &["src", "Test", "kernel", "foo", "é", "ſtatus", "a_b"]));
            folders.push('/');
        }
        let name = pick(rng, &["foo", "Error", "static", "kernel_test", "x", "日本語", "a b"]);
        let path = format!("{folders}{name}{n}.{extension}");
        // Some files have the contents of another one.
        let (text, symbols) = match files.last() {
            Some(last) if rng.u8(0..10) == 0 => (last.text.clone(), last.symbols.clone()),
            _ => {
                let text = text(rng);
                let symbols = symbols(rng, &text);
                (text, symbols)
            }
        };
        files.push(File { repo: repo.to_owned(), path, text, language, symbols });
    }
    files
}

/// Returns some words of a text as if it defined them.
fn symbols(rng: &mut Rng, text: &str) -> Vec<Defined> {
    let mut symbols: Vec<Defined> = Vec::new();
    let (mut offset, mut line) = (0, 1);
    for part in text.split_inclusive(char::is_whitespace) {
        let name = part.trim();
        if !name.is_empty() && rng.u8(0..5) == 0 {
            let start = offset + part.find(name).unwrap();
            let parent = some(rng, 3, |rng| rng.usize(0..symbols.len().max(1)));
            symbols.push(Defined {
                name: name.to_owned(),
                kind: pick(rng, KINDS).0,
                start,
                end: start + name.len(),
                line,
                parent: parent.filter(|parent| *parent < symbols.len()),
            });
        }
        offset += part.len();
        line += part.matches('\n').count();
    }
    symbols
}

fn text(rng: &mut Rng) -> String {
    // Mostly less than a chunk, sometimes several, and rarely a line longer than a chunk.
    let lines = match rng.u8(0..20) {
        0 => 0,
        1 => 1,
        2..4 => rng.usize(200..500),
        _ => rng.usize(1..25),
    };
    let end = if rng.u8(0..8) == 0 { "\r\n" } else { "\n" };
    let mut text = String::new();
    for _ in 0..lines {
        let words = match rng.u16(0..600) {
            0 => 1500,
            _ => rng.usize(0..7),
        };
        for word in 0..words {
            if word > 0 {
                text.push_str(pick(rng, &[" ", " ", " ", "", "\t", "."]));
            }
            text.push_str(pick(rng, WORDS));
        }
        text.push_str(end);
    }
    if rng.u8(0..4) == 0 {
        while text.ends_with(['\n', '\r']) {
            text.pop();
        }
    }
    text
}

pub(crate) fn query(rng: &mut Rng) -> Query {
    Query {
        node: node(rng, 0),
        case: some(rng, 6, case).unwrap_or(Case::Auto),
        multiline: rng.u8(0..10) == 0,
        select: match rng.u8(0..12) {
            0 => Select::Files,
            1 => Select::Repos,
            _ => Select::Lines,
        },
        limit: some(rng, 6, |rng| rng.usize(1..12)),
    }
}

fn case(rng: &mut Rng) -> Case {
    pick(rng, &[Case::Yes, Case::No, Case::Auto])
}

fn node(rng: &mut Rng, depth: usize) -> Node {
    match rng.u8(0..if depth > 2 { 13 } else { 21 }) {
        0..10 => Node::Term(term(rng)),
        10 => Node::Language(pick(rng, EXTENSIONS).1),
        11 => match node(rng, depth + 1) {
            // A double negation is dropped, since a negation would show no lines.
            Node::Not(inner) => *inner,
            Node::Group(inner, ..) if matches!(*inner, Node::Not(_)) => *inner,
            other => Node::Not(Box::new(other)),
        },
        12 => {
            let (_, _, fields) = pick(rng, PROPERTIES);
            Node::Property(pick(rng, fields))
        }
        13..17 => Node::And(nodes(rng, depth)),
        17..19 => Node::Or(nodes(rng, depth)),
        _ => {
            let case = some(rng, 2, case);
            let multiline = some(rng, 4, fastrand::Rng::bool);
            Node::Group(Box::new(Node::And(nodes(rng, depth))), case, multiline)
        }
    }
}

fn nodes(rng: &mut Rng, depth: usize) -> Vec<Node> {
    if rng.u8(0..8) == 0 {
        return in_two_cases(rng).into();
    }
    (0..rng.usize(2..4)).map(|_| node(rng, depth + 1)).collect()
}

/// Returns a word as it is and in lower case: their trigrams are the same.
fn in_two_cases(rng: &mut Rng) -> [Node; 2] {
    let word = pick(rng, &["Foo", "FOO", "Error", "Kelvin", "TODO"]);
    let mut both = [word.to_owned(), word.to_lowercase()];
    if rng.bool() {
        both.reverse();
    }
    both.map(|word| {
        let mut builder = Builder::default();
        builder.literal(&word);
        Node::Term(builder.term(Field::Content, word))
    })
}

fn term(rng: &mut Rng) -> Term {
    let field = match rng.u8(0..12) {
        0..5 => Field::Any,
        5..7 => Field::Content,
        7..9 => Field::Path,
        9..11 => Field::Symbol,
        _ => Field::Repo,
    };
    let mut builder = Builder::default();
    let literal = rng.u8(0..12) == 0 && field == Field::Any;
    if literal {
        let text: String = (0..rng.usize(1..3)).map(|_| pick(rng, WORDS)).collect();
        builder.literal(&text);
        return builder.term(field, format!("lit:\"{}\"", quoted(&text)));
    }
    match rng.u8(0..3) {
        // A word or a part of one.
        0 => {
            let word: Vec<char> = pick(rng, WORDS).chars().collect();
            let start = rng.usize(0..word.len());
            let end = rng.usize(start + 1..=word.len());
            builder.literal(&word[start..end].iter().collect::<String>());
        }
        _ => {
            for _ in 0..rng.usize(1..5) {
                piece(rng, &mut builder, 0);
            }
        }
    }
    if field == Field::Symbol {
        // In a group, a dot is not a separator of a container.
        builder.pattern = format!("(?:{})", builder.pattern);
        let written = format!("\"{}\"", quoted(&builder.pattern));
        let kinds = (0..rng.usize(0..3)).map(|_| pick(rng, KINDS)).collect();
        return Term { kinds, ..builder.term(field, written) };
    }
    if matches!(field, Field::Path | Field::Repo) && builder.pattern.ends_with('*') {
        // In a group, a name with a star is not a glob.
        builder.pattern = format!("(?:{})", builder.pattern);
    }
    let written = write(rng, &builder.pattern);
    builder.term(field, written)
}

/// A pattern under construction.
#[derive(Default)]
struct Builder {
    pattern: String,
    letters: bool,
    capital: bool,
    spans: bool,
}

impl Builder {
    fn literal(&mut self, text: &str) {
        self.letters = true;
        self.capital |= text.chars().any(char::is_uppercase);
        self.pattern.push_str(&regex::escape(text));
    }

    /// Appends a piece without literal letters.
    fn raw(&mut self, text: &str) {
        self.pattern.push_str(text);
    }

    fn term(self, field: Field, written: String) -> Term {
        let Self { pattern, letters, capital, spans } = self;
        Term { field, pattern, written, letters, capital, spans, kinds: Vec::new() }
    }
}

fn piece(rng: &mut Rng, builder: &mut Builder, depth: usize) {
    match rng.u8(0..if depth > 1 { 24 } else { 30 }) {
        0..9 => builder.literal(pick(rng, WORDS)),
        9..11 => builder.raw(pick(rng, &[".", ".*", ".+?", ".?"])),
        11..13 => builder.raw(pick(rng, &[r"\w+", r"\d", r"\s+", r"\W", r"\S*", r"\D"])),
        13 => builder.raw(pick(rng, &["^", "$", r"\b", r"\B", r"\A", r"\z"])),
        14 => {
            builder.letters = true;
            builder
                .raw(pick(rng, &["[a-f]", "[^x]", "[0-9]+", "[sk]", "[es]+", "[^ ]*", "[^\\n]"]));
        }
        15 => {
            builder.letters = true;
            builder.capital = true;
            builder.raw(pick(rng, &["[A-Z]+", "[Ff]", "[A-F0-9]{2}"]));
        }
        16 => builder.raw(pick(rng, &[r"\p{Greek}+", r"\p{Lu}", r"\p{Han}", r"\PL"])),
        17 => {
            builder.letters = true;
            builder.spans = true;
            builder.raw(pick(rng, &["\\n", "[ \\n]+", "(\\n|x)", "\\n+"]));
        }
        18 => {
            builder.spans = true;
            builder.raw(pick(rng, &["(?s)", "(?s:.)"]));
        }
        19 => builder.raw(pick(rng, &["(?i)", "(?-i)"])),
        20..24 => {
            builder.literal(pick(rng, &["o", "s", "k", "e", "r", "a", " "]));
            builder.raw(pick(rng, &["?", "+", "*", "{2}", "{1,2}", "+?"]));
        }
        24..27 => {
            builder.raw("(");
            for n in 0..rng.usize(2..4) {
                builder.raw(if n > 0 { "|" } else { "" });
                piece(rng, builder, depth + 1);
            }
            builder.raw(")");
            builder.raw(pick(rng, &["", "", "?", "+", "{2}"]));
        }
        _ => {
            builder.raw("(?:");
            for _ in 0..2 {
                piece(rng, builder, depth + 1);
            }
            builder.raw(")");
            builder.raw(pick(rng, &["", "*", "+", "{1,3}"]));
        }
    }
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.usize(0..from.len())]
}

/// Returns a value once in `often` times.
fn some<T>(rng: &mut Rng, often: u8, make: impl Fn(&mut Rng) -> T) -> Option<T> {
    (rng.u8(0..often) == 0).then(|| make(rng))
}
