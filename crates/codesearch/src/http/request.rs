//! From the parameters of a search to a compiled request, made where that keeps nobody waiting.

use engine::search::Request;

use super::error::Failure;
use super::params::SearchParams;
use crate::request::{self, Client, Options};

/// Bytes of patterns that are compiled where they are asked for.
const MAX_SHORT: usize = 256;

/// The request for what an address asks.
///
/// # Errors
/// What is wrong with the query or with a parameter.
pub(crate) async fn compiled(params: &SearchParams, client: Client) -> Result<Request, Failure> {
    if params.q.trim().is_empty() {
        return Err(Failure::bad_request("nothing to search for: give a query in q="));
    }
    built(params.q.clone(), params.options()?, client).await
}

/// The request for a query with what stands beside it.
///
/// # Errors
/// What is wrong with one of them.
pub(crate) async fn built(q: String, options: Options, client: Client) -> Result<Request, Failure> {
    let short = is_short([&q].into_iter().chain(&options.repos).chain(&options.files));
    compile(short, move || {
        let query = request::parse(&q, &options, &client)?;
        Ok(request::build(query, &options, &client)?)
    })
    .await
}

/// Compiles something where that keeps nobody waiting.
///
/// # Errors
/// Those of the work.
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
