//! The answer in words that follows a search whose query is only words, and which finds little.

use search::ask::Asked;
use search::{Request, Stats};

use super::error::Failure;
use super::pages::asked;
use super::params::SearchParams;
use super::server::Server;
use request::{Client, by_words};

/// Returns the answer that follows a search which has found some files, each by its repository and path; `None` if none
/// does, or if it has no other file and nothing is missing. The caller holds a turn.
///
/// # Errors
/// The database query fails.
pub(crate) async fn after(
    server: &Server,
    params: &SearchParams,
    (request, stats): (&Request, &Stats),
    found: &[(String, String)],
) -> Result<Option<Asked>, Failure> {
    let client = Client::PROGRAM;
    let Some(question) = by_words::after(&params.q, &params.options()?, (request, stats), &client)?
    else {
        return Ok(None);
    };
    match asked(server, &question).await {
        Ok(mut asked) => {
            by_words::without(&mut asked, found.iter().map(|(repo, path)| (&**repo, &**path)));
            // Others may be where nobody could look.
            let tells =
                |asked: &Asked| !asked.files.is_empty() || !asked.stats.shown_missing().is_empty();
            Ok(Some(asked).filter(tells))
        }
        // A query may have no word that can be looked up.
        Err(failure) if failure.status.is_client_error() => Ok(None),
        Err(failure) => Err(failure),
    }
}
