//! The report: a line for each class and set, and the record of every query.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::queries::{Query, Set};
use crate::score::{Means, Outcome};
use crate::shared::summary::median;
use crate::{Row, published, shared};

/// Returns the rank of the first right file of a query in each engine.
pub(crate) fn detail(query: &Query, at_once: bool, outcomes: &[Outcome]) -> String {
    let place = |one: &Outcome| one.place.map_or("-".to_owned(), |at| at.to_string());
    let name = query.repo.as_ref().map_or(query.class.as_str(), |repo| repo.name.as_str());
    let mut text = format!("{:<20}", if at_once { "all at once" } else { name });
    for one in outcomes {
        let _ = write!(text, "{:>4} {:.3}", place(one), one.ndcg);
    }
    let _ = write!(text, "  {}", query.text);
    if let Some(first) = outcomes[0].files.first().filter(|_| outcomes[0].place != Some(1)) {
        let _ = write!(text, "\n{:60}{}/{}", "", first.repo, first.path);
    }
    text
}

/// Returns the table.
pub(crate) fn report(rows: &[Row], engines: &[&str], notes: &str) -> String {
    let mut text = format!(
        "Where the right files stand, {}, {}\ncargo bench --bench judged\n{notes}\n{:<32}{:>8}",
        shared::today(),
        shared::machine(),
        "class, set",
        "queries"
    );
    for name in engines {
        let _ = write!(text, " |{name:>11}{:>8}{:>8}{:>8}{:>8}", "", "", "", "");
    }
    let _ = write!(text, "\n{:40}", "");
    for _ in engines {
        let titles = ["recall@1", "@5", "MRR", "nDCG@10", "nothing"];
        let [first, five, mrr, ndcg, nothing] = titles;
        let _ = write!(text, " |{first:>11}{five:>8}{mrr:>8}{ndcg:>8}{nothing:>8}");
    }
    text.push('\n');
    let mut groups: Vec<(&str, Set)> = Vec::new();
    for row in rows.iter().filter(|row| row.query.set != Set::Given) {
        let group = (row.query.class.as_str(), row.query.set);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    // Keep the groups of a set together.
    groups.sort_by_key(|(_, set)| *set as u8);
    for (class, set) in &groups {
        let of = rows.iter().filter(|row| row.query.class == *class && row.query.set == *set);
        line(&mut text, &format!("{class}, {}", set.name()), &of.collect::<Vec<_>>(), engines);
    }
    for set in [Set::Tuned, Set::Aside] {
        let of: Vec<&Row> = rows.iter().filter(|row| row.query.set == set).collect();
        if !of.is_empty() {
            line(&mut text, &format!("all, {}", set.name()), &of, engines);
        }
    }
    for (at_once, title) in [(false, "by repository"), (true, "all at once")] {
        let of = rows.iter().filter(|row| row.query.set == Set::Given && row.at_once == at_once);
        given(&mut text, title, &of.collect::<Vec<_>>(), engines);
    }
    if rows.iter().any(|row| row.query.set == Set::Given) {
        text.push_str(&published::table());
    }
    text.push_str("\nmilliseconds, median and worst:");
    for (at, name) in engines.iter().enumerate() {
        let ms: Vec<f64> = rows.iter().map(|row| row.outcomes[at].ms).collect();
        let worst = ms.iter().copied().fold(0.0, f64::max);
        let _ = write!(text, " {name} {:.1}, {worst:.0};", median(&ms));
    }
    text.push('\n');
    text
}

/// Writes the lines of a given set: of all its queries, of each category, and of each language.
fn given(text: &mut String, title: &str, rows: &[&Row], engines: &[&str]) {
    if rows.is_empty() {
        return;
    }
    line(text, &format!("given, {title}"), rows, engines);
    let category = |row: &Row| row.query.class.clone();
    let language =
        |row: &Row| row.query.repo.as_ref().map_or(String::new(), |repo| repo.language.clone());
    for of in [&category as &dyn Fn(&Row) -> String, &language] {
        let names: BTreeSet<String> = rows.iter().map(|row| of(row)).collect();
        for name in names {
            let of: Vec<&Row> = rows.iter().copied().filter(|row| of(row) == name).collect();
            line(text, &format!("  {name}"), &of, engines);
        }
    }
}

/// Writes the line of some queries. With several engines, adds the ratio of the first to the best other one.
fn line(text: &mut String, name: &str, rows: &[&Row], engines: &[&str]) {
    let _ = write!(text, "{name:<32}{:>8}", rows.len());
    let means: Vec<Means> =
        (0..engines.len()).map(|at| Means::of(rows.iter().map(|row| &row.outcomes[at]))).collect();
    for of in &means {
        let _ = write!(
            text,
            " |{:>11.3}{:>8.3}{:>8.3}{:>8.3}{:>8.3}",
            of.recall_at_1, of.recall_at_5, of.mrr, of.ndcg, of.nothing
        );
    }
    if let [ours, others @ ..] = &*means
        && !others.is_empty()
    {
        let better = |of: fn(&Means) -> f64| of(ours) / others.iter().map(of).fold(0.0, f64::max);
        let _ = write!(text, " | x{:.2}, x{:.2}", better(|of| of.mrr), better(|of| of.ndcg));
    }
    text.push('\n');
}

/// Returns the outcome of every query as JSON.
pub(crate) fn record(rows: &[Row], engines: &[&str], notes: &str) -> String {
    let row = |row: &Row| {
        let outcomes: serde_json::Map<String, Value> = engines
            .iter()
            .zip(&row.outcomes)
            .map(|(name, one)| {
                let ndcg = (one.ndcg * 1000.0).round() / 1000.0;
                ((*name).to_owned(), json!({ "place": one.place, "ndcg": ndcg }))
            })
            .collect();
        let Query { class, set, text, .. } = &row.query;
        let repo = row.query.repo.as_ref().map(|repo| repo.name.as_str());
        json!({
            "class": class, "set": set.name(), "query": text, "repo": repo, "at_once": row.at_once,
            "engines": outcomes,
        })
    };
    let rows: Vec<Value> = rows.iter().map(row).collect();
    let record = json!({
        "date": shared::today(), "machine": shared::machine(),
        "notes": notes.lines().collect::<Vec<_>>(), "rows": rows,
    });
    format!("{record:#}\n")
}
