//! Where to go from results: the next page, another order, a narrower search.

use std::collections::HashMap;

use query::{Query as Parsed, Tree};

use super::view::Facet;
use crate::http::pages::link;
use crate::http::params::names::{CURSOR, SORT};
use crate::http::params::{Param, SearchParams};
use crate::order::Order;
use crate::top_k::TopK;

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

/// The address of the same search with another value of a parameter.
pub(super) fn with(params: &SearchParams, param: &Param, value: &str) -> String {
    address(params.but(param), param, value)
}

pub(super) fn orders(params: &SearchParams, order: Order) -> Vec<(&'static str, String, bool)> {
    let mut first = params.but(&SORT);
    first.retain(|(name, _)| *name != CURSOR.name);
    let to =
        |other: Order| (other.name(), address(first.clone(), &SORT, other.name()), other == order);
    Order::ALL.map(to).to_vec()
}

fn address(mut pairs: Vec<(&'static str, String)>, param: &Param, value: &str) -> String {
    pairs.push((param.name, value.to_owned()));
    let pairs: Vec<(&str, &str)> =
        pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
    link::to("/search", &pairs)
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
