//! Go.

use query::SymbolKind::{
    Constant, Field, Function, Interface, Method, Package, Struct, Type, Variable,
};
use tree_sitter::Node;

use crate::grammar::{Grammar, define, define_by, look};
use crate::reserved;
use crate::walk::{Descent, Walk, child, field};

pub(crate) static GO: Grammar = Grammar {
    names: &["go"],
    language: tree_sitter_go::LANGUAGE,
    rules: &[
        define_by("package_clause", Package, "package_identifier"),
        define("function_declaration", Function),
        look("method_declaration", method),
        look("type_spec", type_spec),
        define("type_alias", Type),
        define("const_spec", Constant),
        define("var_spec", Variable),
        define("field_declaration", Field),
        define("method_elem", Method),
    ],
    skip: &["block", "import_declaration", "parameter_list"],
    neighbour: None,
    blank: None,
    reserved: &reserved::GO,
};

fn type_spec(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let kind = match field(node, "type").map_or("", |of| of.kind()) {
        "struct_type" => Struct,
        "interface_type" => Interface,
        _ => Type,
    };
    walk.define(kind, node, "name")
}

/// `func (r *Receiver[T]) name()` is a member of `Receiver`.
fn method(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let Some(name) = field(node, "name") else { return Descent::Past };
    let method = walk.add(Method, name, node);
    let receiver = field(node, "receiver").and_then(|list| child(list, "parameter_declaration"));
    let mut of = receiver.and_then(|receiver| field(receiver, "type"));
    while let Some(inner) = of {
        of = match inner.kind() {
            "type_identifier" => {
                walk.member_of(method, vec![inner.byte_range()]);
                None
            }
            "generic_type" => field(inner, "type"),
            _ => inner.named_child(0),
        };
    }
    Descent::Within(method)
}
