//! Compiles a query: its terms into matchers and index lookups, its tree into a condition.

use ngram::NgramQuery;

use crate::error::QueryError;
use crate::expr::{Expr, Predicate};
use crate::extract::whole_names;
use crate::language;
use crate::literals::LiteralQuery;
use crate::matcher::Matcher;
use crate::ngrams::ngram_query;
use crate::pattern::Pattern;
use crate::property::{CompiledProperty, Properties};
use crate::revision::{Changes, TreeTerm};
use crate::settings::Select;
use crate::symbol::{SymbolKinds, SymbolPattern};
use crate::tree::{Field, Query, Term, Tree};

/// Maximum size in bytes of a query's compiled patterns together; one pattern has a lower limit.
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
    /// The languages in the query: for each, the names in lowercase that it may have.
    pub languages: Vec<Vec<String>>,
    /// What the query asks of repositories besides their names, each condition once.
    pub properties: Vec<CompiledProperty>,
    /// The names of trees in the query.
    pub trees: Vec<TreeTerm>,
    /// What is searched, if not files.
    pub changes: Option<Changes>,
    /// The part of the files that is shown.
    pub select: Select,
}

/// A compiled pattern, and what to look up for it in the indexes.
#[derive(Clone, Debug)]
pub struct CompiledTerm {
    /// The pattern as printed: `/source/i`.
    pub name: String,
    pattern: Pattern,
    /// Decides which lines match.
    pub matcher: Matcher,
    /// The literals to look up in the trigram index.
    pub literals: LiteralQuery,
    /// The n-grams to look up in filters.
    pub ngrams: NgramQuery,
    /// The languages, in lowercase, of most files whose paths it matches, if the end of the pattern tells them.
    pub languages_of_paths: Option<Vec<String>>,
    /// Which of its matches are shown.
    pub shown: Shown,
    /// Other conditions on a symbol besides its name; `None` if the term is not about symbols.
    pub symbol: Option<CompiledSymbol>,
    /// The source of `symbol`.
    of_symbol: Option<SymbolPattern>,
}

/// Which matches of a term are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The lines and paths in which it matches, with the ranges.
    Matches,
    /// For a term about symbols: marks its matches on lines that another term shows, and adds no line.
    Symbols,
    /// Nothing: it only selects files.
    Nothing,
}

/// A term's conditions on a symbol besides the match of its name.
#[derive(Clone, Debug)]
pub struct CompiledSymbol {
    /// Match the whole names of its containers, outermost first.
    pub containers: Vec<Matcher>,
    /// Matches its name if the containers do not match.
    pub whole: Option<Matcher>,
    /// The kinds that the symbol may have.
    pub kinds: SymbolKinds,
    /// What to look up in filters of whole names, [folded](crate::fold); `None` if the term may match part of a name.
    pub words: Option<NgramQuery>,
}

impl CompiledQuery {
    /// Returns whether matching one of its patterns against a few names may take long.
    pub fn is_slow(&self) -> bool {
        self.terms.iter().any(|term| term.matcher.is_slow())
            || self.properties.iter().any(CompiledProperty::is_slow)
    }

    /// Returns the names of trees of which one must mean a tree of each match: those at the top level of the query, as
    /// indexes of [`trees`](Self::trees).
    pub fn revisions(&self) -> Vec<usize> {
        let parts = match &self.expr {
            Expr::All(parts) => parts.as_slice(),
            other => std::slice::from_ref(other),
        };
        let tree = |part: &Expr| match part {
            Expr::Predicate(Predicate::InTree(tree)) => Some(*tree),
            _ => None,
        };
        parts.iter().filter_map(tree).collect()
    }

