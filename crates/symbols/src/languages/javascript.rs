//! JavaScript and TypeScript.

use query::SymbolKind;
use query::SymbolKind::{
    Class, Constant, Constructor, Enum, EnumMember, Field, Function, Interface, Method, Namespace,
    Property, Type, Variable,
};
use tree_sitter::Node;

use crate::grammar::{Grammar, Neighbour, Rule, define, define_by, look};
use crate::reserved;
use crate::walk::{Descent, Walk, child, field};

const FUNCTION: Rule = define("function_declaration", Function);
const GENERATOR: Rule = define("generator_function_declaration", Function);
const CLASS: Rule = define("class_declaration", Class);
const CLASS_VALUE: Rule = look("class", |walk, node| value(walk, node, Class));
const FUNCTION_VALUE: Rule = look("function_expression", |walk, node| value(walk, node, Function));
const METHOD: Rule = look("method_definition", method);
const DECLARATOR: Rule = look("variable_declarator", declarator);
const PAIR: Rule = look("pair", pair);
const ASSIGNMENT: Rule = look("assignment_expression", assignment);

pub(crate) static JAVASCRIPT: Grammar = Grammar {
    names: &["javascript"],
    language: tree_sitter_javascript::LANGUAGE,
    rules: &[
        FUNCTION,
        GENERATOR,
        CLASS,
        CLASS_VALUE,
        FUNCTION_VALUE,
        FUNCTION_VALUE,
        METHOD,
        DECLARATOR,
        PAIR,
        ASSIGNMENT,
        look("field_definition", |walk, node| member(walk, node, "property")),
    ],
    skip: &["formal_parameters", "import_statement", "template_string"],
    neighbour: None,
    blank: None,
    reserved: &reserved::JAVASCRIPT,
};

const TYPED: &[Rule] = &[
    FUNCTION,
    GENERATOR,
    CLASS,
    CLASS_VALUE,
    FUNCTION_VALUE,
    METHOD,
    DECLARATOR,
    PAIR,
    ASSIGNMENT,
    look("public_field_definition", |walk, node| member(walk, node, "name")),
    define("abstract_class_declaration", Class),
    define("function_signature", Function),
    define("interface_declaration", Interface),
    define("type_alias_declaration", Type),
    define("enum_declaration", Enum),
    define("enum_assignment", EnumMember),
    look("enum_body", members),
    look("method_signature", method),
    look("abstract_method_signature", method),
    look("property_signature", |walk, node| named(walk, Property, field(node, "name"), node)),
    define_by("construct_signature", Constructor, "new"),
    look("internal_module", module),
    look("module", module),
];

const TYPED_SKIP: &[&str] =
    &["import_statement", "template_string", "type_arguments", "type_parameters"];

pub(crate) static TYPESCRIPT: Grammar = Grammar {
    names: &["typescript"],
    language: tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
    rules: TYPED,
    skip: TYPED_SKIP,
    neighbour: Some(Neighbour { grammar: &TSX, signs: &["</", "/>"] }),
    blank: None,
    reserved: &reserved::JAVASCRIPT,
};

pub(crate) static TSX: Grammar = Grammar {
    names: &[],
    language: tree_sitter_typescript::LANGUAGE_TSX,
    rules: TYPED,
    skip: TYPED_SKIP,
    neighbour: None,
    blank: None,
    reserved: &reserved::JAVASCRIPT,
};

/// Adds a symbol named by a node, without the quotes if there are any.
fn named(walk: &mut Walk<'_>, kind: SymbolKind, name: Option<Node<'_>>, node: Node<'_>) -> Descent {
    let name = name.and_then(|name| {
        if name.kind() == "string" { child(name, "string_fragment") } else { Some(name) }
    });
    match name {
        Some(name) if !matches!(name.kind(), "computed_property_name" | "number") => {
            Descent::Within(walk.add(kind, name, node))
        }
        _ => Descent::In,
    }
}

/// Returns the kind of a value that gets its name from an assignment.
fn kind_of(value: Option<Node<'_>>) -> Option<SymbolKind> {
    match value?.kind() {
        "arrow_function" | "function_expression" | "generator_function" => Some(Function),
        "class" => Some(Class),
        _ => None,
    }
}

/// Names `const a = class A {}` after the variable, other values after themselves.
fn value(walk: &mut Walk<'_>, node: Node<'_>, kind: SymbolKind) -> Descent {
    let is_assigned = node.parent().is_some_and(|parent| {
        let parent = parent.kind();
        ["variable_declarator", "assignment_expression", "pair"].contains(&parent)
            || parent.ends_with("field_definition")
    });
    if is_assigned { Descent::In } else { named(walk, kind, field(node, "name"), node) }
}

