//! OCaml.

use query::SymbolKind::{
    Class, EnumMember, Field, Function, Interface, Method, Module, Type, Variable,
};
use tree_sitter::Node;

use crate::grammar::{Grammar, Neighbour, Rule, define_by, look};
use crate::reserved;
use crate::walk::{Descent, Walk, child, field};

const RULES: &[Rule] = &[
    look("let_binding", binding),
    define_by("external", Function, "value_name"),
    define_by("value_specification", Function, "value_name"),
    look("type_binding", |walk, node| walk.define(Type, node, "name")),
    define_by("constructor_declaration", EnumMember, "constructor_name"),
    define_by("field_declaration", Field, "field_name"),
    define_by("module_binding", Module, "module_name"),
    define_by("module_type_definition", Interface, "module_type_name"),
    define_by("class_binding", Class, "class_name"),
    define_by("method_definition", Method, "method_name"),
];

pub(crate) static OCAML: Grammar = Grammar {
    names: &["ocaml"],
    language: tree_sitter_ocaml::LANGUAGE_OCAML,
    rules: RULES,
    skip: &["application_expression", "match_expression"],
    neighbour: Some(Neighbour { grammar: &INTERFACE, signs: &["val "] }),
    blank: None,
    reserved: &reserved::OCAML,
};

/// The grammar of `.mli` files.
pub(crate) static INTERFACE: Grammar = Grammar {
    names: &[],
    language: tree_sitter_ocaml::LANGUAGE_OCAML_INTERFACE,
    rules: RULES,
    skip: &[],
    neighbour: None,
    blank: None,
    reserved: &reserved::OCAML,
};

/// `let name ... = ...`, outside functions.
fn binding(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let Some(name) = field(node, "pattern").filter(|name| name.kind() == "value_name") else {
        return Descent::In;
    };
    if walk.is_in_function() {
        return Descent::Past;
    }
    let takes = child(node, "parameter").is_some()
        || field(node, "body")
            .is_some_and(|body| matches!(body.kind(), "fun_expression" | "function_expression"));
    Descent::Within(walk.add(if takes { Function } else { Variable }, name, node))
}
