//! Erlang.

use query::SymbolKind::{Field, Function, Macro, Module, Struct, Type};
use tree_sitter::Node;

use crate::grammar::{Grammar, define, look};
use crate::reserved;
use crate::walk::{Descent, Walk, field};

pub(crate) static ERLANG: Grammar = Grammar {
    names: &["erlang"],
    language: tree_sitter_erlang::LANGUAGE,
    rules: &[
        define("module_attribute", Module),
        define("record_decl", Struct),
        look("record_field", |walk, node| match field(node, "name") {
            Some(name) if walk.is_in_type() => Descent::Within(walk.add(Field, name, node)),
            _ => Descent::Past,
        }),
        look("type_alias", type_name),
        look("opaque", type_name),
        look("pp_define", |walk, node| {
            match field(node, "lhs").and_then(|left| field(left, "name")) {
                Some(name) => Descent::Within(walk.add(Macro, name, node)),
                None => Descent::In,
            }
        }),
        look("fun_decl", function),
    ],
    skip: &["clause_body", "spec", "callback"],
    neighbour: None,
    blank: None,
    reserved: &reserved::ERLANG,
};

fn type_name(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    if let Some(name) = field(node, "name").and_then(|head| field(head, "name")) {
        walk.add(Type, name, node);
    }
    Descent::Past
}

/// Defines a function at the first of its clauses.
fn function(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let name = |clause: Node<'_>| {
        field(clause, "clause").and_then(|clause| field(clause, "name")).map(|name| walk.text(name))
    };
    let goes_on = node.prev_named_sibling().is_some_and(|before| {
        before.kind() == "fun_decl"
            && name(before) == name(node)
            && !walk.text(before).ends_with('.')
    });
    match field(node, "clause").and_then(|clause| field(clause, "name")) {
        Some(name) if !goes_on => Descent::Within(walk.add(Function, name, node)),
        _ => Descent::In,
    }
}
