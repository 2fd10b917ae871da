//! The role of a name at a place: called, used as a type, part of a comment, and so on.
//!
//! The grammars name their nodes alike: a call has `call` or `invocation` in its kind, a comment has `comment`, and the
//! called name is in a field `function`, `name` or `method`. So one set of rules works for all.

use std::ops::Range;

use tree_sitter::Node;

use crate::{guard, languages, parse};

/// The role of a name at a place. Roles that users are likely to want come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Label {
    /// Defined.
    Definition,
    /// Called.
    Call,
    /// Used as a type.
    Type,
    /// Used in another way.
    Use,
    /// Imported.
    Import,
    /// Part of a comment.
    Comment,
    /// Part of a string.
    String,
}

impl Label {
    /// Returns the name of the label in lowercase.
    pub fn word(self) -> &'static str {
        match self {
            Label::Definition => "definition",
            Label::Call => "call",
            Label::Type => "type",
            Label::Use => "use",
            Label::Import => "import",
            Label::Comment => "comment",
            Label::String => "string",
        }
    }

    /// Returns whether the name is code, not text.
    pub fn is_code(self) -> bool {
        !matches!(self, Label::Comment | Label::String)
    }
}

/// Returns the roles of the names at some places of a text; `None` if the language, given in lowercase, has no grammar,
/// or if the text cannot be parsed within the limits.
pub fn labels(language: &str, text: &str, places: &[Range<usize>]) -> Option<Vec<Label>> {
    let grammar = languages::ALL.iter().find(|grammar| grammar.names.contains(&language))?;
    guard::check(text).ok()?;
    let (_, tree) = parse(grammar, text).ok()?;
    let root = tree.root_node();
    let label = |place: &Range<usize>| {
        root.descendant_for_byte_range(place.start, place.end).map_or(Label::Use, label)
    };
    Some(places.iter().map(label).collect())
}

/// Parts of the kinds of string nodes, and of the kinds of code nodes within them.
const STRINGS: [&str; 5] =
    ["string", "char_literal", "character_literal", "heredoc", "rune_literal"];
const WITHIN_STRINGS: [&str; 4] = ["interpolation", "substitution", "expansion", "embedded"];

/// Parts of the kinds of nodes that import names.
const IMPORTS: [&str; 6] =
    ["import", "use_declaration", "preproc_include", "using_d", "namespace_use", "extern_crate"];

/// Parts of the kinds of nodes that define the name in their field `name`.
const DEFINERS: [&str; 9] = [
    "definition",
    "declaration",
    "_item",
    "_spec",
    "declarator",
    "parameter",
    "signature",
    "_def",
    "specifier",
];

/// Parts of the kinds of nodes whose last part is their subject: `a.b`, `a::b`.
const PATHS: [&str; 9] = [
    "selector",
    "field_expression",
    "member",
    "attribute",
    "scoped",
    "qualified",
    "navigation",
    "access",
    "generic_function",
];

fn has(kind: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| kind.contains(part))
}

fn label(node: Node<'_>) -> Label {
    if let Some(label) = by_surroundings(node) {
        return label;
    }
    let Some(parent) = node.parent() else { return Label::Use };
    let is =
        |of: Node<'_>, field: &str, node: Node<'_>| of.child_by_field_name(field) == Some(node);
    if is_called(node) {
        return Label::Call;
    }
    let defines = has(parent.kind(), &DEFINERS) && is(parent, "name", node);
    if defines || is(parent, "declarator", node) && !has(parent.kind(), &["call"]) {
        return Label::Definition;
    }
    let of_type =
        ["user_type", "named_type", "type", "generic_type", "simple_type", "type_annotation"];
    let is_type = ["type_identifier", "simple_identifier_type", "class_type"]
        .contains(&node.kind())
        || of_type.contains(&parent.kind())
        || ["type", "return_type", "returns", "superclass"]
            .iter()
            .any(|field| is(parent, field, node));
    if is_type { Label::Type } else { Label::Use }
}

