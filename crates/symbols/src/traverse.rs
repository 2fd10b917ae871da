//! Traverses a syntax tree with the table of its language.

use std::sync::OnceLock;

use tree_sitter::Tree;

use crate::grammar::{Action, Grammar, Step, Table};
use crate::languages::ALL;
use crate::walk::{Descent, Found, Walk};

/// Returns the definitions in a tree.
pub(crate) fn definitions(grammar: &'static Grammar, tree: &Tree, text: &str) -> Vec<Found> {
    let table = table(grammar);
    let mut walk = Walk::new(text);
    let mut cursor = tree.walk();
    let mut depth = 0;
    loop {
        let node = cursor.node();
        let way = match table.step(node) {
            Step::Enter => Descent::In,
            Step::Skip => Descent::Past,
            Step::Rule(rule) => match rule.action {
                Action::Look(look) => look(&mut walk, node),
                Action::Define { kind, member, name, outside } => {
                    let kind = if walk.is_in_type() { member } else { kind };
                    if outside && walk.is_in_function() {
                        Descent::In
                    } else {
                        walk.define(kind, node, name)
                    }
                }
            },
        };
        match way {
            Descent::Within(symbol) => walk.enter(depth + 1, Some(symbol)),
            Descent::Before(symbol) => walk.enter(depth, Some(symbol)),
            Descent::Local => walk.enter(depth + 1, None),
            Descent::In | Descent::Past => {}
        }
        let goes_in = matches!(way, Descent::In | Descent::Within(_) | Descent::Local);
        if goes_in && cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        loop {
            walk.leave_to(depth);
            if cursor.goto_next_sibling() {
                break;
            }
            if !cursor.goto_parent() {
                return walk.found;
            }
            depth -= 1;
        }
    }
}

/// Returns the table of a grammar, which is built once.
fn table(grammar: &'static Grammar) -> &'static Table {
    static TABLES: OnceLock<Vec<OnceLock<Table>>> = OnceLock::new();
    let tables = TABLES.get_or_init(|| ALL.iter().map(|_| OnceLock::new()).collect());
    let at =
        ALL.iter().position(|one| std::ptr::eq(*one, grammar)).expect("all grammars are listed");
    tables[at].get_or_init(|| Table::new(grammar))
}
