//! Scala.

use query::SymbolKind::{
    Class, Enum, EnumMember, Field, Function, Method, Package, Trait, Type, Variable,
};
use tree_sitter::Node;

use crate::grammar::{Grammar, define, look};
use crate::reserved;
use crate::walk::{Descent, Walk, field};

pub(crate) static SCALA: Grammar = Grammar {
    names: &["scala"],
    language: tree_sitter_scala::LANGUAGE,
    rules: &[
        look("package_clause", package),
        define("package_object", Class),
        define("class_definition", Class),
        define("object_definition", Class),
        define("trait_definition", Trait),
        define("enum_definition", Enum),
        define("simple_enum_case", EnumMember),
        define("full_enum_case", EnumMember),
        define("function_definition", Function).member(Method),
        define("function_declaration", Function).member(Method),
        define("type_definition", Type).outside(),
        define("given_definition", Variable).member(Field),
        look("val_definition", value),
        look("var_definition", value),
        // Definitions in a block are not members of a class.
        look("block", |_, _| Descent::Local),
        look("case_block", |_, _| Descent::Local),
        look("indented_block", |_, _| Descent::Local),
        look("lambda_expression", |_, _| Descent::Local),
        define("val_declaration", Variable).member(Field).outside(),
        define("var_declaration", Variable).member(Field).outside(),
    ],
    skip: &["arguments", "import_declaration", "parameters", "type_parameters"],
    neighbour: None,
    blank: None,
    reserved: &reserved::SCALA,
};

fn package(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    match field(node, "name") {
        Some(name) if field(node, "body").is_some() => {
            Descent::Within(walk.add_path(Package, Package, name, node.end_byte()))
        }
        Some(name) => {
            walk.add_path(Package, Package, name, node.end_byte());
            Descent::Past
        }
        None => Descent::In,
    }
}

fn value(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    if walk.is_in_function() {
        return Descent::In;
    }
    let Some(pattern) = field(node, "pattern") else { return Descent::In };
    let names = match pattern.kind() {
        "identifier" | "operator_identifier" => vec![pattern],
        "identifiers" | "tuple_pattern" => pattern.named_children(&mut pattern.walk()).collect(),
        _ => Vec::new(),
    };
    let kind = if walk.is_in_type() { Field } else { Variable };
    let mut last = None;
    for name in names
        .into_iter()
        .filter(|name| name.kind() == "identifier" || name.kind() == "operator_identifier")
    {
        last = Some(walk.add(kind, name, node));
    }
    last.map_or(Descent::In, Descent::Within)
}
