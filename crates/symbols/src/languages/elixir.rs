//! Elixir. Definitions are calls of macros.

use query::SymbolKind::{
    Constant, Function, Implementation, Interface, Macro, Module, Struct, Type,
};
use tree_sitter::Node;

use crate::grammar::{Grammar, look};
use crate::reserved;
use crate::walk::{Descent, Walk, child, field};

pub(crate) static ELIXIR: Grammar = Grammar {
    names: &["elixir"],
    language: tree_sitter_elixir::LANGUAGE,
    rules: &[look("call", call), look("unary_operator", attribute)],
    skip: &["string", "quoted_content"],
    neighbour: None,
    blank: None,
    reserved: &reserved::ELIXIR,
};

fn call(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let Some(target) = field(node, "target").filter(|target| target.kind() == "identifier") else {
        return Descent::In;
    };
    let kind = match walk.text(target) {
        "defmodule" => Module,
        "defprotocol" => Interface,
        "defimpl" => Implementation,
        "def" | "defp" | "defdelegate" => Function,
        "defmacro" | "defmacrop" | "defguard" | "defguardp" => Macro,
        "defexception" | "defstruct" => Struct,
        _ => return Descent::In,
    };
    let Some(mut head) = child(node, "arguments").and_then(|all| all.named_child(0)) else {
        return Descent::In;
    };
    // def name(a) when a > 1
    while head.kind() == "binary_operator" && child(head, "when").is_some() {
        let Some(left) = field(head, "left") else { return Descent::In };
        head = left;
    }
    if head.kind() == "binary_operator" {
        // def a + b
        return match field(head, "operator") {
            Some(name) => Descent::Within(walk.add(kind, name, node)),
            None => Descent::In,
        };
    }
    let name = field(head, "target").unwrap_or(head);
    match name.kind() {
        "alias" => Descent::Within(walk.add_path(kind, Implementation, name, node.end_byte())),
        "identifier" => Descent::Within(walk.add(kind, name, node)),
        _ => Descent::In,
    }
}

/// `@type name :: ...`, `@callback name(...) :: ...`, `@name value`.
fn attribute(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let Some(call) =
        field(node, "operand").filter(|of| of.kind() == "call" && walk.text(node).starts_with('@'))
    else {
        return Descent::In;
    };
    let Some(target) = field(call, "target") else { return Descent::Past };
    let first = child(call, "arguments").and_then(|all| all.named_child(0));
    match (walk.text(target), first) {
        ("type" | "typep" | "opaque" | "callback" | "macrocallback", Some(mut head)) => {
            let kind = if walk.text(target).ends_with("callback") { Function } else { Type };
            while head.kind() == "binary_operator" {
                let Some(left) = field(head, "left") else { return Descent::Past };
                head = left;
            }
            let name = field(head, "target").unwrap_or(head);
            if name.kind() == "identifier" {
                walk.add(kind, name, node);
            }
        }
        (
            "doc" | "moduledoc" | "typedoc" | "spec" | "impl" | "behaviour" | "derive"
            | "deprecated",
            _,
        )
        | (_, None) => {}
        _ if !walk.is_in_function() => {
            walk.add(Constant, target, node);
        }
        _ => {}
    }
    Descent::Past
}
