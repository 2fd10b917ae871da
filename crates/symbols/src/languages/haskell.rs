//! Haskell.

use query::SymbolKind::{EnumMember, Field, Function, Implementation, Method, Module, Trait, Type};
use tree_sitter::Node;

use crate::grammar::{Grammar, define, define_by, look};
use crate::reserved;
use crate::walk::{Descent, Walk, child, field};

pub(crate) static HASKELL: Grammar = Grammar {
    names: &["haskell"],
    language: tree_sitter_haskell::LANGUAGE,
    rules: &[
        look("header", |walk, node| {
            if let Some(name) = field(node, "module") {
                walk.add_path(Module, Implementation, name, node.end_byte());
            }
            Descent::Past
        }),
        define("data_type", Type),
        define("newtype", Type),
        define("type_synonym", Type),
        define("type_family", Type),
        define("class", Trait),
        look("data_constructor", constructor),
        define("newtype_constructor", EnumMember),
        look("gadt_constructor", |walk, node| walk.define(EnumMember, node, "name")),
        define_by("field", Field, "field_name"),
        look("function", function),
        look("bind", function),
        look("signature", signature),
    ],
    skip: &["expression", "match", "imports", "local_binds"],
    neighbour: None,
    blank: None,
    reserved: &reserved::HASKELL,
};

fn constructor(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let name = field(node, "constructor")
        .and_then(|of| field(of, "name").or_else(|| child(of, "constructor")));
    match name {
        Some(name) => Descent::Within(walk.add(EnumMember, name, node)),
        None => Descent::In,
    }
}

/// Defines a function at the first of its equations, unless a signature precedes it.
fn function(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let Some(name) = field(node, "name") else { return Descent::Past };
    let is_known = node
        .prev_named_sibling()
        .and_then(|before| field(before, "name"))
        .is_some_and(|before| walk.text(before) == walk.text(name));
    if !is_known {
        walk.add(if walk.is_in_type() { Method } else { Function }, name, node);
    }
    Descent::Past
}

/// `name :: type`, outside functions.
fn signature(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let kind = if walk.is_in_type() { Method } else { Function };
    if let Some(name) = field(node, "name") {
        walk.add(kind, name, node);
    } else if let Some(names) = field(node, "names") {
        walk.define(kind, names, "name");
    }
    Descent::Past
}
