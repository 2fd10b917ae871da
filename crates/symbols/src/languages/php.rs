//! PHP.

use query::SymbolKind::{
    Class, Constant, Constructor, Enum, EnumMember, Field, Function, Interface, Method, Namespace,
    Trait,
};
use tree_sitter::Node;

use crate::grammar::{Grammar, define, define_by, look};
use crate::reserved;
use crate::walk::{Descent, Walk, child, field};

pub(crate) static PHP: Grammar = Grammar {
    names: &["php"],
    language: tree_sitter_php::LANGUAGE_PHP,
    rules: &[
        look("namespace_definition", namespace),
        define("class_declaration", Class),
        define("interface_declaration", Interface),
        define("trait_declaration", Trait),
        define("enum_declaration", Enum),
        define("enum_case", EnumMember),
        define("function_definition", Function),
        look("method_declaration", method),
        define_by("const_element", Constant, "name"),
        look("property_element", property),
        look("property_promotion_parameter", property),
        look("function_call_expression", call),
    ],
    skip: &["attribute_list", "heredoc", "namespace_use_declaration", "string"],
    neighbour: None,
    blank: None,
    reserved: &reserved::PHP,
};

/// `namespace A\B;` contains all that follows.
fn namespace(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let Some(name) = field(node, "name") else { return Descent::In };
    if field(node, "body").is_some() {
        return Descent::Within(walk.add_path(Namespace, Namespace, name, node.end_byte()));
    }
    let end = node.parent().map_or(node.end_byte(), |file| file.end_byte());
    Descent::Before(walk.add_path(Namespace, Namespace, name, end))
}

fn method(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let is_constructor = field(node, "name").is_some_and(|name| walk.text(name) == "__construct");
    walk.define(if is_constructor { Constructor } else { Method }, node, "name")
}

/// A property, without its dollar sign.
fn property(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let name = field(node, "name");
    if let Some(name) =
        name.filter(|name| name.kind() == "variable_name").and_then(|name| child(name, "name"))
    {
        walk.add(Field, name, node);
    }
    Descent::In
}

/// `define('NAME', 1)`.
fn call(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let is_define =
        field(node, "function").is_some_and(|name| walk.text(name).eq_ignore_ascii_case("define"));
    if is_define
        && let Some(first) = field(node, "arguments").and_then(|all| child(all, "argument"))
        && let Some(string) = child(first, "string").or_else(|| child(first, "encapsed_string"))
        && let Some(name) = child(string, "string_content")
    {
        walk.add(Constant, name, node);
    }
    Descent::In
}
