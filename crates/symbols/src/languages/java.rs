//! Java.

use query::SymbolKind::{
    Class, Constant, Constructor, Enum, EnumMember, Field, Interface, Method, Module, Package,
};
use tree_sitter::Node;

use crate::grammar::{Grammar, define, look};
use crate::reserved;
use crate::walk::{Descent, Walk, child, children, field};

pub(crate) static JAVA: Grammar = Grammar {
    names: &["java"],
    language: tree_sitter_java::LANGUAGE,
    rules: &[
        look("package_declaration", package),
        define("module_declaration", Module),
        define("class_declaration", Class),
        define("record_declaration", Class),
        define("interface_declaration", Interface),
        define("annotation_type_declaration", Interface),
        define("enum_declaration", Enum),
        define("enum_constant", EnumMember),
        define("method_declaration", Method),
        define("annotation_type_element_declaration", Method),
        define("constructor_declaration", Constructor),
        define("compact_constructor_declaration", Constructor),
        look("field_declaration", fields),
        look("constant_declaration", fields),
    ],
    skip: &["formal_parameters", "import_declaration", "modifiers"],
    neighbour: None,
    blank: None,
    reserved: &reserved::JAVA,
};

fn package(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    if let Some(name) = child(node, "scoped_identifier").or_else(|| child(node, "identifier")) {
        walk.add_path(Package, Package, name, node.end_byte());
    }
    Descent::Past
}

/// Fields that are `static final`, or in an interface, are constants.
fn fields(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let has =
        |word| child(node, "modifiers").is_some_and(|modifiers| child(modifiers, word).is_some());
    let is_constant = node.kind() == "constant_declaration" || has("static") && has("final");
    let mut last = None;
    for name in children(node, "variable_declarator").into_iter().filter_map(|of| field(of, "name"))
    {
        last = Some(walk.add(if is_constant { Constant } else { Field }, name, node));
    }
    last.map_or(Descent::In, Descent::Within)
}
