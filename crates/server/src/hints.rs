//! Hints for an answer: the number of files that a suggested query finds, and changes to a query that found nothing.

use std::time::{Duration, Instant};

use search::{Request, Stats};

use super::error::Failure;
use super::params::SearchParams;
use super::server::Server;
use request::hints::{self, Hint, NoResultsQuery, QueryContext};
use request::{self, Client};

/// Longest time to count the files that a suggested query finds.
const COUNTING: Duration = Duration::from_millis(50);

/// Longest time for all hints if nothing was found, for a program.
const WITHIN: Duration = Duration::from_millis(100);

/// The same for a page: the first hints after the start of a server read what later ones find in memory.
const WITHIN_PAGE: Duration = Duration::from_millis(400);

/// Adds to a failure the number of files that its suggested query finds, if a turn is free and counting ends within
/// [`COUNTING`].
pub(crate) async fn counted(
    server: &Server,
    params: &SearchParams,
    mut failure: Failure,
) -> Failure {
    let until = Instant::now() + COUNTING;
    if let Some(suggested) = &mut failure.body.suggestion
        && let Some(_turn) = server.free_turn()
        && let Ok(options) = params.options()
    {
        let beside = QueryContext { options, client: Client::PROGRAM };
        suggested.count = hints::count(server.view(), &suggested.query, &beside, until).await;
    }
    failure
}

/// Returns hints for the results of a search. The caller holds the turn.
pub(crate) async fn beside(
    server: &Server,
    params: &SearchParams,
    request: &Request,
    stats: &Stats,
    is_page: bool,
) -> Vec<Hint> {
    if stats.files > 0 {
        let parsed = query::Query::parse(&params.q, query::Case::Smart).ok();
        let hint = parsed.and_then(|parsed| hints::meant_as_text(&params.q, &parsed));
        return hint.into_iter().collect();
    }
    let Ok(options) = params.options() else { return Vec::new() };
    if stats.stopped.is_some() || request.resume.is_some() {
        return Vec::new();
    }
    let query = request::as_one_query(&params.q, &[], &options);
    let within = if is_page { WITHIN_PAGE } else { WITHIN };
    let asked = NoResultsQuery { query: &query, client: Client::PROGRAM, within, left_out: false };
    hints::for_no_results(server.view(), &asked).await
}
