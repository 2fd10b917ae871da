//! Decides whether a line defines a name, in most languages, by the text before and after the name.

use std::ops::Range;

use query::SymbolKind;

use super::words::is_name;
use answer::Line;

/// Longest text before a defined name in its line, in bytes. A line may be very long.
const MAX_BEFORE: usize = 200;

/// Last line on which a licence at the head of a file is recognized.
const MAX_LICENCE: u64 = 30;

/// A name usually means a type; after that a function, then a member.
const TYPE: f32 = 1.0;
const FUNCTION: f32 = 0.95;
const MEMBER: f32 = 0.85;

/// A variable or a constant.
const VALUE: f32 = 0.7;

/// A package or module is named in each of its files, or where it is used.
const MODULE: f32 = 0.3;

/// An entry of a group of constants, or a field that is set.
const ENTRY: f32 = 0.4;

/// `struct page;` declares a type that is defined elsewhere, or in Rust one without fields.
const DECLARED: f32 = 0.3;

/// Factor for definitions inside of something else, such as local variables.
const LOCAL: f32 = 0.5;

/// Words before a name that define it, each with the weight of the definition.
const DEFINERS: [(&str, f32); 41] = [
    ("alias", TYPE),
    ("class", TYPE),
    ("const", VALUE),
    ("constexpr", VALUE),
    ("def", FUNCTION),
    ("define", VALUE),
    ("defmacro", FUNCTION),
    ("defn", FUNCTION),
    ("defun", FUNCTION),
    ("enum", TYPE),
    ("extension", TYPE),
    ("fn", FUNCTION),
    ("fun", FUNCTION),
    ("func", FUNCTION),
    ("function", FUNCTION),
    ("interface", TYPE),
    ("let", VALUE),
    ("macro", FUNCTION),
    ("macro_rules!", FUNCTION),
    ("message", TYPE),
    ("mod", MODULE),
    ("module", MODULE),
    ("namespace", MODULE),
    ("object", TYPE),
    ("package", MODULE),
    ("proc", FUNCTION),
    ("procedure", FUNCTION),
    ("protocol", TYPE),
    ("record", TYPE),
    ("service", TYPE),
    ("static", VALUE),
    ("struct", TYPE),
    ("sub", FUNCTION),
    ("table", TYPE),
    ("trait", TYPE),
    ("type", TYPE),
    ("typedef", TYPE),
    ("union", TYPE),
    ("val", VALUE),
    ("var", VALUE),
    ("view", TYPE),
];

/// Returns the weight of a definition of this kind.
pub(super) fn of_kind(kind: &str) -> f32 {
    use SymbolKind::{
        Class, Constant, Constructor, Enum, EnumMember, Field, Function, Heading, Implementation,
        Interface, Macro, Method, Module, Namespace, Package, Property, Struct, Trait, Type, Union,
        Variable,
    };
    match SymbolKind::from_word(kind) {
        Some(Class | Struct | Enum | Interface | Trait | Union | Type) => TYPE,
        Some(Function | Macro) => FUNCTION,
        Some(Method | Constructor) => MEMBER,
        Some(Constant | Variable) | None => VALUE,
        Some(Field | Property | EnumMember | Heading) => ENTRY,
        Some(Module | Namespace | Package | Implementation) => MODULE,
    }
}

/// Returns the weight of a line as the definition of the name at a range: 1 for a type, less for other kinds, `None` if
/// it does not look like a definition.
pub(super) fn defines(text: &str, name: &Range<usize>) -> Option<f32> {
    let before = &text[..name.start];
    if before.len() > MAX_BEFORE {
        return None;
    }
    let after = &text[name.end..];
    let indented = text.starts_with(char::is_whitespace);
    if before.ends_with(char::is_whitespace)
        && let Some(word) = before.split_whitespace().next_back()
    {
        let word = word.trim_start_matches(['#', '(']);
        if let Ok(at) = DEFINERS.binary_search_by_key(&word, |(definer, _)| definer) {
            if word == "define" && is_include_guard(text) {
                return None;
            }
            let is_type = matches!(word, "class" | "struct" | "union" | "enum");
            if is_type && after.trim_end() == ";" {
                return Some(DECLARED);
            }
            if is_type && word != "class" && is_of_that_type(after) {
                return None;
            }
            let weight = DEFINERS[at].1;
            // Imports, aliases and fields of that type use the same word.
            return Some(match weight {
                VALUE if indented => weight * LOCAL,
                FUNCTION if indented => MEMBER,
                _ => weight,
            });
        }
    }
    // A method of Go: `func (s *Server) Name(`.
    if before.starts_with("func (") && before.trim_end().ends_with(')') {
        return after.starts_with(['(', '[']).then_some(MEMBER);
    }
    // A variable of a file, or an exported entry of a group of constants: `Name = value`, hardly indented.
    if is_assigned(after) {
        if before.is_empty() {
            return Some(VALUE);
        }
        // An attribute that a class assigns.
        if matches!(before.trim_start(), "self." | "this." | "@") {
            return Some(ENTRY);
        }
        let within = before == "\t" || before.len() <= 4 && before.trim_matches(' ').is_empty();
        if within && text[name.start..].starts_with(char::is_uppercase) {
            return Some(ENTRY);
        }
    }
    // A function of C or a similar language begins at the start of a line, with a type before its name.
    let end = text.trim_end();
    let is_function = before.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && before.ends_with([' ', '*', '&', ':'])
        && !before.contains(['=', '(', '"', ';', ',', '.'])
        && !before.starts_with("return ")
        && !before.starts_with("else ")
        && !before.starts_with("extern ")
        && after.starts_with('(')
        && !end.ends_with(';');
    is_function.then_some(FUNCTION)
}

