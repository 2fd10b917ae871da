//! Letter case: which patterns are searched without regard to it ("smart case").

use regex_syntax::ast::{self, Ast, ClassSetItem, Visitor};

/// Whether smart case searches this pattern without regard to case: it does when the pattern
/// names no capital letter, as ripgrep's `--smart-case`.
///
/// Only letters that stand for themselves count: `\S` and `\pL` say nothing about case, `\x41` and
/// the ends of `[A-Z]` do.
pub(crate) fn is_caseless(pattern: &Ast) -> bool {
    let Ok(capital) = ast::visit(pattern, Capital(false));
    !capital
}

/// Set once a capital letter was seen.
struct Capital(bool);

impl Capital {
    fn see(&mut self, literal: &ast::Literal) {
        self.0 |= literal.c.is_uppercase();
    }
}

impl Visitor for Capital {
    type Output = bool;
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<bool, Self::Err> {
        Ok(self.0)
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
