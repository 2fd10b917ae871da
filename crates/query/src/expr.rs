//! Conditions on a file that are evaluated step by step.
//!
//! Some properties of a file are known early (its repository, path and language), others late (its text). So a
//! condition has three values: true, false, and unknown.

/// A condition on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expr {
    /// Always this value.
    Const(bool),
    /// One property of a file.
    Predicate(Predicate),
    /// This does not hold.
    Not(Box<Expr>),
    /// All these hold.
    All(Vec<Expr>),
    /// At least one of these holds.
    Any(Vec<Expr>),
}

/// One property of a file. The numbers are those of [`CompiledQuery::terms`] and [`CompiledQuery::languages`].
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
    /// It defines a symbol that the term asks for.
    Symbol(usize),
    /// One of the trees that have it is meant by this one of [`CompiledQuery::trees`].
    InTree(usize),
    /// What is known of its repository has this one of [`CompiledQuery::properties`].
    Property(usize),
    /// The term matches in a line that was added; false of files.
    Added(usize),
    /// The term matches in a line that was removed; false of files.
    Removed(usize),
}

impl Expr {
    /// Returns the conjunction of some conditions, without the known ones.
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

    /// Returns the disjunction of some conditions, without the known ones.
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

    /// Evaluates the condition; `None` while the value depends on unknown predicates.
    pub fn eval(&self, known: &impl Fn(Predicate) -> Option<bool>) -> Option<bool> {
        match self {
            Expr::Const(value) => Some(*value),
            Expr::Predicate(predicate) => known(*predicate),
            Expr::Not(inner) => inner.eval(known).map(|value| !value),
            Expr::All(parts) => decide(parts, known, false),
            Expr::Any(parts) => decide(parts, known, true),
        }
    }

    /// Returns the rest of the condition once some predicates are known.
    #[must_use]
    pub fn resolve(&self, known: &impl Fn(Predicate) -> Option<bool>) -> Expr {
        match self {
            Expr::Const(value) => Expr::Const(*value),
            Expr::Predicate(predicate) => {
                known(*predicate).map_or(Expr::Predicate(*predicate), Expr::Const)
            }
            Expr::Not(inner) => !inner.resolve(known),
            Expr::All(parts) => Expr::all(parts.iter().map(|part| part.resolve(known)).collect()),
            Expr::Any(parts) => Expr::any(parts.iter().map(|part| part.resolve(known)).collect()),
        }
    }

    /// Returns the condition that a file must meet for this one to hold, whatever its text and symbols are.
    #[must_use]
    pub fn without_text(&self) -> Expr {
        self.with_text(true)
    }

    /// Returns the rest of the condition if every predicate about the text has this value.
    fn with_text(&self, value: bool) -> Expr {
        let all = |parts: &[Expr]| parts.iter().map(|part| part.with_text(value)).collect();
        match self {
            Expr::Predicate(
                Predicate::Content(_)
                | Predicate::Symbol(_)
                | Predicate::Added(_)
                | Predicate::Removed(_),
            ) => Expr::Const(value),
            Expr::Const(_) | Expr::Predicate(_) => self.clone(),
            Expr::Not(inner) => !inner.with_text(!value),
            Expr::All(parts) => Expr::all(all(parts)),
            Expr::Any(parts) => Expr::any(all(parts)),
        }
    }

    /// Returns whether it has no negation, so that a predicate that becomes true never makes it false.
    pub fn is_monotone(&self) -> bool {
        match self {
            Expr::Const(_) | Expr::Predicate(_) => true,
            Expr::Not(_) => false,
            Expr::All(parts) | Expr::Any(parts) => parts.iter().all(Expr::is_monotone),
        }
    }

    /// Calls `seen` with each predicate under an odd number of negations.
    pub fn negated(&self, seen: &mut impl FnMut(Predicate)) {
        self.with_sign(false, &mut |predicate, negated| {
            if negated {
                seen(predicate);
            }
        });
    }

