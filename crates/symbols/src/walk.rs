//! Walking a syntax tree with the table of its language.

use std::ops::Range;
use std::sync::OnceLock;

use query::SymbolKind;
use tree_sitter::{Node, Tree};

use crate::grammar::{Action, Grammar, Step, Table};
use crate::languages::ALL;

/// A symbol as it was found, in no order.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) kind: SymbolKind,
    pub(crate) name: Range<usize>,
    pub(crate) end: usize,
    pub(crate) row: usize,
    pub(crate) parent: Parent,
}

/// What contains a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    None,
    /// Another symbol, by its index.
    Symbol(usize),
    /// The type with this name, which may be defined elsewhere.
    Named(Range<usize>, usize),
}

/// Where to go from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Into its children.
    In,
    /// Into its children, which a symbol contains.
    Within(usize),
    /// Past it, and what follows under the same parent is contained by a symbol.
    Before(usize),
    /// Past it.
    Past,
}

/// A walk through a tree.
pub(crate) struct Walk<'t> {
    pub(crate) text: &'t str,
    pub(crate) found: Vec<Found>,
    /// The symbols around the current node, each with the depth from which on it contains what comes.
    around: Vec<(usize, usize)>,
}

/// Returns the definitions in a tree.
pub(crate) fn walk(grammar: &'static Grammar, tree: &Tree, text: &str) -> Vec<Found> {
    let table = table(grammar);
    let mut walk = Walk { text, found: Vec::new(), around: Vec::new() };
    let mut cursor = tree.walk();
    let mut depth = 0;
    loop {
        let node = cursor.node();
        let way = match table.step(node) {
            Step::Enter => Way::In,
            Step::Skip => Way::Past,
            Step::Rule(rule) => match rule.action {
                Action::Look(look) => look(&mut walk, node),
                Action::Define { kind, member, name, outside } => {
                    let kind = if walk.is_in_type() { member } else { kind };
                    if outside && walk.is_in_function() {
                        Way::In
                    } else {
                        walk.define(kind, node, name)
                    }
                }
            },
        };
        match way {
            Way::Within(symbol) => walk.around.push((depth + 1, symbol)),
            Way::Before(symbol) => walk.around.push((depth, symbol)),
            Way::In | Way::Past => {}
        }
        if matches!(way, Way::In | Way::Within(_)) && cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        loop {
            walk.around.truncate(walk.around.partition_point(|(from, _)| *from <= depth));
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

/// Returns the table of a grammar, which is made once.
fn table(grammar: &'static Grammar) -> &'static Table {
    static TABLES: OnceLock<Vec<OnceLock<Table>>> = OnceLock::new();
    let tables = TABLES.get_or_init(|| ALL.iter().map(|_| OnceLock::new()).collect());
    let at =
        ALL.iter().position(|one| std::ptr::eq(*one, grammar)).expect("all grammars are listed");
    tables[at].get_or_init(|| Table::new(grammar))
}

impl<'t> Walk<'t> {
    /// Returns the text of a node.
    pub(crate) fn text(&self, node: Node<'_>) -> &'t str {
        &self.text[node.byte_range()]
    }

    /// Returns the kind of the innermost symbol around.
    fn around(&self) -> Option<SymbolKind> {
        self.around.last().map(|(_, symbol)| self.found[*symbol].kind)
    }

    /// Returns the name of the innermost symbol around.
    pub(crate) fn around_name(&self) -> Option<&'t str> {
        self.around.last().map(|(_, symbol)| &self.text[self.found[*symbol].name.clone()])
    }

    /// Returns whether what is defined here is a member of a type.
    pub(crate) fn is_in_type(&self) -> bool {
        self.around().is_some_and(is_type)
    }

    /// Returns whether what is defined here belongs to a module.
    pub(crate) fn is_in_module(&self) -> bool {
        self.around() == Some(SymbolKind::Module)
    }

    /// Returns whether what is defined here is seen in a function only.
    pub(crate) fn is_in_function(&self) -> bool {
        use SymbolKind::{Constructor, Function, Method, Property};
        matches!(self.around(), Some(Function | Method | Constructor | Property))
    }

    /// Adds a symbol whose name is a node, and whose definition is another.
    pub(crate) fn add(&mut self, kind: SymbolKind, name: Node<'_>, whole: Node<'_>) -> usize {
        self.add_range(kind, name.byte_range(), name.start_position().row, whole.end_byte())
    }

    /// Adds a symbol.
    pub(crate) fn add_range(
        &mut self,
        kind: SymbolKind,
        name: Range<usize>,
        row: usize,
        end: usize,
    ) -> usize {
        let parent = self.around.last().map_or(Parent::None, |(_, symbol)| Parent::Symbol(*symbol));
        self.found.push(Found { kind, name, end, row, parent });
        self.found.len() - 1
    }

    /// Notes that a symbol is a member of the type with a name, unless it stands in one.
    pub(crate) fn member_of(&mut self, symbol: usize, name: Node<'_>) {
        self.found[symbol].parent = Parent::Named(name.byte_range(), name.start_position().row);
    }

    /// Adds the symbols that a node's children with a field, or else of a kind, name.
    pub(crate) fn define(&mut self, kind: SymbolKind, node: Node<'_>, name: &str) -> Way {
        let mut last = None;
        let mut cursor = node.walk();
        for child in node.children_by_field_name(name, &mut cursor).filter(Node::is_named) {
            last = Some(self.add(kind, child, node));
        }
        if last.is_none() {
            for child in node.children(&mut cursor).filter(|child| child.kind() == name) {
                last = Some(self.add(kind, child, node));
            }
        }
        last.map_or(Way::In, Way::Within)
    }
}

/// Returns whether symbols in one of this kind are its members.
pub(crate) fn is_type(kind: SymbolKind) -> bool {
    use SymbolKind::{
        Class, Enum, EnumMember, Implementation, Interface, Struct, Trait, Type, Union,
    };
    matches!(
        kind,
        Class | Enum | EnumMember | Implementation | Interface | Struct | Trait | Type | Union
    )
}

/// Returns the child with a field.
pub(crate) fn field<'n>(node: Node<'n>, name: &str) -> Option<Node<'n>> {
    node.child_by_field_name(name)
}

/// Returns the first child of a kind; tokens are kinds, too.
pub(crate) fn child<'n>(node: Node<'n>, kind: &str) -> Option<Node<'n>> {
    node.children(&mut node.walk()).find(|child| child.kind() == kind)
}

/// Returns the children of a kind.
pub(crate) fn children<'n>(node: Node<'n>, kind: &str) -> Vec<Node<'n>> {
    node.children(&mut node.walk()).filter(|child| child.kind() == kind).collect()
}
