//! Turns a condition into lookups in the trigram indexes, which name the files that may match.
//!
//! Like [`LiteralQuery`], a plan over-matches and never under-matches. A plan selects files: two terms that must both
//! match may match in different chunks. A plan leaves out negations and terms without trigrams; these are decided on
//! each file.

use std::borrow::Cow;
use std::fmt;

use crate::compiled::{CompiledQuery, CompiledTerm};
use crate::expr::{Expr, Predicate};
use crate::literals::LiteralQuery;
use ngram::NgramQuery;

/// Maximum number of strings in a plan. With more, planning takes longer than the trigrams save.
const MAX_STRINGS: usize = 256;

/// How much rarer a trigram is in a path than in a chunk, since a path is shorter.
const CHUNKS_PER_PATH: u32 = 64;

/// Which files to examine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// All of them.
    Scan,
    /// The files that this lookup finds.
    Lookup(Lookup),
    /// The files that all of these find, the most selective first.
    All(Vec<Plan>),
    /// The files that any of these finds.
    Any(Vec<Plan>),
}

/// A question for one of the trigram indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The index.
    pub scope: Scope,
    /// The terms that can only match where the lookup finds something, as numbers of [`CompiledQuery::terms`].
    pub terms: Vec<usize>,
    /// The literals that are looked up.
    pub literals: LiteralQuery,
}

/// The text within which all literals of a lookup must occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// A chunk.
    Chunk,
    /// A whole text, each literal in any of its chunks: for patterns that span lines.
    Blob,
    /// The path of a file.
    Path,
    /// The name of a symbol of a blob. The name is in one of its chunks.
    Symbol,
}

impl Lookup {
    /// Returns its terms.
    pub fn compiled_terms<'q>(&self, query: &'q CompiledQuery) -> Vec<&'q CompiledTerm> {
        self.terms.iter().map(|term| &query.terms[*term]).collect()
    }

    /// Returns the n-grams to look up in filters instead.
    pub fn ngrams<'p>(&self, query: &'p CompiledQuery) -> Cow<'p, NgramQuery> {
        let ngrams = |term: &usize| &query.terms[*term].ngrams;
        match &*self.terms {
            [only] => Cow::Borrowed(ngrams(only)),
            terms => Cow::Owned(NgramQuery::Any(terms.iter().map(ngrams).cloned().collect())),
        }
    }
}

impl Plan {
    /// Returns the plan for a condition of a query.
    pub fn of(expr: &Expr, query: &CompiledQuery) -> Self {
        match expr {
            Expr::Const(_)
            | Expr::Not(_)
            | Expr::Predicate(
                Predicate::Repo(_)
                | Predicate::Property(_)
                | Predicate::Language(_)
                | Predicate::InTree(_)
                | Predicate::Added(_)
                | Predicate::Removed(_),
            ) => Plan::Scan,
            Expr::Predicate(Predicate::Content(term)) => {
                let spans = query.terms[*term].matcher.spans_lines();
                Self::lookup(if spans { Scope::Blob } else { Scope::Chunk }, *term, query)
            }
            Expr::Predicate(Predicate::Path(term)) => Self::lookup(Scope::Path, *term, query),
            Expr::Predicate(Predicate::Symbol(term)) => Self::lookup(Scope::Symbol, *term, query),
            Expr::All(parts) => {
                let mut all: Vec<Plan> = parts.iter().map(|part| Self::of(part, query)).collect();
                all.retain(|plan| *plan != Plan::Scan);
                // If it has too many strings, the largest parts are left out.
                all.sort_by_key(Plan::strings);
                while all.iter().map(Plan::strings).sum::<usize>() > MAX_STRINGS {
                    all.pop();
                }
                all.sort_by_key(Plan::frequency);
                match all.len() {
                    0 => Plan::Scan,
                    1 => all.remove(0),
                    _ => Plan::All(all),
                }
            }
            Expr::Any(parts) => Self::any(parts.iter().map(|part| Self::of(part, query)).collect()),
        }
    }

