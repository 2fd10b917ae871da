//! Protocol Buffers.

use query::SymbolKind::{Enum, EnumMember, Field, Interface, Method, Package, Struct};
use tree_sitter::Node;

use crate::grammar::{Grammar, define_by, look};
use crate::reserved;
use crate::walk::{Descent, Walk, child};

pub(crate) static PROTO: Grammar = Grammar {
    names: &["protocol buffer"],
    language: tree_sitter_proto::LANGUAGE,
    rules: &[
        look("package", package),
        define_by("message", Struct, "message_name"),
        define_by("group", Struct, "message_name"),
        define_by("enum", Enum, "enum_name"),
        define_by("enum_field", EnumMember, "identifier"),
        define_by("field", Field, "identifier"),
        define_by("map_field", Field, "identifier"),
        define_by("oneof", Field, "identifier"),
        define_by("oneof_field", Field, "identifier"),
        define_by("service", Interface, "service_name"),
        define_by("rpc", Method, "rpc_name"),
    ],
    skip: &["option", "field_options"],
    neighbour: None,
    blank: None,
    reserved: &reserved::NONE,
};

fn package(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    if let Some(name) = child(node, "full_ident") {
        walk.add_path(Package, Package, name, node.end_byte());
    }
    Descent::Past
}