/// Returns whether a line is the include guard of a header: `#define LINUX_LIST_H`.
fn is_include_guard(text: &str) -> bool {
    let mut words = text.split_whitespace().filter(|word| *word != "#");
    let (_, Some(name), None) = (words.next(), words.next(), words.next()) else { return false };
    let name = name.trim_end_matches('_');
    ["_H", "_HH", "_HPP", "_HXX", "_h", "_INCLUDED"].iter().any(|end| name.ends_with(end))
}

/// Returns whether the text after a type's name declares something of that type, as in C: `struct page *page`.
fn is_of_that_type(after: &str) -> bool {
    let next = after.trim_start();
    let goes_on = ["where", "final", "extends", "implements", "is"];
    let word = next.split(|c: char| !is_name(c)).next().unwrap_or_default();
    next.starts_with(['*', '&', ')', ',']) || !word.is_empty() && !goes_on.contains(&word)
}

/// Returns whether the text is `= value`, perhaps after a type; not `==` and not `=>`.
fn is_assigned(after: &str) -> bool {
    let Some((between, value)) = after.split_once('=') else { return false };
    let between = between.trim();
    between.chars().all(|c| is_name(c) || matches!(c, '.' | '*' | '[' | ']' | ':' | ' '))
        && between.split_whitespace().count() <= 2
        && !between.ends_with(':')
        && !value.starts_with(['=', '>'])
}

/// Returns whether a line looks like a comment, in most languages.
pub fn is_comment(text: &str) -> bool {
    let text = text.trim_start();
    let directive = ["#define", "#include", "#if", "#[", "#!["];
    let marks = ["//", "/*", "* ", "*/", "#", "--", ";;", "<!--", "%%", "\"\"\""];
    (text == "*" || marks.iter().any(|mark| text.starts_with(mark)))
        && !directive.iter().any(|d| text.starts_with(d))
}

/// Returns whether a line is an import, in most languages.
pub fn is_import(text: &str) -> bool {
    if is_path_of_go(text) {
        return true;
    }
    let text = text.trim_start();
    let words = [
        "import ", "from ", "use ", "pub use ", "using ", "#include", "require ", "require(",
        "@import",
    ];
    words.iter().any(|word| text.starts_with(word))
        || text.starts_with("package ")
        || text.contains("= require(")
}

/// Returns whether a line belongs to the licence at the head of a file.
pub(super) fn is_licence(line: &Line) -> bool {
    let words = ["/licenses/", "licensed under", "spdx-license", "copyright"];
    line.number <= MAX_LICENCE && {
        let text = line.text.to_lowercase();
        words.iter().any(|words| text.contains(words))
    }
}

/// Returns whether a line is part of a Go import block: a path in quotes, perhaps after another name.
fn is_path_of_go(text: &str) -> bool {
    let Some((name, path)) = text.strip_prefix('\t').and_then(|line| line.split_once('"')) else {
        return false;
    };
    let Some(path) = path.trim_end().strip_suffix('"') else { return false };
    let is_path = !path.is_empty() && !path.contains(['"', ' ', '\\']);
    let is_name = name
        .strip_suffix(' ')
        .is_some_and(|name| path.contains('/') && name.chars().all(|c| is_name(c) || c == '.'));
    is_path && (name.is_empty() || is_name)
}