    /// Returns the lookups of the terms that a condition negates. Matching files may lie outside their results; but
    /// outside, the term is known not to match, so nothing has to be read to decide.
    pub fn of_negated(expr: &Expr, query: &CompiledQuery) -> Vec<Lookup> {
        let mut lookups: Vec<Lookup> = Vec::new();
        expr.negated(&mut |predicate| {
            let Predicate::Content(term) = predicate else { return };
            let is_new = !lookups.iter().any(|lookup| lookup.terms.contains(&term));
            // The named chunks contain all matches of a term only if each match lies in one line.
            if is_new
                && !query.terms[term].matcher.spans_lines()
                && let Plan::Lookup(lookup) = Self::lookup(Scope::Chunk, term, query)
            {
                lookups.push(lookup);
            }
        });
        lookups
    }

    fn lookup(scope: Scope, term: usize, query: &CompiledQuery) -> Self {
        match &query.terms[term].literals {
            LiteralQuery::Anything => Plan::Scan,
            literals => {
                Plan::Lookup(Lookup { scope, terms: vec![term], literals: literals.clone() })
            }
        }
    }

    /// Joins plans into one that finds whatever any of them finds. Lookups in the same index are merged.
    fn any(parts: Vec<Plan>) -> Self {
        let mut any: Vec<Plan> = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Plan::Scan => return Plan::Scan,
                Plan::Lookup(new) if new.scope != Scope::Blob => {
                    let same = any.iter_mut().find_map(|plan| match plan {
                        Plan::Lookup(known) if known.scope == new.scope => Some(known),
                        _ => None,
                    });
                    match same {
                        Some(known) => {
                            known.literals =
                                LiteralQuery::any(vec![known.literals.clone(), new.literals]);
                            known.terms.extend(new.terms);
                        }
                        None => any.push(Plan::Lookup(new)),
                    }
                }
                other => any.push(other),
            }
        }
        if any.iter().map(Plan::strings).sum::<usize>() > MAX_STRINGS {
            return Plan::Scan;
        }
        if any.len() == 1 { any.remove(0) } else { Plan::Any(any) }
    }

    /// Returns an upper estimate of how many of 1000 files (of the size of a chunk) the plan finds.
    pub fn frequency(&self) -> u32 {
        let frequency = |lookup: &Lookup| match lookup.scope {
            Scope::Path => Some(lookup.literals.frequency() / CHUNKS_PER_PATH),
            Scope::Chunk | Scope::Blob | Scope::Symbol => Some(lookup.literals.frequency()),
        };
        let most = |one: u32, other: u32| (one + other).min(1000);
        self.fold(&mut { frequency }, &u32::min, &most).unwrap_or(1000)
    }

    /// Returns whether it looks up symbols.
    pub fn has_symbols(&self) -> bool {
        self.lookups().iter().any(|lookup| lookup.scope == Scope::Symbol)
    }

    /// Returns all its lookups.
    pub fn lookups(&self) -> Vec<&Lookup> {
        match self {
            Plan::Scan => Vec::new(),
            Plan::Lookup(lookup) => vec![lookup],
            Plan::All(parts) | Plan::Any(parts) => parts.iter().flat_map(Plan::lookups).collect(),
        }
    }

    /// Combines what is known of its lookups. `None` means that nothing is known, so that anything may match: a scan is
    /// `None`; an `All` leaves out the parts that are; an `Any` with such a part is `None`, too.
    pub fn fold<'p, T>(
        &'p self,
        known: &mut impl FnMut(&'p Lookup) -> Option<T>,
        all: &impl Fn(T, T) -> T,
        any: &impl Fn(T, T) -> T,
    ) -> Option<T> {
        match self {
            Plan::Scan => None,
            Plan::Lookup(lookup) => known(lookup),
            Plan::All(parts) => {
                let parts = parts.iter().filter_map(|part| part.fold(known, all, any));
                parts.reduce(all)
            }
            Plan::Any(parts) => {
                let each: Option<Vec<T>> =
                    parts.iter().map(|part| part.fold(known, all, any)).collect();
                each?.into_iter().reduce(any)
            }
        }
    }

    /// Returns the plan for texts alone: without its lookups of paths, in which hardly a text is read. `None` if it looks up
    /// nothing else.
    pub fn of_texts(&self) -> Option<Self> {
        let of_parts =
            |parts: &[Plan]| -> Vec<Plan> { parts.iter().filter_map(Plan::of_texts).collect() };
        match self {
            Plan::Scan => Some(Plan::Scan),
            Plan::Lookup(lookup) => (lookup.scope != Scope::Path).then(|| self.clone()),
            Plan::All(parts) => {
                Some(of_parts(parts)).filter(|parts| !parts.is_empty()).map(Plan::All)
            }
            Plan::Any(parts) => {
                Some(of_parts(parts)).filter(|parts| !parts.is_empty()).map(Plan::Any)
            }
        }
    }

    /// Returns whether it looks up chunks, or chunks and paths. Filters can replace such lookups.
    pub fn is_of_chunks(&self) -> bool {
        let lookups = self.lookups();
        lookups.iter().all(|of| matches!(of.scope, Scope::Chunk | Scope::Path))
            && lookups.iter().any(|of| of.scope == Scope::Chunk)
    }

    /// Returns whether it looks up only paths.
    pub fn is_of_paths(&self) -> bool {
        matches!(self, Plan::Lookup(Lookup { scope: Scope::Path, .. }))
    }

    fn strings(&self) -> usize {
        self.lookups().iter().map(|lookup| lookup.literals.strings()).sum()
    }
}

