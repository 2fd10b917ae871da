//! Compiles the parameters of a search to a request, on a thread where that delays no other client.

use std::sync::LazyLock;

use query::Query;
use search::Request;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::error::Failure;
use super::params::SearchParams;
use super::server::MAX_WAIT;
pub use request::{self, Client, Options, Refused};

/// Most bytes of patterns that are compiled on the calling thread.
const MAX_SHORT: usize = 256;

/// Compiles the parameters of a search to a request.
///
/// # Errors
/// The query or a parameter is invalid.
pub(crate) async fn compiled(params: &SearchParams, client: Client) -> Result<Request, Failure> {
    if params.q.trim().is_empty() {
        return Err(Failure::bad_request("the query is empty; give it in q="));
    }
    built(params.q.clone(), params.options()?, client).await
}

/// Compiles a query and its options to a request.
///
/// # Errors
/// The query or an option is invalid.
pub(crate) async fn built(q: String, options: Options, client: Client) -> Result<Request, Failure> {
    let short = is_short([&q].into_iter().chain(&options.repos).chain(&options.files));
    compile(short, move |turn| {
        let query = request::parse(&q, &options, &client)?;
        Ok(build(query, &options, &client, turn)?)
    })
    .await
}

/// Turns to compile long patterns, one per core. Such a pattern takes up to a quarter of a second and tens of MB.
/// Clients wait here, since work on a thread cannot be cancelled; a client that leaves gives up its place.
static TURNS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(std::thread::available_parallelism().map_or(2, usize::from)));

/// A turn to compile a long pattern; a short one needs none.
pub(crate) type Turn = Option<SemaphorePermit<'static>>;

/// Builds a request in the turn that [`compile`] provides.
///
/// # Errors
/// Those of [`request::build_in_time`].
pub(crate) fn build(
    query: Query,
    options: &Options,
    client: &Client,
    turn: Turn,
) -> Result<Request, Refused> {
    match turn {
        None => request::build(query, options, client),
        Some(turn) => request::build_in_time(query, options, client, turn),
    }
}

/// Calls `work`, which builds a request with [`build`]: on the calling thread if `short`, else in turn on a thread for
/// blocking work.
///
/// # Errors
/// Those of `work`; or no turn is free within [`MAX_WAIT`].
pub(crate) async fn compile(
    short: bool,
    work: impl FnOnce(Turn) -> Result<Request, Failure> + Send + 'static,
) -> Result<Request, Failure> {
    if short {
        return work(None);
    }
    let turn = timeout(MAX_WAIT, TURNS.acquire()).await.map_err(|_| Failure::busy())?;
    let turn = turn.expect("it is never closed");
    let compiling = tokio::task::spawn_blocking(move || work(Some(turn)));
    compiling.await.expect("compiling does not panic")
}

/// Returns whether patterns compile in less time than it takes to wake another thread. A long pattern would delay other
/// requests. So may a short one with a counted repetition, which compiles to a large automaton.
pub(crate) fn is_short<'t>(patterns: impl IntoIterator<Item = &'t String>) -> bool {
    let mut bytes = 0;
    patterns.into_iter().all(|pattern| {
        bytes += pattern.len();
        bytes <= MAX_SHORT && !repeats(pattern)
    })
}

/// Returns whether there may be a counted repetition: a brace without a backslash before it.
fn repeats(pattern: &str) -> bool {
    let mut bytes = pattern.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' => return true,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_short_without_counted_repetitions() {
        for (patterns, expected) in [
            (&["fmt.Println", r"func \w+\(ctx"][..], true),
            (&[r"if err != nil \{"], true),
            (&[r"\w{200}"], false),
            (&[r"a\\{200}"], false),
            (&["a", "(b){9}"], false),
            (&[], true),
        ] {
            let patterns: Vec<String> = patterns.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(is_short(&patterns), expected, "{patterns:?}");
        }
        let long = "x".repeat(MAX_SHORT / 2 + 1);
        assert!(is_short([&long]) && !is_short([&long, &long]));
    }
}
