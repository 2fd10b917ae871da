//! Rust.

use query::SymbolKind::{
    Constant, Enum, EnumMember, Field, Function, Implementation, Macro, Method, Module, Struct,
    Trait, Type, Union, Variable,
};
use tree_sitter::Node;

use crate::grammar::{Grammar, define, look};
use crate::reserved;
use crate::walk::{Descent, Walk, field};

pub(crate) static RUST: Grammar = Grammar {
    names: &["rust"],
    language: tree_sitter_rust::LANGUAGE,
    rules: &[
        define("mod_item", Module),
        define("struct_item", Struct),
        define("enum_item", Enum),
        define("union_item", Union),
        define("trait_item", Trait),
        define("type_item", Type),
        define("associated_type", Type),
        define("function_item", Function).member(Method),
        define("function_signature_item", Function).member(Method),
        define("const_item", Constant),
        define("static_item", Variable),
        define("macro_definition", Macro),
        define("field_declaration", Field),
        define("enum_variant", EnumMember),
        look("impl_item", implementation),
    ],
    skip: &[
        "arguments",
        "attribute_item",
        "inner_attribute_item",
        "parameters",
        "token_tree",
        "type_arguments",
        "type_parameters",
        "use_declaration",
        "where_clause",
    ],
    neighbour: None,
    blank: None,
    reserved: &reserved::RUST,
};

/// `impl<T> Trait for module::Type<T>` contains members of `Type`.
fn implementation(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let mut of = field(node, "type");
    while let Some(inner) = of {
        of = match inner.kind() {
            "type_identifier" | "primitive_type" => {
                return Descent::Within(walk.add(Implementation, inner, node));
            }
            "generic_type" | "reference_type" | "array_type" | "pointer_type" => {
                field(inner, "type").or_else(|| field(inner, "element"))
            }
            "scoped_type_identifier" => {
                return Descent::Within(walk.add_qualified(Implementation, inner, node));
            }
            _ => inner.named_child(0),
        };
    }
    match field(node, "type") {
        // Tuples and the like have no name.
        Some(of) => Descent::Within(walk.add(Implementation, of, node)),
        None => Descent::In,
    }
}
