//! Says of a condition on what is known of repositories that no repository meets it, and why.

use query::{Case, CompiledQuery, Predicate, PropertyTerm, Query, Tree, nearest, written};
use search::View;

/// Returns why no repository meets a condition such as `topic:search`, and a similar condition that some meet. `None` if
/// some do.
pub(super) async fn unmet(view: &View, field: &str) -> Option<(String, Option<String>)> {
    let query = Query::parse(field, Case::Smart).ok()?;
    let Tree::Property(term) = &query.tree else { return None };
    let compiled = CompiledQuery::new(&query).ok()?;
    let catalog = view.catalog().await.ok()?;
    let mut known = catalog.repos.values().map(|repo| &*repo.properties);
    let holds = |of| compiled.of_repo(Predicate::Property(0), "", of, &|| true) == Some(true);
    if known.clone().any(holds) {
        return None;
    }
    let none = format!("no repository has {field}");
    Some(match term {
        PropertyTerm::On(switch) if known.all(|of| of.switch(*switch).is_none()) => {
            let name = switch.name();
            let sources =
                format!("a mirrored host, or git config codesearch.{name} in a clone, tells it");
            (
                format!("of no repository it is known whether it is {}; {sources}", switch.name()),
                None,
            )
        }
        PropertyTerm::On(_) => (none, None),
        PropertyTerm::Topic(topic) => {
            let near = nearest(topic, known.flat_map(|of| &of.topics).map(String::as_str));
            (none, near.map(|near| written("topic", near)))
        }
        PropertyTerm::Meta(name, _) => {
            let has = known.clone().any(|of| of.meta.contains_key(name));
            let near = nearest(name, known.flat_map(|of| of.meta.keys()).map(String::as_str));
            let value = field.split_once(':').map_or("", |(_, value)| value);
            match near.filter(|_| !has) {
                Some(near) => (none, Some(format!("meta.{near}:{value}"))),
                None if has => (none, None),
                None => (format!("no repository has a text {name}"), None),
            }
        }
    })
}
