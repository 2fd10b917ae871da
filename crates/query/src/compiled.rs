//! Compiles a query: its terms to matchers and index lookups, its tree to a condition.

use ngram::NgramQuery;

use crate::error::QueryError;
use crate::expr::{Expr, Predicate};
use crate::extract::whole_names;
use crate::language;
use crate::literals::LiteralQuery;
use crate::matcher::Matcher;
use crate::ngrams::ngram_query;
use crate::pattern::Pattern;
use crate::settings::Select;
use crate::symbol::{SymbolKinds, SymbolPattern};
use crate::tree::{Field, Query, Term, Tree};

/// Most memory that the patterns of a query may take when compiled, in bytes; for one pattern the
/// bound is lower.
const MAX_COMPILED_BYTES: usize = 32 * 1024 * 1024;

/// A query ready to run.
#[derive(Clone, Debug)]
pub struct CompiledQuery {
    /// The query as a tree, printed.
    pub tree: String,
    /// The condition that a file must meet.
    pub expr: Expr,
    /// The terms, each once.
    pub terms: Vec<CompiledTerm>,
    /// The languages asked for: each as the names, in lowercase, that will do.
    pub languages: Vec<Vec<String>>,
    /// The part of the files that is shown.
    pub select: Select,
}

/// A pattern, compiled, and what indexes can be asked for in its place.
#[derive(Clone, Debug)]
pub struct CompiledTerm {
    /// The pattern as it prints: `/source/i`.
    pub name: String,
    pattern: Pattern,
    /// Decides which lines match.
    pub matcher: Matcher,
    /// The literals that the trigram index is asked for.
    pub literals: LiteralQuery,
    /// The n-grams that filters are asked for.
    pub ngrams: NgramQuery,
    /// The languages, in lowercase, of most files whose paths it matches, if its end tells that.
    pub languages_of_paths: Option<Vec<String>>,
    /// What of its matches is shown.
    pub shown: Shown,
    /// What it asks of a symbol besides its name; none if it is not about symbols.
    pub symbol: Option<CompiledSymbol>,
    /// What `symbol` is made of.
    of_symbol: Option<SymbolPattern>,
}

/// What of a term's matches is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The lines and paths in which it matches, with the ranges.
    Matches,
    /// Of a term about symbols: what it finds is said of lines that another term shows. It adds no line.
    Symbols,
    /// Nothing: it only selects files.
    Nothing,
}

/// What a term asks of a symbol besides that its name matches.
#[derive(Clone, Debug)]
pub struct CompiledSymbol {
    /// Decide on the whole names of its containers, the outermost first.
    pub containers: Vec<Matcher>,
    /// Decides on its name if the containers do not match.
    pub whole: Option<Matcher>,
    /// The kinds that it may be of.
    pub kinds: SymbolKinds,
    /// What filters of whole names, [folded](crate::fold), are asked for; `None` if it may match a part of a name.
    pub words: Option<NgramQuery>,
}

impl CompiledQuery {
    /// Whether matching one of its patterns against a few names may take long.
    pub fn is_slow(&self) -> bool {
        self.terms.iter().any(|term| term.matcher.is_slow())
    }

    /// Compiles a query.
    ///
    /// # Errors
    /// The patterns take too much memory when compiled, one of them or all of them together.
    pub fn new(query: &Query) -> Result<Self, QueryError> {
        let mut compiled = Self {
            tree: query.to_string(),
            expr: Expr::Const(true),
            terms: Vec::new(),
            languages: Vec::new(),
            select: query.settings.select,
        };
        let mut memory = 0;
        compiled.expr = compiled
            .compile(&query.tree, &mut memory)
            .map_err(|(at, message)| QueryError::new(&query.source, at, message))?;
        Ok(compiled)
    }

