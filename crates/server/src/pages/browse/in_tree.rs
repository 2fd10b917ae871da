//! Addresses of other trees than the main one: `repo=NAME@TREE`, as `repo:` in a query.

use super::BrowseParams;
use crate::error::Failure;
use crate::server::Server;

/// Takes the name of a tree from the name of a repository: returns the server whose view has this tree instead of the
/// main one, and the parameters with the name of the repository alone.
///
/// # Errors
/// The database query fails.
pub(super) async fn in_tree(
    server: Server,
    wanted: BrowseParams,
) -> Result<(Server, BrowseParams), Failure> {
    let named = server.view().named_tree(&wanted.repo).await?;
    if named.named.is_none() {
        return Ok((server, wanted));
    }
    let server = server.seeing(named.in_view(server.view()));
    let (repo, tree) = (named.text.clone(), named.tree().cloned());
    Ok((server, BrowseParams { repo, tree, ..wanted }))
}
