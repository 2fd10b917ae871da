//! Links on a page of results: the next page, other orders, and narrower searches.

use std::collections::HashMap;
use std::sync::Arc;

use query::{Properties, Switch, TypedField};

use super::view::{Chosen, Facet, FacetValue};
use crate::pages::link;
use crate::pages::narrow::{MAX_QUERY, TreeFields, is_any, joined};
use crate::params::names::{CURSOR, FACETS, SORT};
use crate::params::{Param, SearchParams};
use rank::Order;
use rank::TopK;

/// The title of the facet of trees.
const TREE: &str = "Tree";

/// Values of a facet that are visible at first.
const FACET_VALUES: usize = 8;

/// Most values of a facet on a page, unless all are requested.
const MAX_VALUES: usize = 40;

/// What is known of repositories, by their names.
pub(super) type Known = HashMap<String, Arc<Properties>>;

/// Returns the properties by which the results can be narrowed. `known` has the repositories with results.
pub(super) fn facets(
    params: &SearchParams,
    top: &TopK,
    trees: &TreeFields,
    known: &Known,
) -> Vec<Facet> {
    let q = params.q.as_str();
    if q.len() > MAX_QUERY {
        return Vec::new();
    }
    let any = is_any(q);
    let most = if params.has_all_values() { usize::MAX } else { MAX_VALUES };
    let facet = |title, counts: &HashMap<String, usize>, term: &dyn Fn(&str) -> String| {
        let mut counts: Vec<(&String, usize)> = counts.iter().map(|(v, n)| (v, *n)).collect();
        counts.sort_by(|(a, x), (b, y)| (y, a).cmp(&(x, b)));
        let all = counts.len();
        // A single further value is shown rather than hidden.
        let shown = if all == FACET_VALUES + 1 { all } else { FACET_VALUES };
        let values = counts.into_iter().take(most).map(|(name, count)| {
            let term = term(name);
            let to = |q: &str| link::to("/search", &[("q", q)]);
            let href = match trees.narrowed(q, name).filter(|_| title == TREE) {
                Some(narrowed) => to(&narrowed),
                None => to(&joined(any, q, &term)),
            };
            let without = to(&joined(any, q, &format!("-{term}")));
            FacetValue { name: name.clone(), count: Some(count), href, without: Some(without) }
        });
        let mut values: Vec<FacetValue> = values.collect();
        let rest = values.split_off(values.len().min(shown));
        let ends = title != "Language";
        Facet { title, ends, values, rest, all, more: all.saturating_sub(most) }
    };
    let mut facets = vec![
        facet("Repository", &top.repos, &|name| query::exactly("repo", name)),
        facet("Language", &top.languages, &|name| query::written("lang", name)),
    ];
    let of_trees = top.trees.iter().filter_map(|(name, count)| {
        trees.term(name)?;
        Some((name.clone(), *count))
    });
    let term = |name: &str| trees.term(name).unwrap_or_default();
    facets.push(facet(TREE, &of_trees.collect(), &term));
    // Folders of several repositories would be mixed.
    if top.repos.len() == 1 {
        let term = |name: &str| query::below("file", &format!("{}{name}", top.below));
        facets.push(facet("Folder", &top.folders, &term));
    }
    facets.push(facet("Topic", &topics(top, known), &|name| query::written("topic", name)));
    for (title, switch) in
        [("Archived", Switch::Archived), ("Fork", Switch::Fork), ("Public", Switch::Public)]
    {
        let term = |value: &str| format!("{}:{value}", switch.name());
        facets.push(facet(title, &switched(top, known, switch), &term));
    }
    facets.retain(|facet| facet.all > 1);
    facets
}

/// Counts the files in repositories with each topic.
fn topics(top: &TopK, known: &Known) -> HashMap<String, usize> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for (repo, count) in &top.repos {
        for topic in known.get(repo).into_iter().flat_map(|known| &known.topics) {
            *counts.entry(topic.clone()).or_default() += count;
        }
    }
    counts
}

/// Counts the files in repositories that have a property or not; none if nothing is known of any.
fn switched(top: &TopK, known: &Known, switch: Switch) -> HashMap<String, usize> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let of = |repo: &String| known.get(repo).and_then(|known| known.switch(switch));
    if top.repos.keys().any(|repo| of(repo).is_some()) {
        for (repo, count) in &top.repos {
            let value = if of(repo) == Some(true) { "yes" } else { "no" };
            *counts.entry(value.to_owned()).or_default() += count;
        }
    }
    counts
}

