//! Lua.

use query::SymbolKind::{Function, Method, Variable};
use tree_sitter::Node;

use crate::grammar::{Grammar, look};
use crate::reserved;
use crate::walk::{Descent, Walk, child, field};

pub(crate) static LUA: Grammar = Grammar {
    names: &["lua"],
    language: tree_sitter_lua::LANGUAGE,
    rules: &[
        look("function_declaration", |walk, node| match field(node, "name") {
            Some(name) => Descent::Within(function(walk, name, node)),
            None => Descent::In,
        }),
        look("function_definition", |_, _| Descent::Local),
        look("assignment_statement", assignment),
        look("field", pair),
    ],
    skip: &["parameters", "string"],
    neighbour: None,
    blank: None,
    reserved: &reserved::LUA,
};

/// Adds a function: `name`, `table.name` or `table:name`.
fn function(walk: &mut Walk<'_>, name: Node<'_>, node: Node<'_>) -> usize {
    let last = field(name, "method").or_else(|| field(name, "field"));
    let function =
        walk.add(if last.is_some() { Method } else { Function }, last.unwrap_or(name), node);
    if let Some(table) = field(name, "table").filter(|_| last.is_some()) {
        walk.member_of(function, walk.path(table));
    }
    function
}

/// `a, b = function() end, 1`. Other variables are defined outside functions, at their first value.
fn assignment(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let (Some(names), Some(values)) =
        (child(node, "variable_list"), child(node, "expression_list"))
    else {
        return Descent::In;
    };
    let mut last = None;
    let (mut of_names, mut of_values) = (names.walk(), values.walk());
    let mut values = values.named_children(&mut of_values);
    for name in names.named_children(&mut of_names) {
        let value = values.next();
        if value.is_some_and(|value| value.kind() == "function_definition") {
            last = Some(function(walk, name, node));
        } else if name.kind() == "identifier" && !walk.is_in_function() {
            last = walk.add_first(Variable, name, node).or(last);
        }
    }
    last.map_or(Descent::In, Descent::Within)
}

/// `{ name = function() end }`.
fn pair(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    let is_function =
        field(node, "value").is_some_and(|value| value.kind() == "function_definition");
    let name = field(node, "name").filter(|_| is_function);
    // ["name"] = function() end
    let name = name.and_then(|name| {
        if name.kind() == "string" { child(name, "string_content") } else { Some(name) }
    });
    match name.filter(|name| matches!(name.kind(), "identifier" | "string_content")) {
        Some(name) => Descent::Within(walk.add(Method, name, node)),
        None => Descent::In,
    }
}
