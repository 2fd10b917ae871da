//! Smart case: decides which patterns ignore case.

use regex_syntax::ast::{self, Ast, ClassSetItem, Visitor};

/// Returns whether smart case ignores case for this pattern. As with ripgrep's `--smart-case`, it does if the pattern
/// has literal characters and none of them is a capital letter.
///
/// Only literal characters count: `\S` and `\p{Lu}` do not, `\x41` and the ends of `[A-Z]` do.
pub(crate) fn is_caseless(pattern: &Ast) -> bool {
    let Ok(named) = ast::visit(pattern, LetterCases::default());
    named.any && !named.capital
}

/// The kinds of literal characters in a pattern.
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
