//! Where to go from results: the next page, another order, a narrower search.

use std::collections::HashMap;

use query::{Query as Parsed, Tree};

use super::view::Facet;
use crate::http::order::Order;
use crate::http::pages::link;
use crate::http::params::SearchParams;
use crate::http::top_k::TopK;

/// Values of a facet that are shown.
const FACET_VALUES: usize = 12;

pub(super) fn facets(q: &str, top: &TopK) -> Vec<Facet> {
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
        facet("Repository", &top.repos, &|name| query::exactly("repo", name)),
        facet("Language", &top.languages, &|name| query::written("lang", name)),
    ];
    // Folders of different repositories have little to do with each other.
    if top.repos.len() == 1 {
        facets.push(facet("Folder", &top.folders, &|name| query::below("file", name)));
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
pub(super) fn with(params: &SearchParams, name: &str, value: &str) -> String {
    let given = |field: &Option<String>| field.clone().unwrap_or_default();
    let mut parameters = vec![
        ("q", params.q.clone()),
        ("limit", params.limit.clone().or_else(|| params.num.clone()).unwrap_or_default()),
        ("case", given(&params.case)),
        ("repo", given(&params.repo)),
        ("file", given(&params.file)),
        ("lang", given(&params.lang)),
        ("timeout", given(&params.timeout)),
        ("explain", given(&params.explain)),
        ("sort", given(&params.sort)),
        ("cursor", given(&params.cursor)),
        ("wait", given(&params.wait)),
    ];
    parameters.retain(|(known, _)| *known != name);
    parameters.push((name, value.to_owned()));
    let parameters: Vec<(&str, &str)> =
        parameters.iter().map(|(name, value)| (*name, value.as_str())).collect();
    link::to("/search", &parameters)
}

pub(super) fn orders(params: &SearchParams, order: Order) -> Vec<(&'static str, String, bool)> {
    let first = SearchParams { cursor: None, ..params.clone() };
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
