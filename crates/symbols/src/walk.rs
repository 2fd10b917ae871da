//! The state of a walk through a syntax tree: the symbols found, and those around the current node. The languages'
//! functions examine nodes with it.

use std::collections::HashSet;
use std::ops::Range;

use query::SymbolKind;
use tree_sitter::Node;

/// A symbol as found, in no order.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) kind: SymbolKind,
    pub(crate) name: Range<usize>,
    pub(crate) end: usize,
    pub(crate) row: usize,
    pub(crate) parent: Parent,
    /// The number of the kind of the node that is its name; 0 if the name is only part of a node.
    pub(crate) node: u16,
}

/// The container of a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    None,
    /// Another symbol, by its index.
    Symbol(usize),
    /// The type with this name, which may be defined elsewhere.
    Named(Owner),
}

/// The name of a container, as written before a symbol's own name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// Its parts, the outermost first.
    pub(crate) path: Vec<Range<usize>>,
    /// The symbol around both.
    pub(crate) around: Option<usize>,
}

/// Where to continue from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Descent {
    /// Into its children.
    In,
    /// Into its children, which belong to a symbol.
    Within(usize),
    /// Into its children, which belong to a function without a name: their variables are local.
    Local,
    /// Past it; the following siblings belong to a symbol.
    Before(usize),
    /// Past it.
    Past,
}

/// A walk through a tree.
pub(crate) struct Walk<'t> {
    pub(crate) text: &'t str,
    pub(crate) found: Vec<Found>,
    /// The symbols around the current node, each with the depth from which it contains nodes; `None` for a function
    /// without a name.
    around: Vec<(usize, Option<usize>)>,
    /// The variables found, by name.
    variables: HashSet<&'t str>,
}

impl<'t> Walk<'t> {
    /// Begins at the root.
    pub(crate) fn new(text: &'t str) -> Self {
        Self { text, found: Vec::new(), around: Vec::new(), variables: HashSet::new() }
    }

    /// Notes that a symbol, or a function without a name, contains the following nodes from a depth on.
    pub(crate) fn enter(&mut self, depth: usize, symbol: Option<usize>) {
        self.around.push((depth, symbol));
    }

    /// Leaves the symbols that do not contain nodes at a depth.
    pub(crate) fn leave_to(&mut self, depth: usize) {
        self.around.truncate(self.around.partition_point(|(from, _)| *from <= depth));
    }

    /// Returns the text of a node.
    pub(crate) fn text(&self, node: Node<'_>) -> &'t str {
        &self.text[node.byte_range()]
    }

    /// Returns the kind of the innermost symbol around.
    fn around(&self) -> Option<SymbolKind> {
        let kind = |symbol: Option<usize>| symbol.map(|symbol| self.found[symbol].kind);
        self.around.last().map(|(_, symbol)| kind(*symbol).unwrap_or(SymbolKind::Function))
    }

    /// Returns the innermost symbol around.
    fn container(&self) -> Option<usize> {
        self.around.iter().rev().find_map(|(_, symbol)| *symbol)
    }

    /// Returns the name of the innermost symbol around.
    pub(crate) fn around_name(&self) -> Option<&'t str> {
        self.container().map(|symbol| &self.text[self.found[symbol].name.clone()])
    }

    /// Adds a variable at its first value; in some languages later assignments look the same.
    pub(crate) fn add_first(
        &mut self,
        kind: SymbolKind,
        name: Node<'_>,
        whole: Node<'_>,
    ) -> Option<usize> {
        let is_new = self.variables.insert(self.text(name));
        is_new.then(|| self.add(kind, name, whole))
    }

    /// Returns whether definitions here are members of a type.
    pub(crate) fn is_in_type(&self) -> bool {
        self.around().is_some_and(is_type)
    }

    /// Returns whether definitions here belong to a module.
    pub(crate) fn is_in_module(&self) -> bool {
        self.around() == Some(SymbolKind::Module)
    }

    /// Returns whether definitions here are local to a function.
    pub(crate) fn is_in_function(&self) -> bool {
        use SymbolKind::{Constructor, Function, Method, Property};
        matches!(self.around(), Some(Function | Method | Constructor | Property))
    }

    /// Adds a symbol whose name is a node, and whose definition is another.
    pub(crate) fn add(&mut self, kind: SymbolKind, name: Node<'_>, whole: Node<'_>) -> usize {
        let row = name.start_position().row;
        let symbol = self.add_range(kind, name.byte_range(), row, whole.end_byte());
        self.found[symbol].node = name.kind_id();
        symbol
    }

    /// Adds a symbol whose name may be qualified: `a::b` is `b` in `a`.
    pub(crate) fn add_qualified(
        &mut self,
        kind: SymbolKind,
        name: Node<'_>,
        whole: Node<'_>,
    ) -> usize {
        let (path, last) = self.qualified(name, name);
        let row = self.row(name, last.start);
        let symbol = self.add_range(kind, last, row, whole.end_byte());
        self.member_of(symbol, path);
        symbol
    }