/// Returns the trees of a repository, for a query that names none.
pub(super) fn choice_of_trees(q: &str, names: &[String], trees: &TreeFields) -> Option<Facet> {
    let value = |name: &String| {
        let href = link::to("/search", &[("q", &trees.narrowed(q, name)?)]);
        Some(FacetValue { name: name.clone(), count: None, href, without: None })
    };
    let mut values: Vec<FacetValue> = names.iter().take(MAX_VALUES).filter_map(value).collect();
    let all = names.len();
    let shown = if all == FACET_VALUES + 1 { all } else { FACET_VALUES };
    let rest = values.split_off(values.len().min(shown));
    let more = all.saturating_sub(MAX_VALUES);
    (!values.is_empty()).then_some(Facet { title: TREE, ends: true, values, rest, all, more })
}

/// Returns the fields that narrow a query, each with the query without it. A query with an `or` outside of parentheses
/// has none, since a field in it applies to only one alternative.
pub(super) fn chosen(q: &str) -> Vec<Chosen> {
    if q.len() > MAX_QUERY || is_any(q) {
        return Vec::new();
    }
    let fields = query::typed_fields(q).into_iter();
    let chosen = fields.filter_map(|TypedField { name, negated, value, revision, range }| {
        let said = match name {
            "repo" => "repository",
            "lang" => "language",
            "file" => "path",
            "ext" => "extension",
            "filename" => "file name",
            "org" => "owner",
            "rev" => "revision",
            "diff" => "changes",
            "topic" | "archived" | "fork" | "public" | "meta" | "worktree" | "branch" | "case"
            | "type" | "multiline" | "count" | "timeout" => name,
            _ => return None,
        };
        let rest = query::without(q, &range);
        let href =
            if rest.is_empty() { "/".to_owned() } else { link::to("/search", &[("q", &rest)]) };
        Some(Chosen {
            typed: q[range].to_owned(),
            name: if negated { format!("not {said}") } else { said.to_owned() },
            value: match revision {
                Some(revision) => format!("{name} at {revision}", name = plain(value)),
                None => plain(value),
            },
            href,
        })
    });
    chosen.collect()
}

fn plain(pattern: String) -> String {
    query::plain(&pattern).unwrap_or(pattern)
}

/// Returns the folder to which the query limits the search, with a trailing slash; empty if there is none.
pub(super) fn folder_of(q: &str) -> String {
    let fields = query::typed_fields(q).into_iter().filter(|_| !is_any(q));
    let folders = fields
        .filter(|field| field.name == "file" && !field.negated)
        .filter_map(|field| query::plain(&field.value).filter(|name| name.ends_with('/')));
    folders.max_by_key(String::len).unwrap_or_default()
}

/// Returns the address of the same search with all values of its facets.
pub(super) fn all_values(params: &SearchParams) -> String {
    with(params, &FACETS, "all")
}

/// Returns the address of the same search with another value of a parameter.
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
    fn what_narrows_a_query_can_be_taken_away() {
        let told = |q: &str| -> Vec<String> {
            let tell = |one: Chosen| format!("{}: {} -> {}", one.name, one.value, one.href);
            chosen(q).into_iter().map(tell).collect()
        };
        assert_eq!(
            told(r"foo repo:^a\.b/c$ -lang:go"),
            [
                "repository: a.b/c -> /search?q=foo%20-lang:go",
                r"not language: go -> /search?q=foo%20repo:%5Ea%5C.b/c%24",
            ]
        );
        assert_eq!(told("repo:^a$@b x"), ["repository: a at b -> /search?q=x"]);
        assert_eq!(told("rev:a x"), ["revision: a -> /search?q=x"]);
        assert_eq!(told("file:_test"), ["path: _test -> /"]);
        assert_eq!(told("foo content:bar"), [""; 0]);
        assert_eq!(told("foo or bar lang:go"), [""; 0]);
        assert_eq!(told(&"count:1 ".repeat(1000)), [""; 0]);
        assert_eq!(folder_of("x file:^a/ file:^a/b/ -file:^a/b/c/ file:d"), "a/b/");
        assert_eq!(folder_of("x or file:^a/"), "");
    }
}