/// Returns the role of a node by the nodes around it.
fn by_surroundings(node: Node<'_>) -> Option<Label> {
    let mut around = Some(node);
    let mut in_code = false;
    while let Some(of) = around {
        let kind = of.kind();
        in_code |= has(kind, &WITHIN_STRINGS);
        if kind.contains("comment") {
            return Some(Label::Comment);
        }
        if !in_code && has(kind, &STRINGS) {
            let import =
                std::iter::successors(of.parent(), Node::parent).any(|of| has(of.kind(), &IMPORTS));
            return Some(if import { Label::Import } else { Label::String });
        }
        if has(kind, &IMPORTS) {
            return Some(Label::Import);
        }
        around = of.parent();
    }
    None
}

/// Returns whether a node is the called name of a call.
fn is_called(node: Node<'_>) -> bool {
    let mut callee = node;
    while let Some(parent) = callee.parent() {
        let kind = parent.kind();
        if has(kind, &["call", "invocation", "object_creation", "new_expression"])
            || kind == "command"
        {
            let named = ["function", "name", "method", "macro", "constructor", "type"]
                .iter()
                .any(|field| parent.child_by_field_name(field) == Some(callee));
            return named
                || parent.named_child(0) == Some(callee) && parent.named_child_count() > 1;
        }
        let last = parent.end_byte() == callee.end_byte();
        if !(last && has(kind, &PATHS) || kind == "command_name" || kind == "navigation_suffix") {
            return false;
        }
        callee = parent;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the role of `name` at each of its places in a text.
    #[track_caller]
    fn check(language: &str, text: &str, expected: &[Label]) {
        let places: Vec<Range<usize>> =
            text.match_indices("name").map(|(at, name)| at..at + name.len()).collect();
        assert_eq!(labels(language, text, &places).unwrap(), expected, "{text}");
    }

    #[test]
    fn a_name_is_labelled_by_its_syntax() {
        use Label::{Call, Comment, Definition, Import, String, Type, Use};
        check(
            "go",
            "package p\nimport \"x/name\"\n// name\nfunc name(a name) { b.name(); c(name); d := \"name\"; name(1) }\n",
            &[Import, Comment, Definition, Type, Call, Use, String, Call],
        );
        check(
            "rust",
            "use a::name;\nfn f(x: name) -> u8 { name(x); y.name(); z::name(1); w.name; name!(\"name\"); /* name */ }\n",
            &[Import, Type, Call, Call, Call, Use, Call, String, Comment],
        );
        check(
            "python",
            "from a import name\nclass name:\n    pass\ndef f(x: name):\n    x.name(name) # name\n    f\"name {name}\"\n",
            &[Import, Definition, Type, Call, Use, Comment, String, Use],
        );
        check(
            "javascript",
            "import { name } from 'x';\nfunction name() {}\na.name(1); name(2); new name(3); let x = name + `name ${name}`;\n",
            &[Import, Definition, Call, Call, Call, Use, String, Use],
        );
        check("typescript", "let x: name = name();\n", &[Type, Call]);
        check(
            "java",
            "import a.name;\nclass A { name x; void name() { this.name(); name(1); new name(); } }\n",
            &[Import, Type, Definition, Call, Call, Call],
        );
        check(
            "c",
            "#include \"name.h\"\nint name(name *a) { return name(b->name); }\n",
            &[Import, Definition, Type, Call, Use],
        );
        check("c++", "void f() { a::name(1); b.name(2); name x; }\n", &[Call, Call, Type]);
        check("ruby", "name(1)\na.name\n# name\n\"name\"\n", &[Call, Call, Comment, String]);
        check("shell", "name() { :; }\nname \"$name\" 'name'\n", &[Definition, Call, Use, String]);
    }

    #[test]
    fn what_cannot_be_parsed_has_no_labels() {
        assert_eq!(labels("klingon", "name", &[0..2, 2..4]), None);
        assert_eq!(labels("go", &"(".repeat(10_000), &[0..1, 1..2]), None);
    }
}
