//! Shell scripts.

use query::SymbolKind::{Constant, Function, Variable};
use tree_sitter::Node;

use crate::grammar::{Grammar, define, look};
use crate::reserved;
use crate::walk::{Descent, Walk, child, children, field};

pub(crate) static BASH: Grammar = Grammar {
    names: &["shell"],
    language: tree_sitter_bash::LANGUAGE,
    rules: &[
        define("function_definition", Function),
        look("variable_assignment", assignment),
        look("declaration_command", declaration),
        look("command", command),
    ],
    skip: &["command_substitution", "heredoc_body", "string"],
    neighbour: None,
    blank: None,
    reserved: &reserved::SHELL,
};

/// The first value of a variable outside functions; `a+=b` extends an existing one.
fn assignment(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    if let Some(name) = field(node, "name").filter(|name| name.kind() == "variable_name")
        && !walk.is_in_function()
        && child(node, "+=").is_none()
    {
        walk.add_first(Variable, name, node);
    }
    Descent::Past
}

/// `readonly A=b`, `export A=b`, `declare -r A=b`.
fn declaration(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    if walk.is_in_function() {
        return Descent::Past;
    }
    let is_constant = child(node, "readonly").is_some()
        || children(node, "word")
            .into_iter()
            .any(|flag| walk.text(flag).starts_with('-') && walk.text(flag).contains('r'));
    for name in children(node, "variable_assignment").into_iter().filter_map(|of| field(of, "name"))
    {
        walk.add_first(if is_constant { Constant } else { Variable }, name, node);
    }
    Descent::Past
}

/// `alias name=...`; assignments before a command apply only to it.
fn command(walk: &mut Walk<'_>, node: Node<'_>) -> Descent {
    if field(node, "name").is_some_and(|name| walk.text(name) == "alias") {
        let mut cursor = node.walk();
        for argument in node.children_by_field_name("argument", &mut cursor) {
            if let Some((name, _)) = walk.text(argument).split_once('=') {
                let start = argument.start_byte();
                walk.add_range(
                    Function,
                    start..start + name.len(),
                    argument.start_position().row,
                    argument.end_byte(),
                );
            }
        }
    }
    Descent::Past
}