    /// Returns whether a predicate on a repository holds for one with this name and these properties; `None` for other
    /// predicates. Once `go_on` returns false, patterns may be given up, and do not match then.
    pub fn of_repo(
        &self,
        of: Predicate,
        name: &str,
        known: &Properties,
        go_on: &dyn Fn() -> bool,
    ) -> Option<bool> {
        match of {
            Predicate::Repo(term) => Some(self.terms[term].matcher.is_match_within(name, go_on)),
            Predicate::Property(property) => Some(self.properties[property].holds(known, go_on)),
            _ => None,
        }
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
            properties: Vec::new(),
            trees: Vec::new(),
            changes: query.changes.clone(),
            select: query.settings.select,
        };
        let mut memory = 0;
        compiled.expr = compiled
            .compile(&query.tree, &mut memory)
            .map_err(|(at, message)| QueryError::new(&query.source, at, message))?;
        Ok(compiled)
    }

    /// Adds the terms of a tree, and returns its condition. An error is a byte offset in the query and a message.
    fn compile(&mut self, tree: &Tree, memory: &mut usize) -> Result<Expr, (usize, String)> {
        Ok(match tree {
            Tree::All(parts) => Expr::all(self.compile_all(parts, memory)?),
            Tree::Any(parts) => Expr::any(self.compile_all(parts, memory)?),
            Tree::Not(inner) => !self.compile(inner, memory)?,
            Tree::Language(name) => {
                self.languages.push(language::names(name));
                Expr::Predicate(Predicate::Language(self.languages.len() - 1))
            }
            Tree::Property(term) => {
                let index = match self.properties.iter().position(|known| known.term == *term) {
                    Some(index) => index,
                    None => {
                        let new = CompiledProperty::new(term, memory);
                        let new = new.map_err(|error| (error.position, error.message))?;
                        if *memory > MAX_COMPILED_BYTES {
                            return Err((0, too_large()));
                        }
                        self.properties.push(new);
                        self.properties.len() - 1
                    }
                };
                Expr::Predicate(Predicate::Property(index))
            }
            Tree::InTree(term) => {
                self.trees.push(term.clone());
                Expr::Predicate(Predicate::InTree(self.trees.len() - 1))
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
                    Field::Added => Expr::Predicate(Predicate::Added(index)),
                    Field::Removed => Expr::Predicate(Predicate::Removed(index)),
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
    /// Compiles a term, and adds its size to `memory`. An error is a message.
    fn new(term: &Term, memory: &mut usize) -> Result<Self, String> {
        let mut matcher = |pattern: &Pattern| {
            let matcher = Matcher::new(pattern).map_err(|error| error.message)?;
            *memory += matcher.memory();
            if *memory > MAX_COMPILED_BYTES {
                return Err(too_large());
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

    /// Returns whether its pattern matches letters of either case.
    pub fn is_caseless(&self) -> bool {
        self.pattern.is_caseless()
    }

    /// Returns whether its pattern is that of a term.
    fn is_same(&self, term: &Term) -> bool {
        let same_symbol = match (&self.of_symbol, &term.symbol) {
            (Some(known), Some(symbol)) => known.is_same(symbol),
            (None, None) => true,
            _ => false,
        };
        same_symbol && self.pattern.is_same(&term.pattern)
    }
}

/// Returns the message for patterns that take too much memory together.
fn too_large() -> String {
    format!("the query is too large: its compiled patterns exceed {MAX_COMPILED_BYTES} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Case;

    fn compiled(query: &str) -> CompiledQuery {
        CompiledQuery::new(&Query::parse(query, Case::Smart).unwrap()).unwrap()
    }

    #[test]
    fn revisions_that_every_match_has_are_told() {
        for (query, expected) in [
            ("rev:a", &[0][..]),
            ("x rev:a -branch:b worktree:c", &[0, 2]),
            ("x repo:y@a", &[0]),
            ("repo:y@a:b rev:c", &[2]),
            ("(rev:a or x) y", &[]),
            ("-rev:a", &[]),
            ("x", &[]),
        ] {
            assert_eq!(compiled(query).revisions(), expected, "{query}");
        }
    }

    #[test]
    fn a_pattern_in_two_places_is_compiled_once() {
        let query = compiled("foo -f:foo c:foo c:Foo");
        let names: Vec<_> = query.terms.iter().map(|term| term.name.as_str()).collect();
        assert_eq!(names, ["/foo/i", "/Foo/"]);
        let query = compiled("sym:foo c:foo (sym:foo kind:class) sym:foo");
        let names: Vec<_> = query.terms.iter().map(|term| term.name.as_str()).collect();
        assert_eq!(names, ["sym:/foo/i", "/foo/i", "sym:/foo/i kind:class"]);
        // A range of punctuation can include letters.
        assert_eq!(compiled("(case:no c:[!-^] ) (case:yes c:[!-^] )").terms.len(), 2);
    }
}
