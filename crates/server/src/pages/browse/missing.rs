//! The answer for a file, folder or repository that is not in the index: a redirect, or the reason and similar ones.

use std::sync::Arc;

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use browse::{FindRequest, NearFile};
use search::Tree;

use super::{Answered, BrowseParams};
use crate::error::Failure;
use crate::pages::link;
use crate::pages::render::render;
use crate::server::Server;

/// Most files or repositories listed.
const MOST: usize = 8;

/// A similar file or repository: its address, its name, and its location.
type Near = (String, String, String);

#[derive(Template)]
#[template(path = "missing.html")]
struct MissingPage<'a> {
    query: &'a str,
    message: &'a str,
    /// Similar files or repositories, under headings.
    near: Vec<(String, Vec<Near>)>,
    /// The address of the level above, for a link to continue from.
    up: String,
    up_name: String,
}

/// Returns the answer for a repository that is not in the index.
pub(super) fn no_such_repo(tree: &Tree, wanted: &BrowseParams, page: bool) -> Answered {
    let near = nearest(tree.repos().iter().map(|repo| repo.name.as_str()), &wanted.repo);
    let mut message = format!("{} is not in the index", wanted.repo);
    if !page {
        if !near.is_empty() {
            message = format!("{message}; similar repositories: {}", near.join(", "));
        }
        return Err(Failure::no_such(message));
    }
    let links = near.into_iter().map(|name| {
        let path = wanted.path.as_str();
        (link::file_or_folder(name, path), name.to_owned(), path.to_owned())
    });
    let links: Vec<_> = links.collect();
    let near = if links.is_empty() { Vec::new() } else { vec![("Similar".to_owned(), links)] };
    let (up, up_name) = ("/repos".to_owned(), "All repositories".to_owned());
    let page = MissingPage { query: "", message: &message, near, up, up_name };
    Ok(render(StatusCode::NOT_FOUND, &page))
}

/// Redirects to a page or JSON, as this request asks for.
fn redirect(mut address: String, wanted: &BrowseParams) -> Response {
    if let Some(format) = &wanted.format {
        address = format!("{address}&format={format}");
    }
    Redirect::to(&address).into_response()
}

/// Returns a sentence that a file is not in the index, with the reason if it was left out.
pub(crate) async fn not_in_index(
    server: &Server,
    repo: &str,
    path: &str,
) -> Result<String, store::Error> {
    Ok(match browse::why_left_out(server.view(), repo, path).await? {
        Some(why) => format!("{repo}/{path} is not in the index: it was left out ({why})"),
        None => format!("{repo}/{path} is not in the index"),
    })
}

/// Returns the answer for a path that is not a file of the repository. Redirects a folder to its page.
pub(super) async fn no_such_file(server: &Server, wanted: &BrowseParams, page: bool) -> Answered {
    let tree = server.view().tree().await?;
    let Some(repo) = tree.repo(&wanted.repo) else { return no_such_repo(&tree, wanted, page) };
    let path = wanted.path.trim_matches('/');
    let is_folder = tree.folder(repo, path)?.is_some();
    if is_folder && page {
        return Ok(redirect(link::folder(&repo.name, path), wanted));
    }
    let is_file = tree.file(&repo.name, path)?.is_some();
    if is_file && page {
        return Ok(redirect(link::file(&repo.name, path, &wanted.q, None), wanted));
    }
    let name = format!("{}/{path}", wanted.repo);
    if is_folder || is_file {
        let (what, place) = if is_folder {
            ("a folder", link::folder(&repo.name, path))
        } else {
            ("a file", link::file(&repo.name, path, "", None))
        };
        return Err(Failure::no_such(format!("{name} is {what}: use {place}")));
    }
    let mut message = not_in_index(server, &repo.name, path).await?;
    let (here, elsewhere) = near(&tree, &repo.name, path).await?;
    if !page {
        if !here.is_empty() {
            let paths: Vec<&str> = here.iter().map(|near| near.path.as_str()).collect();
            message = format!("{message}; similar files: {}", paths.join(", "));
        }
        return Err(Failure::no_such(message));
    }
    let to = |near: NearFile| {
        let href = link::file(&near.repo, &near.path, &wanted.q, None);
        (href, near.path, near.repo)
    };
    let lists = [(format!("Similar in {}", repo.name), here), ("Elsewhere".to_owned(), elsewhere)];
    let lists = lists.into_iter().filter(|(_, files)| !files.is_empty());
    let near = lists.map(|(heading, files)| (heading, files.into_iter().map(to).collect()));
    let page = MissingPage {
        query: &wanted.q,
        message: &message,
        near: near.collect(),
        up: link::folder(&repo.name, ""),
        up_name: format!("All files of {}", repo.name),
    };
    Ok(render(StatusCode::NOT_FOUND, &page))
}

