//! C#.

use query::SymbolKind::{
    Class, Constant, Constructor, Enum, EnumMember, Field, Function, Interface, Method, Namespace,
    Property, Struct, Type,
};
use tree_sitter::Node;

use crate::grammar::{Grammar, define, look};
use crate::reserved;
use crate::walk::{Descent, Walk, child, children, field};

pub(crate) static C_SHARP: Grammar = Grammar {
    names: &["c#"],
    language: tree_sitter_c_sharp::LANGUAGE,
    rules: &[
        look("namespace_declaration", namespace),
        look("file_scoped_namespace_declaration", namespace_of_file),
        define("class_declaration", Class),
        look("record_declaration", record),
        define("struct_declaration", Struct),
        define("interface_declaration", Interface),
        define("enum_declaration", Enum),
        define("enum_member_declaration", EnumMember),
        define("delegate_declaration", Type),
        define("method_declaration", Method),
        define("constructor_declaration", Constructor),
        look("destructor_declaration", destructor),
        look("operator_declaration", |walk, node| operator(walk, node, "operator")),
        look("conversion_operator_declaration", |walk, node| operator(walk, node, "type")),
        define("local_function_statement", Function),
        define("property_declaration", Property),
        define("event_declaration", Field),
        look("event_field_declaration", fields),
        look("field_declaration", fields),
        // using A = B;
        define("using_directive", Type),
    ],
    skip: &["argument_list", "attribute_list", "parameter_list"],
    neighbour: None,
    blank: None,
    reserved: &reserved::C_SHARP,
};

/// `namespace A.B` are the namespaces `A` and `B`.
fn namespace(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    match field(node, "name") {
        Some(name) => Descent::Within(walk.add_path(Namespace, Namespace, name, node.end_byte())),
        None => Descent::In,
    }
}

/// `namespace A.B;` contains all that follows.
fn namespace_of_file(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let Some(name) = field(node, "name") else { return Descent::In };
    let end = node.parent().map_or(node.end_byte(), |file| file.end_byte());
    Descent::Before(walk.add_path(Namespace, Namespace, name, end))
}

/// `~A()`, with the tilde.
fn destructor(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let Some(name) = field(node, "name") else { return Descent::In };
    let start = child(node, "~").map_or(name.start_byte(), |tilde| tilde.start_byte());
    Descent::Within(walk.add_range(
        Method,
        start..name.end_byte(),
        name.start_position().row,
        node.end_byte(),
    ))
}

/// `operator +`, `operator bool`.
fn operator(walk: &mut Walk<'_>, node: Node<'_>, last: &str) -> Descent {
    let Some((first, last)) = child(node, "operator").zip(field(node, last)) else {
        return Descent::In;
    };
    let name = first.start_byte()..last.end_byte();
    Descent::Within(walk.add_range(Method, name, first.start_position().row, node.end_byte()))
}

fn record(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let kind = if child(node, "struct").is_some() { Struct } else { Class };
    walk.define(kind, node, "name")
}

fn fields(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let is_constant =
        children(node, "modifier").into_iter().any(|modifier| walk.text(modifier) == "const");
    let Some(declared) = child(node, "variable_declaration") else { return Descent::In };
    for name in
        children(declared, "variable_declarator").into_iter().filter_map(|of| field(of, "name"))
    {
        walk.add(if is_constant { Constant } else { Field }, name, node);
    }
    Descent::In
}
