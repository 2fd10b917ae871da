//! SQL.

use query::SymbolKind;
use query::SymbolKind::{Field, Function, Namespace, Struct, Type, Variable};
use tree_sitter::Node;

use crate::grammar::{Grammar, define, define_by, look};
use crate::reserved;
use crate::walk::{Descent, Walk, child, field};

pub(crate) static SQL: Grammar = Grammar {
    names: &["sql"],
    language: tree_sitter_sequel::LANGUAGE,
    rules: &[
        look("create_table", |walk, node| named(walk, node, Struct)),
        look("create_view", |walk, node| named(walk, node, Struct)),
        look("create_materialized_view", |walk, node| named(walk, node, Struct)),
        look("create_type", |walk, node| named(walk, node, Type)),
        look("create_function", |walk, node| named(walk, node, Function)),
        look("create_trigger", |walk, node| named(walk, node, Function)),
        look("create_sequence", |walk, node| named(walk, node, Variable)),
        define_by("create_index", Variable, "column"),
        define_by("create_schema", Namespace, "identifier"),
        define("column_definition", Field),
    ],
    skip: &["function_body", "create_query"],
    neighbour: None,
    blank: None,
    reserved: &reserved::SQL,
};

/// `create ... schema.name`.
fn named(walk: &mut Walk<'_>, node: Node<'_>, kind: SymbolKind) -> Descent {
    match child(node, "object_reference") {
        Some(name) if field(name, "name").is_some() => {
            Descent::Within(walk.add_qualified(kind, name, node))
        }
        _ => Descent::In,
    }
}
