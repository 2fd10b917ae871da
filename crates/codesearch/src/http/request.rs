//! From the parameters of a search to a compiled request.

use engine::search::Request;
use query::{Case, Count, Query as Parsed};

use super::error::Failure;
use super::params::SearchParams;
use crate::narrow::Narrow;

/// Bytes of patterns that are compiled where they are asked for.
const MAX_SHORT: usize = 256;

/// Lines of context on either side, at most: each match may have its own.
pub(crate) const MAX_CONTEXT: usize = 100;

/// The request, compiled; for so many results unless it is said how many.
pub(crate) async fn compiled(
    params: &SearchParams,
    usual: Option<Count>,
) -> Result<Request, Failure> {
    let texts = [Some(&params.q), params.repo.as_ref(), params.file.as_ref()];
    let short = is_short(texts.into_iter().flatten());
    let params = params.clone();
    compile(short, move || request(&params, usual)).await
}

/// Compiles something where that keeps nobody waiting.
pub(crate) async fn compile(
    short: bool,
    work: impl FnOnce() -> Result<Request, Failure> + Send + 'static,
) -> Result<Request, Failure> {
    if short {
        return work();
    }
    tokio::task::spawn_blocking(work).await.expect("compiling does not panic")
}

/// Whether patterns are compiled in less time than it takes to wake another thread. A large one would
/// keep others waiting, and a short one is large when it repeats something many times.
pub(crate) fn is_short<'t>(patterns: impl IntoIterator<Item = &'t String>) -> bool {
    let mut bytes = 0;
    patterns.into_iter().all(|pattern| {
        bytes += pattern.len();
        bytes <= MAX_SHORT && !pattern.contains('{')
    })
}

fn request(params: &SearchParams, usual: Option<Count>) -> Result<Request, Failure> {
    if let Some(format) = params.format.as_deref().filter(|f| !matches!(*f, "json" | "html")) {
        return Err(Failure::bad_request(format!("format={format}: use json or html")));
    }
    if params.q.trim().is_empty() {
        return Err(Failure::bad_request("nothing to search for: give a query in q="));
    }
    let case = match params.case.as_deref() {
        None | Some("auto") => Case::Smart,
        Some("yes") => Case::Sensitive,
        Some("no") => Case::Insensitive,
        Some(other) => {
            return Err(Failure::bad_request(format!("case={other}: use yes, no or auto")));
        }
    };
    let mut query = Parsed::parse(&params.q, case)?;
    let given = |value: &Option<String>| -> Vec<String> {
        value.iter().filter(|text| !text.is_empty()).cloned().collect()
    };
    let (repos, files, languages) = (given(&params.repo), given(&params.file), given(&params.lang));
    // What the query itself says goes before what is said beside it.
    let limit = params.limit.as_deref().or(params.num.as_deref()).filter(|text| !text.is_empty());
    if let (Some(text), None) = (limit, query.count) {
        let limit: usize = text.parse().map_err(|_| {
            Failure::bad_request(format!("limit={text}: use a number of files, 0 for all"))
        })?;
        query.count = Some(if limit == 0 { Count::All } else { Count::Most(limit) });
    }
    query.count = query.count.or(usual);
    if let (Some(text), None) = (params.timeout.as_deref().filter(|t| !t.is_empty()), query.timeout)
    {
        let timeout = query::duration(text)
            .map_err(|why| Failure::bad_request(format!("timeout={text}: {why}")))?;
        query.timeout = Some(timeout);
    }
    let narrow = Narrow { repos: &repos, files: &files, languages: &languages };
    let query = narrow
        .apply(query)
        // What follows the first line points at the place in a terminal.
        .map_err(|(kind, why)| {
            Failure::bad_request(format!("{kind}=: {}", why.lines().next().unwrap_or_default()))
        })?;
    let mut request = Request::new(&query)?;
    request.skipped = true;
    if let Some(text) = params.context.as_deref().filter(|text| !text.is_empty()) {
        request.context = context(text).ok_or_else(|| {
            Failure::bad_request(format!(
                "context={text}: use a number of lines up to {MAX_CONTEXT}, or two with a comma"
            ))
        })?;
    }
    Ok(request)
}

/// `2`, or `1,3`.
fn context(text: &str) -> Option<(usize, usize)> {
    let lines = |text: &str| text.trim().parse().ok().filter(|lines| *lines <= MAX_CONTEXT);
    match text.split_once(',') {
        Some((before, after)) => Some((lines(before)?, lines(after)?)),
        None => lines(text).map(|lines| (lines, lines)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_is_one_number_or_two() {
        assert_eq!(context("2"), Some((2, 2)));
        assert_eq!(context("0, 3"), Some((0, 3)));
        for wrong in ["x", "1,2,3", "-1", "1000", ","] {
            assert_eq!(context(wrong), None, "{wrong}");
        }
    }
}
