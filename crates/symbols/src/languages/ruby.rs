//! Ruby.

use query::SymbolKind;
use query::SymbolKind::{Class, Constant, Constructor, Function, Method, Module, Property};
use tree_sitter::Node;

use crate::grammar::{Grammar, define_by, look};
use crate::walk::{Descent, Walk, children, field};

pub(crate) static RUBY: Grammar = Grammar {
    names: &["ruby"],
    language: &grammars::RUBY,
    rules: &[
        look("class", |walk, node| scope(walk, node, Class)),
        look("module", |walk, node| scope(walk, node, Module)),
        look("method", method),
        look("singleton_method", method),
        define_by("alias", Function, "name").member(Method),
        look("assignment", assignment),
        look("call", call),
    ],
    skip: &["method_parameters", "string"],
    neighbour: None,
    blank: None,
};

/// `class A::B` is the class `B`.
fn scope(walk: &mut Walk<'_>, node: Node<'_>, kind: SymbolKind) -> Descent {
    let Some(mut name) = field(node, "name") else { return Descent::In };
    if name.kind() == "scope_resolution" {
        name = field(name, "name").unwrap_or(name);
    }
    Descent::Within(walk.add(kind, name, node))
}

fn method(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let Some(name) = field(node, "name") else { return Descent::In };
    let kind = match walk.text(name) {
        "initialize" if is_member(walk) => Constructor,
        _ if is_member(walk) || node.kind() == "singleton_method" => Method,
        _ => Function,
    };
    Descent::Within(walk.add(kind, name, node))
}

/// Whether a class or a module is around: modules are mixed into classes.
fn is_member(walk: &Walk<'_>) -> bool {
    walk.is_in_type() || walk.is_in_module()
}

fn assignment(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    if let Some(mut left) = field(node, "left") {
        if left.kind() == "scope_resolution" {
            left = field(left, "name").unwrap_or(left);
        }
        if left.kind() == "constant" {
            return Descent::Within(walk.add(Constant, left, node));
        }
    }
    Descent::In
}

/// `attr_reader :name`, `define_method(:name)`, `alias_method :name, :other`.
fn call(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let (Some(name), Some(arguments)) = (field(node, "method"), field(node, "arguments")) else {
        return Descent::In;
    };
    let (kind, most) = match walk.text(name) {
        "attr_reader" | "attr_writer" | "attr_accessor" | "attr" => (Property, usize::MAX),
        "define_method" | "alias_method" => (Method, 1),
        _ => return Descent::In,
    };
    for symbol in children(arguments, "simple_symbol").into_iter().take(most) {
        let name = symbol.start_byte() + 1..symbol.end_byte();
        walk.add_range(kind, name, symbol.start_position().row, node.end_byte());
    }
    Descent::In
}
