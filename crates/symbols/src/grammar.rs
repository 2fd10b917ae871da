//! The table of a language: the nodes of its syntax tree that define symbols.

use query::SymbolKind;
use tree_sitter::{Language, Node};
use tree_sitter_language::LanguageFn;

use crate::blanks::Blanks;
use crate::reserved::Reserved;
use crate::walk::{Descent, Walk};

/// The table of a language.
pub(crate) struct Grammar {
    /// Its names in the index, in lowercase.
    pub(crate) names: &'static [&'static str],
    pub(crate) language: LanguageFn,
    pub(crate) rules: &'static [Rule],
    /// Nodes in which nobody searches for definitions.
    pub(crate) skip: &'static [&'static str],
    pub(crate) neighbour: Option<Neighbour>,
    /// Blanks text that the grammar does not know and that defines nothing.
    pub(crate) blank: Option<fn(&mut Blanks)>,
    /// Words that are never names.
    pub(crate) reserved: &'static Reserved,
}

impl Grammar {
    /// Returns the grammar for the parser.
    pub(crate) fn language(&self) -> Language {
        self.language.into()
    }
}

/// The grammar of another language that texts may be in.
#[derive(Clone, Copy)]
pub(crate) struct Neighbour {
    pub(crate) grammar: &'static Grammar,
    /// Strings that occur in such texts.
    pub(crate) signs: &'static [&'static str],
}

/// The action at a node.
pub(crate) struct Rule {
    pub(crate) node: &'static str,
    pub(crate) action: Action,
}

/// See [`Rule`].
pub(crate) enum Action {
    /// Defines the names in the children with this field or of this kind.
    Define {
        kind: SymbolKind,
        /// The kind of the symbol within a type.
        member: SymbolKind,
        name: &'static str,
        /// Whether to ignore the node within functions.
        outside: bool,
    },
    /// Calls a function for the node.
    Look(fn(&mut Walk<'_>, Node<'_>) -> Descent),
}

/// Returns the rule that a node defines the name in its field `name`.
pub(crate) const fn define(node: &'static str, kind: SymbolKind) -> Rule {
    define_by(node, kind, "name")
}

/// Returns the rule that a node defines the names in its children with a field, or else of a kind.
pub(crate) const fn define_by(node: &'static str, kind: SymbolKind, name: &'static str) -> Rule {
    Rule { node, action: Action::Define { kind, member: kind, name, outside: false } }
}

/// Returns the rule that calls a function for a node.
pub(crate) const fn look(node: &'static str, look: fn(&mut Walk<'_>, Node<'_>) -> Descent) -> Rule {
    Rule { node, action: Action::Look(look) }
}

impl Rule {
    /// Returns the same rule with another kind within a type.
    pub(crate) const fn member(self, of_type: SymbolKind) -> Self {
        match self.action {
            Action::Define { kind, name, outside, .. } => Self {
                node: self.node,
                action: Action::Define { kind, member: of_type, name, outside },
            },
            Action::Look(_) => self,
        }
    }

    /// Returns the same rule, but not within functions.
    pub(crate) const fn outside(self) -> Self {
        match self.action {
            Action::Define { kind, member, name, .. } => Self {
                node: self.node,
                action: Action::Define { kind, member, name, outside: true },
            },
            Action::Look(_) => self,
        }
    }
}

/// The step at each node, by the number of its kind.
pub(crate) struct Table(Vec<Step>);

/// See [`Table`].
#[derive(Clone, Copy)]
pub(crate) enum Step {
    Enter,
    Skip,
    Rule(&'static Rule),
}

impl Table {
    pub(crate) fn new(grammar: &'static Grammar) -> Self {
        let language = grammar.language();
        let steps = (0..language.node_kind_count() as u16).map(|id| {
            let kind = language.node_kind_for_id(id).unwrap_or_default();
            if !language.node_kind_is_named(id) {
                // Tokens have no children.
                return Step::Skip;
            }
            match grammar.rules.iter().find(|rule| rule.node == kind) {
                Some(rule) => Step::Rule(rule),
                None if grammar.skip.contains(&kind) => Step::Skip,
                None => Step::Enter,
            }
        });
        Self(steps.collect())
    }

    pub(crate) fn step(&self, node: Node<'_>) -> Step {
        // The number of the error node is above all others.
        self.0.get(usize::from(node.kind_id())).copied().unwrap_or(Step::Enter)
    }
}
