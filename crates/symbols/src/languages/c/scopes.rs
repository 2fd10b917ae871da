//! The scopes around a token of C or C++: parentheses, the members of a type, the body of a function.

use crate::blanks::Blanks;

use super::tokens::{Kind, Token};

/// The kind of text between two brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// `(` or `[`.
    Parentheses,
    /// Members of a namespace or a type, which are definitions.
    Items,
    Enum,
    /// Values.
    Values,
    /// Statements.
    Body,
}

/// Features of a declaration seen so far.
#[expect(clippy::struct_excessive_bools, reason = "they are independent of one another")]
#[derive(Clone, Copy, Debug, Default)]
struct Head {
    is_type: bool,
    is_enum: bool,
    is_namespace: bool,
    is_linkage: bool,
    has_parentheses: bool,
}

/// The brackets that are open at a place.
#[derive(Clone, Debug)]
pub(super) struct Scopes {
    open: Vec<(Scope, Head)>,
    head: Head,
    last: Option<Kind>,
}

impl Scopes {
    pub(super) fn new() -> Self {
        Self { open: Vec::new(), head: Head::default(), last: None }
    }

    /// Returns how many brackets are open.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Returns the innermost scope; a file has items.
    pub(super) fn innermost(&self) -> Scope {
        self.open.last().map_or(Scope::Items, |(scope, _)| *scope)
    }

    /// Passes a token.
    pub(super) fn step(&mut self, token: Token, text: &Blanks) {
        let inner = self.innermost();
        match token.kind {
            Kind::Mark(b'(' | b'[') => {
                if token.is(b'(') && inner != Scope::Parentheses {
                    self.head.has_parentheses = true;
                }
                self.open.push((Scope::Parentheses, self.head));
            }
            Kind::Mark(b'{') => {
                self.open.push((self.opened(inner), self.head));
                self.head = Head::default();
            }
            Kind::Mark(b')' | b']') => {
                if let Some((_, head)) = self.open.pop_if(|(scope, _)| *scope == Scope::Parentheses)
                {
                    self.head = head;
                }
            }
            Kind::Mark(b'}') => {
                // An unclosed parenthesis ends here.
                while self.open.pop_if(|(scope, _)| *scope == Scope::Parentheses).is_some() {}
                if let Some((scope, head)) = self.open.pop() {
                    let is_value = scope == Scope::Values || self.innermost() == Scope::Parentheses;
                    self.head = if is_value { head } else { Head::default() };
                }
            }
            Kind::Mark(b';') if inner != Scope::Parentheses => self.head = Head::default(),
            Kind::Word if inner != Scope::Parentheses => {
                // template <class T>
                let is_parameter = matches!(self.last, Some(Kind::Mark(b'<' | b',')));
                match &text.text()[token.range()] {
                    "class" | "struct" | "union" if !is_parameter => self.head.is_type = true,
                    "enum" => self.head.is_enum = true,
                    "namespace" => self.head.is_namespace = true,
                    "extern" => self.head.is_linkage = true,
                    _ => {}
                }
            }
            _ => {}
        }
        if !token.is_directive() {
            self.last = Some(token.kind);
        }
    }

    /// Returns the scope that a brace opens.
    fn opened(&self, inner: Scope) -> Scope {
        let Head { is_type, is_enum, is_namespace, is_linkage, has_parentheses } = self.head;
        match self.last {
            _ if inner == Scope::Values => Scope::Values,
            Some(Kind::Mark(b'=')) => Scope::Values,
            _ if inner == Scope::Parentheses => Scope::Body,
            Some(Kind::Mark(b')')) if !is_type => Scope::Body,
            _ if is_enum && !has_parentheses => Scope::Enum,
            _ if is_namespace => Scope::Items,
            Some(Kind::Literal) if is_linkage => Scope::Items,
            Some(last) if is_type && last != Kind::Mark(b')') => Scope::Items,
            _ => Scope::Body,
        }
    }
}
