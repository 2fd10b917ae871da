//! `fresh=1`: a search that waits for changes that are not indexed yet.

use search::{Holds, Request};

use super::error::Failure;
use super::params::SearchParams;
use super::server::Server;

/// Waits for the changes that a search covers, if its client asked for that. If some are not indexed in time, the answer
/// says so. The caller has no turn yet.
///
/// # Errors
/// The database query fails.
pub(crate) async fn wait(
    server: &Server,
    params: &SearchParams,
    request: &mut Request,
) -> Result<(), Failure> {
    // The next part of an answer is of the epoch of the first one.
    if params.is_fresh() && request.resume.is_none() {
        let note = server.view().await_fresh(request, Holds::Nothing).await?;
        request.notes.extend(note);
    }
    Ok(())
}
