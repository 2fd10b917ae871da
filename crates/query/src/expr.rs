//! What a query says of a file, as a condition that can be decided step by step.
//!
//! Some of a file is known early (its repository, its path, its language), some late (its text), so a
//! condition has three values: true, false, and not known yet.

use crate::error::QueryError;
use crate::language;
use crate::literals::LiteralQuery;
use crate::matcher::Matcher;
use crate::ngrams::ngram_query;
use crate::pattern::Pattern;
use crate::settings::Select;
use crate::tree::{Field, Query, Tree};
use ngram::NgramQuery;

/// Most memory that the patterns of a query may take when compiled, in bytes; for one pattern the
/// bound is lower.
const MAX_COMPILED_BYTES: usize = 32 * 1024 * 1024;

/// A condition on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// Always so.
    Const(bool),
    /// One thing to look at.
    Predicate(Predicate),
    /// This does not hold.
    Not(Box<Expr>),
    /// All of these hold.
    All(Vec<Expr>),
    /// One of these holds.
    Any(Vec<Expr>),
}

/// One thing to look at. The numbers are those of [`CompiledQuery::terms`] and [`CompiledQuery::languages`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Predicate {
    /// The term matches in the file's text.
    Content(usize),
    /// The term matches in its path.
    Path(usize),
    /// The term matches in the name of its repository.
    Repo(usize),
    /// It is in one of these languages.
    Language(usize),
}

/// A query ready to run.
#[derive(Clone, Debug)]
pub struct CompiledQuery {
    /// The query as a tree, printed.
    pub tree: String,
    /// What a file must be like.
    pub expr: Expr,
    /// The terms, each once.
    pub terms: Vec<CompiledTerm>,
    /// The languages asked for: each as the names, in small letters, that will do.
    pub languages: Vec<Vec<String>>,
    /// What is shown of the files.
    pub select: Select,
}

/// A pattern that is ready to run.
#[derive(Clone, Debug)]
pub struct CompiledTerm {
    /// The pattern as it prints: `/source/i`.
    pub name: String,
    pattern: Pattern,
    /// What decides.
    pub matcher: Matcher,
    /// What the index can be asked for.
    pub literals: LiteralQuery,
    /// The same, for the summary of a shard.
    pub ngrams: NgramQuery,
}

impl CompiledQuery {
    /// Compiles a query.
    ///
    /// # Errors
    /// The patterns take too much memory when compiled, one of them or all of them together.
    pub fn new(query: &Query) -> Result<Self, QueryError> {
        let mut program = Self {
            tree: query.to_string(),
            expr: Expr::Const(true),
            terms: Vec::new(),
            languages: Vec::new(),
            select: query.settings.select,
        };
        let mut memory = 0;
        program.expr = program
            .compile(&query.tree, &mut memory)
            .map_err(|(at, message)| QueryError::new(&query.source, at, message))?;
        Ok(program)
    }

