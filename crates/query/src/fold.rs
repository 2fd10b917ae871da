//! Letter case: which patterns are searched without regard to it ("smart case").

use regex_syntax::ast::{self, Ast, ClassSetItem, Visitor};

/// Whether smart case searches this pattern without regard to case: it does when the pattern
/// names characters, and no capital letter among them, as ripgrep's `--smart-case`.
///
/// Only characters that stand for themselves count: `\S` and `\p{Lu}` do not, `\x41` and the ends of
/// `[A-Z]` do.
pub(crate) fn is_caseless(pattern: &Ast) -> bool {
    let Ok(named) = ast::visit(pattern, LetterCases::default());
    named.any && !named.capital
}

/// The kinds of characters that a pattern names.
#[derive(Default)]
struct LetterCases {
    any: bool,
    capital: bool,
}

impl LetterCases {
    fn see(&mut self, literal: &ast::Literal) {
        self.any = true;
        self.capital |= literal.c.is_uppercase();
    }
}

impl Visitor for LetterCases {
    type Output = LetterCases;
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<LetterCases, Self::Err> {
        Ok(self)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        if let Ast::Literal(literal) = ast {
            self.see(literal);
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
        match item {
            ClassSetItem::Literal(literal) => self.see(literal),
            ClassSetItem::Range(range) => {
                self.see(&range.start);
                self.see(&range.end);
            }
            _ => {}
        }
        Ok(())
    }
}