/// Returns whether a definition only delegates to another thing of the same name: `func Open() { return os.Open() }`,
/// `type File = os.File`. `next` is the next matching line, if it is near.
pub(super) fn wraps(text: &str, name: &Range<usize>, next: Option<&str>) -> bool {
    let named = &text[name.clone()];
    let rest = &text[name.end..];
    let calls = |text: &str| {
        text.match_indices(named).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + named.len()..]);
            before.ends_with(['.', ':', '>']) && !after.starts_with(is_name)
        })
    };
    calls(rest) || next.is_some_and(|next| next.trim_start().starts_with("return ") && calls(next))
}

/// Returns whether a function is complete on the line that defines it.
pub(super) fn is_one_liner(text: &str, name: &Range<usize>) -> bool {
    let rest = text[name.end..].trim_end();
    rest.starts_with(['(', '[', '<']) && rest.ends_with('}') && rest.contains("{ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, name: &str) -> Option<f32> {
        let at = line.find(name).unwrap();
        defines(line, &(at..at + name.len()))
    }

    #[test]
    fn definers_are_in_order() {
        assert!(DEFINERS.is_sorted_by_key(|(word, _)| word));
    }

    #[test]
    fn lines_define_names() {
        for (line, name, expected) in [
            ("type Reader struct {", "Reader", Some(TYPE)),
            ("func Open(path string) {", "Open", Some(FUNCTION)),
            ("func (s *Server) Open() {", "Open", Some(MEMBER)),
            ("    def open(self):", "open", Some(MEMBER)),
            ("pub struct Point {", "Point", Some(TYPE)),
            ("#define LIMIT 100", "LIMIT", Some(VALUE)),
            ("#define WITH_LIMIT", "WITH_LIMIT", Some(VALUE)),
            ("#define LINUX_LIMIT_H", "LINUX_LIMIT_H", None),
            ("# define __LIMIT_H__", "__LIMIT_H__", None),
            ("#define LIMIT FOO_H", "LIMIT", Some(VALUE)),
            ("static int open_file(int x)", "open_file", Some(FUNCTION)),
            ("void *open_file(int x)", "open_file", Some(FUNCTION)),
            ("int open_file(int x);", "open_file", None),
            ("\treturn open_file(1);", "open_file", None),
            ("\tErrEOF = errors.New(\"x\")", "ErrEOF", Some(ENTRY)),
            ("\t\tConfig = &tls.Config{", "Config", None),
            ("\tconfig = &tls.Config{", "config", None),
            ("config = 5", "config", Some(VALUE)),
            ("        self.strict = False", "strict", Some(ENTRY)),
            ("        options.strict = False", "strict", None),
            ("extern int open_file(int x,", "open_file", None),
            ("var ErrEOF = errors.New(\"x\")", "ErrEOF", Some(VALUE)),
            ("\tvar count int", "count", Some(VALUE * LOCAL)),
            ("\tx := Open(path)", "Open", None),
            ("    if a == b {", "a", None),
            ("package json", "json", Some(MODULE)),
            ("struct page {", "page", Some(TYPE)),
            ("struct page;", "page", Some(DECLARED)),
            ("struct page *page;", "page", None),
            ("\tstruct page page;", "page", None),
            ("class Reader extends Base {", "Reader", Some(TYPE)),
        ] {
            assert_eq!(of(line, name), expected, "{line}");
        }
    }

    #[test]
    fn imports_of_go_stand_in_blocks() {
        for (line, expected) in [
            ("\t\"net/http\"", true),
            ("\tmetav1 \"k8s.io/api/v1\"", true),
            ("\t_ \"embed/x\"", true),
            ("\treturn \"x\"", false),
            ("\t\"two words\"", false),
            ("\tx := \"a/b\"", false),
            ("\"net/http\"", false),
        ] {
            assert_eq!(is_import(line), expected, "{line}");
        }
    }

    #[test]
    fn what_hands_over_is_a_wrapper() {
        let wraps = |line: &str, name: &str, next| {
            let at = line.find(name).unwrap();
            super::wraps(line, &(at..at + name.len()), next)
        };
        assert!(wraps("func Open(p string) { return os.Open(p) }", "Open", None));
        assert!(wraps("type File = os.File", "File", None));
        assert!(wraps("func Open(p string) {", "Open", Some("\treturn os.Open(p)")));
        assert!(!wraps("func Open(p string) {", "Open", Some("\tx := os.Open(p)")));
        assert!(!wraps("func Open(p string) {", "Open", Some("\tlog.Open(p)")));
        assert!(!wraps("func Open(p string) {", "Open", None));
    }
}
