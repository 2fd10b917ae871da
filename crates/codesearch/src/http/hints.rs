//! What is said beside an answer: how many files a suggested query finds, and what finds something where nothing was
//! found.

use std::time::{Duration, Instant};

use engine::search::{Request, Stats};

use super::error::Failure;
use super::params::SearchParams;
use super::server::Server;
use crate::hints::{self, Asked, Beside, Hint};
use crate::request::{self, Client};

/// How long it may take to count what a suggested query finds.
const COUNTING: Duration = Duration::from_millis(50);

/// A failure with the number of files that the suggested query finds, if that is known in a moment, and if nobody has to
/// wait for it.
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
        let beside = Beside { options, client: Client::PROGRAM };
        suggested.count = hints::count(&server.searcher, &suggested.query, &beside, until).await;
    }
    failure
}

/// What may help beside the results of a search, which has its turn.
pub(crate) async fn beside(
    server: &Server,
    params: &SearchParams,
    request: &Request,
    stats: &Stats,
) -> Vec<Hint> {
    if stats.files > 0 {
        let parsed = query::Query::parse(&params.q, query::Case::Smart).ok();
        let hint = parsed.and_then(|parsed| hints::taken_for_expression(&params.q, &parsed));
        return hint.into_iter().collect();
    }
    let Ok(options) = params.options() else { return Vec::new() };
    if stats.stopped.is_some() || request.resume.is_some() {
        return Vec::new();
    }
    let query = request::spelled(&params.q, &[], &options);
    let asked = Asked { query: &query, client: Client::PROGRAM, left_out: false };
    hints::of_nothing(&server.searcher, &asked).await
}