    /// Adds the terms of a tree, and gives its condition. An error is a byte of the query and a message.
    fn compile(&mut self, tree: &Tree, memory: &mut usize) -> Result<Expr, (usize, String)> {
        Ok(match tree {
            Tree::All(parts) => Expr::all(self.compile_all(parts, memory)?),
            Tree::Any(parts) => Expr::any(self.compile_all(parts, memory)?),
            Tree::Not(inner) => !self.compile(inner, memory)?,
            Tree::Language(name) => {
                self.languages.push(language::names(name));
                Expr::Predicate(Predicate::Language(self.languages.len() - 1))
            }
            Tree::Term(term) => {
                let same = |known: &CompiledTerm| known.is_same(term);
                let index = match self.terms.iter().position(same) {
                    Some(index) => index,
                    None => {
                        let new = CompiledTerm::new(term, memory)
                            .map_err(|message| (term.at, message))?;
                        self.terms.push(new);
                        self.terms.len() - 1
                    }
                };
                match term.field {
                    Field::Anywhere => Expr::Any(vec![
                        Expr::Predicate(Predicate::Content(index)),
                        Expr::Predicate(Predicate::Path(index)),
                    ]),
                    Field::Content => Expr::Predicate(Predicate::Content(index)),
                    Field::Path => Expr::Predicate(Predicate::Path(index)),
                    Field::Repo => Expr::Predicate(Predicate::Repo(index)),
                    Field::Symbol => Expr::Predicate(Predicate::Symbol(index)),
                }
            }
        })
    }

    fn compile_all(
        &mut self,
        parts: &[Tree],
        memory: &mut usize,
    ) -> Result<Vec<Expr>, (usize, String)> {
        parts.iter().map(|part| self.compile(part, memory)).collect()
    }
}

impl CompiledTerm {
    /// Compiles a term, and counts the memory that it takes. An error is a message.
    fn new(term: &Term, memory: &mut usize) -> Result<Self, String> {
        let mut matcher = |pattern: &Pattern| {
            let matcher = Matcher::new(pattern).map_err(|error| error.message)?;
            *memory += matcher.memory();
            if *memory > MAX_COMPILED_BYTES {
                return Err(format!(
                    "the query is too large: its compiled patterns exceed {MAX_COMPILED_BYTES} bytes"
                ));
            }
            Ok(matcher)
        };
        let symbol = match &term.symbol {
            Some(symbol) => Some(CompiledSymbol {
                containers: symbol.containers.iter().map(&mut matcher).collect::<Result<_, _>>()?,
                whole: symbol.whole.as_ref().map(&mut matcher).transpose()?,
                kinds: symbol.kinds,
                words: whole_names(&term.pattern).map(|names| {
                    NgramQuery::any(names.iter().map(|name| NgramQuery::word(name)).collect())
                }),
            }),
            None => None,
        };
        let literals = LiteralQuery::of(&term.pattern);
        Ok(Self {
            name: if symbol.is_some() { term.to_string() } else { term.pattern.to_string() },
            pattern: term.pattern.clone(),
            matcher: matcher(&term.pattern)?,
            ngrams: ngram_query(&literals, &term.pattern),
            languages_of_paths: language::of_paths(&term.pattern),
            literals,
            shown: Shown::Matches,
            symbol,
            of_symbol: term.symbol.as_deref().cloned(),
        })
    }

    /// Whether its pattern matches letters of either case.
    pub fn is_caseless(&self) -> bool {
        self.pattern.is_caseless()
    }

    /// Whether it is that of a term.
    fn is_same(&self, term: &Term) -> bool {
        let same_symbol = match (&self.of_symbol, &term.symbol) {
            (Some(known), Some(symbol)) => known.is_same(symbol),
            (None, None) => true,
            _ => false,
        };
        same_symbol && self.pattern.is_same(&term.pattern)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Case;

    fn compiled(query: &str) -> CompiledQuery {
        CompiledQuery::new(&Query::parse(query, Case::Smart).unwrap()).unwrap()
    }

    #[test]
    fn a_pattern_in_two_places_is_compiled_once() {
        let query = compiled("foo -f:foo c:foo c:Foo");
        let names: Vec<_> = query.terms.iter().map(|term| term.name.as_str()).collect();
        assert_eq!(names, ["/foo/i", "/Foo/"]);
        let query = compiled("sym:foo c:foo (sym:foo kind:class) sym:foo");
        let names: Vec<_> = query.terms.iter().map(|term| term.name.as_str()).collect();
        assert_eq!(names, ["sym:/foo/i", "/foo/i", "sym:/foo/i kind:class"]);
        // A range of signs can hold letters.
        assert_eq!(compiled("(case:no c:[!-^] ) (case:yes c:[!-^] )").terms.len(), 2);
    }
}