    fn with_sign(&self, negated: bool, seen: &mut impl FnMut(Predicate, bool)) {
        match self {
            Expr::Const(_) => {}
            Expr::Predicate(predicate) => seen(*predicate, negated),
            Expr::Not(inner) => inner.with_sign(!negated, seen),
            Expr::All(parts) | Expr::Any(parts) => {
                for part in parts {
                    part.with_sign(negated, seen);
                }
            }
        }
    }

    /// Calls `seen` with each predicate.
    pub fn predicates(&self, seen: &mut impl FnMut(Predicate)) {
        match self {
            Expr::Const(_) => {}
            Expr::Predicate(predicate) => seen(*predicate),
            Expr::Not(inner) => inner.predicates(seen),
            Expr::All(parts) | Expr::Any(parts) => {
                for part in parts {
                    part.predicates(seen);
                }
            }
        }
    }

    /// Calls `seen` with the predicates that [`shown`](Expr::shown) needs to know: those of every part that holds or
    /// may hold.
    pub fn involved(
        &self,
        known: &impl Fn(Predicate) -> Option<bool>,
        seen: &mut impl FnMut(Predicate),
    ) {
        match (self, self.eval(known)) {
            (Expr::Const(_), _) | (_, Some(false)) | (Expr::Not(_), Some(true)) => {}
            (Expr::Predicate(predicate), _) => seen(*predicate),
            (Expr::Not(inner), None) => inner.predicates(seen),
            (Expr::All(parts) | Expr::Any(parts), _) => {
                for part in parts {
                    part.involved(known, seen);
                }
            }
        }
    }

    /// Calls `seen` with the predicates that satisfied the condition, whose matches are shown: none below a negation,
    /// and only those alternatives that hold.
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
            Expr::Predicate(predicate) => show(*predicate),
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

/// Returns `value` if one of the parts has it; else the other value if all parts are known.
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
    use crate::{Case, CompiledQuery, Query};

    fn compiled(query: &str) -> CompiledQuery {
        CompiledQuery::new(&Query::parse(query, Case::Smart).unwrap()).unwrap()
    }

    /// Returns the value of a query for a file of which some predicates are known.
    fn eval(query: &str, known: &[(Predicate, bool)]) -> Option<bool> {
        compiled(query)
            .expr
            .eval(&|predicate| known.iter().find(|(a, _)| *a == predicate).map(|(_, v)| *v))
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
    fn what_is_said_of_the_text_is_left_out() {
        use Predicate::{Language, Path};
        let check = |query: &str, expected: Expr| {
            assert_eq!(compiled(query).expr.without_text(), expected, "{query}");
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
        let known = |predicate| (predicate == Predicate::Content(0)).then_some(true);
        compiled("c:a or (c:b -c:c)")
            .expr
            .involved(&known, &mut |predicate| involved.push(predicate));
        assert_eq!(involved, [Predicate::Content(0), Predicate::Content(1), Predicate::Content(2)]);
    }

    #[test]
    fn only_what_a_file_owes_its_place_to_is_shown() {
        use Predicate::Content;
        let check = |query: &str, known: &[(Predicate, bool)], expected: &[Predicate]| {
            let mut shown = Vec::new();
            let known = |predicate| known.iter().find(|(a, _)| *a == predicate).map(|(_, v)| *v);
            compiled(query).expr.shown(&known, &mut |predicate| shown.push(predicate));
            assert_eq!(shown, expected, "{query}");
        };
        let (yes, no) = ((Content(0), true), (Content(1), false));
        check("c:a -c:b", &[yes, no], &[Content(0)]);
        check("c:a or c:b", &[yes, no], &[Content(0)]);
        check("c:a or (c:b c:c)", &[yes, no, (Content(2), true)], &[Content(0)]);
        check("c:a or (-c:b c:c)", &[yes, no, (Content(2), true)], &[Content(0), Content(2)]);
    }
}