    /// Adds a symbol for each part of a name, each contained by the one before: `namespace a.b`. Returns the last one,
    /// which has one kind; those around it have another.
    pub(crate) fn add_path(
        &mut self,
        kind: SymbolKind,
        around: SymbolKind,
        name: Node<'_>,
        end: usize,
    ) -> usize {
        let (mut parts, last) = self.qualified(name, name);
        let mut parent = self.container().map_or(Parent::None, Parent::Symbol);
        parts.push(last);
        let count = parts.len();
        for (n, part) in parts.into_iter().enumerate() {
            let (kind, row) =
                (if n + 1 == count { kind } else { around }, self.row(name, part.start));
            let symbol = self.add_range(kind, part, row, end);
            self.found[symbol].parent = std::mem::replace(&mut parent, Parent::Symbol(symbol));
        }
        self.found.len() - 1
    }

    /// Returns the row of a byte in a node.
    fn row(&self, node: Node<'_>, at: usize) -> usize {
        let before = &self.text[node.start_byte()..at];
        node.start_position().row + before.matches('\n').count()
    }

    /// Returns the parts of a name before the last one, and the last one, which lies within a node: of `a::b<c>::d` it
    /// is `d`. Text in brackets is not a part.
    pub(crate) fn qualified(
        &self,
        name: Node<'_>,
        last: Node<'_>,
    ) -> (Vec<Range<usize>>, Range<usize>) {
        let is_whole = name.id() == last.id();
        let (start, end) = (name.start_byte(), name.end_byte());
        let upto = if is_whole { end } else { last.start_byte() };
        let bytes = self.text.as_bytes();
        let (mut parts, mut begin, mut depth) = (Vec::new(), start, 0_usize);
        let mut quote = None;
        let mut part = |begin: usize, end: usize| {
            let text = &self.text[begin..end];
            let name = text.find(['<', '[', '(']).filter(|at| *at > 0).unwrap_or(text.len());
            let name = text[..name].trim();
            let skipped = text.len() - text.trim_start().len();
            let begin = begin + skipped;
            if !name.is_empty() {
                parts.push(begin..begin + name.len());
            }
        };
        for (at, byte) in (start..upto).zip(&bytes[start..upto]) {
            match *byte {
                byte if quote == Some(byte) => quote = None,
                _ if quote.is_some() => {}
                byte @ (b'"' | b'`') => quote = Some(byte),
                b'<' | b'[' | b'(' => depth += 1,
                b'>' | b']' | b')' => depth = depth.saturating_sub(1),
                b':' | b'.' | b'\\' if depth == 0 => {
                    part(begin, at);
                    begin = at + 1;
                }
                _ => {}
            }
        }
        if is_whole {
            part(begin, end);
            return match parts.pop() {
                Some(last) => (parts, last),
                None => (parts, start..end),
            };
        }
        (parts, last.byte_range())
    }

    /// Adds a symbol.
    pub(crate) fn add_range(
        &mut self,
        kind: SymbolKind,
        name: Range<usize>,
        row: usize,
        end: usize,
    ) -> usize {
        let parent = self.container().map_or(Parent::None, Parent::Symbol);
        self.found.push(Found { kind, name, end, row, parent, node: 0 });
        self.found.len() - 1
    }

    /// Notes that a symbol is a member of the type with a name, given as its parts, outermost first.
    pub(crate) fn member_of(&mut self, symbol: usize, path: Vec<Range<usize>>) {
        if !path.is_empty() {
            let around = self.container();
            self.found[symbol].parent = Parent::Named(Owner { path, around });
        }
    }

    /// Returns the parts of a name: `a.b` has two.
    pub(crate) fn path(&self, name: Node<'_>) -> Vec<Range<usize>> {
        let (mut path, last) = self.qualified(name, name);
        path.push(last);
        path
    }

    /// Adds the symbols named by a node's children with a field, or else of a kind.
    pub(crate) fn define(&mut self, kind: SymbolKind, node: Node<'_>, name: &str) -> Descent {
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
        last.map_or(Descent::In, Descent::Within)
    }
}

/// Returns whether symbols within this kind are its members.
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

/// Returns the first child of a kind; tokens have kinds, too.
pub(crate) fn child<'n>(node: Node<'n>, kind: &str) -> Option<Node<'n>> {
    node.children(&mut node.walk()).find(|child| child.kind() == kind)
}

/// Returns the children of a kind.
pub(crate) fn children<'n>(node: Node<'n>, kind: &str) -> Vec<Node<'n>> {
    node.children(&mut node.walk()).filter(|child| child.kind() == kind).collect()
}