/// Returns the answer for contents that are no longer stored: the address of the file with its current contents.
pub(super) async fn no_such_text(
    server: &Server,
    wanted: &BrowseParams,
    hash: &str,
    page: bool,
) -> Answered {
    let tree = server.view().tree().await?;
    let (repo, path) = (wanted.repo.as_str(), wanted.path.as_str());
    if tree.file(repo, path)?.is_none() {
        return no_such_file(server, wanted, page).await;
    }
    let mut failure = Failure::not_stored(&format!("{repo}/{path}"), hash);
    let present = link::file(repo, path, "", None);
    if !page {
        failure.body.message = format!("{}; the current version: {present}", failure.body.message);
        return Err(failure);
    }
    let message = format!("{}: the file has changed since.", failure.body.message);
    let near =
        vec![("Current version".to_owned(), vec![(present, path.to_owned(), repo.to_owned())])];
    let (up, up_name) = (link::folder(repo, ""), format!("All files of {repo}"));
    let page = MissingPage { query: &wanted.q, message: &message, near, up, up_name };
    Ok(render(StatusCode::NOT_FOUND, &page))
}

/// Returns the files with the most similar paths in a repository, and files of the same name in others.
async fn near(
    tree: &Arc<Tree>,
    repo: &str,
    path: &str,
) -> Result<(Vec<NearFile>, Vec<NearFile>), Failure> {
    let (tree, repo, path) = (Arc::clone(tree), repo.to_owned(), path.to_owned());
    // The search visits all paths, which takes a while.
    let work = tokio::task::spawn_blocking(move || {
        let name = path.rsplit('/').next().unwrap_or_default();
        let find = |query, repo| {
            let finding = FindRequest { query, repo, limit: 4 * MOST, ..FindRequest::default() };
            // A query that is too long has no similar paths.
            browse::find(&tree, &finding).unwrap_or_default().0
        };
        // A wrong folder is more likely than a path that has all letters, but scattered.
        let mut here = find(name, Some(repo.as_str()));
        here.truncate(MOST / 2);
        here.extend(find(&path, Some(repo.as_str())));
        let mut seen = std::collections::HashSet::new();
        here.retain(|near| near.repo == repo && seen.insert(near.path.clone()));
        here.truncate(MOST);
        let mut elsewhere = find(name, None);
        let is_called_so = |near: &NearFile| near.path.rsplit('/').next() == Some(name);
        elsewhere.retain(|near| near.repo != repo && is_called_so(near));
        elsewhere.truncate(MOST);
        (here, elsewhere)
    });
    work.await.map_err(|_| Failure::panicked())
}

/// Longest name, in bytes, for which similar names are searched: comparing two names takes the product of their
/// lengths.
const MAX_NAME: usize = 256;

/// Returns the most similar names: first those that contain its last part, then those with few different letters.
fn nearest<'n>(names: impl Iterator<Item = &'n str>, name: &str) -> Vec<&'n str> {
    if name.len() > MAX_NAME {
        return Vec::new();
    }
    let name = name.to_lowercase();
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    let wanted = last(&name);
    let mut near: Vec<(bool, usize, &str)> = names
        .filter_map(|other| {
            let lower = other.to_lowercase();
            let holds = !wanted.is_empty() && lower.contains(&wanted);
            let distance = query::distance(&last(&lower), &wanted);
            let is_near = holds || distance * 3 <= wanted.chars().count();
            is_near.then(|| (!holds, query::distance(&lower, &name), other))
        })
        .collect();
    near.sort_unstable();
    near.into_iter().map(|(_, _, name)| name).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_the_same_last_part_or_few_other_letters_are_near() {
        let names = ["github.com/golang/go", "github.com/golang/tools", "tokio-1.2", "serde"];
        for (name, near) in [
            ("golang/go", &["github.com/golang/go", "github.com/golang/tools"][..]),
            ("tokio", &["tokio-1.2"]),
            ("srede", &["serde"]),
            ("github.com/golang/toolz", &["github.com/golang/tools"]),
            ("nowhere", &[]),
        ] {
            assert_eq!(nearest(names.into_iter(), name), near, "{name}");
        }
    }
}
