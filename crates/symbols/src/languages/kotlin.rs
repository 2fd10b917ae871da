//! Kotlin.

use query::SymbolKind::{
    Class, Constant, Constructor, Enum, EnumMember, Function, Interface, Method, Package, Property,
    Type, Variable,
};
use tree_sitter::Node;

use crate::blanks::{Blanks, is_word};
use crate::grammar::{Grammar, define, define_by, look};
use crate::reserved;
use crate::walk::{Descent, Walk, child, children};

pub(crate) static KOTLIN: Grammar = Grammar {
    names: &["kotlin"],
    language: tree_sitter_kotlin_ng::LANGUAGE,
    rules: &[
        look("package_header", package),
        look("class_declaration", class),
        define("object_declaration", Class),
        define("companion_object", Class),
        define("function_declaration", Function).member(Method),
        define_by("secondary_constructor", Constructor, "constructor"),
        look("property_declaration", property),
        look("class_parameter", parameter),
        define_by("enum_entry", EnumMember, "identifier"),
        define_by("type_alias", Type, "type"),
    ],
    skip: &["function_value_parameters", "import", "value_arguments"],
    neighbour: None,
    blank: Some(what_does_not_parse),
    reserved: &reserved::KOTLIN,
};

fn package(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    if let Some(name) = child(node, "qualified_identifier").or_else(|| child(node, "identifier")) {
        walk.add_path(Package, Package, name, node.end_byte());
    }
    Descent::Past
}

fn class(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let kind = match (child(node, "interface"), child(node, "enum_class_body")) {
        (Some(_), _) => Interface,
        (None, Some(_)) => Enum,
        (None, None) if has_modifier(walk, node, "enum") => Enum,
        (None, None) => Class,
    };
    walk.define(kind, node, "name")
}

fn has_modifier(walk: &Walk<'_>, node: Node<'_>, word: &str) -> bool {
    child(node, "modifiers").is_some_and(|modifiers| {
        modifiers.named_children(&mut modifiers.walk()).any(|one| walk.text(one) == word)
    })
}

fn property(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    if walk.is_in_function() {
        return Descent::In;
    }
    let kind = match () {
        () if has_modifier(walk, node, "const") => Constant,
        () if walk.is_in_type() => Property,
        () => Variable,
    };
    let several = child(node, "multi_variable_declaration");
    let mut last = None;
    for declared in children(several.unwrap_or(node), "variable_declaration") {
        last = child(declared, "identifier").map(|name| walk.add(kind, name, node));
    }
    last.map_or(Descent::In, Descent::Within)
}

/// `class A(val name: B)`.
fn parameter(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let is_property = child(node, "val").or_else(|| child(node, "var")).is_some();
    if let Some(name) = child(node, "identifier").filter(|_| is_property) {
        walk.add(Property, name, node);
    }
    Descent::Past
}

fn what_does_not_parse(text: &mut Blanks) {
    soft_keywords(text);
    annotations(text);
    separators(text);
}

/// Words that begin a member of a class.
const MEMBERS: [&str; 7] = ["class", "constructor", "fun", "interface", "object", "val", "var"];

/// Maximum number of bytes of a line that are searched for them.
const LOOK_BACK: usize = 400;

/// Adapts separators between members in one line. The grammar requires a line feed or a semicolon after a member, even
/// before the closing brace of its class. It allows no semicolon before an accessor or after another one.
fn separators(text: &mut Blanks) {
    let all = text.text();
    for at in text.find("}") {
        let before = &all.as_bytes()[at.saturating_sub(LOOK_BACK)..at];
        let line = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |feed| feed + 1);
        let member = before[line..].trim_ascii_end();
        let defines = || {
            let mut words = member.split(|byte| !is_word(*byte));
            words.any(|word| MEMBERS.iter().any(|member| member.as_bytes() == word))
        };
        let ends = member.last().is_none_or(|last| matches!(last, b'{' | b';' | b',' | b'('));
        if !ends && member.len() < before[line..].len() && defines() {
            text.put(at - 1, b';');
        }
    }
    for at in text.find(";") {
        let before = all[..at].trim_end_matches([' ', '\t']);
        let mut words = all[at + 1..].split([' ', '\t', '(', ';', '}', '\n', '=']);
        let mut next = words.find(|word| !word.is_empty());
        if matches!(next, Some("private" | "protected" | "internal" | "public")) {
            next = words.next();
        }
        if before.ends_with(';') || matches!(next, Some("get" | "set")) {
            text.blank(at..at + 1);
        }
    }
}

/// Blanks annotations on lines of their own: the grammar takes `@A(b)` before a top-level class for an expression.
fn annotations(text: &mut Blanks) {
    for at in text.find("@") {
        let in_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':');
        let end = text.end_of(at + 1, in_name);
        if end == at + 1 || !text.is_first_on_line(at) {
            continue;
        }
        let end =
            if text.byte(end) == b'(' { text.after_parentheses(end).unwrap_or(end) } else { end };
        text.blank(at..end);
    }
}

/// Words that are modifiers before a declaration, and names elsewhere. The grammar always takes them for modifiers.
const SOFT_KEYWORDS: [&str; 15] = [
    "annotation",
    "by",
    "companion",
    "const",
    "data",
    "enum",
    "external",
    "final",
    "inner",
    "inline",
    "open",
    "operator",
    "override",
    "sealed",
    "value",
];

/// Replaces soft keywords that are names by what follows: `data = 5`, `value[0]`, `open()`; and names that begin like
/// operators: the scanner of the grammar takes `in_` for `in`.
fn soft_keywords(text: &mut Blanks) {
    for operator in ["in_", "is_", "as_"] {
        for at in text.find(operator) {
            if !is_word(text.byte(at.wrapping_sub(1))) {
                text.make_name(at..at + operator.len());
            }
        }
    }
    for word in SOFT_KEYWORDS {
        for at in text.find(word) {
            let after = at + word.len();
            let next = text.end_of(after, |byte| byte == b' ');
            let is_name = !is_word(text.byte(at.wrapping_sub(1)))
                && matches!(
                    text.byte(next),
                    b'=' | b'.' | b'[' | b'(' | b')' | b',' | b'+' | b'-' | b'?'
                );
            if is_name {
                text.make_name(at..after);
            }
        }
    }
}
