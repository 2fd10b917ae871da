//! Zig.

use query::SymbolKind::{Constant, Enum, Field, Function, Method, Struct, Union, Variable};
use tree_sitter::Node;

use crate::grammar::{Grammar, define, look};
use crate::reserved;
use crate::walk::{Descent, Walk, child};

pub(crate) static ZIG: Grammar = Grammar {
    names: &["zig"],
    language: tree_sitter_zig::LANGUAGE,
    rules: &[
        define("function_declaration", Function).member(Method),
        define("container_field", Field),
        look("variable_declaration", variable),
    ],
    skip: &["arguments", "parameters"],
    neighbour: None,
    blank: None,
    reserved: &reserved::ZIG,
};

/// `const Name = struct {}`: the value determines the kind.
fn variable(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let Some(name) = child(node, "identifier") else { return Descent::In };
    let holds = |kind: &str| child(node, kind).is_some();
    let kind = match () {
        () if holds("struct_declaration") || holds("opaque_declaration") => Struct,
        () if holds("enum_declaration") || holds("error_set_declaration") => Enum,
        () if holds("union_declaration") => Union,
        () if walk.is_in_function() => return Descent::In,
        () if holds("const") => Constant,
        () => Variable,
    };
    Descent::Within(walk.add(kind, name, node))
}
