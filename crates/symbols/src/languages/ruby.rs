//! Ruby.

use query::SymbolKind;
use query::SymbolKind::{Class, Constant, Constructor, Function, Method, Module, Property};
use tree_sitter::Node;

use crate::grammar::{Grammar, define_by, look};
use crate::reserved;
use crate::walk::{Descent, Walk, children, field};

pub(crate) static RUBY: Grammar = Grammar {
    names: &["ruby"],
    language: tree_sitter_ruby::LANGUAGE,
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
    reserved: &reserved::RUBY,
};

/// `class A::B` is the class `B` of `A`.
fn scope(walk: &mut Walk<'_>, node: Node<'_>, kind: SymbolKind) -> Descent {
    match field(node, "name") {
        Some(name) => Descent::Within(walk.add_qualified(kind, name, node)),
        None => Descent::In,
    }
}

fn method(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let Some(name) = field(node, "name") else { return Descent::In };
    let kind = match walk.text(name) {
        "initialize" if is_member(walk) => Constructor,
        _ if is_member(walk) || node.kind() == "singleton_method" => Method,
        _ => Function,
    };
    let method = walk.add(kind, name, node);
    // def A.name
    if let Some(of) = field(node, "object").filter(|of| of.kind() == "constant") {
        // If the class names itself, it is already the container.
        if walk.around_name() != Some(walk.text(of)) {
            walk.member_of(method, walk.path(of));
        }
    }
    Descent::Within(method)
}

/// Returns whether the node is in a class or a module: modules are mixed into classes.
fn is_member(walk: &Walk<'_>) -> bool {
    walk.is_in_type() || walk.is_in_module()
}

fn assignment(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let is_constant = |left: &Node<'_>| {
        let name = field(*left, "name").filter(|_| left.kind() == "scope_resolution");
        name.unwrap_or(*left).kind() == "constant"
    };
    match field(node, "left").filter(is_constant) {
        Some(left) => Descent::Within(walk.add_qualified(Constant, left, node)),
        None => Descent::In,
    }
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
