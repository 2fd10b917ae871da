//! The kind of a search for lines, and its description in the log of slow searches.

use std::sync::Arc;

use query::{Expr, Plan, Predicate};
use search::{Request, Stats};

use request::explain::explained;
use statistics::Kind;

/// Returns the kind of a search for lines, and a function that describes it.
pub fn of_request(
    request: &Arc<Request>,
    loose: bool,
) -> (Kind, impl Fn(Option<&Stats>) -> (String, String) + Send + Sync + 'static) {
    let compiled = request.compiled_query();
    let kind = if compiled.terms.iter().any(|term| term.matcher.spans_lines()) {
        Kind::Multiline
    } else if !reads_texts(&compiled.expr) {
        Kind::Names
    } else if request.plan() == Plan::Scan {
        Kind::Scan
    } else {
        Kind::Indexed
    };
    let request = Arc::clone(request);
    let told = move |stats: Option<&Stats>| {
        (request.compiled_query().tree.clone(), explained(&request, loose, stats))
    };
    (kind, told)
}

/// Returns whether a condition depends on texts.
fn reads_texts(expr: &Expr) -> bool {
    match expr {
        Expr::Const(_) => false,
        Expr::Predicate(atom) => matches!(atom, Predicate::Content(_) | Predicate::Symbol(_)),
        Expr::Not(part) => reads_texts(part),
        Expr::All(parts) | Expr::Any(parts) => parts.iter().any(reads_texts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_the_plan() {
        for (query, kind) in [
            ("foo", Kind::Indexed),
            ("foo file:a", Kind::Indexed),
            (".", Kind::Scan),
            ("-foo", Kind::Scan),
            (r"foo\n\s*bar", Kind::Multiline),
            ("file:foo", Kind::Names),
            ("repo:foo lang:go", Kind::Names),
        ] {
            let parsed = query::Query::parse(query, query::Case::Smart).unwrap();
            let request = Arc::new(Request::new(&parsed).unwrap());
            assert_eq!(of_request(&request, true).0, kind, "{query}");
        }
    }
}