fn method(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let name = field(node, "name");
    let is_constructor =
        name.is_some_and(|name| walk.text(name) == "constructor") && walk.is_in_type();
    named(walk, if is_constructor { Constructor } else { Method }, name, node)
}

fn member(walk: &mut Walk<'_>, node: Node<'_>, name: &str) -> Descent {
    let kind = match kind_of(field(node, "value")) {
        Some(Function) => Method,
        Some(kind) => kind,
        None => Field,
    };
    named(walk, kind, field(node, name), node)
}

/// Returns whether a variable is outside functions and blocks.
fn is_outside_functions(declarator: Node<'_>) -> bool {
    let mut above = declarator.parent().and_then(|declaration| declaration.parent());
    while let Some(node) = above {
        match node.kind() {
            "program" | "internal_module" | "module" => return true,
            "export_statement" | "ambient_declaration" => above = node.parent(),
            // The body of a namespace, but not of anything else.
            "statement_block" => {
                above =
                    node.parent().filter(|of| matches!(of.kind(), "internal_module" | "module"));
            }
            _ => return false,
        }
    }
    false
}

/// Defines functions and classes anywhere; other variables only outside functions.
fn declarator(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let Some(name) = field(node, "name") else { return Descent::In };
    if name.kind() != "identifier" {
        return Descent::In;
    }
    if let Some(kind) = kind_of(field(node, "value")) {
        return Descent::Within(walk.add(kind, name, node));
    }
    if !is_outside_functions(node) {
        return Descent::In;
    }
    let is_constant = node
        .parent()
        .and_then(|parent| field(parent, "kind"))
        .is_some_and(|kind| kind.kind() == "const");
    Descent::Within(walk.add(if is_constant { Constant } else { Variable }, name, node))
}

/// `name: function () {}` in an object.
fn pair(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    match kind_of(field(node, "value")) {
        Some(Function) => named(walk, Method, field(node, "key"), node),
        Some(kind) => named(walk, kind, field(node, "key"), node),
        None => Descent::In,
    }
}

/// `a = function () {}`, `Type.prototype.name = function () {}`, `Type.name = () => {}`.
fn assignment(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let (left, value) = (field(node, "left"), field(node, "right"));
    let Some((left, kind)) = left.zip(kind_of(value)) else { return Descent::In };
    match left.kind() {
        "identifier" => Descent::Within(walk.add(kind, left, node)),
        "member_expression" => {
            let Some((mut object, name)) = field(left, "object").zip(field(left, "property"))
            else {
                return Descent::In;
            };
            if object.kind() == "member_expression"
                && field(object, "property")
                    .is_some_and(|property| walk.text(property) == "prototype")
            {
                object = field(object, "object").unwrap_or(object);
            }
            match walk.text(object) {
                // The module is not a type.
                "module" => {
                    return match value.and_then(|value| field(value, "name")) {
                        Some(name) => Descent::Within(walk.add(kind, name, node)),
                        None => Descent::In,
                    };
                }
                "exports" | "module.exports" | "window" | "global" | "globalThis" => {
                    return Descent::Within(walk.add(kind, name, node));
                }
                _ => {}
            }
            let symbol = walk.add(if kind == Function { Method } else { kind }, name, node);
            if is_path(object) {
                walk.member_of(symbol, walk.path(object));
            }
            Descent::Within(symbol)
        }
        _ => Descent::In,
    }
}

/// Returns whether an object is a path of names: `a.b.c`.
fn is_path(mut object: Node<'_>) -> bool {
    while let ("member_expression", Some(inner)) = (object.kind(), field(object, "object")) {
        object = inner;
    }
    object.kind().ends_with("identifier") || object.kind() == "this"
}

/// Defines the members of an enumeration without values.
fn members(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let mut cursor = node.walk();
    for name in node.children_by_field_name("name", &mut cursor) {
        named(walk, EnumMember, Some(name), name);
    }
    Descent::In
}

/// `namespace a.b {}` are the namespaces `a` and `b`; `module "name" {}`.
fn module(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    match field(node, "name") {
        Some(name) if name.kind() == "nested_identifier" => {
            Descent::Within(walk.add_path(Namespace, Namespace, name, node.end_byte()))
        }
        name => named(walk, Namespace, name, node),
    }
}
