//! Parses livegrep's parameters, from an address or a form.

use query::{MAX_PATTERN_BYTES, MAX_QUERY_BYTES, MAX_TERMS};

use super::parse::{escape, has_capital, parse};
use super::query::LivegrepQuery;
use crate::params::Param;

/// The parameters that are read; livegrep's own pages send more, which are ignored.
const PARAMS: [Param; 7] = [
    Param::text("q", "").at_most(MAX_QUERY_BYTES),
    Param::text("line", "").at_most(MAX_PATTERN_BYTES),
    Param::text("file", "").at_most(MAX_PATTERN_BYTES),
    Param::text("repo", "").at_most(MAX_PATTERN_BYTES),
    Param::text("repo[]", ""),
    Param::word("regex", ""),
    Param::word("fold_case", ""),
];

/// Parses the parameters of an address or a form.
pub(super) fn read(parameters: &[(String, String)]) -> Result<LivegrepQuery, String> {
    for (name, value) in parameters {
        if let Some(param) = PARAMS.iter().find(|param| param.name == name) {
            param.check(value)?;
        }
    }
    let all = |name: &str| -> Vec<String> {
        let of_name = parameters.iter().filter(|(key, _)| key == name);
        of_name.map(|(_, value)| value.clone()).collect()
    };
    let get = |name: &str| all(name).into_iter().next();
    let regex = get("regex").as_deref() != Some("false");
    let pattern = |text: String| if regex { text } else { escape(&text) };
    let mut query = match get("q") {
        Some(q) => parse(&q, regex)?,
        None => LivegrepQuery::default(),
    };
    if let Some(line) = get("line") {
        query.line = pattern(line);
        query.paths_only = false;
    }
    let files = all("file");
    if !files.is_empty() {
        query.files = files.into_iter().map(pattern).collect();
    }
    if let Some(repo) = get("repo") {
        query.repo = pattern(repo);
    }
    if query.repo.is_empty() {
        let names: Vec<String> =
            all("repo[]").iter().map(|name| format!("^{}$", escape(name))).collect();
        query.repo = names.join("|");
    }
    match get("fold_case").as_deref() {
        None => {}
        Some("false") => query.fold_case = false,
        Some("true") => query.fold_case = true,
        Some(_) => query.fold_case = !has_capital(&query.line),
    }
    let tags = [&query.tags, &query.not_tags].into_iter().flatten().flatten().count();
    if tags > MAX_TERMS {
        return Err(format!("give at most {MAX_TERMS} patterns for kinds"));
    }
    if query.files.len() + query.not_files.len() > MAX_TERMS {
        return Err(format!("give at most {MAX_TERMS} patterns for paths"));
    }
    if query.line.is_empty() {
        let kind = if regex { "regular expression" } else { "string" };
        return Err(format!("the query is empty; give a {kind} in q="));
    }
    Ok(query)
}