/// Prints as `(and path("_test") (or chunk("foo") path("foo")))`; a scan as `scan`.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, parts) = match self {
            Plan::Scan => return f.write_str("scan"),
            Plan::Lookup(lookup) => {
                let index = match lookup.scope {
                    Scope::Chunk => "chunk",
                    Scope::Blob => "text",
                    Scope::Path => "path",
                    Scope::Symbol => "symbol",
                };
                return write!(f, "{index}({})", lookup.literals);
            }
            Plan::All(parts) => ("and", parts),
            Plan::Any(parts) => ("or", parts),
        };
        write!(f, "({word}")?;
        for part in parts {
            write!(f, " {part}")?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Case, Query};

    fn check(query: &str, expected: &str) {
        let compiled = CompiledQuery::new(&Query::parse(query, Case::Smart).unwrap()).unwrap();
        assert_eq!(Plan::of(&compiled.expr, &compiled).to_string(), expected, "{query}");
    }

    #[test]
    fn a_bare_term_is_looked_for_in_texts_and_paths() {
        check("foo", r#"(or chunk("foo") path("foo"))"#);
        check("c:foo", r#"chunk("foo")"#);
        check("f:foo", r#"path("foo")"#);
        check(r"fmt\.Println", r#"(or chunk("fmt.println") path("fmt.println"))"#);
    }

    #[test]
    fn symbols_are_looked_for_among_names() {
        check("sym:foo", r#"symbol("foo")"#);
        check("sym:^foo$", r#"symbol("foo")"#);
        check("sym:Foo.bar", r#"symbol("bar")"#);
        check("sym:foo or sym:bar", r#"symbol("foo" OR "bar")"#);
        check("sym:foo c:bar", r#"(and chunk("bar") symbol("foo"))"#);
        check("foo type:symbol", r#"symbol("foo")"#);
        check("-sym:foo", "scan");
        check("kind:function", "scan");
    }

    #[test]
    fn alternatives_share_a_lookup() {
        check("foo or bar", r#"(or chunk("foo" OR "bar") path("foo" OR "bar"))"#);
        check("c:foo or c:bar", r#"chunk("foo" OR "bar")"#);
        check(r"c:foo or c:bar\nbaz", r#"(or chunk("foo") text("bar" AND "baz"))"#);
    }

    #[test]
    fn what_must_all_match_is_asked_for_rarest_first() {
        check("c:static c:deadlock", r#"(and chunk("deadlock") chunk("static"))"#);
        check("c:static f:kernel", r#"(and path("kernel") chunk("static"))"#);
        check("c:static lang:c r:linux -f:test", r#"chunk("static")"#);
        check("c:static c:=>", r#"chunk("static")"#);
    }

    #[test]
    fn filters_name_what_lies_in_chunks_and_paths() {
        let of_chunks = |query: &str| {
            let compiled = CompiledQuery::new(&Query::parse(query, Case::Smart).unwrap()).unwrap();
            Plan::of(&compiled.expr, &compiled).is_of_chunks()
        };
        for query in ["foo", "c:foo", "foo bar", "c:foo f:bar", "(foo or c:bar) baz -qux"] {
            assert!(of_chunks(query), "{query}");
        }
        for query in ["=>", "f:foo", "f:foo f:bar", r"c:foo c:bar\nbaz", r"foo or c:bar\nbaz"] {
            assert!(!of_chunks(query), "{query}");
        }
    }

    #[test]
    fn what_no_index_answers_is_a_scan() {
        for query in
            ["=>", "-foo", "lang:go", "r:linux", "foo or =>", "foo or -bar", r"a.b", r"\d+", "( )"]
        {
            check(query, "scan");
        }
    }

    #[test]
    fn terms_that_must_not_match_are_looked_up_beside_the_plan() {
        let negated = |query: &str| {
            let compiled = CompiledQuery::new(&Query::parse(query, Case::Smart).unwrap()).unwrap();
            let lookups = Plan::of_negated(&compiled.expr, &compiled);
            lookups.into_iter().map(|lookup| Plan::Lookup(lookup).to_string()).collect::<Vec<_>>()
        };
        assert_eq!(negated("foo -bar"), [r#"chunk("bar")"#]);
        assert_eq!(negated("-(c:foo or c:bar) lang:go"), [r#"chunk("foo")"#, r#"chunk("bar")"#]);
        for query in ["foo bar", "foo -f:bar", "foo -=>", r"foo -c:bar\nbaz", "-(-c:foo)"] {
            assert_eq!(negated(query), [""; 0], "{query}");
        }
    }

    #[test]
    fn punctuation_is_looked_up_too() {
        check("c:===", r#"chunk("===")"#);
        check(r"c:\}\);", r#"chunk("});")"#);
        check("c:配置", r#"chunk("配置")"#);
    }

    #[test]
    fn what_spans_lines_is_looked_for_in_texts() {
        check(r"c:foo\nbar", r#"text("foo" AND "bar")"#);
        check("c:begin.*end multiline:yes", r#"chunk("begin" AND "end")"#);
        check(r"c:begin\s+end multiline:yes", r#"text("begin" AND "end")"#);
    }

    #[test]
    fn plans_are_bounded() {
        let many =
            |n: usize| (0..n).map(|i| format!("c:word{i}x")).collect::<Vec<_>>().join(" or ");
        let query =
            |query: &str| CompiledQuery::new(&Query::parse(query, Case::Smart).unwrap()).unwrap();
        let small = query(&many(50));
        assert_ne!(Plan::of(&small.expr, &small), Plan::Scan);
        let large = query(&many(199).replace('x', "[abc]x"));
        assert_eq!(Plan::of(&large.expr, &large), Plan::Scan);
        // An oversized part does not spoil the others.
        let mixed = query(&format!("c:Mutex ({})", many(199).replace('x', "[abc]x")));
        assert_eq!(Plan::of(&mixed.expr, &mixed).to_string(), r#"chunk("mutex")"#);
    }
}
