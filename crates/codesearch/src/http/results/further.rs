//! Where to go from results: the next page, another order, a narrower search.

use std::collections::HashMap;

use engine::search::{Request, Resume, Stats};
use query::{Query as Parsed, Tree};

use super::gathering::{Gathering, Order};
use crate::http::ask::{Asked, Cursor};
use crate::http::link;

/// Values of a facet that are shown.
const FACET_VALUES: usize = 12;

/// By what the results can be narrowed.
pub(crate) struct Facet {
    pub(crate) title: &'static str,
    /// Each value, how many files, and the address of the narrower search.
    pub(crate) values: Vec<(String, usize, String)>,
    /// Values that are not shown.
    pub(crate) more: usize,
}

/// Where the page after this one begins, when `shown` of the `files` of a window have been shown in an order.
pub(crate) fn next(
    request: &Request,
    stats: &Stats,
    order: Order,
    (shown, files): (usize, usize),
) -> Option<Cursor> {
    let order = Some(order);
    let before = request.resume.map_or(0, |resume| resume.results);
    let at = |results| Resume { epoch: stats.epoch, order: stats.order, results };
    if shown < files {
        Some(Cursor { resume: at(before), shown, order })
    } else {
        stats.ended_at_limit().then(|| Cursor { resume: at(before + files), shown: 0, order })
    }
}

pub(super) fn facets(q: &str, gathering: &Gathering) -> Vec<Facet> {
    let facet = |title, counts: &HashMap<String, usize>, term: &dyn Fn(&str) -> String| {
        let mut values: Vec<(&String, usize)> = counts.iter().map(|(v, n)| (v, *n)).collect();
        values.sort_by(|(a, x), (b, y)| (y, a).cmp(&(x, b)));
        let more = values.len().saturating_sub(FACET_VALUES);
        let values = values.into_iter().take(FACET_VALUES).map(|(value, n)| {
            let address = link::to("/search", &[("q", &narrowed(q, &term(value)))]);
            (value.clone(), n, address)
        });
        Facet { title, values: values.collect(), more }
    };
    let mut facets = vec![
        facet("Repository", &gathering.repos, &|name| query::exactly("repo", name)),
        facet("Language", &gathering.languages, &|name| query::written("lang", name)),
    ];
    // Folders of different repositories have little to do with each other.
    if gathering.repos.len() == 1 {
        facets.push(facet("Folder", &gathering.folders, &|name| query::below("file", name)));
    }
    facets.retain(|facet| facet.values.len() > 1);
    facets
}

/// A query with one more term that must hold.
pub(crate) fn narrowed(q: &str, term: &str) -> String {
    let any =
        Parsed::parse(q, query::Case::Smart).is_ok_and(|query| matches!(query.tree, Tree::Any(_)));
    if any { format!("({q}) {term}") } else { format!("{q} {term}") }
}

/// The address of the same search with another parameter.
pub(super) fn with(asked: &Asked, name: &str, value: &str) -> String {
    let given = |field: &Option<String>| field.clone().unwrap_or_default();
    let mut parameters = vec![
        ("q", asked.q.clone()),
        ("limit", asked.limit.clone().or_else(|| asked.num.clone()).unwrap_or_default()),
        ("case", given(&asked.case)),
        ("repo", given(&asked.repo)),
        ("file", given(&asked.file)),
        ("lang", given(&asked.lang)),
        ("timeout", given(&asked.timeout)),
        ("explain", given(&asked.explain)),
        ("sort", given(&asked.sort)),
        ("cursor", given(&asked.cursor)),
        ("wait", given(&asked.wait)),
    ];
    parameters.retain(|(known, _)| *known != name);
    parameters.push((name, value.to_owned()));
    let parameters: Vec<(&str, &str)> =
        parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
    link::to("/search", &parameters)
}

pub(super) fn orders(asked: &Asked, order: Order) -> Vec<(&'static str, String, bool)> {
    let first = Asked { cursor: None, ..asked.clone() };
    let to = |other: Order| (other.name(), with(&first, "sort", other.name()), other == order);
    Order::ALL.map(to).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrower_query_means_both() {
        assert_eq!(narrowed("foo", "lang:Go"), "foo lang:Go");
        assert_eq!(narrowed("foo or bar", "lang:Go"), "(foo or bar) lang:Go");
        assert_eq!(narrowed("(foo|bar)", "lang:Go"), "(foo|bar) lang:Go");
    }
}
