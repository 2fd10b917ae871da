//! Python.

use query::SymbolKind::{Class, Constant, Constructor, Field, Function, Method, Type, Variable};
use tree_sitter::Node;

use crate::grammar::{Grammar, define, define_by, look};
use crate::reserved;
use crate::walk::{Descent, Walk, field};

pub(crate) static PYTHON: Grammar = Grammar {
    names: &["python"],
    language: tree_sitter_python::LANGUAGE,
    rules: &[
        define("class_definition", Class),
        look("function_definition", function),
        look("assignment", assignment),
        define_by("type_alias_statement", Type, "left"),
    ],
    skip: &["argument_list", "call", "decorator", "parameters", "return_statement", "string"],
    neighbour: None,
    blank: None,
    reserved: &reserved::PYTHON,
};

fn function(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let Some(name) = field(node, "name") else { return Descent::In };
    let kind = match walk.text(name) {
        "__init__" if walk.is_in_type() => Constructor,
        _ if walk.is_in_type() => Method,
        _ => Function,
    };
    Descent::Within(walk.add(kind, name, node))
}

/// `A = b, c = 1` outside functions. Names in capitals are constants.
fn assignment(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    if walk.is_in_function() {
        return Descent::Past;
    }
    let mut next = Some(node);
    while let Some(assignment) = next.filter(|next| next.kind() == "assignment") {
        if let Some(left) = field(assignment, "left") {
            let names = match left.kind() {
                "identifier" => vec![left],
                "pattern_list" | "tuple_pattern" => left.named_children(&mut left.walk()).collect(),
                _ => Vec::new(),
            };
            for name in names.into_iter().filter(|name| name.kind() == "identifier") {
                let text = walk.text(name);
                let is_constant =
                    text.chars().any(char::is_uppercase) && !text.chars().any(char::is_lowercase);
                let is_lambda =
                    field(assignment, "right").is_some_and(|right| right.kind() == "lambda");
                let kind = match (walk.is_in_type(), is_constant) {
                    (false, _) if is_lambda => Function,
                    (true, _) if is_lambda => Method,
                    (_, true) => Constant,
                    (true, false) => Field,
                    (false, false) => Variable,
                };
                walk.add(kind, name, node);
            }
        }
        next = field(assignment, "right");
    }
    Descent::Past
}
