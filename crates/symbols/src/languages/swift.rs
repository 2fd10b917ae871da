//! Swift.

use query::SymbolKind::{
    Class, Constructor, Enum, EnumMember, Function, Implementation, Interface, Macro, Method,
    Property, Struct, Type, Variable,
};
use tree_sitter::Node;

use crate::grammar::{Grammar, define, define_by, look};
use crate::reserved;
use crate::walk::{Descent, Walk, child, field};

pub(crate) static SWIFT: Grammar = Grammar {
    names: &["swift"],
    language: tree_sitter_swift::LANGUAGE,
    rules: &[
        look("class_declaration", class),
        define("protocol_declaration", Interface),
        look("function_declaration", function),
        look("protocol_function_declaration", function),
        look("init_declaration", initializer),
        look("property_declaration", property),
        look("protocol_property_declaration", property),
        define_by("typealias_declaration", Type, "type_identifier"),
        define_by("associatedtype_declaration", Type, "type_identifier"),
        define_by("enum_entry", EnumMember, "simple_identifier"),
        define_by("macro_declaration", Macro, "simple_identifier"),
    ],
    skip: &["import_declaration", "value_arguments"],
    neighbour: None,
    blank: None,
    reserved: &reserved::SWIFT,
};

/// Classes, actors, structs, enumerations and extensions.
fn class(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let kind = match field(node, "declaration_kind").map_or("", |kind| kind.kind()) {
        "struct" => Struct,
        "enum" => Enum,
        "extension" => Implementation,
        _ => Class,
    };
    // `extension A.B` extends B in A.
    match field(node, "name") {
        Some(name) => Descent::Within(walk.add_qualified(kind, name, node)),
        None => Descent::In,
    }
}

fn function(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let kind = if walk.is_in_type() { Method } else { Function };
    // The return type has the same field.
    match field(node, "name") {
        Some(name) => Descent::Within(walk.add(kind, name, node)),
        None => Descent::In,
    }
}

fn initializer(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    match child(node, "init") {
        Some(name) => Descent::Within(walk.add(Constructor, name, node)),
        None => Descent::In,
    }
}

fn property(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    if walk.is_in_function() {
        return Descent::In;
    }
    let kind = if walk.is_in_type() { Property } else { Variable };
    let mut last = None;
    let mut cursor = node.walk();
    for pattern in node.children_by_field_name("name", &mut cursor) {
        if let Some(name) =
            field(pattern, "bound_identifier").or_else(|| child(pattern, "simple_identifier"))
        {
            last = Some(walk.add(kind, name, node));
        }
    }
    last.map_or(Descent::In, Descent::Within)
}