    /// An error has its place in the query and its message.
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
                let same = |known: &CompiledTerm| known.pattern.means(&term.pattern);
                let index = match self.terms.iter().position(same) {
                    Some(index) => index,
                    None => {
                        let matcher = Matcher::new(&term.pattern)
                            .map_err(|error| (term.at, error.message))?;
                        *memory += matcher.memory();
                        if *memory > MAX_COMPILED_BYTES {
                            let message = format!(
                                "the query is too large: compiled, its patterns take more than {MAX_COMPILED_BYTES} \
                                 bytes"
                            );
                            return Err((term.at, message));
                        }
                        let literals = LiteralQuery::of(&term.pattern);
                        self.terms.push(CompiledTerm {
                            name: term.pattern.to_string(),
                            pattern: term.pattern.clone(),
                            matcher,
                            ngrams: ngram_query(&literals, &term.pattern),
                            literals,
                        });
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

impl Expr {
    /// All of some conditions, without those that are known.
    pub fn all(parts: Vec<Expr>) -> Expr {
        let mut all = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Expr::Const(true) => {}
                Expr::Const(false) => return part,
                Expr::All(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        match all.len() {
            0 => Expr::Const(true),
            1 => all.remove(0),
            _ => Expr::All(all),
        }
    }

    /// One of some conditions, without those that are known.
    pub fn any(parts: Vec<Expr>) -> Expr {
        let mut any = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Expr::Const(false) => {}
                Expr::Const(true) => return part,
                Expr::Any(inner) => any.extend(inner),
                other => any.push(other),
            }
        }
        match any.len() {
            0 => Expr::Const(false),
            1 => any.remove(0),
            _ => Expr::Any(any),
        }
    }

    /// Whether it holds, as far as that can be told.
    pub fn eval(&self, known: &impl Fn(Predicate) -> Option<bool>) -> Option<bool> {
        match self {
            Expr::Const(value) => Some(*value),
            Expr::Predicate(atom) => known(*atom),
            Expr::Not(inner) => inner.eval(known).map(|value| !value),
            Expr::All(parts) => decide(parts, known, false),
            Expr::Any(parts) => decide(parts, known, true),
        }
    }

    /// What is left of it once some atoms are known.
    #[must_use]
    pub fn resolve(&self, known: &impl Fn(Predicate) -> Option<bool>) -> Expr {
        match self {
            Expr::Const(value) => Expr::Const(*value),
            Expr::Predicate(atom) => known(*atom).map_or(Expr::Predicate(*atom), Expr::Const),
            Expr::Not(inner) => !inner.resolve(known),
            Expr::All(parts) => Expr::all(parts.iter().map(|part| part.resolve(known)).collect()),
            Expr::Any(parts) => Expr::any(parts.iter().map(|part| part.resolve(known)).collect()),
        }
    }

    /// What must hold of a file for it to hold, whatever the text of the file is.
    #[must_use]
    pub fn without_text(&self) -> Expr {
        self.with_text(true)
    }

    /// What is left of it if all that is said of the text is this.
    fn with_text(&self, value: bool) -> Expr {
        let all = |parts: &[Expr]| parts.iter().map(|part| part.with_text(value)).collect();
        match self {
            Expr::Predicate(Predicate::Content(_)) => Expr::Const(value),
            Expr::Const(_) | Expr::Predicate(_) => self.clone(),
            Expr::Not(inner) => !inner.with_text(!value),
            Expr::All(parts) => Expr::all(all(parts)),
            Expr::Any(parts) => Expr::any(all(parts)),
        }
    }

    /// Whether it can only come to hold when more atoms do: there is no negation in it.
    pub fn is_monotone(&self) -> bool {
        match self {
            Expr::Const(_) | Expr::Predicate(_) => true,
            Expr::Not(_) => false,
            Expr::All(parts) | Expr::Any(parts) => parts.iter().all(Expr::is_monotone),
        }
    }

    /// Every atom in it.
    pub fn predicates(&self, seen: &mut impl FnMut(Predicate)) {
        match self {
            Expr::Const(_) => {}
            Expr::Predicate(atom) => seen(*atom),
            Expr::Not(inner) => inner.predicates(seen),
            Expr::All(parts) | Expr::Any(parts) => {
                parts.iter().for_each(|part| part.predicates(seen))
            }
        }
    }

    /// The atoms that must be known before it can be told what there is to [show](Expr::shown): those
    /// of every part that holds or may hold.
    pub fn involved(
        &self,
        known: &impl Fn(Predicate) -> Option<bool>,
        seen: &mut impl FnMut(Predicate),
    ) {
        match (self, self.eval(known)) {
            (Expr::Const(_), _) | (_, Some(false)) | (Expr::Not(_), Some(true)) => {}
            (Expr::Predicate(atom), _) => seen(*atom),
            (Expr::Not(inner), None) => inner.predicates(seen),
            (Expr::All(parts) | Expr::Any(parts), _) => {
                for part in parts {
                    part.involved(known, seen);
                }
            }
        }
    }

    /// The atoms to which a file for which it holds owes it: what there is to show. Nothing below a
    /// negation, and of alternatives those that hold.
    pub fn shown(
        &self,
        known: &impl Fn(Predicate) -> Option<bool>,
        show: &mut impl FnMut(Predicate),
    ) {
        if self.eval(known) != Some(true) {
            return;
        }
        match self {
            Expr::Const(_) | Expr::Not(_) => {}
            Expr::Predicate(atom) => show(*atom),
            Expr::All(parts) | Expr::Any(parts) => {
                for part in parts {
                    part.shown(known, show);
                }
            }
        }
    }
}

impl std::ops::Not for Expr {
    type Output = Expr;

    fn not(self) -> Expr {
        match self {
            Expr::Const(value) => Expr::Const(!value),
            Expr::Not(inner) => *inner,
            other => Expr::Not(Box::new(other)),
        }
    }
}

/// Whether one of the parts is `value`, which then is the value of all; else the other value, if all
/// are known.
fn decide(parts: &[Expr], known: &impl Fn(Predicate) -> Option<bool>, value: bool) -> Option<bool> {
    let mut all_known = true;
    for part in parts {
        match part.eval(known) {
            Some(part) if part == value => return Some(value),
            Some(_) => {}
            None => all_known = false,
        }
    }
    all_known.then_some(!value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Case;

    fn program(query: &str) -> CompiledQuery {
        CompiledQuery::new(&Query::parse(query, Case::Smart).unwrap()).unwrap()
    }

    /// The value of a query for a file of which some atoms are known.
    fn eval(query: &str, known: &[(Predicate, bool)]) -> Option<bool> {
        program(query).expr.eval(&|atom| known.iter().find(|(a, _)| *a == atom).map(|(_, v)| *v))
    }

    #[test]
    fn what_is_known_decides_early() {
        use Predicate::{Content, Language, Path, Repo};
        assert_eq!(eval("c:a c:b", &[(Content(0), false)]), Some(false));
        assert_eq!(eval("c:a c:b", &[(Content(0), true)]), None);
        assert_eq!(eval("c:a or c:b", &[(Content(0), true)]), Some(true));
        assert_eq!(eval("c:a -f:b", &[(Path(1), true)]), Some(false));
        assert_eq!(eval("a", &[(Path(0), true)]), Some(true));
        assert_eq!(eval("a", &[(Path(0), false)]), None);
        assert_eq!(
            eval("-(lang:go or r:x)", &[(Language(0), false), (Repo(0), false)]),
            Some(true)
        );
    }

    #[test]
    fn a_pattern_in_two_places_is_compiled_once() {
        let program = program("foo -f:foo c:foo c:Foo");
        let names: Vec<_> = program.terms.iter().map(|term| term.name.as_str()).collect();
        assert_eq!(names, ["/foo/i", "/Foo/"]);
        // A range of signs can hold letters.
        assert_eq!(super::tests::program("(case:no c:[!-^] ) (case:yes c:[!-^] )").terms.len(), 2);
    }

    #[test]
    fn what_is_said_of_the_text_is_left_out() {
        use Predicate::{Language, Path};
        let check = |query: &str, expected: Expr| {
            assert_eq!(program(query).expr.without_text(), expected, "{query}");
        };
        let (go, path) = (Expr::Predicate(Language(0)), |term| Expr::Predicate(Path(term)));
        check("a", Expr::Const(true));
        check("-a", !path(0));
        check("c:a lang:go", go.clone());
        check("c:a -c:b f:c -f:d", Expr::All(vec![path(2), !path(3)]));
        check("(c:a or f:b) lang:go", go.clone());
        check("-(c:a f:b)", Expr::Const(true));
        check("-(c:a or f:b)", !path(1));
        check("(c:a lang:go) or (c:b f:c)", Expr::Any(vec![go, path(2)]));
    }

    #[test]
    fn what_is_to_be_shown_depends_on_parts_that_decide_nothing() {
        let mut involved = Vec::new();
        let known = |atom| (atom == Predicate::Content(0)).then_some(true);
        program("c:a or (c:b -c:c)").expr.involved(&known, &mut |atom| involved.push(atom));
        assert_eq!(involved, [Predicate::Content(0), Predicate::Content(1), Predicate::Content(2)]);
    }

    #[test]
    fn only_what_a_file_owes_its_place_to_is_shown() {
        use Predicate::Content;
        let check = |query: &str, known: &[(Predicate, bool)], expected: &[Predicate]| {
            let mut shown = Vec::new();
            let known = |atom| known.iter().find(|(a, _)| *a == atom).map(|(_, v)| *v);
            program(query).expr.shown(&known, &mut |atom| shown.push(atom));
            assert_eq!(shown, expected, "{query}");
        };
        let (yes, no) = ((Content(0), true), (Content(1), false));
        check("c:a -c:b", &[yes, no], &[Content(0)]);
        check("c:a or c:b", &[yes, no], &[Content(0)]);
        check("c:a or (c:b c:c)", &[yes, no, (Content(2), true)], &[Content(0)]);
        check("c:a or (-c:b c:c)", &[yes, no, (Content(2), true)], &[Content(0), Content(2)]);
    }
}
